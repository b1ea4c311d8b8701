package rows

import "math"

// queryRows is how many queries are attended to at a time: a multiple of the rows
// of every machine's tile.
const queryRows = 48

// keptMask is the mask_mode of a mask that tells which scores stay.
const keptMask = 2

// AttentionInputs are what attention reads: queries, keys and values, and a mask if there
// is one, which is added to the scores or tells which of them stay.
type AttentionInputs struct {
	q, k, v, mask []float32
	keep          []bool
}

// NewAttentionInputs returns inputs for packages that run programs.
func NewAttentionInputs(q, k, v, mask []float32, keep []bool) AttentionInputs {
	return AttentionInputs{q, k, v, mask, keep}
}

// Vectors are functions on slices that attention is made of: those of package strip by
// these names, and math's exp.
type Vectors struct {
	largest, sum         func(acc float32, a []float32) float32
	subScalar, mulScalar func(dst, a []float32, s float32)
	transpose            func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int)
	exp                  func(dst, a []float32)
	add                  func(dst, a, b []float32)
	selectScalar         func(dst []float32, c []bool, a []float32, s float32)
}

// NewVectors returns the functions for packages that run programs.
func NewVectors(largest, sum func(acc float32, a []float32) float32, subScalar,
	mulScalar func(dst, a []float32, s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), add func(dst, a, b []float32),
	selectScalar func(dst []float32, c []bool, a []float32, s float32)) Vectors {
	return Vectors{largest, sum, subScalar, mulScalar, transpose, exp, add, selectScalar}
}

// Attention computes y = softmax(q·kᵀ·scale[0])·v; scale[1] takes the place of scores that
// do not stay. The scratch has room for parts, part_scratch elements each.
func Attention(y []float32, in *AttentionInputs, scale, scratch []float32, a *AttentionParams,
	vec *Vectors, epilogue EpilogueFunc) {
	AttentionPart(alone(0), y, in, scale, scratch, a, vec, epilogue)
}

// attended is what is known of a call of attention.
type attended struct {
	*AttentionParams
	*AttentionInputs
	*Vectors
	scale []float32
}

// AttentionPart does a piece of Attention's one step: of the units of a call, each some of
// the queries of a head. Keys are packed in panels, as the columns that they are of the
// scores, and so are values: once for the units in a row that share them. Parts for which
// there is no scratch do nothing.
func AttentionPart(d Piece, y []float32, in *AttentionInputs, scale, scratch []float32,
	p *AttentionParams, vec *Vectors, epilogue EpilogueFunc) {
	a := attended{p, in, vec, scale}
	blocks := (a.queries + queryRows - 1) / queryRows
	if d.parts = min(d.parts, len(scratch)/a.partScratch); d.part >= d.parts {
		return
	}
	scratch = scratch[d.part*a.partScratch:][:a.partScratch]
	across := (a.keys + panel - 1) / panel * panel
	keys, rest := scratch[:across*a.headDim], scratch[across*a.headDim:]
	scores, packed := rest[:queryRows*a.keys], rest[queryRows*a.keys:]
	atKey, atValue := -1, -1
	var w []float32
	first, end := d.of(a.batch * a.heads * blocks)
	for u := first; u < end; u++ {
		query, h, b := u%blocks*queryRows, u/blocks%a.heads, u/blocks/a.heads
		rows := min(queryRows, a.queries-query)
		seen := a.keys
		if a.causal {
			seen = min(seen, query+rows)
		}
		if at := b*a.kStrideBatch + h/a.kGroup*a.kStrideHead; at != atKey {
			atKey = at
			a.packKeys(keys, a.k[at:])
		}
		if at := b*a.vStrideBatch + h/a.vGroup*a.vStrideHead; at != atValue {
			atValue = at
			w = a.packValues(packed, a.v[at:])
		}
		q := a.q[b*a.qStrideBatch+h*a.qStrideHead+query*a.qStrideRow:]
		a.scores(scores, q, keys, rows, seen)
		if a.maskMode != 0 {
			a.masks(scores, b*a.maskStrideBatch+h*a.maskStrideHead+query*a.maskStrideRow, rows,
				seen)
		}
		a.softmax(scores, query, rows, seen)
		o := b*a.outStrideBatch + h*a.outStrideHead + query*a.outStrideRow
		a.sums(y, scores, w, o, rows, seen, epilogue)
	}
}

// packKeys packs the keys, multiplied by the scale.
func (a *attended) packKeys(keys, k []float32) {
	for j := 0; j < a.keys; j += panel {
		columns, width := panelOf(a.keys, j)
		w := keys[j*a.headDim:][:a.headDim*width]
		if columns < width {
			clear(w)
		}
		a.transpose(w, width, k[j*a.kStrideRow:], a.kStrideRow, columns, a.headDim)
	}
	n := a.keys / panel * panel
	if columns := a.keys - n; columns > 0 {
		_, width := panelOf(a.keys, n)
		n += width
	}
	all := keys[:n*a.headDim]
	a.mulScalar(all, all, a.scale[0])
}

// packValues returns the values in panels: where they are, if they lie so.
func (a *attended) packValues(packed, v []float32) []float32 {
	if (a.valueDim == panel || a.valueDim == panel/2) && a.vStrideRow == a.valueDim {
		return v
	}
	for j := 0; j < a.valueDim; j += panel {
		columns, width := panelOf(a.valueDim, j)
		pack(packed[j*a.keys:], v[j:], a.keys, columns, width, a.vStrideRow, 1)
	}
	return packed
}

// scores computes the products of queries and keys, seen to a row.
func (a *attended) scores(p, q, keys []float32, rows, seen int) {
	var zero [panel]float32
	inf := float32(math.Inf(1))
	t := tile{bias: zero[:], next: a.qStrideRow, step: seen, outer: 1, middle: 1, depth: a.headDim,
		low: -inf, high: inf}
	length := lengths(rows, tileRows)
	for j := 0; j < seen; j += panel {
		_, t.width = panelOf(a.keys, j)
		t.columns = min(panel, seen-j)
		t.w = keys[j*a.headDim:]
		for i := 0; i < rows; i += length {
			t.rows, t.x, t.y = min(length, rows-i), q[i*a.qStrideRow:], p[i*seen+j:]
			product(&t)
		}
	}
}

// masks changes scores as the mask says, whose first is number at.
func (a *attended) masks(p []float32, at, rows, seen int) {
	for i := range rows {
		row, from := p[i*seen:][:seen], at+i*a.maskStrideRow
		switch {
		case a.maskStrideCol == 1 && a.maskMode == keptMask:
			a.selectScalar(row, a.keep[from:][:seen], row, a.scale[1])
		case a.maskStrideCol == 1:
			a.add(row, row, a.mask[from:])
		case a.maskMode == keptMask:
			if !a.keep[from] { // one for all keys
				for j := range row {
					row[j] = a.scale[1]
				}
			}
		default:
			x := a.mask[from]
			for j := range row {
				row[j] += x
			}
		}
	}
}

// softmax makes probabilities of scores.
func (a *attended) softmax(p []float32, first, rows, seen int) {
	inf := float32(math.Inf(1))
	for i := range rows {
		row := p[i*seen:][:a.sees(first+i, seen)]
		top := a.largest(-inf, row)
		if a.zeroIfMasked && top == -inf {
			top = 0
		}
		a.subScalar(row, row, top)
	}
	if !a.causal {
		a.exp(p[:rows*seen], p)
	}
	for i := range rows {
		row := p[i*seen:][:seen]
		if a.causal {
			n := a.sees(first+i, seen)
			a.exp(row[:n], row)
			clear(row[n:])
			row = row[:n]
		}
		sum := a.sum(0, row)
		if a.zeroIfMasked && sum == 0 {
			sum = 1
		}
		a.mulScalar(row, row, 1/sum)
	}
}

// sees returns how many of seen keys query i sees.
func (a *attended) sees(i, seen int) int {
	if a.causal {
		return min(i+1, seen)
	}
	return seen
}

// sums computes the products of probabilities and values: results from o on.
func (a *attended) sums(y, p, w []float32, o, rows, seen int, e EpilogueFunc) {
	f := unbounded(e)
	var zero [panel]float32
	t := tile{bias: zero[:], next: seen, step: a.outStrideRow, outer: 1, middle: 1, depth: seen,
		low: f.low, high: f.high}
	length := lengths(rows, tileRows)
	for j := 0; j < a.valueDim; j += panel {
		t.columns, t.width = panelOf(a.valueDim, j)
		t.w = w[j*a.keys:]
		for i := 0; i < rows; i += length {
			t.rows, t.x = min(length, rows-i), p[i*seen:]
			at := o + i*a.outStrideRow + j
			t.y, t.add = f.aim(y, at)
			product(&t)
			if e != nil {
				f.call(y, &t, at, j)
			}
		}
	}
}
