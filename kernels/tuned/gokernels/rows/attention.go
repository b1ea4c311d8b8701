package rows

import "math"

// queryRows is how many queries are attended to at a time: a multiple of the rows
// of every machine's tile.
const queryRows = 48

// attended is what kernels of attention know of a call.
type attended struct {
	batch, heads, l, s, depth, values int
	causal, rests                     bool
	room                              int // of the scratch of each part
	q, k, v, y                        apart
	kGroup, vGroup                    int // heads that share keys, and values
	mask                              apart
	keys                              int // step of the mask from key to key
	scale, none                       float32
}

// apart is the steps between the matrices of a batch, those of heads, and rows.
type apart struct{ batch, head, row int }

func (a apart) at(b, h int) int { return b*a.batch + h*a.head }

// strips are functions of slices that attention is made of.
type strips struct {
	largest, sum func(acc float32, a []float32) float32
	sub, mul     func(dst, a []float32, s float32)
	add          func(dst, a, b []float32)
	keep         func(dst []float32, c []bool, a []float32, s float32)
	exp          func(dst, a []float32)
	transpose    func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int)
	added        []float32 // a mask's elements, if scores are added to it
	kept         []bool    // … if it tells which scores stay
}

// Attention computes y = softmax(q·kᵀ·scale)·v for each of batch and heads, l
// queries and s keys of depth elements, values elements of each value. Steps are
// those of package tuned's kernels. With causal, query i sees keys up to i only;
// with rests, rows of scores that are all -infinity give zeros. scale[1] is not
// looked at. The scratch has room for parts parts, room elements each. The
// functions are those of package strip by these names, and math's exp.
func Attention(y, q, k, v, scale, scratch []float32, batch, heads, l, s, depth, values, causal,
	rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl int,
	largest, sum func(acc float32, a []float32) float32, subScalar, mulScalar func(dst, a []float32,
		s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), epilogue func(run []float32, o, c int)) {
	AttentionPart(0, 0, 1, y, q, k, v, scale, scratch, batch, heads, l, s, depth, values, causal,
		rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl,
		largest, sum, subScalar, mulScalar, transpose, exp, epilogue)
}

// AttentionPart does one of the parts that Attention's one step is divided into.
func AttentionPart(_, part, parts int, y, q, k, v, scale, scratch []float32, batch, heads, l, s,
	depth, values, causal, rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl int,
	largest, sum func(acc float32, a []float32) float32, subScalar, mulScalar func(dst, a []float32,
		s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), epilogue func(run []float32, o, c int)) {
	a := attended{batch: batch, heads: heads, l: l, s: s, depth: depth, values: values,
		causal: causal != 0, rests: rests != 0, room: room, scale: scale[0],
		q: apart{qb, qh, ql}, k: apart{kb, kh, kl}, v: apart{vb, vh, vl}, y: apart{yb, yh, yl},
		kGroup: kg, vGroup: vg}
	f := strips{largest: largest, sum: sum, sub: subScalar, mul: mulScalar, exp: exp,
		transpose: transpose}
	attend(part, parts, y, q, k, v, scratch, &a, &f, epilogue)
}

// AttentionAdded is Attention with a mask that is added to the scores.
func AttentionAdded(y, q, k, v, mask, scale, scratch []float32, batch, heads, l, s, depth, values,
	causal, rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl, ms, ml, mh, mb int,
	largest, sum func(acc float32, a []float32) float32, subScalar, mulScalar func(dst, a []float32,
		s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), add func(dst, a, b []float32), epilogue func(run []float32,
		o, c int)) {
	AttentionAddedPart(0, 0, 1, y, q, k, v, mask, scale, scratch, batch, heads, l, s, depth, values,
		causal, rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl, ms, ml, mh, mb,
		largest, sum, subScalar, mulScalar, transpose, exp, add, epilogue)
}

// AttentionAddedPart does one of the parts that AttentionAdded's one step is
// divided into.
func AttentionAddedPart(_, part, parts int, y, q, k, v, mask, scale, scratch []float32, batch,
	heads, l, s, depth, values, causal, rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb,
	yh, yl, ms, ml, mh, mb int,
	largest, sum func(acc float32, a []float32) float32, subScalar, mulScalar func(dst, a []float32,
		s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), add func(dst, a, b []float32), epilogue func(run []float32,
		o, c int)) {
	a := attended{batch: batch, heads: heads, l: l, s: s, depth: depth, values: values,
		causal: causal != 0, rests: rests != 0, room: room, scale: scale[0],
		q: apart{qb, qh, ql}, k: apart{kb, kh, kl}, v: apart{vb, vh, vl}, y: apart{yb, yh, yl},
		kGroup: kg, vGroup: vg, mask: apart{mb, mh, ml}, keys: ms}
	f := strips{largest: largest, sum: sum, sub: subScalar, mul: mulScalar, exp: exp,
		transpose: transpose, add: add, added: mask}
	attend(part, parts, y, q, k, v, scratch, &a, &f, epilogue)
}

// AttentionKept is Attention with a mask that tells which scores stay: scale[1]
// takes the place of the others.
func AttentionKept(y, q, k, v []float32, mask []bool, scale, scratch []float32, batch, heads, l, s,
	depth, values, causal, rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl, ms,
	ml, mh, mb int,
	largest, sum func(acc float32, a []float32) float32, subScalar, mulScalar func(dst, a []float32,
		s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), selectScalar func(dst []float32, c []bool, a []float32, s float32),
	epilogue func(run []float32, o, c int)) {
	AttentionKeptPart(0, 0, 1, y, q, k, v, mask, scale, scratch, batch, heads, l, s, depth, values,
		causal, rests, room, qb, qh, ql, kg, kb, kh, kl, vg, vb, vh, vl, yb, yh, yl, ms, ml, mh, mb,
		largest, sum, subScalar, mulScalar, transpose, exp, selectScalar, epilogue)
}

// AttentionKeptPart does one of the parts that AttentionKept's one step is divided
// into.
func AttentionKeptPart(_, part, parts int, y, q, k, v []float32, mask []bool, scale,
	scratch []float32, batch, heads, l, s, depth, values, causal, rests, room, qb, qh, ql, kg, kb,
	kh, kl, vg, vb, vh, vl, yb, yh, yl, ms, ml, mh, mb int,
	largest, sum func(acc float32, a []float32) float32, subScalar, mulScalar func(dst, a []float32,
		s float32),
	transpose func(dst []float32, dstStep int, src []float32, srcStep, rows, cols int),
	exp func(dst, a []float32), selectScalar func(dst []float32, c []bool, a []float32, s float32),
	epilogue func(run []float32, o, c int)) {
	a := attended{batch: batch, heads: heads, l: l, s: s, depth: depth, values: values,
		causal: causal != 0, rests: rests != 0, room: room, scale: scale[0], none: scale[1],
		q: apart{qb, qh, ql}, k: apart{kb, kh, kl}, v: apart{vb, vh, vl}, y: apart{yb, yh, yl},
		kGroup: kg, vGroup: vg, mask: apart{mb, mh, ml}, keys: ms}
	f := strips{largest: largest, sum: sum, sub: subScalar, mul: mulScalar, exp: exp,
		transpose: transpose, keep: selectScalar, kept: mask}
	attend(part, parts, y, q, k, v, scratch, &a, &f, epilogue)
}

// attend does a part of the units of a call, each some of the queries of a head.
// Keys are packed in panels, as the columns that they are of the scores, and so
// are values: once for the units in a row that share them. Parts for which there is
// no scratch do nothing.
func attend(part, parts int, y, q, k, v, scratch []float32, a *attended, f *strips, e epilogue) {
	blocks := (a.l + queryRows - 1) / queryRows
	units := a.batch * a.heads * blocks
	if parts = min(parts, len(scratch)/a.room); part >= parts {
		return
	}
	scratch = scratch[part*a.room:][:a.room]
	across := (a.s + panel - 1) / panel * panel
	keys, rest := scratch[:across*a.depth], scratch[across*a.depth:]
	p, packed := rest[:queryRows*a.s], rest[queryRows*a.s:]
	atKey, atValue := -1, -1
	var w []float32
	for u := units * part / parts; u < units*(part+1)/parts; u++ {
		first, h, b := u%blocks*queryRows, u/blocks%a.heads, u/blocks/a.heads
		rows := min(queryRows, a.l-first)
		seen := a.s
		if a.causal {
			seen = min(a.s, first+rows)
		}
		if at := a.k.at(b, h/a.kGroup); at != atKey {
			atKey = at
			a.packKeys(keys, k[at:], f)
		}
		if at := a.v.at(b, h/a.vGroup); at != atValue {
			atValue = at
			w = a.packValues(packed, v[at:])
		}
		a.scores(p, q[a.q.at(b, h)+first*a.q.row:], keys, rows, seen)
		if f.added != nil || f.kept != nil {
			a.masks(p, a.mask.at(b, h)+first*a.mask.row, rows, seen, f)
		}
		a.softmax(p, first, rows, seen, f)
		a.sums(y, p, w, a.y.at(b, h)+first*a.y.row, rows, seen, e)
	}
}

// packKeys packs the keys, multiplied by the scale.
func (a *attended) packKeys(keys, k []float32, f *strips) {
	for j := 0; j < a.s; j += panel {
		columns, width := panelOf(a.s, j)
		w := keys[j*a.depth:][:a.depth*width]
		if columns < width {
			clear(w)
		}
		f.transpose(w, width, k[j*a.k.row:], a.k.row, columns, a.depth)
	}
	n := a.s / panel * panel
	if columns := a.s - n; columns > 0 {
		_, width := panelOf(a.s, n)
		n += width
	}
	all := keys[:n*a.depth]
	f.mul(all, all, a.scale)
}

// packValues returns the values in panels: where they are, if they lie so.
func (a *attended) packValues(packed, v []float32) []float32 {
	if (a.values == panel || a.values == panel/2) && a.v.row == a.values {
		return v
	}
	for j := 0; j < a.values; j += panel {
		columns, width := panelOf(a.values, j)
		pack(packed[j*a.s:], v[j:], a.s, columns, width, a.v.row, 1)
	}
	return packed
}

// scores computes the products of queries and keys, seen to a row.
func (a *attended) scores(p, q, keys []float32, rows, seen int) {
	var zero [panel]float32
	inf := float32(math.Inf(1))
	t := tile{bias: zero[:], next: a.q.row, step: seen, outer: 1, middle: 1, depth: a.depth,
		low: -inf, high: inf}
	length := lengths(rows, tileRows)
	for j := 0; j < seen; j += panel {
		_, t.width = panelOf(a.s, j)
		t.columns = min(panel, seen-j)
		t.w = keys[j*a.depth:]
		for i := 0; i < rows; i += length {
			t.rows, t.x, t.y = min(length, rows-i), q[i*a.q.row:], p[i*seen+j:]
			product(&t)
		}
	}
}

// masks changes scores as the mask says, whose first is number at.
func (a *attended) masks(p []float32, at, rows, seen int, f *strips) {
	for i := range rows {
		row, from := p[i*seen:][:seen], at+i*a.mask.row
		switch {
		case a.keys == 1 && f.kept != nil:
			f.keep(row, f.kept[from:][:seen], row, a.none)
		case a.keys == 1:
			f.add(row, row, f.added[from:])
		case f.kept != nil:
			if !f.kept[from] { // one for all keys
				for j := range row {
					row[j] = a.none
				}
			}
		default:
			x := f.added[from]
			for j := range row {
				row[j] += x
			}
		}
	}
}

// softmax makes probabilities of scores.
func (a *attended) softmax(p []float32, first, rows, seen int, f *strips) {
	inf := float32(math.Inf(1))
	for i := range rows {
		row := p[i*seen:][:a.sees(first+i, seen)]
		top := f.largest(-inf, row)
		if a.rests && top == -inf {
			top = 0
		}
		f.sub(row, row, top)
	}
	if !a.causal {
		f.exp(p[:rows*seen], p)
	}
	for i := range rows {
		row := p[i*seen:][:seen]
		if a.causal {
			n := a.sees(first+i, seen)
			f.exp(row[:n], row)
			clear(row[n:])
			row = row[:n]
		}
		sum := f.sum(0, row)
		if a.rests && sum == 0 {
			sum = 1
		}
		f.mul(row, row, 1/sum)
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
func (a *attended) sums(y, p, w []float32, o, rows, seen int, e epilogue) {
	inf := float32(math.Inf(1))
	f := finish{y: y, low: -inf, high: inf}
	var zero [panel]float32
	t := tile{bias: zero[:], next: seen, step: a.y.row, outer: 1, middle: 1, depth: seen}
	length := lengths(rows, tileRows)
	for j := 0; j < a.values; j += panel {
		columns, width := panelOf(a.values, j)
		t.width, t.w = width, w[j*a.s:]
		for i := 0; i < rows; i += length {
			t.rows, t.x = min(length, rows-i), p[i*seen:]
			f.product(&t, o+i*a.y.row+j, j, columns, e)
		}
	}
}
