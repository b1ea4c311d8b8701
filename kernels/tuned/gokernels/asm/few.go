package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	fewChannels = 8  // beside each other in weights
	fewCols     = 48 // that channels are apart in sums
	fewVectors  = 3  // of a tile
)

// few writes the function that computes tiles of few channels, whose lanes are
// neighbouring results: a case for every number of vectors, and of channels by
// twos, as many as there are registers for.
func (m machine) few() {
	Implement("few" + m.suffix)
	most := fewChannels
	if m.bytes < 64 {
		most /= 2
	}
	c := &code{machine: m, rows: most}
	for range most {
		c.sums = append(c.sums, m.vectors(fewVectors))
	}
	all := c.sums
	columns := field("columns")
	for vecs := fewVectors; vecs > 0; vecs-- {
		if vecs > 1 {
			CMPQ(columns, operand.U8((vecs-1)*m.bytes/4))
			JLE(operand.LabelRef(fmt.Sprintf("vectors%d", vecs-1)))
		}
		c.prefix, c.vecs = fmt.Sprintf("vectors%d", vecs), vecs
		for i := range all {
			c.sums[i] = all[i][:vecs]
		}
		only(c.prefix, func() { c.fewVectors(most) })
		if vecs > 1 {
			Label(fmt.Sprintf("vectors%d", vecs-1))
		}
		for i := range all {
			c.sums[i] = all[i][:fewVectors]
		}
	}
}

// fewVectors computes a tile of some vectors: a case for every number of channels.
func (c *code) fewVectors(most int) {
	name := func(n int) string { return c.label(fmt.Sprintf("channels%d", n)) }
	channels := field("channels")
	for n := 2; n < most; n += 2 {
		branch(name(n), channels, n, JLE)
	}
	for n := most; n > 0; n -= 2 {
		only(name(n), func() {
			if n < most {
				Label(name(n))
			}
			c.fewSums(n)
			if n > 2 {
				JMP(operand.LabelRef(c.label("epilogue")))
			}
		})
	}
	Label(c.label("epilogue"))
	if c.bytes == 64 {
		c.mask(field("columns"))
	}
	c.epilogueRows(base("y"), base("add"), scaled("step"), "channels")
	done()
}

// fewSums adds the products of all taps for n channels.
func (c *code) fewSums(n int) {
	label := func(name string) string { return c.label(fmt.Sprintf("%s%d", name, n)) }
	bias := base("bias")
	for i := range n {
		VBROADCASTSS(operand.Mem{Base: bias, Disp: 4 * i}, c.sums[i][0])
		for _, s := range c.sums[i][1:] {
			VMOVAPS(c.sums[i][0], s)
		}
	}
	planes, plane, w := field("planes"), base("x"), base("w")
	Label(label("plane"))
	rows, row := field("rows"), copied(plane)
	Label(label("row"))
	taps, apart := field("taps"), field("phases")
	phases, phase, first := copied(apart), copied(row), copied(w)
	Label(label("phase"))
	x, weights, left, step := copied(phase), copied(first), copied(taps), copied(apart)
	SHLQ(operand.U8(5), step) // the weights of a tap take 32 bytes
	Label(label("tap"))
	v := c.vectors(c.vecs)
	for j := range v {
		VMOVUPS(operand.Mem{Base: x, Disp: j * c.bytes}, v[j])
	}
	for i := range n {
		weight := c.vector()
		VBROADCASTSS(operand.Mem{Base: weights, Disp: 4 * i}, weight)
		for j, s := range c.sums[i] {
			VFMADD231PS(weight, v[j], s)
		}
	}
	ADDQ(operand.U8(4), x)
	ADDQ(step, weights)
	SUBQ(apart, left)
	JG(operand.LabelRef(label("tap")))
	// The next phase has a tap less, if it has any.
	advance(phase, "phase")
	ADDQ(operand.U8(4*fewChannels), first)
	DECQ(phases)
	JZ(operand.LabelRef(label("rowdone")))
	DECQ(taps)
	JNZ(operand.LabelRef(label("phase")))
	Label(label("rowdone"))
	next := field("taps")
	SHLQ(operand.U8(5), next)
	ADDQ(next, w)
	advance(row, "row")
	DECQ(rows)
	JNZ(operand.LabelRef(label("row")))
	advance(plane, "plane")
	DECQ(planes)
	JNZ(operand.LabelRef(label("plane")))
}

// advance adds the number of elements in a field to an address.
func advance(to reg.Register, name string) {
	LEAQ(operand.Mem{Base: to, Index: field(name), Scale: 4}, to)
}

// transpose writes the function that transposes sums of few channels, eight columns at a
// time.
func transpose() {
	Implement("transpose256")
	c := &code{machine: avx2}
	sums, y, add, channels := base("sums"), base("y"), base("add"), field("channels")
	step := copied(channels)
	SHLQ(operand.U8(2), step)
	mask, count := YMM(), YMM()
	VMOVD(channels.(reg.GPVirtual).As32(), count.AsX())
	VPBROADCASTD(count.AsX(), count)
	numbers := GP64() // of the lanes, in a byte each
	MOVQ(operand.U64(0x0706050403020100), numbers)
	VMOVQ(numbers, mask.AsX())
	VPMOVZXBD(mask.AsX(), mask)
	VPCMPGTD(mask, count, mask)
	low, high := c.bounds()
	branch("rescaled", field("rescaled"), 0, JNE)
	rows := func(prefix string, finish func(v reg.VecVirtual, y, away reg.Register, name string)) {
		c.prefix = prefix
		c.transposeRows(sums, y, add, step, mask, finish)
	}
	only("sums", func() {
		rows("sums", func(v reg.VecVirtual, y, away reg.Register, name string) {
			TESTQ(add, add)
			JZ(operand.LabelRef(name))
			more := YMM()
			VMASKMOVPS(operand.Mem{Base: y, Index: away, Scale: 1}, mask, more)
			VADDPS(more, v, v)
			Label(name)
			c.bound(v, low, high)
		})
	})
	only("rescaled", func() {
		Label("rescaled")
		lanes := func(name string) operand.Mem {
			b, err := Dereference(Param("t")).Field(name).Index(0).Resolve()
			if err != nil {
				panic(err)
			}
			return b.Addr
		}
		rows("numbers", func(v reg.VecVirtual, _, _ reg.Register, _ string) {
			VADDPS(lanes("shift"), v, v)
			VMULPS(lanes("scale"), v, v)
			VROUNDPS(operand.U8(0), v, v)
			c.bound(v, low, high)
			VADDPS(lanes("plus"), v, v)
		})
	})
}

// transposeRows transposes sums and stores what finish makes of the channels of a column.
func (c *code) transposeRows(sums, y, add, step reg.Register, mask reg.VecVirtual,
	finish func(v reg.VecVirtual, y, away reg.Register, name string)) {
	left, beyond, away := field("columns"), GP64(), copied(add)
	LEAQ(operand.Mem{Base: y, Index: step, Scale: 4}, beyond)
	SUBQ(y, away)
	Label(c.label("block"))
	// Pairs of channels, of columns in turn.
	var pairs [4][2]reg.VecVirtual
	for i := range pairs {
		v := YMM()
		VMOVUPS(operand.Mem{Base: sums, Disp: 8 * i * fewCols}, v)
		for k := range pairs[i] {
			pairs[i][k] = YMM()
			other := operand.Mem{Base: sums, Disp: 4 * (2*i + 1) * fewCols}
			if k == 0 {
				VUNPCKLPS(other, v, pairs[i][k])
			} else {
				VUNPCKHPS(other, v, pairs[i][k])
			}
		}
	}
	ADDQ(operand.U8(32), sums)
	// Halves have the first four or the last four channels of columns i and i+4.
	half := func(i, k int) reg.VecVirtual {
		v := YMM()
		if i%2 == 0 {
			VUNPCKLPD(pairs[2*k+1][i/2], pairs[2*k][i/2], v)
		} else {
			VUNPCKHPD(pairs[2*k+1][i/2], pairs[2*k][i/2], v)
		}
		return v
	}
	// What is added is as far from results everywhere.
	put := func(v reg.VecVirtual, y reg.Register, name string) {
		finish(v, y, away, c.label(name))
		VMASKMOVPS(v, mask, operand.Mem{Base: y})
	}
	CMPQ(left, operand.U8(8))
	JLT(operand.LabelRef(c.label("rest")))
	for i := range 4 {
		a, b := half(i, 0), half(i, 1)
		for k, to := range []reg.Register{y, beyond} {
			v := YMM()
			VPERM2F128(operand.U8([]uint8{0x20, 0x31}[k]), b, a, v)
			put(v, to, fmt.Sprintf("plain%d", i+4*k))
			ADDQ(step, to)
		}
	}
	LEAQ(operand.Mem{Base: y, Index: step, Scale: 4}, y)
	LEAQ(operand.Mem{Base: beyond, Index: step, Scale: 4}, beyond)
	SUBQ(operand.U8(8), left)
	JNZ(operand.LabelRef(c.label("block")))
	done()
	Label(c.label("rest"))
	for i := range 7 {
		a, b, v := half(i%4, 0), half(i%4, 1), YMM()
		VPERM2F128(operand.U8([]uint8{0x20, 0x31}[i/4]), b, a, v)
		put(v, y, fmt.Sprintf("restplain%d", i))
		if i < 6 {
			DECQ(left)
			JZ(operand.LabelRef(c.label("done")))
			ADDQ(step, y)
		}
	}
	Label(c.label("done"))
	done()
}

// transposeWide writes transpose with vectors of two columns, sixteen columns at a time.
func transposeWide() {
	Implement("transpose512")
	c := &code{machine: avx512}
	sums, add, channels := base("sums"), base("add"), field("channels")
	step := copied(channels)
	SHLQ(operand.U8(2), step)
	bits, mask := GP64(), K()
	MOVQ(operand.I32(-1), bits)
	BZHIQ(channels, bits, bits)
	KMOVW(bits.As32(), mask)
	low, high := c.bounds()
	branch("rescaled", field("rescaled"), 0, JNE)
	only("sums", func() {
		c.prefix = "sums"
		away := copied(add) // what is added is as far from results everywhere
		SUBQ(base("y"), away)
		c.transposeColumns(sums, step, mask, func(v reg.VecVirtual, y, four reg.Register,
			name string) {
			TESTQ(add, add)
			JZ(operand.LabelRef(name))
			from, first, second := copied(y), ZMM(), ZMM()
			ADDQ(away, from)
			VMOVUPS_Z(operand.Mem{Base: from}, mask, first)
			VMOVUPS_Z(operand.Mem{Base: from, Index: four, Scale: 1}, mask, second)
			VINSERTF32X8(operand.U8(1), second.AsY(), first, first)
			VADDPS(first, v, v)
			Label(name)
			c.bound(v, low, high)
		})
	})
	only("rescaled", func() {
		Label("rescaled")
		c.prefix = "numbers"
		constants := map[string]reg.VecVirtual{}
		for _, name := range []string{"shift", "scale", "plus"} {
			b, err := Dereference(Param("t")).Field(name).Index(0).Resolve()
			if err != nil {
				panic(err)
			}
			constants[name] = ZMM()
			VBROADCASTF32X8(b.Addr, constants[name])
		}
		limits := c.limits("low", "high", constants["plus"])
		c.transposeColumns(sums, step, mask, func(v reg.VecVirtual, _, _ reg.Register, _ string) {
			VADDPS(constants["shift"], v, v)
			VMULPS(constants["scale"], v, v)
			c.whole(v, limits)
		})
	})
}

// transposeColumns transposes sums and stores what finish makes of the channels of two columns,
// four columns apart.
func (c *code) transposeColumns(sums, step reg.Register, mask reg.OpmaskVirtual,
	finish func(v reg.VecVirtual, y, four reg.Register, name string)) {
	left, y := field("columns"), base("y")
	three, four := GP64(), copied(step)
	LEAQ(operand.Mem{Base: step, Index: step, Scale: 2}, three)
	SHLQ(operand.U8(2), four)
	order := [2]reg.VecVirtual{ZMM(), ZMM()}
	for k, numbers := range []uint64{0x0b0a030209080100, 0x0f0e07060d0c0504} {
		n := GP64()
		MOVQ(operand.U64(numbers), n)
		VMOVQ(n, order[k].AsX())
		VPMOVZXBQ(order[k].AsX(), order[k])
	}
	Label(c.label("block"))
	// Pairs of channels, of columns in turn.
	var pairs [4][2]reg.VecVirtual
	for i := range pairs {
		v := ZMM()
		VMOVUPS(operand.Mem{Base: sums, Disp: 8 * i * fewCols}, v)
		other := operand.Mem{Base: sums, Disp: 4 * (2*i + 1) * fewCols}
		pairs[i] = [2]reg.VecVirtual{ZMM(), ZMM()}
		VUNPCKLPS(other, v, pairs[i][0])
		VUNPCKHPS(other, v, pairs[i][1])
	}
	ADDQ(operand.U8(64), sums)
	// Column 4·l + i is lane l of quarters i: of the first four channels, and of the last four.
	for i := range 4 {
		var quarters [2]reg.VecVirtual
		for k := range quarters {
			quarters[k] = ZMM()
			if i%2 == 0 {
				VUNPCKLPD(pairs[2*k+1][i/2], pairs[2*k][i/2], quarters[k])
			} else {
				VUNPCKHPD(pairs[2*k+1][i/2], pairs[2*k][i/2], quarters[k])
			}
		}
		at := copied(y)
		for k := range order { // columns 8·k + i and 8·k + i + 4
			name := func(what string) string { return c.label(fmt.Sprintf("%s%d", what, 2*i+k)) }
			if k == 1 {
				LEAQ(operand.Mem{Base: at, Index: four, Scale: 2}, at)
			}
			CMPQ(left, operand.U8(8*k+i))
			JLE(operand.LabelRef(name("none")))
			v := ZMM()
			VMOVAPS(order[k], v)
			VPERMI2PD(quarters[1], quarters[0], v)
			finish(v, at, four, name("plain"))
			VMOVUPS(v, mask, operand.Mem{Base: at})
			CMPQ(left, operand.U8(8*k+i+4))
			JLE(operand.LabelRef(name("none")))
			VEXTRACTF32X8(operand.U8(1), v, mask, operand.Mem{Base: at, Index: four, Scale: 1})
			Label(name("none"))
		}
		ADDQ(step, y)
	}
	LEAQ(operand.Mem{Base: y, Index: three, Scale: 4}, y)
	SUBQ(operand.U8(16), left)
	JG(operand.LabelRef(c.label("block")))
	done()
}

// unzip writes the function that takes elements in turn, as many pairs at a time as a vector has.
func (m machine) unzip() {
	Implement("unzip" + m.suffix)
	even, odd := Load(Param("even").Base(), GP64()), Load(Param("odd").Base(), GP64())
	from, blocks := Load(Param("from").Base(), GP64()), Load(Param("blocks"), GP64())
	order := m.vector()
	if m.bytes == 64 {
		numbers := GP64()
		MOVQ(operand.U64(0x0705030106040200), numbers)
		VMOVQ(numbers, order.AsX())
		VPMOVZXBQ(order.AsX(), order)
	}
	Label("block")
	a, b := m.vector(), m.vector()
	VMOVUPS(operand.Mem{Base: from}, a)
	VMOVUPS(operand.Mem{Base: from, Disp: m.bytes}, b)
	for i, to := range []reg.Register{even, odd} {
		v := m.vector()
		VSHUFPS(operand.U8([]uint8{0x88, 0xdd}[i]), b, a, v)
		if m.bytes == 64 {
			VPERMPD(v, order, v)
		} else {
			VPERMPD(operand.U8(0xd8), v, v)
		}
		VMOVUPS(v, operand.Mem{Base: to})
		ADDQ(operand.U8(m.bytes), to)
	}
	ADDQ(operand.U8(2*m.bytes), from)
	DECQ(blocks)
	JNZ(operand.LabelRef("block"))
	done()
}
