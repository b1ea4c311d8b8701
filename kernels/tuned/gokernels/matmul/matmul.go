// Package matmul multiplies batches of matrices given by strides.
package matmul

// F32 computes y[b][i][j] = sum of x[b·xb + i·xm + l·xk]·w[b·wb + l·wk + j·wn]
// over l < k for all b < batch, i < m, j < n; y is dense. The epilogue, if not
// nil, is applied to each run of finished results: o is the position of run[0]
// in y and c its column; the column of run[i] is c+i.
func F32(y, x, w []float32, batch, m, n, k, xb, xm, xk, wb, wk, wn int, epilogue func(run []float32, o, c int)) {
	for b := range batch {
		for j := 0; j < n; j += 4 {
			count := min(4, n-j)
			var r0, r1 [4]float32
			i := 0
			for ; i < m; i += 2 {
				two := i+1 < m
				next := xm
				if !two {
					next = 0 // the same row again, its result not stored
				}
				p, q := b*xb+i*xm, b*wb+j*wn
				switch {
				case k == 0:
				case count == 4 && xk == 1 && wn == 1:
					byRows(&r0, &r1, x[p:p+k], x[p+next:p+next+k], w[q:q+(k-1)*wk+4], wk)
				case count == 4 && xk == 1 && wk == 1:
					byColumns(&r0, &r1, x[p:p+k], x[p+next:p+next+k], w[q:q+3*wn+k], wn)
				default:
					byElements(&r0, &r1, x[p:], next, xk, w[q:], wk, wn, k, count)
				}
				o := (b*m+i)*n + j
				store(y, o, &r0, count, j, epilogue)
				if two {
					store(y, o+n, &r1, count, j, epilogue)
				}
			}
		}
	}
}

func store(y []float32, o int, r *[4]float32, count, c int, epilogue func([]float32, int, int)) {
	run := y[o : o+count]
	copy(run, r[:])
	if epilogue != nil {
		epilogue(run, o, c)
	}
}

// byRows multiplies two rows with four neighbouring columns of w, whose rows are
// wk apart.
func byRows(r0, r1 *[4]float32, x0, x1, w []float32, wk int) {
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	x1 = x1[:len(x0)]
	for i, u := range x0 {
		v := x1[i]
		row := (*[4]float32)(w[i*wk:])
		a0 += u * row[0]
		a1 += u * row[1]
		a2 += u * row[2]
		a3 += u * row[3]
		b0 += v * row[0]
		b1 += v * row[1]
		b2 += v * row[2]
		b3 += v * row[3]
	}
	*r0 = [4]float32{a0, a1, a2, a3}
	*r1 = [4]float32{b0, b1, b2, b3}
}

// byColumns multiplies two rows with four columns of w, each without gaps, that
// are wn apart.
func byColumns(r0, r1 *[4]float32, x0, x1, w []float32, wn int) {
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	k := len(x0)
	x1 = x1[:k]
	w0, w1, w2, w3 := w[:k], w[wn:][:k], w[2*wn:][:k], w[3*wn:][:k]
	for i, u := range x0 {
		v := x1[i]
		c0, c1, c2, c3 := w0[i], w1[i], w2[i], w3[i]
		a0 += u * c0
		a1 += u * c1
		a2 += u * c2
		a3 += u * c3
		b0 += v * c0
		b1 += v * c1
		b2 += v * c2
		b3 += v * c3
	}
	*r0 = [4]float32{a0, a1, a2, a3}
	*r1 = [4]float32{b0, b1, b2, b3}
}

// byElements multiplies two rows, next apart, with count columns, whatever
// the strides.
func byElements(r0, r1 *[4]float32, x []float32, next, xk int, w []float32, wk, wn, k, count int) {
	for c := range count {
		var a, b float32
		for i := range k {
			v := w[i*wk+c*wn]
			a += x[i*xk] * v
			b += x[i*xk+next] * v
		}
		r0[c], r1[c] = a, b
	}
}
