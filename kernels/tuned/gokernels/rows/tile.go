// Package rows computes convolutions and products with constant matrices, a few
// rows by up to 32 columns of results at a time. Rows are neighbouring pixels
// or rows of a matrix, columns are output channels: contiguous in weights and
// in results.
package rows

import "math"

//go:generate go -C ../asm run . -out ../rows/tile_amd64.s
//go:generate go -C ../asm run ./neon ../rows/tile_arm64.s

const (
	panel   = 32 // columns of a panel of packed weights; half as many in a last one that is narrow
	maxRows = 12 // of a tile, on any machine
)

// tile is a piece of work: sums of products for rows by width results.
type tile struct {
	y    []float32 // results, step from row to row
	x    []float32 // next from row to row
	w    []float32
	bias []float32
	add  []float32 // laid out as y, if not nil: added to the sums
	rows int       // at most tileRows
	next int
	step int
	// The sums run over three nested loops: their extents, and their steps in x
	// and w. A product's depth elements are contiguous in x. Its weights are all
	// contiguous but for what is skipped, wMiddle behind those of the inner loop
	// and wOuter behind those of the middle one.
	outer, xOuter, wOuter    int
	middle, xMiddle, wMiddle int
	depth                    int
	width                    int // of a product's weights, 32 or 16; of a window's results
	low, high                float32
	columns                  int // of a product's results, at most width
	// Weights that are read next. A product of several whole rows may bring some of
	// them nearer: what lies at byte fetched, and fetchStep bytes on in each step of the inner
	// loop. Without a fetchStep that is nothing.
	fetch              []float32
	fetched, fetchStep int
	// parts is how many elements hold four numbers of x, and of w: 4 of floats, 2 of pairs of 16
	// bits, 1 of bytes. With bytes, byteFrom was added to those of x, and bias is int32.
	parts int
	// of one row: w is bytes, though x is pairs
	bytes bool
	// of products: see Epilogue
	shift, scale      []float32
	least, most, plus float32
	// If not 0, what is added to numbers instead of plus, which are stored as bytes. Then y has four
	// in an element, and step is their number.
	bytesFrom int
	saturates bool // the numbers are bytes without signs, and nothing is added to them
	// Products of bytes with AVX-512 may have more rows than a tile: length is that of a tile.
	// left is how many rows are left. xAt and yAt are where the tile at hand begins in x and y.
	length, left, xAt, yAt int
	// The largest may be of several lines of rows, which are so far apart in x and y: see areas.
	lines, xLine, yLine int
}

// product computes
//
//	y[i][j] = min(high, max(low, bias[j] + sum of x[i·next+…]·w[…][j] + add[i][j]))
//
// The sum of one row is taken in four parts by some machines.
func product(t *tile) {
	taps := t.checkProduct()
	if t.fetchStep > 0 {
		t.limitPrefetch(taps)
	}
	if taps == 0 || !productFast(t) {
		productPlain(t)
	}
	if t.fetchStep > 0 {
		t.fetched += taps * t.fetchStep
	}
}

// window computes the same for channels that each have their own weights,
//
//	y[i][j] = min(high, max(low, bias[j] + sum of x[i·next+…+j]·w[…+j] + add[i][j]))
//
// without a depth, for width channels.
func window(t *tile) {
	if t.outer > 0 && t.middle > 0 {
		_ = t.w[:(t.outer-1)*t.wOuter+(t.middle-1)*t.wMiddle+t.width]
		_ = t.x[:(t.rows-1)*t.next+(t.outer-1)*t.xOuter+(t.middle-1)*t.xMiddle+t.width]
	}
	_ = t.bias[:t.width]
	t.check(t.width)
	if !windowFast(t) {
		windowPlain(t)
	}
}

// largest computes the largest of what a window sees, and of low; what is no
// number is larger than all.
func largest(t *tile) {
	lines := max(t.lines, 1) - 1
	if t.outer > 0 && t.middle > 0 {
		_ = t.x[:lines*t.xLine+(t.rows-1)*t.next+(t.outer-1)*t.xOuter+(t.middle-1)*t.xMiddle+t.width]
	}
	_ = t.y[:lines*t.yLine+(t.rows-1)*t.step+t.width]
	if !largestFast(t) {
		largestPlain(t)
	}
}

// largestBytes is largest for bytes. All distances are in bytes, and x and y begin at their bytes
// xAt and yAt. Each window sees at least one element: see Instance.PassesBytes in package tuned.
func largestBytes(t *tile) {
	if t.outer == 0 || t.middle == 0 || t.rows == 0 || t.lines == 0 || t.width == 0 {
		return
	}
	lines := t.lines - 1
	_ = t.x[:(t.xAt+lines*t.xLine+(t.rows-1)*t.next+(t.outer-1)*t.xOuter+(t.middle-1)*t.xMiddle+
		t.width+3)/4]
	_ = t.y[:(t.yAt+lines*t.yLine+(t.rows-1)*t.step+t.width+3)/4]
	largestBytesFast(t)
}

// checkProduct panics if what a product reads or stores lies outside, and returns its taps.
func (t *tile) checkProduct() (taps int) {
	taps = t.outer * t.middle * t.depth
	if taps > 0 {
		run := t.depth * t.width
		_ = t.w[:(t.outer-1)*(t.middle*(run+t.wMiddle)+t.wOuter)+(t.middle-1)*(run+t.wMiddle)+run]
		_ = t.x[:(t.rows-1)*t.next+(t.outer-1)*t.xOuter+(t.middle-1)*t.xMiddle+t.depth]
	}
	_ = t.bias[:t.width]
	t.check(t.columns)
	return taps
}

// check panics if a result of columns columns lies outside.
func (t *tile) check(columns int) {
	last := (t.rows-1)*t.step + columns
	if t.bytesFrom > 0 {
		last = (last + 3) / 4
	}
	_ = t.y[:last]
	if t.add != nil {
		_ = t.add[:(t.rows-1)*t.step+columns]
	}
}

// productPlain is product without vectors.
func productPlain(t *tile) {
	for i := 0; i < t.rows; i += 2 {
		next := t.next
		if i+1 == t.rows {
			next = 0 // the same row again, its result not stored
		}
		for j := 0; j < t.columns; j += 4 {
			start := (*[4]float32)(t.bias[j:])
			a0, a1, a2, a3 := start[0], start[1], start[2], start[3]
			b0, b1, b2, b3 := a0, a1, a2, a3
			w := j
			for r := range t.outer {
				for c := range t.middle {
					at := i*t.next + r*t.xOuter + c*t.xMiddle
					x0 := t.x[at:][:t.depth]
					x1 := t.x[at+next:][:len(x0)]
					for k, u := range x0 {
						v := x1[k]
						p := (*[4]float32)(t.w[w:])
						a0 += u * p[0]
						a1 += u * p[1]
						a2 += u * p[2]
						a3 += u * p[3]
						b0 += v * p[0]
						b1 += v * p[1]
						b2 += v * p[2]
						b3 += v * p[3]
						w += t.width
					}
					w += t.wMiddle
				}
				w += t.wOuter
			}
			t.put(i, j, [4]float32{a0, a1, a2, a3})
			if i+1 < t.rows {
				t.put(i+1, j, [4]float32{b0, b1, b2, b3})
			}
		}
	}
}

// put stores four results of row i from column j on.
func (t *tile) put(i, j int, sums [4]float32) {
	o := i*t.step + j
	for k, v := range sums[:min(4, t.columns-j)] {
		if t.add != nil {
			v += t.add[o+k]
		}
		t.y[o+k] = bounded(v, t.low, t.high)
	}
}

// windowPlain is window without vectors.
func windowPlain(t *tile) {
	for i := range t.rows {
		run := t.y[i*t.step:][:t.width]
		var sums [panel]float32
		for first := 0; first < len(run); first += panel {
			part := sums[:min(panel, len(run)-first)]
			copy(part, t.bias[first:])
			for r := range t.outer {
				for c := range t.middle {
					x := t.x[i*t.next+r*t.xOuter+c*t.xMiddle+first:][:len(part)]
					w := t.w[r*t.wOuter+c*t.wMiddle+first:][:len(part)]
					for j, v := range x {
						part[j] += v * w[j]
					}
				}
			}
			for j, v := range part {
				if t.add != nil {
					v += t.add[i*t.step+first+j]
				}
				run[first+j] = bounded(v, t.low, t.high)
			}
		}
	}
}

// largestPlain is largest without vectors.
func largestPlain(t *tile) {
	for i := range t.rows {
		run := t.y[i*t.step:][:t.width]
		for j := range run {
			run[j] = t.low
		}
		for r := range t.outer {
			for c := range t.middle {
				for j, v := range t.x[i*t.next+r*t.xOuter+c*t.xMiddle:][:len(run)] {
					run[j] = max(run[j], v)
				}
			}
		}
	}
}

// block returns the part of a product for 16 of its columns, or less, from
// column j on.
func (t *tile) block(j int) tile {
	part := *t
	part.y, part.w, part.bias = t.y[j:], t.w[j:], t.bias[j:]
	part.columns = min(panel/2, t.columns-j)
	if j > 0 {
		part.fetchStep = 0 // the first one fetches for both
	}
	if t.add != nil {
		part.add = t.add[j:]
	}
	return part
}

// aside returns t with unfinished sums, all of its width, for results.
func (t *tile) aside(sums *[maxRows * panel]float32) tile {
	part := *t
	part.y, part.step, part.add, part.low, part.high = sums[:], panel, nil, float32(math.Inf(-1)),
		float32(math.Inf(1))
	return part
}

// take finishes columns of sums from column skip on: they are t's results.
func (t *tile) take(sums *[maxRows * panel]float32, skip, columns int) {
	for i := range t.rows {
		at := i * t.step
		row := sums[i*panel+skip:][:columns]
		if t.add != nil {
			for k, v := range t.add[at:][:columns] {
				row[k] += v
			}
		}
		run := t.y[at:][:columns]
		for k, v := range row {
			run[k] = bounded(v, t.low, t.high)
		}
	}
}

// bounded returns v, which may be no number, between low and high.
func bounded(v, low, high float32) float32 {
	if v < low {
		v = low
	}
	if v > high {
		v = high
	}
	return v
}

// panelOf returns how many of n columns the panel that begins at column j has,
// and how wide it is.
func panelOf(n, j int) (columns, width int) {
	columns = min(panel, n-j)
	if columns <= panel/2 {
		return columns, panel / 2
	}
	return columns, panel
}

// lengths returns the length of the tiles, at most of so many rows and equal but
// for the last, that n rows are taken in.
func lengths(n, most int) int {
	parts := (n + most - 1) / most
	return (n + parts - 1) / max(parts, 1)
}
