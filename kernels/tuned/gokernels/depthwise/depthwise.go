// Package depthwise convolves every channel of an image by itself.
package depthwise

// F32 makes channels of the result from one of the image each, which has padding; columns
// of the result are neighbours. The weights are w[channels·multiplier][kernel_h][kernel_w].
// The epilogue, if not nil, is applied to each run of finished results: o is the position
// of run[0] in y, c the channel of all of the run.
func F32(y, x, w, bias []float32, a *DepthwiseParams, epilogue func(run []float32, o, c int)) {
	left, right := a.interiorBegin, a.interiorEnd
	step, row, column := a.strideW*a.inStrideCol, a.dilationH*a.inStrideRow,
		a.dilationW*a.inStrideCol
	if left >= right {
		left, right = a.outW, a.outW
	}
	for b := range a.batch {
		for j := range a.channels * a.multiplier {
			for p := range a.outH {
				top := p*a.strideH - a.padH
				r, rows := window(top, a.inH, a.kernelH, a.dilationH)
				at := b*a.inStrideBatch + j/a.multiplier*a.inStrideChannel +
					(top+r*a.dilationH)*a.inStrideRow
				taps := w[(j*a.kernelH+r)*a.kernelW:][:rows*a.kernelW]
				o := b*a.outStrideBatch + j*a.outStrideChannel + p*a.outStrideRow
				run := y[o : o+a.outW]
				for q := range run {
					run[q] = bias[j]
				}
				if rows > 0 && left < right {
					from := x[at+(left*a.strideW-a.padW)*a.inStrideCol:]
					inside(run[left:right], from, taps, a.kernelW, step, row, column)
				}
				for _, edge := range [...][2]int{{0, left}, {right, a.outW}} {
					for q := edge[0]; q < edge[1]; q++ {
						start := q*a.strideW - a.padW
						c, columns := window(start, a.inW, a.kernelW, a.dilationW)
						for r := range rows {
							for i := c; i < c+columns; i++ {
								v := x[at+r*row+start*a.inStrideCol+i*column]
								run[q] += v * taps[r*a.kernelW+i]
							}
						}
					}
				}
				if epilogue != nil {
					epilogue(run, o, j)
				}
			}
		}
	}
}

// inside adds rows of kw taps, xh and xw apart in x, to results that see all of
// them and are step apart in x.
func inside(run, x, taps []float32, kw, step, xh, xw int) {
	for row := 0; len(taps) >= kw; row += xh {
		c := 0
		for ; c+3 <= kw; c += 3 {
			three(run, x[row+c*xw:], step, xw, taps[c], taps[c+1], taps[c+2])
		}
		for ; c < kw; c++ {
			one(run, x[row+c*xw:], step, taps[c])
		}
		taps = taps[kw:]
	}
}

// three adds three taps, xw apart in x.
func three(run, x []float32, step, xw int, t0, t1, t2 float32) {
	n := len(run)
	x1, x2 := x[xw:], x[2*xw:]
	if step == 1 {
		x, x1, x2 = x[:n], x1[:n], x2[:n]
		for i, v := range run {
			run[i] = v + t0*x[i] + t1*x1[i] + t2*x2[i]
		}
		return
	}
	at := 0
	for i, v := range run {
		run[i] = v + t0*x[at] + t1*x1[at] + t2*x2[at]
		at += step
	}
}

// one adds one tap.
func one(run, x []float32, step int, t float32) {
	if step == 1 {
		for i, v := range x[:len(run)] {
			run[i] += t * v
		}
		return
	}
	for i := range run {
		run[i] += t * x[i*step]
	}
}

// window returns which of n taps, d apart from position p on, lie in 0..size-1:
// the first, and how many.
func window(p, size, n, d int) (first, count int) {
	if p < 0 {
		first = (d - 1 - p) / d
	}
	end := 0
	if p < size {
		end = min(n, (size-p+d-1)/d)
	}
	if end <= first {
		return 0, 0
	}
	return first, end - first
}
