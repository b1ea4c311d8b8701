// Package conv convolves images with packed constant weights.
package conv

// cols is the number of output channels of a panel of packed weights.
const cols = 4

// F32 convolves images with padding, group by group. The weights are packed:
// w[groups][ceil(out_channels/4)][kernel_h][kernel_w][in_channels][4], zero where there
// is no channel; bias is padded likewise. The sum runs over rows of taps outermost. The
// epilogue, if not nil, is applied to each run of finished results: o is the position of
// run[0] in y, c the channel of all of the run.
func F32(y, x, w, bias []float32, a *ConvParams, epilogue func(run []float32, o, c int)) {
	panels := (a.outChannels + cols - 1) / cols * cols
	taps := a.kernelH * a.kernelW * a.inChannels
	s := sum{next: a.strideW * a.inStrideCol}
	s.x[0], s.w[0] = a.dilationH*a.inStrideRow, a.kernelW*a.inChannels*cols
	s.n[a.channelLoop], s.x[a.channelLoop] = a.inChannels, a.inStrideChannel
	s.w[a.channelLoop] = cols
	s.x[a.columnLoop], s.w[a.columnLoop] = a.dilationW*a.inStrideCol, a.inChannels*cols
	for b := range a.batch {
		for g := range a.groups {
			for j := 0; j < a.outChannels; j += cols {
				first := g*panels + j
				panel := w[first*taps : (first+cols)*taps]
				start := (*[cols]float32)(bias[first:])
				channel := g*a.outChannels + j
				count := min(cols, a.outChannels-j)
				for p := range a.outH {
					top := p*a.strideH - a.padH
					r, rows := window(top, a.inH, a.kernelH, a.dilationH)
					s.n[0] = rows
					image := b*a.inStrideBatch + g*a.inChannels*a.inStrideChannel +
						(top+r*a.dilationH)*a.inStrideRow
					o := b*a.outStrideBatch + channel*a.outStrideChannel + p*a.outStrideRow
					for q := 0; q < a.outW; {
						r0, r1 := *start, *start
						pair := q >= a.interiorBegin && q+2 <= a.interiorEnd
						c, columns := 0, a.kernelW
						side := q*a.strideW - a.padW
						if !pair {
							c, columns = window(side, a.inW, a.kernelW, a.dilationW)
						}
						s.n[a.columnLoop] = columns
						if rows > 0 && columns > 0 {
							at := image + (side+c*a.dilationW)*a.inStrideCol
							tap := (r*a.kernelW + c) * a.inChannels * cols
							if pair {
								s.two(&r0, &r1, x[at:], panel[tap:])
							} else {
								s.one(&r0, x[at:], panel[tap:])
							}
						}
						for i, v := range r0[:count] {
							y[o+i*a.outStrideChannel+q*a.outStrideCol] = v
						}
						q++
						if pair {
							for i, v := range r1[:count] {
								y[o+i*a.outStrideChannel+q*a.outStrideCol] = v
							}
							q++
						}
					}
					switch {
					case epilogue == nil:
					case a.outStrideCol != 1: // every result is a run
						for i := range count {
							for q := range a.outW {
								at := o + i*a.outStrideChannel + q*a.outStrideCol
								epilogue(y[at:at+1], at, channel+i)
							}
						}
					default:
						for i := range count {
							at := o + i*a.outStrideChannel
							epilogue(y[at:at+a.outW], at, channel+i)
						}
					}
				}
			}
		}
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

// sum is a sum over three nested loops: their extents, and their steps in x
// and w.
type sum struct {
	n, x, w [3]int
	next    int // step of x to the next column of y
}

// two adds the sums of two neighbouring columns of y to r0 and r1.
func (s *sum) two(r0, r1 *[cols]float32, x, w []float32) {
	a0, a1, a2, a3 := r0[0], r0[1], r0[2], r0[3]
	b0, b1, b2, b3 := r1[0], r1[1], r1[2], r1[3]
	next, dx, dw, n := s.next, s.x[2], s.w[2], s.n[2]
	for r := range s.n[0] {
		for c := range s.n[1] {
			at := r*s.x[0] + c*s.x[1]
			tap := r*s.w[0] + c*s.w[1]
			for range n {
				u, v := x[at], x[at+next]
				t := (*[cols]float32)(w[tap:])
				a0 += u * t[0]
				a1 += u * t[1]
				a2 += u * t[2]
				a3 += u * t[3]
				b0 += v * t[0]
				b1 += v * t[1]
				b2 += v * t[2]
				b3 += v * t[3]
				tap += dw
				at += dx
			}
		}
	}
	*r0 = [cols]float32{a0, a1, a2, a3}
	*r1 = [cols]float32{b0, b1, b2, b3}
}

// one adds the sums of one column of y to r0.
func (s *sum) one(r0 *[cols]float32, x, w []float32) {
	a0, a1, a2, a3 := r0[0], r0[1], r0[2], r0[3]
	dx, dw, n := s.x[2], s.w[2], s.n[2]
	for r := range s.n[0] {
		for c := range s.n[1] {
			at := r*s.x[0] + c*s.x[1]
			tap := r*s.w[0] + c*s.w[1]
			for range n {
				u := x[at]
				t := (*[cols]float32)(w[tap:])
				a0 += u * t[0]
				a1 += u * t[1]
				a2 += u * t[2]
				a3 += u * t[3]
				tap += dw
				at += dx
			}
		}
	}
	*r0 = [cols]float32{a0, a1, a2, a3}
}
