package rows

// Linear computes y[i][j] = bias[j] + sum of x[i][l]·w[l][j] for m rows of x, k
// elements each, and n columns. The weights are packed: w[ceil(n/32)][k][32], the
// last panel 16 wide where that is enough, zero where there is no column; bias
// is padded likewise. Results are finished: add, laid out as y, if not nil, is
// added; they are bounded by low and high; and the epilogue, if not nil, is
// called on runs of them: o is the position of run[0] in y and c its column; the
// column of run[i] is c+i.
func Linear(y, x, w, bias []float32, m, n, k int, add []float32, low, high float32,
	epilogue func(run []float32, o, c int)) {
	LinearPart(0, 0, 1, y, x, w, bias, m, n, k, add, low, high, epilogue)
}

// LinearPart does one of the parts that Linear's one step is divided into.
func LinearPart(_, part, parts int, y, x, w, bias []float32, m, n, k int, add []float32, low,
	high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	t := tile{next: k, step: n, outer: 1, middle: 1, depth: k}
	s := share{panels: [2]int{0, n}, columns: [2]int{0, m}, length: 1}
	if m > 1 || parts > 1 { // to divide numbers takes as long as a small product
		s = divide(part, parts, n, 1, m, m*k, n*k)
	}
	for j := s.panels[0]; j < s.panels[1]; j += panel {
		columns, width := panelOf(n, j)
		t.w, t.bias, t.width = w[j*k:], bias[j:], width
		if s.length > 1 { // single rows fetch nothing
			t.follow(behind(w, k, n, j, s.panels[1]), s.tiles()*k)
		}
		for i := s.columns[0]; i < s.columns[1]; i += s.length {
			t.rows = min(s.length, m-i)
			t.x = x[i*k:]
			f.product(&t, i*n+j, j, columns, epilogue)
		}
	}
}
