package main

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// neon writes a primitive for arm64, of whose vector instructions the assembler
// knows few: the others are words. Register use: R0 the result, R1 to R3
// vectors, R4 what is left to do, R5 the table of constants, V31 the scalar.
type neon struct {
	strings.Builder
	p      primitive
	consts []uint32
	reg    []int // of a value
	last   []int // the instruction that uses a value last
	free   []int
	fixed  map[int]int // registers of scalars, by parameter
}

func (o *neon) op(format string, args ...any) { fmt.Fprintf(o, "\t"+format+"\n", args...) }

// word is an instruction on vectors d, n and m.
func (o *neon) word(name string, code uint32, d, n, m int) {
	o.op("WORD $0x%08x // %s V%d, V%d, V%d", code|uint32(m)<<16|uint32(n)<<5|uint32(d),
		name, d, n, m)
}

func (o *neon) take() int {
	if len(o.free) == 0 {
		panic(o.p.name + ": too few registers")
	}
	r := o.free[len(o.free)-1]
	o.free = o.free[:len(o.free)-1]
	return r
}

func (o *neon) constant(bits uint32) int {
	k := 0
	for k < len(o.consts) && o.consts[k] != bits {
		k++
	}
	if k == len(o.consts) {
		o.consts = append(o.consts, bits)
	}
	r := o.take()
	o.op("FMOVS %d(R5), F%d", 4*k, r)
	o.op("VDUP V%d.S[0], V%d.S4", r, r)
	return r
}

// Instructions on floats and ints, of two operands and of one.
var (
	neonThree = map[key]struct {
		name string
		code uint32
	}{
		{expr.OpAdd, ir.Float32}: {"FADD", 0x4e20d400}, {expr.OpSub, ir.Float32}: {"FSUB",
			0x4ea0d400},
		{expr.OpMul, ir.Float32}: {"FMUL", 0x6e20dc00}, {expr.OpDiv, ir.Float32}: {"FDIV",
			0x6e20fc00},
		{expr.OpAdd, ir.Int32}: {"ADD", 0x4ea08400}, {expr.OpSub, ir.Int32}: {"SUB", 0x6ea08400},
		{expr.OpMul, ir.Int32}: {"MUL", 0x4ea09c00},
		{expr.OpMax, ir.Int32}: {"SMAX", 0x4ea06400}, {expr.OpMin, ir.Int32}: {"SMIN", 0x4ea06c00},
		{expr.OpAnd, ir.Int32}: {"AND", 0x4e201c00}, {expr.OpOr, ir.Int32}: {"ORR", 0x4ea01c00},
		{expr.OpXor, ir.Int32}: {"EOR", 0x6e201c00},
		{expr.OpAnd, ir.Bool}:  {"AND", 0x4e201c00}, {expr.OpOr, ir.Bool}: {"ORR", 0x4ea01c00},
		{expr.OpXor, ir.Bool}: {"EOR", 0x6e201c00},
	}
	neonTwo = map[key]struct {
		name string
		code uint32
	}{
		{expr.OpNeg, ir.Float32}: {"FNEG", 0x6ea0f800}, {expr.OpAbs, ir.Float32}: {"FABS",
			0x4ea0f800}, {expr.OpSqrt, ir.Float32}: {"FSQRT", 0x6ea1f800},
		{expr.OpRound, ir.Float32}: {"FRINTN", 0x4e218800}, {expr.OpFloor, ir.Float32}: {"FRINTM",
			0x4e219800},
		{expr.OpCeil, ir.Float32}: {"FRINTP", 0x4ea18800}, {expr.OpTrunc, ir.Float32}: {"FRINTZ",
			0x4ea19800},
		{expr.OpNeg, ir.Int32}: {"NEG", 0x6ea0b800}, {expr.OpAbs, ir.Int32}: {"ABS", 0x4ea0b800},
		{expr.OpNot, ir.Int32}: {"NOT", 0x6e205800}, {expr.OpNot, ir.Bool}: {"NOT", 0x6e205800},
		{expr.OpCast, ir.Float32}: {"SCVTF", 0x4e21d800}, {expr.OpCast, ir.Int32}: {"FCVTZS",
			0x4ea1b800},
	}
	neonOrder = map[ir.DType]map[expr.Op]uint32{
		ir.Float32: {expr.OpEq: 0x4e20e400, expr.OpGe: 0x6e20e400, expr.OpGt: 0x6ea0e400},
		ir.Int32:   {expr.OpEq: 0x6ea08c00, expr.OpGe: 0x4ea03c00, expr.OpGt: 0x4ea03400},
	}
)

const (
	neonSelect = 0x6e601c00 // BSL
	neonCopy   = 0x4ea01c00 // ORR
	neonNot    = 0x6e205800
)

// body writes the program for a vector, or for one element.
func (o *neon) body(one bool) {
	prog := o.p.prog
	o.reg, o.last, o.free = make([]int, len(prog.insts)), make([]int, len(prog.insts)), nil
	for r := 31 - len(o.fixed); r >= 0; r-- {
		o.free = append(o.free, r)
	}
	home := make([]int, len(prog.insts)) // the value whose register a value has
	for k, i := range prog.insts {
		home[k] = k
		if i.op == expr.OpBitcast {
			home[k] = home[i.args[0]]
		}
		for _, a := range i.args {
			o.last[home[a]] = k
		}
	}
	result := len(prog.insts) - 1
	o.last[home[result]] = result + 1
	at := 0
	for k, i := range prog.insts {
		var temps []int
		arg := func(n int) int {
			if c := prog.insts[i.args[n]]; c.op == expr.OpConst {
				temps = append(temps, o.constant(c.bits))
				return temps[len(temps)-1]
			}
			return o.reg[i.args[n]]
		}
		switch {
		case i.op == expr.OpConst:
			continue
		case i.op == expr.OpBitcast:
			o.reg[k] = o.reg[i.args[0]]
		case i.op == expr.OpLocal && o.p.scalar[i.in]:
			o.reg[k] = o.fixed[i.in]
		case i.op == expr.OpLocal:
			at++
			o.reg[k] = o.take()
			o.load(at, o.reg[k], i.d, one)
		default:
			o.inst(k, i, arg)
		}
		o.free = append(o.free, temps...)
		seen := map[int]bool{}
		for _, a := range i.args {
			a = home[a]
			if r := o.reg[a]; o.last[a] == k && !seen[a] && r <= 31-len(o.fixed) &&
				prog.insts[a].op != expr.OpConst {
				seen[a] = true
				o.free = append(o.free, r)
			}
		}
	}
	o.store(o.reg[result], o.p.result(), one)
}

func (o *neon) load(ptr, r int, d ir.DType, one bool) {
	switch {
	case d.Size() == 1:
		move, long, bit := "MOVBU", "USHLL", uint32(1<<29)
		if d == ir.Int8 {
			move, long, bit = "MOVB", "SSHLL", 0
		}
		if one {
			o.op("%s.P 1(R%d), R9", move, ptr)
			o.op("FMOVS R9, F%d", r)
		} else {
			o.op("FMOVS.P 4(R%d), F%d", ptr, r)
			o.word(long+" 8H", 0x0f08a400|bit, r, r, 0)
			o.word(long+" 4S", 0x0f10a400|bit, r, r, 0)
		}
		if d == ir.Bool {
			o.word("NEG", 0x6ea0b800, r, r, 0)
		}
	case one:
		o.op("FMOVS.P 4(R%d), F%d", ptr, r)
	default:
		o.op("VLD1.P 16(R%d), [V%d.S4]", ptr, r)
	}
}

func (o *neon) store(r int, d ir.DType, one bool) {
	switch {
	case d.Size() == 1:
		if d == ir.Bool {
			o.word("USHR 31", 0x6f000400|33<<16, r, r, 0)
		}
		if one {
			o.op("FMOVS F%d, R9", r)
			o.op("MOVB.P R9, 1(R0)")
			return
		}
		o.word("XTN 4H", 0x0e612800, r, r, 0)
		o.word("XTN 8B", 0x0e212800, r, r, 0)
		o.op("FMOVS.P F%d, 4(R0)", r)
	case one:
		o.op("FMOVS.P F%d, 4(R0)", r)
	default:
		o.op("VST1.P [V%d.S4], 16(R0)", r)
	}
}

// inst writes instruction k and takes a register for its result.
func (o *neon) inst(k int, i inst, arg func(n int) int) {
	if f, ok := neonThree[key{i.op, i.d}]; ok {
		a, b := arg(0), arg(1)
		o.reg[k] = o.take()
		o.word(f.name, f.code, o.reg[k], a, b)
		return
	}
	if f, ok := neonTwo[key{i.op, i.d}]; ok {
		a := arg(0)
		o.reg[k] = o.take()
		o.word(f.name, f.code, o.reg[k], a, 0)
		return
	}
	switch i.op {
	case expr.OpShl, expr.OpShr:
		n := o.p.prog.insts[i.args[1]]
		if i.op == expr.OpShr && n.op != expr.OpConst {
			a, by := arg(0), arg(1)
			o.reg[k] = o.take()
			o.word("NEG", 0x6ea0b800, o.reg[k], by, 0)
			o.word("SSHL", 0x4ea04400, o.reg[k], a, o.reg[k])
			return
		}
		if n.op != expr.OpConst || i.op == expr.OpShr && n.bits == 0 {
			panic(o.p.name + ": a shift by a vector")
		}
		a := arg(0)
		o.reg[k] = o.take()
		if i.op == expr.OpShl {
			o.word(fmt.Sprintf("SHL %d", n.bits), 0x4f005400|(32+n.bits)<<16, o.reg[k], a, 0)
		} else {
			o.word(fmt.Sprintf("SSHR %d", n.bits), 0x4f000400|(64-n.bits)<<16, o.reg[k], a, 0)
		}
	case expr.OpFMA:
		a, b, c := arg(0), arg(1), arg(2)
		o.reg[k] = o.take()
		o.word("ORR", neonCopy, o.reg[k], c, c)
		o.word("FMLA", 0x4e20cc00, o.reg[k], a, b)
	case expr.OpSelect:
		c, a, b := arg(0), arg(1), arg(2)
		o.reg[k] = o.take()
		o.word("ORR", neonCopy, o.reg[k], c, c)
		o.word("BSL", neonSelect, o.reg[k], a, b)
	case expr.OpMax, expr.OpMin:
		a, b := arg(0), arg(1)
		o.reg[k] = o.take()
		if i.op == expr.OpMax {
			o.word("FCMGT", neonOrder[ir.Float32][expr.OpGt], o.reg[k], a, b)
		} else {
			o.word("FCMGT", neonOrder[ir.Float32][expr.OpGt], o.reg[k], b, a)
		}
		o.word("BSL", neonSelect, o.reg[k], a, b)
	case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		a, b := arg(0), arg(1)
		o.reg[k] = o.take()
		op := i.op
		switch op {
		case expr.OpLt:
			op, a, b = expr.OpGt, b, a
		case expr.OpLe:
			op, a, b = expr.OpGe, b, a
		case expr.OpNe:
			op = expr.OpEq
		}
		o.word("CM", neonOrder[i.from][op], o.reg[k], a, b)
		if i.op == expr.OpNe {
			o.word("NOT", neonNot, o.reg[k], o.reg[k], 0)
		}
	default:
		panic(fmt.Sprintf("%s: no instruction for %s of %s", o.p.name, i.op, i.d))
	}
}

// writeNEON returns the assembly function of a primitive.
func writeNEON(p primitive) string {
	o := &neon{p: p, fixed: map[int]int{}}
	offset, ptr := 24, 0
	o.op("MOVD dst_base+0(FP), R0")
	o.op("MOVD dst_len+8(FP), R4")
	for i, v := range p.fn.Params {
		if p.scalar[i] {
			r := 31 - len(o.fixed)
			o.fixed[i] = r
			o.op("FMOVS %s+%d(FP), F%d", v.Name, offset, r)
			o.op("VDUP V%d.S[0], V%d.S4", r, r)
			offset += 4
			continue
		}
		ptr++
		offset = (offset + 7) &^ 7
		o.op("MOVD %s_base+%d(FP), R%d", v.Name, offset, ptr)
		offset += 24
	}
	head := o.String()
	o.Reset()
	o.op("SUBS $4, R4, R4")
	o.op("BLT rest")
	o.WriteString("\nloop:\n")
	o.body(false)
	o.op("SUBS $4, R4, R4")
	o.op("BGE loop")
	o.WriteString("\nrest:\n")
	o.op("ADDS $4, R4, R4")
	o.op("BEQ done")
	o.WriteString("\none:\n")
	o.body(true)
	o.op("SUBS $1, R4, R4")
	o.op("BNE one")
	o.WriteString("\ndone:\n")
	o.op("RET")
	name := p.name + "NEON"
	table, load := "", ""
	if len(o.consts) > 0 {
		load = fmt.Sprintf("\tMOVD $%sTable<>(SB), R5\n", name)
		for k, bits := range o.consts {
			table += fmt.Sprintf("DATA %sTable<>+%d(SB)/4, $0x%08x\n", name, 4*k, bits)
		}
		table = "\n" + table + fmt.Sprintf("GLOBL %sTable<>(SB), RODATA|NOPTR, $%d\n", name,
			4*len(o.consts))
	}
	return fmt.Sprintf("\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", name, p.signature(), name,
		offset) + head + load + o.String() + table
}

// arm64 is the assembly file of all primitives.
func arm64(prims []primitive) string {
	var b strings.Builder
	b.WriteString(generated + "//go:build !purego\n\n#include \"textflag.h\"\n")
	for _, p := range prims {
		b.WriteString(writeNEON(p))
	}
	return b.String()
}
