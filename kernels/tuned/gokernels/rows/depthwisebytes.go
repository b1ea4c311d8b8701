package rows

import "math"

// byteBlock is how many channels DepthwiseBytes takes at once.
const byteBlock = 64

// laneOrder are the channels of the first of the four vectors of a block. It is never written.
var laneOrder = [16]uint32{0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51}

// DepthwiseBytes is Depthwise for images that are bytes less padValue, whose channels are a
// multiple of 16. Behind its weights, w has them as bytes
// [ceil(channels/64)][ceil(kernel_h/4)][kernel_w][4][16][4]: four rows of taps of a channel, zeros
// for what is not there. The 64 channels of a block are four vectors of 16: element i of vector j
// is channel i/4·16 + 4·j + i%4. Behind its bias, bias has int32 in the same order. Sums of
// products with these weights begin with them. To bytes of the image, 128 is added before.
//
// With in_bytes the image may be bytes already. Where it is not, it is Depthwise.
func DepthwiseBytes(y, x, w, bias, scratch []float32, a *DepthwiseBytesParams,
	f *Epilogue) (rescaled bool) {
	floats := a.floats()
	if !a.inBytes || !keepsBytes() {
		return Depthwise(y, x, w, bias, &floats, f)
	}
	w, bias = w[a.kernelH*a.kernelW*a.channels:], bias[a.channels:]
	t := depthwiseBytes{order: laneOrder, columns: a.outW, inRows: a.inH, xRow: a.inStrideRow,
		xNext: a.inStrideCol, down: a.strideH, dilation: a.dilationH, taps: a.kernelW,
		tap: 4 * byteBlock * a.dilationW, across: 4 * byteBlock * a.strideW,
		groups: (a.kernelH + 3) / 4, least: f.least, most: f.most, yNext: 4 * a.channels}
	pad := math.Float32frombits(uint32(uint8(a.padValue+byteFrom)) * 0x01010101)
	for i := range t.pad {
		t.pad[i] = pad
	}
	width := (a.outW-1)*a.strideW + (a.kernelW-1)*a.dilationW + 1
	lead := min(a.padW, width)
	t.lead, t.copied = 4*byteBlock*lead, min(width-lead, a.inW)
	t.group, t.vectors = 4*byteBlock*width, 4*width*t.groups
	t.seen = scratch[:16*t.vectors]
	if rescaled = f.scale != nil; rescaled {
		t.store, t.plus = storeFloats, f.plus
		t.from = f.bytesFrom(a.outBytes)
	}
	bytes := t.from > 0
	if bytes {
		t.yNext, t.store = a.channels, storeBytes
		if f.saturates(t.from) {
			t.store = storeSaturated
		}
		t.from -= (t.from + int(f.least)) &^ math.MaxUint8 // results are bytes without signs
	}
	taps, results := t.groups*t.taps*byteBlock, a.outH*a.outW
	for b := range a.batch {
		for j := 0; j < a.channels; j += byteBlock {
			n := min(byteBlock, a.channels-j)
			t.words, t.rows, t.top = n/4, a.outH, -a.padH
			t.x = x[(b*a.inStrideBatch+j)/4:]
			t.w, t.start = w[j*t.groups*t.taps:][:taps], bias[j:][:byteBlock]
			o := b*results*a.channels + j
			_ = t.x[:((a.inH-1)*a.inStrideRow+(a.inW-1)*a.inStrideCol+n)/4]
			if rescaled {
				t.shift, t.scale = f.shift[j:][:n], f.scale[j:][:n]
			}
			if last := (results-1)*a.channels + n; bytes {
				t.y = y[o/4:][:last/4]
			} else {
				t.y = y[o:][:last]
			}
			depthwiseBytesFast(&t)
		}
		if rescaled {
			continue
		}
		for i := range results {
			o := (b*results + i) * a.channels
			run := y[o:][:a.channels]
			for j, v := range run {
				if f.add != nil {
					v += f.add[o+j]
				}
				run[j] = bounded(v, f.low, f.high)
			}
			if f.apply != nil {
				f.apply(run, o, 0)
			}
		}
	}
	return rescaled
}

// floats are the parameters of the same convolution of floats.
func (a *DepthwiseBytesParams) floats() DepthwiseRowsParams {
	return DepthwiseRowsParams{batch: a.batch, channels: a.channels, lanes: a.channels, inH: a.inH,
		inW: a.inW, outH: a.outH, outW: a.outW, kernelH: a.kernelH, kernelW: a.kernelW,
		strideH: a.strideH, strideW: a.strideW, dilationH: a.dilationH, dilationW: a.dilationW,
		padH: a.padH, padW: a.padW, inStrideBatch: a.inStrideBatch, inStrideRow: a.inStrideRow,
		inStrideCol: a.inStrideCol, outBytes: a.outBytes}
}

// What is stored.
const (
	storeSums = iota
	storeFloats
	storeBytes
	storeSaturated // bytes that are bounded by 0 and 255 alone
)

// depthwiseBytes are results of an image of at most byteBlock channels. Distances are bytes.
type depthwiseBytes struct {
	y     []float32
	x     []float32 // bytes
	w     []float32
	start []float32
	// Rows that results see are copied to seen. A column of a group has byteBlock elements: four
	// rows of a channel each. In all there are so many vectors.
	seen    []float32
	vectors int
	words   int // elements that channels have
	order   [16]uint32
	pad     [16]float32

	rows, columns  int // of results
	top, down      int // row that the first result sees first, and rows to the next one's
	inRows         int
	xRow, xNext    int
	yNext          int
	taps, dilation int // taps of a row; how far rows are apart
	// Groups of four rows of taps, each so many bytes of seen. The columns that are copied lie behind
	// lead. From tap to tap, and from result to result.
	groups, group, lead, copied int
	tap, across                 int

	// Sums are rescaled if there is a scale: see Epilogue. From makes bytes of what they are then.
	store             int
	shift, scale      []float32
	least, most, plus float32
	from              int
}
