package rows

// Matmul computes the products of pairs of matrices, both given by strides; y is dense.
// The scratch holds k by 44 elements for each part: a panel of w, and a tile's rows of x
// if they are not contiguous. The channel of a result is its column.
func Matmul(y, x, w, scratch []float32, a *MatmulParams, f *Epilogue) {
	MatmulPart(alone(0), y, x, w, scratch, a, f)
}

// MatmulPart does a piece of Matmul's one step. Each part has its share of the scratch; if
// that is for fewer parts, there is nothing left for the others to do.
func MatmulPart(d Piece, y, x, w, scratch []float32, a *MatmulParams, f *Epilogue) {
	m, n, k := a.m, a.n, a.k
	own := k * (panel + maxRows)
	if k > 0 {
		d.parts = min(d.parts, len(scratch)/own)
	}
	if d.part >= d.parts {
		return
	}
	var zero [panel]float32
	t := tile{bias: zero[:], next: a.inStrideM, step: n, outer: 1, middle: 1, depth: k,
		low: f.low, high: f.high}
	scratch = scratch[d.part*own:][:own]
	packed, lines := scratch[:panel*k], scratch[panel*k:]
	t.w = packed
	if a.inStrideK != 1 {
		t.x, t.next = lines, k
	}
	// panels if they are even: parts that share rows pack all
	s := d.divide(a.batch*((n+panel-1)/panel)*panel, 1, m, 0, 0)
	for u := s.panels[0]; u < s.panels[1]; u += panel {
		across := (n + panel - 1) / panel * panel
		b, j := u/across, u%across
		t.columns, t.width = panelOf(n, j)
		if k > 0 {
			from := w[b*a.weightStrideBatch+j*a.weightStrideN:]
			pack(packed, from, k, t.columns, t.width, a.weightStrideK, a.weightStrideN)
		}
		for i := s.columns[0]; i < s.columns[1]; i += s.length {
			t.rows = min(s.length, m-i)
			switch {
			case k == 0:
			case a.inStrideK == 1:
				t.x = x[b*a.inStrideBatch+i*a.inStrideM:]
			default:
				for r := range t.rows {
					line := x[b*a.inStrideBatch+(i+r)*a.inStrideM:]
					for l := range k {
						lines[r*k+l] = line[l*a.inStrideK]
					}
				}
			}
			o := (b*m+i)*n + j
			t.y, t.add = f.aim(y, o)
			product(&t)
			if f.apply != nil {
				f.call(y, &t, o, j)
			}
		}
	}
}

// pack makes a panel, width wide, of columns columns of w, whose elements are wk
// apart in a column and wn in a row.
func pack(packed, w []float32, k, columns, width, wk, wn int) {
	if columns < width {
		clear(packed[:k*width])
	}
	if wn == 1 {
		for l := range k {
			copy(packed[l*width:][:columns], w[l*wk:])
		}
		return
	}
	for c := range columns {
		column := w[c*wn:]
		for l := range k {
			packed[l*width+c] = column[l*wk]
		}
	}
}
