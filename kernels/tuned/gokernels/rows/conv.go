package rows

// Conv convolves images whose channels lie innermost, and no padding. A row of taps is
// runs of elements that are contiguous in x, dilation_w columns apart. The weights are
// packed: w[ceil(out_channels/32)][kernel_h][kernel_w][in_channels][32], the last panel
// 16 wide where that is enough, zero where there is no channel; bias is padded likewise.
func Conv(y, x, w, bias []float32, a *ConvRowsParams, f *Epilogue) {
	ConvPart(alone(0), y, x, w, bias, a, f)
}

// ConvPart does a piece of Conv's one step.
func ConvPart(d Piece, y, x, w, bias []float32, a *ConvRowsParams, f *Epilogue) {
	for b := range a.batch {
		image(d, y, x[b*a.inStrideBatch:], w, bias, b, a, f)
	}
}

// ConvGather is Conv for images with padding, in any layout: each is copied into scratch
// first, channels innermost, its padding around it.
func ConvGather(y, x, w, bias, scratch []float32, a *ConvGatherParams, f *Epilogue) {
	for step := range 2 * a.batch {
		ConvGatherPart(alone(step), y, x, w, bias, scratch, a, f)
	}
}

// ConvGatherPart does a piece of a step of ConvGather: steps copy an image and convolve
// it in turn.
func ConvGatherPart(d Piece, y, x, w, bias, scratch []float32, a *ConvGatherParams, f *Epilogue) {
	b := d.step / 2
	if d.step%2 == 1 {
		rows := a.rows()
		image(d, y, scratch, w, bias, b, &rows, f)
		return
	}
	from := x[b*a.inStrideBatch:]
	first, end := d.of(a.paddedH)
	for r := first; r < end; r++ {
		to := scratch[r*a.inStrideRow:][:a.inStrideRow]
		if r < a.padH || r-a.padH >= a.inH {
			clear(to)
			continue
		}
		gather(to, from[(r-a.padH)*a.sourceStrideRow:], a)
	}
}

// rows are the parameters of the convolution of a copy.
func (a *ConvGatherParams) rows() ConvRowsParams {
	return ConvRowsParams{batch: a.batch, inChannels: a.inChannels, outChannels: a.outChannels,
		outH: a.outH, outW: a.outW, kernelH: a.kernelH, kernelW: a.kernelW, strideH: a.strideH,
		strideW: a.strideW, dilationH: a.dilationH, dilationW: a.dilationW, tapRuns: a.tapRuns,
		runLength: a.runLength, inStrideBatch: a.inStrideBatch, inStrideRow: a.inStrideRow,
		inStrideCol: a.inStrideCol}
}

// gather copies a row of an image, with padding before it and some after.
func gather(to, from []float32, a *ConvGatherParams) {
	cin, columns, step := a.inChannels, a.copiedW, a.sourceStrideCol
	clear(to[:a.padW*cin])
	to = to[a.padW*cin:]
	clear(to[columns*cin:])
	if a.sourceStrideChannel == 1 {
		copy(to, from[:columns*cin])
		return
	}
	for c := range cin {
		line := from[c*a.sourceStrideChannel:]
		if step == 1 {
			for i, v := range line[:columns] {
				to[i*cin+c] = v
			}
			continue
		}
		for i := range columns {
			to[i*cin+c] = line[i*step]
		}
	}
}

// image convolves a share of image b, which is x.
func image(d Piece, y, x, w, bias []float32, b int, a *ConvRowsParams, f *Epilogue) {
	row, column, cout := a.strideH*a.inStrideRow, a.strideW*a.inStrideCol, a.outChannels
	taps := a.kernelH * a.kernelW * a.inChannels
	s := d.divide(cout, a.outH, a.outW, a.outH*row, cout*taps)
	t := tile{next: column, step: cout, outer: a.kernelH, xOuter: a.dilationH * a.inStrideRow,
		middle: a.tapRuns, xMiddle: a.dilationW * a.inStrideCol, depth: a.runLength,
		low: f.low, high: f.high}
	for j := s.panels[0]; j < s.panels[1]; j += panel {
		t.columns, t.width = panelOf(cout, j)
		t.w, t.bias = w[j*taps:], bias[j:]
		t.prefetch(behind(w, taps, cout, j, s.panels[1]), s.tiles()*taps)
		for p := s.rows[0]; p < s.rows[1]; p++ {
			for q := s.columns[0]; q < s.columns[1]; q += s.length {
				t.rows = min(s.length, a.outW-q)
				t.x = x[p*row+q*column:]
				o := ((b*a.outH+p)*a.outW+q)*cout + j
				t.y, t.add = f.aim(y, o)
				product(&t)
				if f.apply != nil {
					f.call(y, &t, o, j)
				}
			}
		}
	}
}
