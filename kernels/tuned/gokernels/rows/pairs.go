package rows

import "math"

// ConvPairs is Conv of integers that 16 bits hold, of one group, whose channels lie innermost.
// Machines that multiply pairs of such integers at once take two neighbours of the image as one
// element, and two rows of weights as one: all distances and the innermost taps are even. Sums
// are exact in both. Scratch has the image with its padding, what is seen of it in pairs, and a
// panel of weights in pairs.
func ConvPairs(y, x, w, bias, scratch []float32, a *ConvRowsParams, f *Epilogue) {
	if !havePairs() {
		Conv(y, x, w, bias, scratch, a, f)
		return
	}
	copied := 0
	if a.copyMode != 0 {
		copied = a.planes * a.paddedH * a.paddedRow
	}
	seen := (a.outH-1)*a.inStrideRow + (a.outW-1)*a.inStrideCol + (a.outerTaps-1)*a.inStrideOuter +
		(a.middleTaps-1)*a.inStrideMiddle + a.innerTaps
	pairs, weights := scratch[copied:][:seen/2], scratch[copied+seen/2:]
	for b := range a.batch {
		from := x[b*a.inStrideBatch:]
		if copied > 0 {
			ConvPart(alone(2*b), y, x, w, bias, scratch, a, f)
			from = scratch
		}
		pairNeighbours(pairs, from[:seen])
		imagePairs(y, pairs, w, weights, bias, b, a, f)
	}
}

// imagePairs convolves image b, which is x, both in pairs: weights are as many of w at a time.
func imagePairs(y, x, w, weights, bias []float32, b int, a *ConvRowsParams, f *Epilogue) {
	cout, taps := a.outChannels, a.outerTaps*a.middleTaps*a.innerTaps
	length := lengths(a.outW, tileRows)
	t := tile{next: a.inStrideCol / 2, step: a.outStrideCol, outer: a.outerTaps,
		xOuter: a.inStrideOuter / 2, middle: a.middleTaps, xMiddle: a.inStrideMiddle / 2,
		depth: a.innerTaps / 2, low: f.low, high: f.high}
	for j := 0; j < cout; j += panel {
		t.columns, t.width = panelOf(cout, j)
		t.w, t.bias = weights[:taps/2*t.width], bias[j:]
		pairWeights(t.w, w[j*taps:][:taps*t.width], t.width)
		for p := range a.outH {
			for q := 0; q < a.outW; q += length {
				t.rows = min(length, a.outW-q)
				t.x = x[(p*a.inStrideRow+q*a.inStrideCol)/2:]
				o := ((b*a.outH+p)*a.outW+q)*a.outStrideCol + j
				t.y, t.add = f.aim(y, o)
				t.checkProduct()
				productPairs(&t)
				if f.apply != nil {
					f.call(y, &t, o, j)
				}
			}
		}
	}
}

// pairNeighbours makes pairs of neighbours, twice as many.
func pairNeighbours(pairs, from []float32) {
	for i := pairNeighboursFast(pairs, from); i < len(pairs); i++ {
		low, high := int16(from[2*i]), int16(from[2*i+1])
		pairs[i] = math.Float32frombits(uint32(uint16(low)) | uint32(uint16(high))<<16)
	}
}
