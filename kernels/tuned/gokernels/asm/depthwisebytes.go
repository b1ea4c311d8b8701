package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// depthwiseBytes writes the function that convolves 64 channels of bytes, each by itself. Four
// vectors have them: each has fours of channels, as instructions that interleave bytes leave them.
func depthwiseBytes() {
	Implement("depthwiseBytes512")
	t := Dereference(Param("t"))
	address := func(name string) operand.Mem {
		b, err := t.Field(name).Index(0).Resolve()
		if err != nil {
			panic(err)
		}
		return b.Addr
	}
	d := &depthwiseBytesCode{code: &code{machine: avx512, dot: true}, y: base("y"),
		mask: some(field("words")), order: ZMM()}
	VMOVDQU32(address("order"), d.order)
	d.start, d.by, d.times = d.vectors(4), d.vectors(4), d.vectors(4)
	from := base("start")
	for j, s := range d.start {
		VMOVDQU32(operand.Mem{Base: from, Disp: 64 * j}, s)
		zero(d.by[j])
		zero(d.times[j])
	}
	CMPQ(base("scale"), operand.U8(0))
	JEQ(operand.LabelRef("rows"))
	for i, row := range [][]reg.VecVirtual{d.by, d.times} {
		from := base([]string{"shift", "scale"}[i])
		for j, v := range row {
			k := K()
			KMOVW(d.mask, k) // is cleared by what gathers
			VGATHERDPS(operand.Mem{Base: from, Index: d.order, Scale: 4, Disp: 16 * j}, k, v)
		}
	}
	Label("rows")
	// All of the copy is padding at first.
	d.pad = ZMM()
	VMOVDQU32(address("pad"), d.pad)
	to, left := base("seen"), field("vectors")
	Label("padding")
	VMOVDQU32(d.pad, operand.Mem{Base: to})
	ADDQ(operand.U8(64), to)
	DECQ(left)
	JNZ(operand.LabelRef("padding"))
	Label("row")
	d.copyRows(address("pad"), AllocLocal(4*8))
	plus := ZMM()
	broadcast(t.Field("plus"), plus)
	d.limits = d.code.limits("least", "most", plus)
	d.from = ZMM()
	VPBROADCASTD(field("from").(reg.GPVirtual).As32(), d.from)
	store := field("store")
	stores := []string{"sums", "floats", "bytes", "saturated"} // see depthwiseBytes
	for i, how := range stores[1:] {
		CMPQ(store, operand.U8(i+1))
		JEQ(operand.LabelRef(how + "_row"))
	}
	for _, how := range stores {
		d.prefix = how
		Label(d.label("row"))
		d.results(how)
		JMP(operand.LabelRef("next"))
	}
	Label("next")
	top, rows := field("top"), field("rows")
	ADDQ(field("down"), top)
	set("top", top)
	DECQ(rows)
	set("rows", rows)
	JNZ(operand.LabelRef("row"))
	done()
}

// depthwiseBytesCode is the function while it is written.
type depthwiseBytesCode struct {
	*code
	y                reg.Register
	mask             reg.OpmaskVirtual // of the channels, four in an element
	order            reg.VecVirtual    // where channels lie that a vector has
	start, by, times []reg.VecVirtual
	pad, from        reg.VecVirtual
	limits           limits
}

// copyRows copies the rows that a row of results sees. An element of the copy has four of a column.
// Steps are from column to column of four rows, or 0 where a row is padding.
func (d *depthwiseBytesCode) copyRows(pad, steps operand.Mem) {
	columns := field("copied")
	TESTQ(columns, columns)
	JZ(operand.LabelRef("seen"))
	to, groups, at := base("seen"), field("groups"), field("top")
	ADDQ(field("lead"), to)
	Label("group")
	var from []reg.Register
	step := func(i int) operand.Mem { return operand.Mem{Base: steps.Base, Disp: steps.Disp + 8*i} }
	for i := range 4 {
		p, on, none := copied(at), field("xNext"), GP64()
		IMULQ(field("xRow"), p)
		ADDQ(base("x"), p)
		CMPQ(at, field("inRows")) // a negative one is a large one
		LEAQ(pad, none)
		CMOVQCC(none, p)
		SBBQ(none, none)
		ANDQ(none, on)
		MOVQ(on, step(i))
		from = append(from, p)
		ADDQ(field("dilation"), at)
	}
	next, left := copied(to), field("copied")
	Label("column")
	rows := d.vectors(4)
	for i, v := range rows {
		VMOVDQU32_Z(operand.Mem{Base: from[i]}, d.mask, v)
		ADDQ(step(i), from[i])
	}
	pairs, words := d.vectors(4), d.vectors(4)
	for i := range 2 {
		VPUNPCKLBW(rows[2*i+1], rows[2*i], pairs[i])
		VPUNPCKHBW(rows[2*i+1], rows[2*i], pairs[2+i])
	}
	for i := range 2 {
		VPUNPCKLWD(pairs[2*i+1], pairs[2*i], words[2*i])
		VPUNPCKHWD(pairs[2*i+1], pairs[2*i], words[2*i+1])
	}
	for j, v := range words {
		VMOVDQU32(v, operand.Mem{Base: to, Disp: 64 * j})
	}
	ADDQ(operand.I32(256), to)
	DECQ(left)
	JNZ(operand.LabelRef("column"))
	MOVQ(next, to)
	ADDQ(field("group"), to)
	DECQ(groups)
	JNZ(operand.LabelRef("group"))
	Label("seen")
}

// results computes a row of results.
func (d *depthwiseBytesCode) results(how string) {
	left, seen, step, next := field("columns"), base("seen"), field("across"), field("tap")
	apart := field("yNext")
	Label(d.label("result"))
	sums := d.vectors(4)
	for j, s := range sums {
		VMOVDQA32(d.start[j], s)
	}
	w, line, groups := base("w"), copied(seen), field("groups")
	Label(d.label("group"))
	x, taps := copied(line), field("taps")
	Label(d.label("tap"))
	for j, s := range sums {
		v := ZMM()
		VMOVDQU32(operand.Mem{Base: x, Disp: 64 * j}, v)
		dotProduct(operand.Mem{Base: w, Disp: 64 * j}, v, s)
	}
	ADDQ(operand.I32(256), w)
	ADDQ(next, x)
	DECQ(taps)
	JNZ(operand.LabelRef(d.label("tap")))
	ADDQ(field("group"), line)
	DECQ(groups)
	JNZ(operand.LabelRef(d.label("group")))
	for j, s := range sums {
		VCVTDQ2PS(s, s)
		if how == "sums" {
			continue
		}
		VADDPS(d.by[j], s, s)
		VMULPS(d.times[j], s, s)
		switch how {
		case "floats":
			d.whole(s, d.limits)
			continue
		case "bytes":
			VMAXPS(d.limits.least, s, s)
		}
		VMINPS(d.limits.most, s, s)
		VCVTPS2DQ(s, s)
		if how == "bytes" {
			VPADDD(d.from, s, s)
		}
	}
	switch how {
	case "sums", "floats":
		d.storeFloats(sums)
	default: // what packs bounds by 0 and 255
		VPACKSSDW(sums[1], sums[0], sums[0])
		VPACKSSDW(sums[3], sums[2], sums[2])
		VPACKUSWB(sums[2], sums[0], sums[0])
		VMOVDQU32(sums[0], d.mask, operand.Mem{Base: d.y})
	}
	ADDQ(apart, d.y)
	ADDQ(step, seen)
	DECQ(left)
	JNZ(operand.LabelRef(d.label("result")))
}

// storeFloats stores four vectors of fours of channels, of which the words of a block tell how many
// sixteens there are.
func (d *depthwiseBytesCode) storeFloats(sums []reg.VecVirtual) {
	words := field("words")
	halves := d.vectors(4) // two sixteens each, of half of the vectors
	for i := range 2 {
		VSHUFF32X4(operand.U8(0x44), sums[2*i+1], sums[2*i], halves[i])
		VSHUFF32X4(operand.U8(0xee), sums[2*i+1], sums[2*i], halves[2+i])
	}
	for i := range 4 {
		if i > 0 {
			CMPQ(words, operand.U8(4*i))
			JLE(operand.LabelRef(d.label("stored")))
		}
		v, pick := ZMM(), []uint8{0x88, 0xdd}[i%2]
		VSHUFF32X4(operand.U8(pick), halves[i/2*2+1], halves[i/2*2], v)
		VMOVUPS(v, operand.Mem{Base: d.y, Disp: 64 * i})
	}
	Label(d.label("stored"))
}
