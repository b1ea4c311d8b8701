// Command asm writes the amd64 assembly of the kernels in ../rows.
//
// It is a module of its own, so that nothing else depends on avo.
package main

import (
	"math"

	"github.com/etgen/etgen/kernels/tuned/gokernels/asm/cpu"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// machine is a set of vector instructions.
type machine struct {
	suffix string
	bytes  int // of a vector
	vecs   int // vectors of a row of a tile at most
	rows   int // of a product's tile
	vector func() reg.VecVirtual
}

var (
	avx512 = machine{"512", 64, 2, 12, ZMM}
	avx2   = machine{"256", 32, 2, 6, YMM}
)

func main() {
	Package("github.com/etgen/etgen/kernels/tuned/gokernels/rows")
	ConstraintExpr("!purego")
	for _, m := range []machine{avx512, avx2} {
		m.product("product", false)
		m.window("window", false)
		m.window("largest", true)
		m.few()
		m.unzip()
		m.sweep()
		for _, size := range []int{6, 4} {
			m.lift(size)
			m.land(size)
		}
	}
	transpose()
	transposeWide()
	avx2.pairs()
	avx2.pairRow()
	pairNeighbours()
	spreadPairs()
	spreadFloats()
	avx512.product("bytes", true)
	bytePixels()
	bytePlanes()
	wordsAt()
	fewBytes()
	depthwiseBytes()
	largestBytes()
	space()
	cpu.Write(func(name, _, _ string) { Implement(name) })
	cpu.GenerateFile()
}

// code is a function while it is written.
type code struct {
	machine
	prefix string // of labels
	rows   int
	vecs   int
	dot    bool // numbers are bytes
	sums   [][]reg.VecVirtual
	// of the elements that count, for each vector of a row; nil where all do
	masks  []reg.OpmaskVirtual
	finish func() // what is behind the last block of blocks: nil ends the function
}

// only writes what a function does in a case of its own: packages that never come to it
// are without.
func only(name string, write func()) { marked("case", name, write) }

// branch writes a jump to a case of its own, taken if a number compares so.
func branch(name string, number reg.Register, to int, jump func(operand.Op)) {
	marked("branch", name, func() {
		CMPQ(number, operand.U8(to))
		jump(operand.LabelRef(name))
	})
}

func marked(what, name string, write func()) {
	Comment(what + " " + name)
	write()
	Comment("end")
}

func (c *code) label(name string) string { return c.prefix + "_" + name }

func field(name string) reg.Register { return Load(Dereference(Param("t")).Field(name), GP64()) }

func base(name string) reg.Register {
	return Load(Dereference(Param("t")).Field(name).Base(), GP64())
}

// scaled loads a number of elements as a number of bytes.
func scaled(name string) reg.Register {
	r := field(name)
	SHLQ(operand.U8(2), r)
	return r
}

// rowPointers returns the addresses of rows of x, from three to three pointers
// a register: row i is at pointers[i/3] + i%3·next.
func rowPointers(rows int, x, next reg.Register) []reg.Register {
	p := []reg.Register{copied(x)}
	if rows <= 3 {
		return p
	}
	three := GP64()
	LEAQ(operand.Mem{Base: next, Index: next, Scale: 2}, three)
	for i := 3; i < rows; i += 3 {
		q := GP64()
		LEAQ(operand.Mem{Base: p[len(p)-1], Index: three, Scale: 1}, q)
		p = append(p, q)
	}
	return p
}

// row is the element of row i, disp bytes on.
func row(p []reg.Register, next reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: p[i/3], Disp: disp}
	if i%3 > 0 {
		m.Index, m.Scale = next, uint8(i%3)
	}
	return m
}

// mask makes the masks of a row of so many elements.
func (c *code) mask(elements reg.Register) {
	c.masks = nil
	count, bits := GP64(), GP64()
	MOVQ(operand.U32(c.vecs*c.bytes/4), count)
	CMPQ(elements, count)
	CMOVQLT(elements, count)
	MOVQ(operand.I32(-1), bits)
	BZHIQ(count, bits, bits)
	for range c.vecs {
		k := K()
		KMOVW(bits.As32(), k)
		SHRQ(operand.U8(c.bytes/4), bits)
		c.masks = append(c.masks, k)
	}
}

// load loads vector j of a row into v, zeros where no element counts.
func (c *code) load(m operand.Mem, j int, v reg.VecVirtual) {
	if c.masks == nil || c.masks[j] == nil {
		VMOVUPS(m, v)
	} else {
		VMOVUPS_Z(m, c.masks[j], v)
	}
}

// vectors makes vectors.
func (m machine) vectors(n int) (out []reg.VecVirtual) {
	for range n {
		out = append(out, m.vector())
	}
	return out
}

// loaded makes the vectors of the row at an address.
func (c *code) loaded(at reg.Register) (row []reg.VecVirtual) {
	for j := range c.vecs {
		row = append(row, c.vector())
		c.load(operand.Mem{Base: at, Disp: j * c.bytes}, j, row[j])
	}
	return row
}

// masked returns the operands of an instruction whose result is left alone
// where no element of vector j counts.
func (c *code) masked(j int, ops ...operand.Op) []operand.Op {
	if c.masks == nil || c.masks[j] == nil {
		return ops
	}
	last := len(ops) - 1
	return append(ops[:last:last], c.masks[j], ops[last])
}

// start makes the sums, beginning with the bias.
func (c *code) start(bias reg.Register) {
	c.begin(func(j int, v reg.VecVirtual) {
		c.load(operand.Mem{Base: bias, Disp: j * c.bytes}, j, v)
	})
}

// begin makes the sums, those of all rows beginning with the same.
func (c *code) begin(first func(j int, v reg.VecVirtual)) {
	c.sums = nil
	for i := range c.rows {
		c.sums = append(c.sums, nil)
		for j := range c.vecs {
			v := c.vector()
			c.sums[i] = append(c.sums[i], v)
			if i == 0 {
				first(j, v)
			} else {
				VMOVAPS(c.sums[0][j], v)
			}
		}
	}
}

// epilogue adds, bounds and stores the sums; y and add move on.
func (c *code) epilogue(y, add reg.Register) { c.epilogueRows(y, add, scaled("step"), "") }

// epilogueRows is epilogue for as many rows of sums as a field says, step bytes apart; "" says
// that there are all.
func (c *code) epilogueRows(y, add, step reg.Register, count string) {
	next, plain, end := c.rest(step, count), c.label("plain"), c.label("done")
	TESTQ(add, add)
	JZ(operand.LabelRef(plain))
	for i, row := range c.sums {
		for j, s := range row {
			VADDPS(c.masked(j, operand.Mem{Base: add, Disp: j * c.bytes}, s, s)...)
		}
		if i+1 < len(c.sums) {
			next(add, plain)
		}
	}
	Label(plain)
	low, high := c.bounds()
	next = c.rest(step, count)
	for i, row := range c.sums {
		for j, s := range row {
			c.bound(s, low, high)
			VMOVUPS(c.masked(j, s, operand.Mem{Base: y, Disp: j * c.bytes})...)
		}
		if i+1 < len(c.sums) {
			next(y, end)
		}
	}
	if count != "" {
		Label(end)
	}
}

// rest returns what moves an address on to the next row, step bytes apart, and leaves for a label
// behind as many rows as a field says; "" says that there are all.
func (c *code) rest(step reg.Register, count string) func(to reg.Register, done string) {
	left := reg.Register(nil)
	if count != "" {
		left = field(count)
	}
	return func(to reg.Register, done string) {
		ADDQ(step, to)
		if left != nil {
			DECQ(left)
			JZ(operand.LabelRef(done))
		}
	}
}

// rescale shifts, scales, bounds, rounds and stores the sums of as many rows, of channels that are
// off bytes from the first one on, at so many bytes of floats behind y and a number of elements in
// a field apart: as floats, or as bytes. It ends with end.
func (c *code) rescale(off, at reg.Register, step, count string, end func()) {
	shift, scale := base("shift"), base("scale")
	if off != nil {
		ADDQ(off, shift)
		ADDQ(off, scale)
	}
	by, times := c.loaded(shift), c.loaded(scale)
	y, apart, done := base("y"), field(step), c.label("rescaledone")
	store := func(put func(j int, s reg.VecVirtual)) {
		next := c.rest(apart, count)
		for i, row := range c.sums {
			for j, s := range row {
				VADDPS(by[j], s, s)
				VMULPS(times[j], s, s)
				put(j, s)
			}
			if i+1 < len(c.sums) {
				next(y, done)
			}
		}
		if count != "" {
			Label(done)
		}
		end()
	}
	plus := c.vector()
	t := Dereference(Param("t"))
	bytes, from := c.label("bytes"), reg.Register(nil)
	stores := at != nil // bytes
	if stores {
		from = field("bytesFrom")
		branch(bytes, from, 0, JNE)
	}
	if at != nil {
		ADDQ(at, y)
	}
	SHLQ(operand.U8(2), apart)
	broadcast(t.Field("plus"), plus)
	limits := c.limits("least", "most", plus)
	store(func(j int, s reg.VecVirtual) {
		c.whole(s, limits)
		VMOVUPS(c.masked(j, s, operand.Mem{Base: y, Disp: j * c.bytes})...)
	})
	if !stores {
		return
	}
	only(bytes, func() {
		Label(bytes)
		done = c.label("bytesdone")
		quarter := copied(at)
		SHRQ(operand.U8(2), quarter)
		ADDQ(quarter, y)
		saturated := c.label("saturated")
		branch(saturated, field("saturates"), 0, JNE)
		least, most := c.boundedBy("least", "most")
		VPBROADCASTD(from.(reg.GPVirtual).As32(), plus)
		store(func(j int, s reg.VecVirtual) {
			c.bound(s, least, most)
			VCVTPS2DQ(s, s)
			VPADDD(plus, s, s)
			VPMOVDB(c.masked(j, s, operand.Mem{Base: y, Disp: j * c.bytes / 4})...)
		})
		only(saturated, func() {
			Label(saturated)
			done = c.label("saturateddone")
			least := c.vector()
			zero(least)
			store(func(j int, s reg.VecVirtual) {
				VMAXPS(least, s, s)
				VCVTPS2DQ(s, s) // numbers that are too large have the highest bit alone
				VPMOVUSDB(c.masked(j, s, operand.Mem{Base: y, Disp: j * c.bytes / 4})...)
			})
		})
	})
}

// limits are what rescaled sums are bounded by, what makes them whole when it is added, and what
// then makes them results when it is subtracted.
type limits struct{ least, most, whole, minus reg.VecVirtual }

// limits loads limits, which are whole numbers of less than 2^22, and adds plus to results.
func (c *code) limits(least, most string, plus reg.VecVirtual) limits {
	l := limits{whole: c.vector(), minus: plus}
	l.least, l.most = c.boundedBy(least, most)
	bits := GP64()
	MOVQ(operand.U32(math.Float32bits(3<<22)), bits)
	VPBROADCASTD(bits.As32(), l.whole)
	VSUBPS(plus, l.whole, l.minus)
	return l
}

// whole bounds and rounds sums. Floats of 2^23 to 2^24 are whole numbers: an
// addition there rounds, in one step where the instruction that rounds takes two.
func (c *code) whole(s reg.VecVirtual, l limits) {
	c.bound(s, l.least, l.most)
	VADDPS(l.whole, s, s)
	VSUBPS(l.minus, s, s)
}

// done ends a function.
func done() {
	VZEROUPPER()
	RET()
}

// blocks writes the loop over blocks, of the vectors that a row has at most, of as many
// elements as a field says. The last block may have less where there are masks: narrow is
// its label if it is of one vector, for which one makes ready.
func (c *code) blocks(count string, off reg.Register, narrow string, one, body func()) {
	Label(c.label("block"))
	if c.bytes == 64 {
		left := left(count, off)
		CMPQ(left, operand.U8(c.bytes/4))
		JLE(operand.LabelRef(narrow))
		c.mask(left)
		c.masks[0] = nil // whole
	}
	body()
	ADDQ(operand.U8(c.vecs*c.bytes), off)
	bytes := scaled(count)
	CMPQ(off, bytes)
	JLT(operand.LabelRef(c.label("block")))
	finish := c.finish
	if finish == nil {
		finish = done
	}
	finish()
	if c.bytes == 64 {
		Label(narrow)
		one()
		c.mask(left(count, off))
		body()
		finish()
	}
}

// left loads how many elements of a row a field says there are from a block on, off bytes
// behind its beginning.
func left(name string, off reg.Register) reg.Register {
	left, bytes := field(name), copied(off)
	SHRQ(operand.U8(2), bytes)
	SUBQ(bytes, left)
	return left
}

// bounds loads what results are bounded by.
func (c *code) bounds() (low, high reg.VecVirtual) { return c.boundedBy("low", "high") }

// boundedBy loads the fields of such names.
func (c *code) boundedBy(least, most string) (low, high reg.VecVirtual) {
	low, high = c.vector(), c.vector()
	t := Dereference(Param("t"))
	broadcast(t.Field(least), low)
	broadcast(t.Field(most), high)
	return low, high
}

// bound bounds results; NaN stays NaN.
func (c *code) bound(s, low, high reg.VecVirtual) {
	// If an operand is NaN, the result is the last operand, which is the first one here.
	VMAXPS(s, low, s)
	VMINPS(s, high, s)
}
