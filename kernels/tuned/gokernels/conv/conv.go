// Package conv convolves images with packed constant weights.
package conv

// cols is the number of output channels of a panel of packed weights.
const cols = 4

// F32 convolves batch images of groups·cin channels, ih rows and iw columns into
// groups·cout channels of oh rows and ow columns. The kernel has kh rows and kw
// columns of taps, dh and dw apart, and moves by sh and sw; the image is
// surrounded by ph and pw zeros. The weights are packed:
// w[groups][ceil(cout/4)][kh][kw][cin][4], zero where there is no channel; bias
// is padded likewise. The sum runs over rows of taps outermost; chanAt and colAt,
// 1 and 2 or 2 and 1, tell where channels and columns are, 2 being innermost.
// Output columns left..right-1 see all kernel columns. xb, xc, xh, xw are the steps of x over
// batch, channels,
// rows and columns, yb, yc, yh, yw those of y.
// The epilogue, if not nil, is applied to each run of finished results: o is the
// position of run[0] in y, c the channel of all of the run.
func F32(y, x, w, bias []float32, batch, groups, cin, cout, chanAt, colAt, ih, iw, oh, ow, kh, kw,
	sh, sw, dh, dw, ph, pw, left, right,
	xb, xc, xh, xw, yb, yc, yh, yw int, epilogue func(run []float32, o, c int)) {
	panels := (cout + cols - 1) / cols * cols
	taps := kh * kw * cin
	s := sum{next: sw * xw}
	s.x[0], s.w[0] = dh*xh, kw*cin*cols
	s.n[chanAt], s.x[chanAt], s.w[chanAt] = cin, xc, cols
	s.x[colAt], s.w[colAt] = dw*xw, cin*cols
	for b := range batch {
		for g := range groups {
			for j := 0; j < cout; j += cols {
				first := g*panels + j
				panel := w[first*taps : (first+cols)*taps]
				start := (*[cols]float32)(bias[first:])
				channel := g*cout + j
				count := min(cols, cout-j)
				for p := range oh {
					r, rows := window(p*sh-ph, ih, kh, dh)
					s.n[0] = rows
					image := b*xb + g*cin*xc + (p*sh-ph+r*dh)*xh
					o := b*yb + channel*yc + p*yh
					for q := 0; q < ow; {
						r0, r1 := *start, *start
						pair := q >= left && q+2 <= right
						c, columns := 0, kw
						if !pair {
							c, columns = window(q*sw-pw, iw, kw, dw)
						}
						s.n[colAt] = columns
						if rows > 0 && columns > 0 {
							at, tap := image+(q*sw-pw+c*dw)*xw, (r*kw+c)*cin*cols
							if pair {
								s.two(&r0, &r1, x[at:], panel[tap:])
							} else {
								s.one(&r0, x[at:], panel[tap:])
							}
						}
						for i, v := range r0[:count] {
							y[o+i*yc+q*yw] = v
						}
						q++
						if pair {
							for i, v := range r1[:count] {
								y[o+i*yc+q*yw] = v
							}
							q++
						}
					}
					switch {
					case epilogue == nil:
					case yw != 1: // every result is a run
						for i := range count {
							for q := range ow {
								at := o + i*yc + q*yw
								epilogue(y[at:at+1], at, channel+i)
							}
						}
					default:
						for i := range count {
							epilogue(y[o+i*yc:o+i*yc+ow], o+i*yc, channel+i)
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
