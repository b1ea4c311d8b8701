package rows

// Linear computes y[i][j] = bias[j] + sum of x[i][l]·w[l][j] for m rows of x, k
// elements each, and n columns. The weights are packed: w[ceil(n/32)][k][32], the
// last panel 16 wide where that is enough, zero where there is no column; bias
// is padded likewise. Results are finished: add, laid out as y, if not nil, is
// added; they are bounded by low and high; and the epilogue, if not nil, is
// called on runs of them: o is the position of run[0] in y and c its column; the
// column of run[i] is c+i.
func Linear(y, x, w, bias []float32, m, n, k int, add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	t := tile{next: k, step: n, outer: 1, middle: 1, depth: k}
	length := lengths(m, tileRows)
	for j := 0; j < n; j += panel {
		columns, width := panelOf(n, j)
		t.w, t.bias, t.width = w[j*k:], bias[j:], width
		for i := 0; i < m; i += length {
			t.rows = min(length, m-i)
			t.x = x[i*k:]
			f.product(&t, i*n+j, j, columns, epilogue)
		}
	}
}
