package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBytes compares convolutions of bytes with their definition on all that this machine may be
// taken for: images of either layout, results too, with padding, strides, dilations and largest
// numbers, where panels and pixels are full and where they are not.
func TestBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	machines := levels(t)
	for range 150 {
		c := randomBytes(r)
		f := Epilogue{low: -9000, high: float32(math.Inf(1))}
		if r.IntN(2) == 0 {
			f.apply = func(run []float32, o, ch int) {
				for i := range run {
					if run[i] += float32((o+i)%7 + ch); c.outStrideChannel == 1 {
						run[i] += float32(i)
					}
				}
			}
		}
		sums := c.results(&f)
		if f.apply == nil && r.IntN(2) == 0 {
			f.shift, f.scale = draw(r, c.outChannels, true), draw(r, c.outChannels, false)
			for i := range f.scale {
				f.scale[i] /= float32(int(1) << r.IntN(12))
			}
			f.least, f.most, f.plus = -100, 90, 7
		}
		for i, be := range machines {
			be()
			got, want := make([]float32, len(sums)), slices.Clone(sums)
			if ConvBytes(got, c.x, c.words(), c.start(), c.scratch(), &c.ConvI8Params, &f) {
				for o := range want {
					sum := float32(c.sum(c.place(o)))
					want[o] = rescaledOf(sum, o%c.outChannels, f.shift, f.scale, f.least, f.most, f.plus)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("machine %d: %+v differ", i, c.ConvI8Params)
			}
		}
	}
}

// TestBytesBetween compares results of kernels that leave bytes to each other, where the machine
// does so, with those of kernels that leave floats.
func TestBytesBetween(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	machines := levels(t)
	for i := range 300 {
		size := 1 + 2*r.IntN(2) // of the second one's windows
		a := ConvI8Params{batch: 1 + r.IntN(2), groups: 1, inChannels: 8 + 4*r.IntN(20),
			outChannels: 1 + r.IntN(70), inH: 1 + r.IntN(5), inW: 1 + r.IntN(20), kernelH: size,
			kernelW: size, strideH: 1, strideW: 1, dilationH: 1, dilationW: 1, padH: size / 2,
			padW: size / 2, padValue: r.IntN(256) - 128, direct: size == 1}
		a.outH, a.outW = a.inH, a.inW
		if r.IntN(3) == 0 { // behind rows
			a.inH, a.inW, a.outH, a.outW = 1, a.inH*a.inW, 1, a.inH*a.inW
		}
		a.inStrideChannel, a.inStrideCol = 1, a.inChannels
		a.outStrideChannel, a.outStrideCol = 1, a.outChannels
		second := newBytes(r, a)
		n := a.inChannels
		f := unbounded(nil)
		f.Rescale(draw(r, n, true), draw(r, n, false), -100, 95, float32(r.IntN(60)-28-a.padValue))
		if r.IntN(3) == 0 { // those of a relu
			f.least, f.most, f.plus = 0, 255, float32(-128-a.padValue)
		}
		for i := range f.scale {
			f.scale[i] /= 16
		}
		f.scale[r.IntN(n)] = 1e9 // too large for int32
		first := depthwiseInto(r, &a)
		if i%2 == 0 {
			first = productInto(r, &a)
		}
		for i, be := range machines {
			be()
			var all [2][]float32
			for k := range all {
				y, from := make([]float32, len(second.x)), k*(a.padValue+256)
				rescaled := first(y, from, &f)
				if !rescaled {
					continue
				}
				second.inBytes = k == 1
				second.x, all[k] = y, make([]float32, a.batch*second.outStrideBatch)
				own := unbounded(nil)
				ConvBytes(all[k], y, second.words(), second.start(), second.scratch(),
					&second.ConvI8Params, &own)
			}
			if !slices.Equal(all[0], all[1]) {
				t.Fatalf("machine %d: %+v differ", i, second.ConvI8Params)
			}
		}
	}
}

// TestBytesPassedOn does the same where a convolution into few channels stores bytes, in most cases
// for a pool that passes them on to the convolution that multiplies them.
func TestBytesPassedOn(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 40))
	machines := levels(t)
	for i := range 300 {
		few := randomFewBytes(r)
		if few == nil {
			continue
		}
		n := few.outChannels
		pool := PoolParams{batch: few.batch, channels: n, inH: few.outH, inW: few.outW, outH: few.outH,
			outW: few.outW, kernelH: 1 + r.IntN(4), kernelW: 1 + r.IntN(4), strideH: 1 + r.IntN(3),
			strideW: 1 + r.IntN(3), dilationH: 1, dilationW: 1, channelsInner: true}
		pool.padH, pool.padW = r.IntN(pool.kernelH/2+1), r.IntN(pool.kernelW/2+1)
		high, wide := pool.inH+2*pool.padH-pool.kernelH, pool.inW+2*pool.padW-pool.kernelW
		pools := i%4 > 0 && high >= 0 && wide >= 0
		if pools {
			pool.outH, pool.outW = high/pool.strideH+1, wide/pool.strideW+1
		}
		a := ConvI8Params{batch: few.batch, groups: 1, inChannels: n, outChannels: 1 + r.IntN(40),
			inH: pool.outH, inW: pool.outW, kernelH: 3, kernelW: 3, strideH: 1, strideW: 1, dilationH: 1,
			dilationW: 1 + r.IntN(2), padH: 1, padW: r.IntN(4), padValue: r.IntN(256) - 128,
			inStrideChannel: 1, inStrideCol: n, outStrideChannel: 1}
		if a.outH, a.outW = a.inH, a.inW+2*a.padW-2*a.dilationW; a.outW < 1 {
			continue
		}
		a.outStrideCol = a.outChannels
		second := newBytes(r, a)
		if second.beside() {
			continue // reads no bytes
		}
		f := unbounded(nil)
		f.Rescale(draw(r, n, true), draw(r, n, false), -100, 95, float32(r.IntN(60)-28-a.padValue))
		for i := range f.scale {
			f.scale[i] /= 16
		}
		f.scale[r.IntN(n)] = 1e9 // too large for int32
		for i, be := range machines {
			be()
			var all [2][]float32
			for k := range all {
				y := make([]float32, few.batch*few.outH*few.outW*n)
				few.outBytes, pool.inBytes, second.inBytes = k*(a.padValue+256), k == 1, k == 1
				if !ConvFewBytes(y, few.x, few.packed(), few.start(), few.scratch(),
					&few.ConvFewBytesParams, &f) {
					continue
				}
				if second.x = y; pools {
					second.x = make([]float32, max(a.batch*second.inStrideBatch, len(y)))
					MaxPool(second.x, y, make([]float32, few.outW*n), &pool, nil)
				}
				all[k] = make([]float32, a.batch*second.outStrideBatch)
				own := unbounded(nil)
				ConvBytes(all[k], second.x, second.words(), second.start(), second.scratch(),
					&second.ConvI8Params, &own)
			}
			if !slices.Equal(all[0], all[1]) {
				t.Fatalf("machine %d: %+v, pool %t %+v, %+v differ", i, few.ConvFewBytesParams, pools, pool,
					second.ConvI8Params)
			}
		}
	}
}

// productInto returns a product of bytes whose results are a's image.
func productInto(r *rand.Rand, a *ConvI8Params) func([]float32, int, *Epilogue) bool {
	p := ConvI8Params{batch: a.batch, groups: 1, inChannels: 1 + r.IntN(30), outChannels: a.inChannels,
		inH: a.inH, inW: a.inW, outH: a.inH, outW: a.inW, kernelH: 1, kernelW: 1, strideH: 1,
		strideW: 1, dilationH: 1, dilationW: 1, padValue: r.IntN(256) - 128, inStrideChannel: 1,
		outStrideChannel: 1, outStrideCol: a.inChannels}
	p.inStrideCol, p.direct = p.inChannels, p.inChannels%4 == 0
	c := newBytes(r, p)
	return func(y []float32, outBytes int, f *Epilogue) bool {
		c.outBytes = outBytes
		return ConvBytes(y, c.x, c.words(), c.start(), c.scratch(), &c.ConvI8Params, f)
	}
}

// depthwiseInto returns a depthwise convolution whose results are a's image.
func depthwiseInto(r *rand.Rand, a *ConvI8Params) func([]float32, int, *Epilogue) bool {
	n, taps := a.inChannels, []int{sweepShort, sweepLong}[r.IntN(2)]
	d := DepthwiseRowsParams{batch: a.batch, channels: n, lanes: n, inH: a.inH, inW: a.inW,
		outH: a.inH, outW: a.inW, kernelH: taps, kernelW: taps, strideH: 1, strideW: 1, dilationH: 1,
		dilationW: 1, padH: taps / 2, padW: taps / 2, inStrideBatch: a.inH * a.inW * n,
		inStrideRow: a.inW * n, inStrideCol: n}
	x, bias := draw(r, d.batch*d.inStrideBatch, true), draw(r, n, true)
	w := draw(r, taps*taps*n, true)
	return func(y []float32, outBytes int, f *Epilogue) bool {
		d.outBytes = outBytes
		return Depthwise(y, x, w, bias, &d, f)
	}
}

// bytesCase is a convolution of bytes, with w[out_channels][kernel_h][kernel_w][in_channels].
type bytesCase struct {
	ConvI8Params
	x []float32
	w []int8
}

func randomBytes(r *rand.Rand) *bytesCase {
	a := ConvI8Params{batch: 1 + r.IntN(2), groups: 1, inChannels: 1 + r.IntN(40),
		outChannels: 1 + r.IntN(80), kernelH: 1 + r.IntN(3), kernelW: 1 + r.IntN(3),
		strideH: 1 + r.IntN(2), strideW: 1 + r.IntN(2), dilationH: 1 + r.IntN(2),
		dilationW: 1 + r.IntN(2),
		padValue:  r.IntN(256) - 128}
	if r.IntN(3) == 0 {
		a.inChannels, a.kernelW = 1+r.IntN(3), 1+r.IntN(6)
	}
	if r.IntN(3) == 0 { // a product of rows
		a.kernelH, a.kernelW, a.strideH, a.strideW, a.dilationH, a.dilationW = 1, 1, 1, 1, 1, 1
		a.outH, a.outW = 1, 1+r.IntN(30)*r.IntN(2)
		a.inH, a.inW = a.outH, a.outW
		a.direct = a.inChannels%4 == 0
	} else {
		a.padH, a.padW = r.IntN(2), r.IntN(3)
		if a.outH, a.outW = 1+r.IntN(4), 1+r.IntN(16); r.IntN(4) == 0 {
			a.outH, a.outW = a.outW, a.outH
		}
		if r.IntN(8) == 0 {
			a.outH, a.outW = 1, 1
		}
		size := func(out, stride, kernel, dilation, pad int) int {
			return max(1, (out-1)*stride+(kernel-1)*dilation+1-pad-r.IntN(2))
		}
		a.inH = size(a.outH, a.strideH, a.kernelH, a.dilationH, a.padH)
		a.inW = size(a.outW, a.strideW, a.kernelW, a.dilationW, a.padW)
	}
	a.inStrideChannel, a.inStrideCol = 1, a.inChannels
	if !a.direct && r.IntN(4) == 0 {
		a.inStrideChannel, a.inStrideCol = a.inH*a.inW, 1
	}
	a.outStrideChannel, a.outStrideCol = 1, a.outChannels
	if r.IntN(4) == 0 {
		a.outStrideChannel, a.outStrideCol = a.outH*a.outW, 1
	}
	return newBytes(r, a)
}

// newBytes makes a case of random numbers, given strides but those of rows and images.
func newBytes(r *rand.Rand, a ConvI8Params) *bytesCase {
	a.inStrideRow, a.outStrideRow = a.inW*a.inStrideCol, a.outW*a.outStrideCol
	a.inStrideBatch = a.inH * a.inW * a.inChannels
	a.outStrideBatch = a.outH * a.outW * a.outChannels
	a.pixel = (a.inChannels + 3) / 4 * 4
	a.depth = a.kernelH * a.kernelW * a.pixel
	if a.inChannels < 3 && a.kernelW > 1 && a.dilationW == 1 {
		a.pixel = (a.kernelW*a.inChannels + 3) / 4 * 4
		a.depth = a.kernelH * a.pixel
	}
	c := &bytesCase{a, make([]float32, a.batch*a.inStrideBatch),
		make([]int8, a.outChannels*a.kernelH*a.kernelW*a.inChannels)}
	fillBytes(r, a.padValue, c.x, c.w)
	return c
}

// fillBytes draws bytes less their zero point and weights; in half the cases they are the ones that
// are farthest from 0.
func fillBytes(r *rand.Rand, zero int, x []float32, w []int8) {
	far := r.IntN(2) == 0
	number := func() int {
		if far {
			return []int{-128, 127}[r.IntN(2)]
		}
		return r.IntN(256) - 128
	}
	for i := range x {
		x[i] = float32(number() - zero)
	}
	for i := range w {
		w[i] = int8(number())
	}
}

// rescaledOf is a sum rescaled: see Epilogue.
func rescaledOf(sum float32, c int, shift, scale []float32, least, most, plus float32) float32 {
	n := float32(math.RoundToEven(float64((sum + shift[c]) * scale[c])))
	return plus + min(most, max(least, n))
}

// place is where result o is whose channels lie innermost.
func (c *bytesCase) place(o int) (b, channel, p, q int) {
	o, channel = o/c.outChannels, o%c.outChannels
	o, q = o/c.outW, o%c.outW
	return o / c.outH, channel, o % c.outH, q
}

// results are those of the definition.
func (c *bytesCase) results(f *Epilogue) []float32 {
	y := make([]float32, c.batch*c.outStrideBatch)
	for b := range c.batch {
		for o := range c.outChannels {
			for p := range c.outH {
				for q := range c.outW {
					at := b*c.outStrideBatch + p*c.outStrideRow + q*c.outStrideCol + o*c.outStrideChannel
					v := max(float32(c.sum(b, o, p, q)), f.low)
					if f.apply != nil {
						run := []float32{v}
						f.apply(run, at, o)
						v = run[0]
					}
					y[at] = v
				}
			}
		}
	}
	return y
}

func (c *bytesCase) sum(b, o, p, q int) (sum int) {
	for kh := range c.kernelH {
		for kw := range c.kernelW {
			h, w := p*c.strideH+kh*c.dilationH-c.padH, q*c.strideW+kw*c.dilationW-c.padW
			if h < 0 || h >= c.inH || w < 0 || w >= c.inW {
				continue
			}
			for i := range c.inChannels {
				x := c.x[b*c.inStrideBatch+h*c.inStrideRow+w*c.inStrideCol+i*c.inStrideChannel]
				sum += int(x) * int(c.w[((o*c.kernelH+kh)*c.kernelW+kw)*c.inChannels+i])
			}
		}
	}
	return sum
}

// words packs the weights.
func (c *bytesCase) words() (w []float32) {
	beside := c.inChannels
	if c.beside() {
		beside *= c.kernelW
	}
	each := c.kernelH * c.kernelW * c.inChannels
	for j := 0; j < c.outChannels; j += panel {
		_, width := panelOf(c.outChannels, j)
		for i := range c.depth / 4 {
			first := i * 4 / c.pixel * beside
			for k := range width {
				bits := uint32(0)
				for e := range 4 {
					if at := i*4%c.pixel + e; at < beside && j+k < c.outChannels {
						bits |= uint32(uint8(c.w[(j+k)*each+first+at])) << (8 * e)
					}
				}
				w = append(w, math.Float32frombits(bits))
			}
		}
	}
	return w
}

// start is what sums of bytes begin with, and those of bytes to which 128 is added.
func (c *bytesCase) start() []float32 {
	all := (c.outChannels + 15) / 16 * 16
	start := make([]float32, 2*all)
	each := len(c.w) / c.outChannels
	for i, v := range c.w {
		for row, from := range []int{0, 128} {
			at := &start[row*all+i/each]
			*at = math.Float32frombits(math.Float32bits(*at) - uint32((c.padValue+from)*int(v)))
		}
	}
	return start
}

// scratch is as much as a call needs, and not a number.
func (c *bytesCase) scratch() []float32 {
	each := 4
	if c.direct {
		each = 2
	}
	height := (c.outH-1)*c.strideH + (c.kernelH-1)*c.dilationH + 1
	width := (c.outW-1)*c.strideW + (c.kernelW-1)*c.dilationW + 1
	row := 0
	if c.beside() {
		row = width*c.inChannels + height*(width*c.inChannels+c.pixel+8)/4 + 1
	}
	s := make([]float32, height*max(width, c.outW)*c.pixel*each/4+row+panel*c.depth)
	for i := range s {
		s[i] = float32(math.NaN()) // what was there before
	}
	return s
}
