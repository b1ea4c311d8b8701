package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

type key struct {
	op expr.Op
	d  ir.DType
}

// threes are the instructions on two operands; the assembler takes the second
// first. Largest and smallest give the second if they are not ordered, as C.
var threes = map[key]func(...operand.Op){
	{expr.OpAdd, ir.Float32}: VADDPS, {expr.OpSub, ir.Float32}: VSUBPS,
	{expr.OpMul, ir.Float32}: VMULPS, {expr.OpDiv, ir.Float32}: VDIVPS,
	{expr.OpMax, ir.Float32}: VMAXPS, {expr.OpMin, ir.Float32}: VMINPS,
	{expr.OpAdd, ir.Int32}: VPADDD, {expr.OpSub, ir.Int32}: VPSUBD, {expr.OpMul, ir.Int32}: VPMULLD,
	{expr.OpMax, ir.Int32}: VPMAXSD, {expr.OpMin, ir.Int32}: VPMINSD,
	{expr.OpAnd, ir.Int32}: VANDPS, {expr.OpOr, ir.Int32}: VORPS, {expr.OpXor, ir.Int32}: VXORPS,
	{expr.OpShl, ir.Int32}: VPSLLVD, {expr.OpShr, ir.Int32}: VPSRAVD,
}

var roundings = map[expr.Op]int{expr.OpRound: 0, expr.OpFloor: 9, expr.OpCeil: 10, expr.OpTrunc: 11}

// Predicates of comparisons: of floats, and of ints where there are masks.
var (
	floatOrder = map[expr.Op]int{expr.OpEq: 0x00, expr.OpNe: 0x04, expr.OpLt: 0x11, expr.OpLe: 0x12,
		expr.OpGt: 0x1e, expr.OpGe: 0x1d}
	intOrder = map[expr.Op]int{expr.OpEq: 0, expr.OpNe: 4, expr.OpLt: 1, expr.OpLe: 2,
		expr.OpGt: 6, expr.OpGe: 5}
)

// inst writes an instruction and returns the register of its result.
func (e *emitter) inst(i inst) reg.Register {
	if i.op >= expr.OpEq && i.op <= expr.OpGe {
		return e.compare(i)
	}
	if i.d == ir.Bool {
		return e.boolean(i)
	}
	v := e.vector()
	if (i.op == expr.OpShl || i.op == expr.OpShr) && e.prog.isConst(i.args[1]) {
		n := operand.U8(e.prog.insts[i.args[1]].bits)
		if i.op == expr.OpShl {
			VPSLLD(n, e.arg(i.args[0]), v)
		} else {
			VPSRAD(n, e.arg(i.args[0]), v)
		}
		return v
	}
	if f := threes[key{i.op, i.d}]; f != nil {
		f(e.arg(i.args[1]), e.arg(i.args[0]), v)
		return v
	}
	switch key := (key{i.op, i.d}); key {
	case key2(expr.OpNeg, ir.Float32):
		VXORPS(e.constant(1<<31), e.arg(i.args[0]), v)
	case key2(expr.OpAbs, ir.Float32):
		VANDPS(e.constant(1<<31-1), e.arg(i.args[0]), v)
	case key2(expr.OpNeg, ir.Int32):
		VPSUBD(e.arg(i.args[0]), e.constant(0), v)
	case key2(expr.OpAbs, ir.Int32):
		VPABSD(e.arg(i.args[0]), v)
	case key2(expr.OpNot, ir.Int32):
		VXORPS(e.constant(1<<32-1), e.arg(i.args[0]), v)
	case key2(expr.OpSqrt, ir.Float32):
		VSQRTPS(e.arg(i.args[0]), v)
	case key2(expr.OpFMA, ir.Float32):
		VMOVAPS(e.arg(i.args[2]), v)
		VFMADD231PS(e.arg(i.args[1]), e.arg(i.args[0]), v)
	case key2(expr.OpSelect, i.d):
		e.choose(e.arg(i.args[0]), e.arg(i.args[1]), e.arg(i.args[2]), v)
	case key2(expr.OpCast, ir.Int32):
		if i.from != ir.Float32 {
			panic(fmt.Sprintf("%s: a cast from %s", e.name, i.from))
		}
		VCVTTPS2DQ(e.arg(i.args[0]), v)
	case key2(expr.OpCast, ir.Float32):
		if i.from != ir.Int32 {
			panic(fmt.Sprintf("%s: a cast from %s", e.name, i.from))
		}
		VCVTDQ2PS(e.arg(i.args[0]), v)
	case key2(expr.OpFloor, ir.Float32), key2(expr.OpCeil, ir.Float32),
		key2(expr.OpTrunc, ir.Float32), key2(expr.OpRound, ir.Float32):
		if e.wide() {
			VRNDSCALEPS(operand.U8(roundings[i.op]), e.arg(i.args[0]), v)
		} else {
			VROUNDPS(operand.U8(roundings[i.op]), e.arg(i.args[0]), v)
		}
	default:
		panic(fmt.Sprintf("%s: no instruction for %s of %s", e.name, i.op, i.d))
	}
	return v
}

func key2(op expr.Op, d ir.DType) key { return key{op, d} }

// choose sets v to a where c is true, else to b.
func (e *emitter) choose(c, a, b, v reg.Register) {
	if e.wide() {
		VBLENDMPS(a, b, c, v)
	} else {
		VBLENDVPS(c, a, b, v)
	}
}

// compare returns a mask.
func (e *emitter) compare(i inst) reg.Register {
	a, b := e.arg(i.args[0]), e.arg(i.args[1])
	if e.wide() {
		k := K()
		if i.from == ir.Float32 {
			VCMPPS(operand.U8(floatOrder[i.op]), b, a, k)
		} else {
			VPCMPD(operand.U8(intOrder[i.op]), b, a, k)
		}
		return k
	}
	v := e.vector()
	if i.from == ir.Float32 {
		VCMPPS(operand.U8(floatOrder[i.op]), b, a, v)
		return v
	}
	switch i.op {
	case expr.OpEq, expr.OpNe:
		VPCMPEQD(b, a, v)
	case expr.OpGt, expr.OpLe:
		VPCMPGTD(b, a, v)
	default:
		VPCMPGTD(a, b, v)
	}
	if i.op == expr.OpNe || i.op == expr.OpLe || i.op == expr.OpGe {
		return e.not(v)
	}
	return v
}

func (e *emitter) not(v reg.Register) reg.Register {
	out := e.vector()
	VXORPS(e.constant(1<<32-1), v, out)
	return out
}

// boolean combines masks.
func (e *emitter) boolean(i inst) reg.Register {
	if i.op == expr.OpSelect || i.op == expr.OpCast {
		panic(fmt.Sprintf("%s: %s of bools", e.name, i.op))
	}
	if i.op == expr.OpNot {
		if e.wide() {
			k := K()
			KNOTW(e.arg(i.args[0]), k)
			return k
		}
		return e.not(e.arg(i.args[0]))
	}
	masks := map[expr.Op]func(k1, k2, k3 operand.Op){
		expr.OpAnd: KANDW, expr.OpOr: KORW, expr.OpXor: KXORW}
	if e.wide() {
		k := K()
		masks[i.op](e.arg(i.args[1]), e.arg(i.args[0]), k)
		return k
	}
	v := e.vector()
	threes[key{i.op, ir.Int32}](e.arg(i.args[1]), e.arg(i.args[0]), v)
	return v
}
