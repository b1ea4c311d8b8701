package strip

// block is how many rows and columns vectors transpose at a time.
const block = 8

// Transpose sets dst[c*dstStep + r] = src[r*srcStep + c] for all r below rows
// and c below cols: a copy between matrices one of which lies by rows, the
// other by columns. Steps are in elements and not negative; dst and src do not
// overlap.
func Transpose[T any](dst []T, dstStep int, src []T, srcStep, rows, cols int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	dst = dst[:(cols-1)*dstStep+rows]
	src = src[:(rows-1)*srcStep+cols]
	r, c := rows/block*block, cols/block*block
	if r == 0 || c == 0 || !transposeF32(f32s(dst), dstStep, f32s(src), srcStep, r, c) {
		transpose(dst, dstStep, src, srcStep, rows, cols)
		return
	}
	if r < rows {
		transpose(dst[r:], dstStep, src[r*srcStep:], srcStep, rows-r, c)
	}
	if c < cols {
		transpose(dst[c*dstStep:], dstStep, src[c:], srcStep, rows, cols-c)
	}
}

// transpose is Transpose without vectors: a few columns at a time, so that the
// lines of memory that they lie in are at hand.
func transpose[T any](dst []T, dstStep int, src []T, srcStep, rows, cols int) {
	const most = 16
	for first := 0; first < cols; first += most {
		n := min(most, cols-first)
		for r := range rows {
			at := first*dstStep + r
			for _, x := range src[r*srcStep+first:][:n] {
				dst[at] = x
				at += dstStep
			}
		}
	}
}
