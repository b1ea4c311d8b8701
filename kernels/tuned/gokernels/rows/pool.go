package rows

import "math"

// MaxPool takes the largest of every window of batch images of so many channels,
// which lie innermost, ih rows and iw columns, into images of oh rows and ow
// columns; what is no number is larger than all. The window has kh rows and kw
// columns, dh and dw apart, and moves by sh and sw; the image is surrounded by ph
// and pw elements that do not count. The epilogue, if not nil, is called on the
// channels of each result: o is the position of run[0] in y and c its channel.
func MaxPool(y, x []float32, batch, channels, ih, iw, oh, ow, kh, kw, sh, sw, dh, dw, ph, pw int, epilogue func(run []float32, o, c int)) {
	o := 0
	for b := range batch {
		for p := range oh {
			top := p*sh - ph
			r, rows := taps(top, ih, kh, dh)
			for q := range ow {
				side := q*sw - pw
				c, columns := taps(side, iw, kw, dw)
				run := y[o : o+channels]
				if rows*columns == 0 {
					for i := range run {
						run[i] = float32(math.Inf(-1))
					}
				}
				for i := range rows {
					line := x[((b*ih+top+(r+i)*dh)*iw+side+c*dw)*channels:]
					for j := range columns {
						pixel := line[j*dw*channels:][:len(run)]
						if i+j == 0 {
							copy(run, pixel)
							continue
						}
						for k, v := range pixel {
							run[k] = max(run[k], v)
						}
					}
				}
				if epilogue != nil {
					epilogue(run, o, 0)
				}
				o += channels
			}
		}
	}
}
