// Package linear multiplies matrices with packed constant matrices.
package linear

// cols is the number of columns of a panel of packed weights.
const cols = 4

// F32 computes y[i][j] = bias[j] + sum of x[i][l]·w[l][j] for m rows of x, k
// elements each, and n columns. The weights are packed: w[ceil(n/4)][k][4],
// zero where there is no column; bias is padded likewise. The epilogue, if not
// nil, is applied to each run of finished results: o is the position of run[0]
// in y and c its column; the column of run[i] is c+i.
func F32(y, x, w, bias []float32, m, n, k int, epilogue func(run []float32, o, c int)) {
	for j := 0; j < n; j += cols {
		panel := w[j*k : (j+cols)*k]
		b := (*[cols]float32)(bias[j:])
		count := min(cols, n-j)
		i := 0
		for ; i+2 <= m; i += 2 {
			r0, r1 := *b, *b
			two(&r0, &r1, x[i*k:(i+1)*k], x[(i+1)*k:(i+2)*k], panel)
			store(y, i*n+j, &r0, count, j, epilogue)
			store(y, (i+1)*n+j, &r1, count, j, epilogue)
		}
		if i < m {
			r := *b
			one(&r, x[i*k:(i+1)*k], panel)
			store(y, i*n+j, &r, count, j, epilogue)
		}
	}
}

func store(y []float32, o int, r *[cols]float32, count, c int, epilogue func([]float32, int, int)) {
	run := y[o : o+count]
	copy(run, r[:])
	if epilogue != nil {
		epilogue(run, o, c)
	}
}

// two adds the products of two rows with a panel to r0 and r1.
func two(r0, r1 *[cols]float32, x0, x1, w []float32) {
	a0, a1, a2, a3 := r0[0], r0[1], r0[2], r0[3]
	b0, b1, b2, b3 := r1[0], r1[1], r1[2], r1[3]
	x1 = x1[:len(x0)]
	for i, u := range x0 {
		if len(w) < cols {
			break // never: it tells the compiler
		}
		v := x1[i]
		w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
		a0 += u * w0
		a1 += u * w1
		a2 += u * w2
		a3 += u * w3
		b0 += v * w0
		b1 += v * w1
		b2 += v * w2
		b3 += v * w3
		w = w[cols:]
	}
	*r0 = [cols]float32{a0, a1, a2, a3}
	*r1 = [cols]float32{b0, b1, b2, b3}
}

// one adds the products of one row with a panel to r.
func one(r *[cols]float32, x, w []float32) {
	a0, a1, a2, a3 := r[0], r[1], r[2], r[3]
	for _, u := range x {
		if len(w) < cols {
			break // never: it tells the compiler
		}
		a0 += u * w[0]
		a1 += u * w[1]
		a2 += u * w[2]
		a3 += u * w[3]
		w = w[cols:]
	}
	*r = [cols]float32{a0, a1, a2, a3}
}
