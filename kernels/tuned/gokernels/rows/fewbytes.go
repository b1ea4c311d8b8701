package rows

import "math"

// ConvFewBytes is ConvFew for images that are bytes less padValue, of less than 4 planes. Behind
// its weights, w has them as bytes [kernel_h][ceil(run/8)][8][8]: of each channel eight of the run
// that lies beside each other in a row of the window, as bytes of the image are copied: one for a
// pixel of a single plane, else four. Behind its bias, bias has int32 [8][2], a number and a zero,
// which sums of these bytes begin with, to which 128 is added.
//
// Where results are not rescaled, or the machine does not multiply bytes, it is ConvFew.
func ConvFewBytes(y, x, w, bias, scratch []float32, a *ConvFewBytesParams,
	f *Epilogue) (rescaled bool) {
	floats := a.floats()
	if !keepsBytes() || !f.rescalesFew(&floats) {
		return ConvFew(y, x, w, bias, scratch, &floats, f)
	}
	pixel := 1
	if a.inChannels > 1 {
		pixel = 4
	}
	// A row is copied to an element's first byte; what is before it is padding.
	lead := (a.padW*pixel + 3) / 4
	width := max((a.outW-1)*a.strideW+a.kernelW-a.padW, a.copiedW)
	line := lead + (width*pixel+3)/4
	t := fewBytes{w: w[a.inChannels*a.kernelH*a.kernelW*fewChannels:], start: bias[fewChannels:],
		at: 4*lead - a.padW*pixel, next: a.strideW * pixel, columns: a.outW, rows: a.kernelH,
		row: 4 * a.dilationH * line, eights: (a.kernelW*pixel + 7) / 8, channels: a.outChannels,
		least: f.least, most: f.most, plus: f.plus}
	if t.from = f.bytesFrom(a.outBytes); t.from > 0 {
		t.y = y
	}
	copy(t.shift[:], f.shift[:t.channels])
	copy(t.scale[:], f.scale[:t.channels])
	run := a.outW * a.outChannels
	for b := range a.batch {
		for top := 0; top < a.outH; top += a.band {
			a.bytes(scratch, x[b*a.inStrideBatch:], top, lead, line)
			for p := top; p < min(top+a.band, a.outH); p++ {
				o := (b*a.outH + p) * run
				if t.x = scratch[(p-top)*a.strideH*line:]; t.from > 0 {
					t.yAt = o
				} else {
					t.y = y[o:][:run]
				}
				t.run()
				for i := 0; i < run && f.apply != nil; i += t.channels {
					f.apply(y[o+i:][:t.channels], o+i, 0)
				}
			}
		}
	}
	return true
}

func (a *ConvFewBytesParams) floats() ConvFewParams {
	return ConvFewParams{batch: a.batch, inChannels: a.inChannels, outChannels: a.outChannels,
		inH: a.inH, inW: a.inW, outH: a.outH, outW: a.outW, kernelH: a.kernelH, kernelW: a.kernelW,
		strideH: a.strideH, strideW: a.strideW, dilationH: a.dilationH, padH: a.padH, padW: a.padW,
		inStrideBatch: a.inStrideBatch, outStrideChannel: a.outStrideChannel,
		channelsInner: a.channelsInner, paddedH: a.paddedH, paddedRow: a.paddedRow, band: a.band,
		copiedW: a.copiedW, phase: a.phase}
}

// bytes copies what a band of rows of results sees, from row top on: rows of so many elements, of
// which lead are padding.
func (a *ConvFewBytesParams) bytes(to, x []float32, top, lead, line int) {
	pad := math.Float32frombits(uint32(uint8(a.padValue+byteFrom)) * 0x01010101)
	begin, end := lead, lead+a.copiedW // of what is no padding
	if a.inChannels == 1 {
		end = lead + a.copiedW/4 // and a part of the next one
	}
	first, offset := top*a.strideH-a.padH, a.padValue+byteFrom // of the image's rows
	lines := a.inChannels == 1 && a.copiedW == a.inW           // all at once
	for r := range a.paddedH {
		row, from := to[r*line:][:line], first+r
		if from < 0 || from >= a.inH || a.copiedW == 0 {
			for i := range row {
				row[i] = pad
			}
			continue
		}
		for i := range begin {
			row[i] = pad
		}
		for i := end; i < line; i++ {
			row[i] = pad
		}
		switch image := x[from*a.inW:]; {
		case lines:
		case a.inChannels == 1:
			pixelsFast(row[begin:], image, a.copiedW, 1, 1, offset)
		default:
			pixelsFast(row[begin:], image, a.inChannels, a.inH*a.inW, a.copiedW, offset)
		}
	}
	if above, below := max(0, -first), min(a.paddedH, a.inH-first); lines && above < below {
		linesOfBytes(to[above*line+begin:], x[(first+above)*a.inW:], a.inW, below-above, line, offset)
	}
}

// fewBytes are results of a row, of few channels.
type fewBytes struct {
	y     []float32 // channels apart
	x     []float32 // bytes
	w     []float32
	start []float32
	// Bytes of x: where the first result begins, how far the next one is, and the next row of the
	// window.
	at, next, row int
	columns       int // results
	rows, eights  int // vectors of weights
	channels      int // at most fewChannels
	// See Epilogue: of each channel.
	shift, scale      [fewChannels]float32
	least, most, plus float32
	// If not 0, what makes bytes of results; these begin at byte yAt of y. Behind the last one up to
	// fewChannels are stored.
	from, yAt int
}

// run computes y as Epilogue says. Of the last pixel as many bytes are read as of an even one.
func (t *fewBytes) run() {
	if t.from > 0 {
		_ = t.y[:(t.yAt+t.columns*t.channels+fewChannels-t.channels+3)/4]
	} else {
		_ = t.y[:t.columns*t.channels]
	}
	_ = t.w[:t.rows*t.eights*16]
	_ = t.start[:16]
	_ = t.x[:(t.at+t.columns*t.next+(t.rows-1)*t.row+8*t.eights+3)/4]
	fewBytesFast(t)
}
