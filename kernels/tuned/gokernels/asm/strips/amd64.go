package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// machine is a set of vector instructions.
type machine struct {
	suffix string
	bytes  int // of a vector
	vector func() reg.VecVirtual
}

var (
	avx512 = machine{"AVX512", 64, ZMM}
	avx2   = machine{"AVX2", 32, YMM}
)

func (m machine) wide() bool { return m.bytes == 64 }

func (m machine) lanes() int { return m.bytes / 4 }

// emitter writes the loop of one primitive.
type emitter struct {
	machine
	prog   *program
	name   string
	consts []uint32 // of the table behind the function
	ptrs   []reg.Register
	fixed  []reg.Register // scalar parameters
	dst    reg.Register
	index  reg.Register // elements done
	vals   []reg.Register
}

// table returns where the table has a constant.
func (e *emitter) table(bits uint32) operand.Mem {
	k := 0
	for k < len(e.consts) && e.consts[k] != bits {
		k++
	}
	if k == len(e.consts) {
		e.consts = append(e.consts, bits)
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(e.name+"Table"), 4*k)
}

func (e *emitter) constant(bits uint32) reg.Register {
	v := e.vector()
	if bits == 0 {
		if e.wide() {
			VPXORD(v, v, v)
		} else {
			VPXOR(v, v, v)
		}
		return v
	}
	VBROADCASTSS(e.table(bits), v)
	return v
}

// arg returns the register with value k.
func (e *emitter) arg(k int) reg.Register {
	if i := e.prog.insts[k]; i.op == expr.OpConst {
		return e.constant(i.bits)
	}
	return e.vals[k]
}

// element returns a mask for the memory of a vector u vectors on.
func (e *emitter) memory(base reg.Register, d ir.DType, u int) operand.Mem {
	size := d.Size()
	return operand.Mem{Base: base, Index: e.index, Scale: uint8(size), Disp: u * e.lanes() * size}
}

// tail says which elements of a vector there are: all if it is nil.
type tail struct {
	mask reg.Register
	one  bool // only the first
}

// load returns parameter in, u vectors on.
func (e *emitter) load(in int, d ir.DType, u int, t *tail) reg.Register {
	if e.fixed[in] != nil {
		return e.fixed[in]
	}
	m := e.memory(e.ptrs[in], d, u)
	v := e.vector()
	if d.Size() == 1 {
		switch {
		case t != nil && t.one:
			r := GP32()
			if d == ir.Int8 {
				MOVBLSX(m, r)
			} else {
				MOVBLZX(m, r)
			}
			VMOVD(r, v.(reg.Vec).AsX())
		case t != nil && d == ir.Int8:
			VPMOVSXBD_Z(m, t.mask, v)
		case t != nil:
			VPMOVZXBD_Z(m, t.mask, v)
		case d == ir.Int8:
			VPMOVSXBD(m, v)
		default:
			VPMOVZXBD(m, v)
		}
	}
	if d.IsInt() && d.Size() == 1 {
		return v
	}
	if d == ir.Bool {
		if e.wide() {
			k := K()
			VPTESTMD(v, v, k)
			return k
		}
		mask := e.vector()
		zero := e.constant(0)
		VPCMPGTD(zero, v, mask)
		return mask
	}
	switch {
	case t == nil:
		VMOVUPS(m, v)
	case e.wide():
		VMOVUPS_Z(m, t.mask, v)
	case t.one:
		VMOVSS(m, v.(reg.Vec).AsX())
	default:
		VMASKMOVPS(m, t.mask, v)
	}
	return v
}

func (e *emitter) store(v reg.Register, d ir.DType, u int, t *tail) {
	m := e.memory(e.dst, d, u)
	if d == ir.Bool {
		e.storeBools(v, m, t)
		return
	}
	if d.Size() == 1 {
		e.storeBytes(v, m, t)
		return
	}
	switch {
	case t == nil:
		VMOVUPS(v, m)
	case e.wide():
		VMOVUPS(v, t.mask, m)
	case t.one:
		VMOVSS(v.(reg.Vec).AsX(), m)
	default:
		VMASKMOVPS(v, t.mask, m)
	}
}

func (e *emitter) storeBools(v reg.Register, m operand.Mem, t *tail) {
	if e.wide() {
		ones := e.vector()
		VPBROADCASTD_Z(e.table(1), v, ones)
		if t == nil {
			VPMOVDB(ones, m)
		} else {
			VPMOVDB(ones, t.mask, m)
		}
		return
	}
	ones := e.vector()
	VPSRLD(operand.U8(31), v, ones)
	packBytes(ones, m, t)
}

// storeBytes stores the low bytes of integers.
func (e *emitter) storeBytes(v reg.Register, m operand.Mem, t *tail) {
	switch {
	case !e.wide():
		low := e.vector()
		VANDPS(e.constant(0xff), v, low)
		packBytes(low, m, t)
	case t == nil:
		VPMOVDB(v, m)
	default:
		VPMOVDB(v, t.mask, m)
	}
}

// packBytes stores integers that bytes hold.
func packBytes(v reg.Register, m operand.Mem, t *tail) {
	half, low := XMM(), v.(reg.Vec).AsX()
	if t != nil {
		r := GP32()
		VMOVD(low, r)
		MOVB(r.As8(), m)
		return
	}
	VEXTRACTI128(operand.U8(1), v, half)
	VPACKUSDW(half, low, half)
	VPACKUSWB(half, half, half)
	VMOVQ(half, m)
}

// body writes the program for one vector.
func (e *emitter) body(u int, t *tail) {
	e.vals = make([]reg.Register, len(e.prog.insts))
	for k, i := range e.prog.insts {
		switch i.op {
		case expr.OpConst:
		case expr.OpLocal:
			e.vals[k] = e.load(i.in, i.d, u, t)
		case expr.OpBitcast:
			e.vals[k] = e.arg(i.args[0])
		default:
			e.vals[k] = e.inst(i)
		}
	}
	last := len(e.prog.insts) - 1
	e.store(e.arg(last), e.prog.insts[last].d, u, t)
}

// scalars loads the scalar parameters.
func (e *emitter) scalars(p primitive) {
	for i, v := range p.fn.Params {
		if !p.scalar[i] {
			e.ptrs = append(e.ptrs, Load(Param(v.Name).Base(), GP64()))
			e.fixed = append(e.fixed, nil)
			continue
		}
		b, err := Param(v.Name).Resolve()
		if err != nil {
			panic(err)
		}
		r := e.vector()
		VBROADCASTSS(b.Addr, r)
		e.ptrs = append(e.ptrs, nil)
		e.fixed = append(e.fixed, r)
	}
}

// write writes the function of a primitive: as many vectors at a time as are
// worth it, then one, then the elements that are left.
func (m machine) write(p primitive) {
	e := &emitter{machine: m, prog: p.prog.indefinite(), name: p.name + m.suffix}
	TEXT(e.name, attr.NOSPLIT, "func"+p.signature())
	Doc(e.name + " is " + p.name + " with " + m.long() + ".")
	n := Load(Param("dst").Len(), GP64())
	e.dst = Load(Param("dst").Base(), GP64())
	e.scalars(p)
	e.index = GP64()
	XORQ(e.index, e.index)
	lanes := e.lanes()
	for _, vecs := range []int{4, 1} {
		if vecs > 1 && len(e.prog.insts) > 12 {
			continue
		}
		label, end := fmt.Sprintf("loop%d", vecs), fmt.Sprintf("end%d", vecs)
		SUBQ(operand.U8(vecs*lanes), n)
		JL(operand.LabelRef(end))
		Label(label)
		for u := range vecs {
			e.body(u, nil)
		}
		ADDQ(operand.U8(vecs*lanes), e.index)
		SUBQ(operand.U8(vecs*lanes), n)
		JGE(operand.LabelRef(label))
		Label(end)
		ADDQ(operand.U8(vecs*lanes), n)
	}
	TESTQ(n, n)
	JZ(operand.LabelRef("done"))
	switch {
	case m.wide():
		mask, bits := K(), GP32()
		MOVQ(n, reg.RCX)
		MOVL(operand.U32(1), bits)
		SHLL(reg.CL, bits)
		DECL(bits)
		KMOVW(bits, mask)
		e.body(0, &tail{mask: mask})
	case p.narrow():
		Label("one")
		e.body(0, &tail{one: true})
		INCQ(e.index)
		DECQ(n)
		JNZ(operand.LabelRef("one"))
	default:
		e.body(0, &tail{mask: e.first(n)})
	}
	Label("done")
	VZEROUPPER()
	RET()
	if len(e.consts) > 0 {
		GLOBL(e.name+"Table", attr.RODATA|attr.NOPTR)
		for k, bits := range e.consts {
			DATA(4*k, operand.U32(bits))
		}
	}
}

// first returns a mask of the first n elements of a vector, without a table.
func (e *emitter) first(n reg.Register) reg.Register {
	r, count, low := GP64(), YMM(), XMM()
	MOVQ(operand.U64(0x0706050403020100), r)
	VMOVQ(r, low)
	places, mask := YMM(), YMM()
	VPMOVZXBD(low, places)
	VMOVD(n.(reg.GPVirtual).As32(), low)
	VPBROADCASTD(low, count)
	VPCMPGTD(places, count, mask)
	return mask
}

func (m machine) long() string {
	if m.wide() {
		return "AVX-512"
	}
	return "AVX2 and FMA"
}
