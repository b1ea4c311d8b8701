package rows

// Matmul computes y[b][i][j] = sum of x[b·xb + i·xm + l·xk]·w[b·wb + l·wk + j·wn]
// over l < k for all b < batch, i < m, j < n; y is dense. The scratch holds k by
// 44 elements for each part: a panel of w, and a tile's rows of x if they are not contiguous.
// Results are finished as Linear's are.
func Matmul(y, x, w, scratch []float32, batch, m, n, k, xb, xm, xk, wb, wk, wn int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	MatmulPart(0, 0, 1, y, x, w, scratch, batch, m, n, k, xb, xm, xk, wb, wk, wn, add, low,
		high, epilogue)
}

// MatmulPart does one of the parts that Matmul's one step is divided into. Each has
// its share of the scratch; if that is for fewer parts, there is nothing left for the
// others to do.
func MatmulPart(_, part, parts int, y, x, w, scratch []float32, batch, m, n, k, xb, xm, xk, wb,
	wk, wn int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	room := k * (panel + maxRows)
	if k > 0 {
		parts = min(parts, len(scratch)/room)
	}
	if part >= parts {
		return
	}
	f := finish{y, add, low, high}
	var zero [panel]float32
	t := tile{bias: zero[:], next: xm, step: n, outer: 1, middle: 1, depth: k}
	scratch = scratch[part*room:][:room]
	packed, lines := scratch[:panel*k], scratch[panel*k:]
	t.w = packed
	if xk != 1 {
		t.x, t.next = lines, k
	}
	// panels if they are even: parts that share rows pack all
	s := divide(part, parts, batch*((n+panel-1)/panel)*panel, 1, m, 0, 0)
	for u := s.panels[0]; u < s.panels[1]; u += panel {
		across := (n + panel - 1) / panel * panel
		b, j := u/across, u%across
		columns, width := panelOf(n, j)
		t.width = width
		if k > 0 {
			pack(packed, w[b*wb+j*wn:], k, columns, width, wk, wn)
		}
		for i := s.columns[0]; i < s.columns[1]; i += s.length {
			t.rows = min(s.length, m-i)
			switch {
			case k == 0:
			case xk == 1:
				t.x = x[b*xb+i*xm:]
			default:
				for r := range t.rows {
					line := x[b*xb+(i+r)*xm:]
					for l := range k {
						lines[r*k+l] = line[l*xk]
					}
				}
			}
			f.product(&t, (b*m+i)*n+j, j, columns, epilogue)
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
