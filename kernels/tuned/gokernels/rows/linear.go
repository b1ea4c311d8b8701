package rows

// Linear computes y[i][j] = bias[j] + sum of x[i][l]·w[l][j] for the rows of x. The
// weights are packed: w[ceil(n/32)][k][32], the last panel 16 wide where that is enough,
// zero where there is no column; bias is padded likewise. The channel of a result is its
// column.
func Linear(y, x, w, bias []float32, a *LinearParams, f *Epilogue) {
	LinearPart(alone(0), y, x, w, bias, a, f)
}

// LinearPart computes one piece of Linear, which has one step.
func LinearPart(d Piece, y, x, w, bias []float32, a *LinearParams, f *Epilogue) {
	m, n, k := a.m, a.n, a.k
	t := tile{next: k, step: n, outer: 1, middle: 1, depth: k, low: f.low, high: f.high}
	s := share{panels: [2]int{0, n}, columns: [2]int{0, m}, length: 1}
	if m > 1 || d.parts > 1 { // to divide numbers takes as long as a small product
		s = d.divide(n, 1, m, m*k, n*k)
	}
	for j := s.panels[0]; j < s.panels[1]; j += panel {
		t.columns, t.width = panelOf(n, j)
		t.w, t.bias = w[j*k:], bias[j:]
		if s.length > 1 { // single rows fetch nothing
			t.prefetch(behind(w, k, n, j, s.panels[1]), s.tiles()*k)
		}
		for i := s.columns[0]; i < s.columns[1]; i += s.length {
			t.rows = min(s.length, m-i)
			t.x = x[i*k:]
			t.y, t.add = f.aim(y, i*n+j)
			product(&t)
			if f.apply != nil {
				f.call(y, &t, i*n+j, j)
			}
		}
	}
}
