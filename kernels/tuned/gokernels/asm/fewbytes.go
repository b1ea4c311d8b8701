package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fewBytes writes the function that computes a row of results of few channels from bytes. A sum of
// a result is a vector: each channel has two lanes, which add the products of every other four of
// the bytes that lie beside each other.
func fewBytes() {
	Implement("fewBytes512")
	c := &code{machine: avx512, dot: true}
	f := &fewBytesCode{code: c, next: field("next"), left: field("columns"), w: base("w"),
		y: base("y"), step: scaled("channels"), start: ZMM(), by: ZMM(), times: ZMM(), order: ZMM()}
	x := base("x")
	ADDQ(field("at"), x)
	VMOVUPS(operand.Mem{Base: base("start")}, f.start)
	t := Dereference(Param("t"))
	for i, v := range []reg.VecVirtual{f.by, f.times} {
		b, err := t.Field([]string{"shift", "scale"}[i]).Index(0).Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTF32X8(b.Addr, v)
	}
	plus := ZMM()
	broadcast(t.Field("plus"), plus)
	f.limits = c.limits("least", "most", plus)
	f.mask = some(field("channels"))
	f.from = ZMM()
	VPBROADCASTD(field("from").(reg.GPVirtual).As32(), f.from)
	f.bytes = K()
	KMOVW(field("from").(reg.GPVirtual).As32(), f.bytes)
	KORTESTW(f.bytes, f.bytes)
	JZ(operand.LabelRef("floats"))
	ADDQ(field("yAt"), f.y)
	SHRQ(operand.U8(2), f.step)
	Label("floats")
	numbers := GP64()
	MOVQ(operand.U64(0x0705030106040200), numbers)
	VMOVQ(numbers, f.order.AsX())
	VPMOVZXBQ(f.order.AsX(), f.order)
	sizes := []int{12, 4, 2}
	for i, n := range sizes {
		c.prefix = fmt.Sprintf("results%d", n)
		Label(c.prefix)
		CMPQ(f.left, operand.U8(n))
		if i+1 < len(sizes) {
			JL(operand.LabelRef(fmt.Sprintf("results%d", sizes[i+1])))
		} else { // the last one may be by itself
			CMPQ(f.left, operand.U8(0))
			JLE(operand.LabelRef("done"))
		}
		f.block(x, n)
		on := GP64()
		IMUL3Q(operand.U8(n), f.next, on)
		ADDQ(on, x)
		SUBQ(operand.U8(n), f.left)
		JMP(operand.LabelRef(c.prefix))
	}
	Label("done")
	done()
}

// fewBytesCode is the function while it is written.
type fewBytesCode struct {
	*code
	next, left, w, y, step  reg.Register
	bytes                   reg.OpmaskVirtual // not 0: results are bytes
	start, by, times, order reg.VecVirtual
	from                    reg.VecVirtual
	limits                  limits
	mask                    reg.OpmaskVirtual
}

// block computes n results, or one less of the last two.
func (f *fewBytesCode) block(x reg.Register, n int) {
	sums := f.vectors(n)
	for _, s := range sums {
		VMOVAPS(f.start, s)
	}
	line, w, rows := copied(x), copied(f.w), field("rows")
	Label(f.label("row"))
	at, eights := copied(line), field("eights")
	Label(f.label("eight"))
	v := ZMM()
	VMOVUPS(operand.Mem{Base: w}, v)
	ADDQ(operand.U8(64), w)
	p := rowPointers(n, at, f.next)
	for i, s := range sums {
		u := ZMM()
		VPBROADCASTQ(row(p, f.next, i, 0), u)
		dotProduct(v, u, s)
	}
	ADDQ(operand.U8(8), at)
	DECQ(eights)
	JNZ(operand.LabelRef(f.label("eight")))
	ADDQ(field("row"), line)
	DECQ(rows)
	JNZ(operand.LabelRef(f.label("row")))
	for i := 0; i < n; i += 2 {
		// Of two results, the lanes of each channel are added. Each gets a half of the vector.
		a, b := ZMM(), ZMM()
		VSHUFPS(operand.U8(0x88), sums[i+1], sums[i], a)
		VSHUFPS(operand.U8(0xdd), sums[i+1], sums[i], b)
		VPADDD(b, a, a)
		VPERMPD(a, f.order, a)
		VCVTDQ2PS(a, a)
		VADDPS(f.by, a, a)
		VMULPS(f.times, a, a)
		one := func() {
			ADDQ(f.step, f.y)
			if n == 2 {
				CMPQ(f.left, operand.U8(1))
				JE(operand.LabelRef("done"))
			}
		}
		bytes, next := f.label(fmt.Sprintf("bytes%d", i)), f.label(fmt.Sprintf("next%d", i))
		KORTESTW(f.bytes, f.bytes)
		JNZ(operand.LabelRef(bytes))
		f.whole(a, f.limits)
		VMOVUPS(a, f.mask, operand.Mem{Base: f.y})
		one()
		VEXTRACTF32X8(operand.U8(1), a, f.mask, operand.Mem{Base: f.y})
		JMP(operand.LabelRef(next))
		Label(bytes)
		f.bound(a, f.limits.least, f.limits.most)
		VCVTPS2DQ(a, a)
		VPADDD(f.from, a, a)
		v := XMM()
		VPMOVDB(a, v)
		VMOVQ(v, operand.Mem{Base: f.y}) // the next result overwrites what is behind
		one()
		VPEXTRQ(operand.U8(1), v, operand.Mem{Base: f.y})
		Label(next)
		ADDQ(f.step, f.y)
	}
}
