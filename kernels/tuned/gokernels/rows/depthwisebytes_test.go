package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDepthwiseBytes compares convolutions of bytes of channels by themselves with their definition
// on all that this machine may be taken for: of bytes and of floats, into both, with and without
// rescaling, with padding on either side, strides, dilations and largest numbers.
func TestDepthwiseBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 38))
	machines := levels(t)
	for range 400 {
		c := randomDepthwiseBytes(r)
		if c == nil {
			continue
		}
		f := unbounded(nil)
		switch n := c.channels; r.IntN(4) {
		case 0:
			f.low = -900
			f.apply = func(run []float32, o, ch int) {
				for i := range run {
					run[i] += float32((o+i)%7 + ch)
				}
			}
		case 1:
			f.high, f.add = 500, draw(r, c.batch*c.outH*c.outW*n, true)
		default:
			f.Rescale(draw(r, n, true), draw(r, n, false), -100, 95, float32(r.IntN(60)-28-c.padValue))
			if r.IntN(3) == 0 { // those of a relu
				f.least, f.most, f.plus = 0, 255, float32(-128-c.padValue)
			}
			for i := range f.scale {
				f.scale[i] /= float32(int(1) << r.IntN(12))
			}
			f.scale[r.IntN(n)] = 1e9 // too large for int32
		}
		if s := c.slide(); f.scale != nil && s.sweeps(1) && r.IntN(3) > 0 {
			c.outBytes = c.padValue + 256
		}
		c.inBytes = r.IntN(4) > 0
		for i, be := range machines {
			be()
			c.check(t, i, &f)
		}
	}
}

// check compares results of machine number i with those of the definition.
func (c *depthwiseBytesCase) check(t *testing.T, i int, f *Epilogue) {
	x := c.x
	if c.inBytes && keepsBytes() {
		x = bytesOf(x, c.padValue+byteFrom)
	}
	want := c.sums()
	got := make([]float32, len(want))
	rescaled := DepthwiseBytes(got, x, c.packed(), c.start(), c.scratch(), &c.DepthwiseBytesParams, f)
	for o, v := range want {
		if rescaled {
			want[o] = rescaledOf(v, o%c.channels, f.shift, f.scale, f.least, f.most, f.plus)
			continue
		}
		if f.add != nil {
			v += f.add[o]
		}
		want[o] = bounded(v, f.low, f.high)
	}
	for o := 0; o < len(want) && !rescaled && f.apply != nil; o += c.channels {
		f.apply(want[o:][:c.channels], o, 0)
	}
	if rescaled && c.outBytes != 0 && keepsBytes() {
		want = bytesOf(want, c.outBytes+byteFrom)
		if !sameBits(got[:len(want)], want) {
			t.Fatalf("machine %d: bytes of %+v differ", i, c.DepthwiseBytesParams)
		}
		return
	}
	if !slices.Equal(got, want) {
		t.Fatalf("machine %d: %+v differ", i, c.DepthwiseBytesParams)
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(a, b float32) bool {
		return math.Float32bits(a) == math.Float32bits(b)
	})
}

// bytesOf are numbers as bytes, to which from is added modulo 256.
func bytesOf(x []float32, from int) []float32 {
	words := make([]uint32, len(x)/4)
	for i, v := range x {
		words[i/4] |= uint32(uint8(int(v)+from)) << (i % 4 * 8)
	}
	out := make([]float32, len(words))
	for i, v := range words {
		out[i] = math.Float32frombits(v)
	}
	return out
}

// depthwiseBytesCase has w[channels][kernel_h][kernel_w].
type depthwiseBytesCase struct {
	DepthwiseBytesParams
	x []float32
	w []int8
}

// randomDepthwiseBytes returns a case, or nil.
func randomDepthwiseBytes(r *rand.Rand) *depthwiseBytesCase {
	a := DepthwiseBytesParams{batch: 1 + r.IntN(2), channels: 16 * (1 + r.IntN(9)),
		inH: 1 + r.IntN(12), inW: 1 + r.IntN(20), kernelH: 1 + r.IntN(7), kernelW: 1 + r.IntN(6),
		strideH: 1 + r.IntN(3), strideW: 1 + r.IntN(3), dilationH: 1 + r.IntN(2),
		dilationW: 1 + r.IntN(2), padH: r.IntN(4), padW: r.IntN(4), padValue: r.IntN(256) - 128}
	if r.IntN(2) == 0 { // a sweep
		a.kernelW, a.dilationW, a.strideW = []int{sweepShort, sweepLong}[r.IntN(2)], 1, 1+r.IntN(2)
	}
	reach := a.inH + a.padH + r.IntN(3) - (a.kernelH-1)*a.dilationH
	across := a.inW + a.padW + r.IntN(3) - (a.kernelW-1)*a.dilationW
	if reach < 1 || across < 1 {
		return nil
	}
	a.outH, a.outW = (reach-1)/a.strideH+1, (across-1)/a.strideW+1
	a.inStrideCol, a.inStrideRow = a.channels, a.channels*a.inW
	a.inStrideBatch = a.inStrideRow * a.inH
	c := &depthwiseBytesCase{a, make([]float32, a.batch*a.inStrideBatch),
		make([]int8, a.channels*a.kernelH*a.kernelW)}
	fillBytes(r, a.padValue, c.x, c.w)
	return c
}

func (c *depthwiseBytesCase) slide() slide {
	floats := c.floats()
	return floats.slide()
}

// sums are those of the definition.
func (c *depthwiseBytesCase) sums() (y []float32) {
	for b := range c.batch {
		for p := range c.outH {
			for q := range c.outW {
				for o := range c.channels {
					sum := 0
					for tap := range c.kernelH * c.kernelW {
						h := p*c.strideH + tap/c.kernelW*c.dilationH - c.padH
						v := q*c.strideW + tap%c.kernelW*c.dilationW - c.padW
						if h >= 0 && h < c.inH && v >= 0 && v < c.inW {
							x := c.x[b*c.inStrideBatch+h*c.inStrideRow+v*c.inStrideCol+o]
							sum += int(c.w[o*c.kernelH*c.kernelW+tap]) * int(x)
						}
					}
					y = append(y, float32(sum))
				}
			}
		}
	}
	return y
}

// packed are the weights as floats and as bytes.
func (c *depthwiseBytesCase) packed() []float32 {
	taps := c.kernelH * c.kernelW
	floats := make([]float32, len(c.w))
	for i, w := range c.w {
		floats[i%taps*c.channels+i/taps] = float32(w)
	}
	for block := 0; block < c.channels; block += byteBlock {
		for row := 0; row < c.kernelH; row += 4 {
			for col := range c.kernelW {
				for lane := range byteBlock {
					bits, at := uint32(0), block+laneChannel(lane)
					for k := range min(4, c.kernelH-row) {
						if at < c.channels {
							w := c.w[at*taps+(row+k)*c.kernelW+col]
							bits |= uint32(uint8(w)) << (8 * k)
						}
					}
					floats = append(floats, math.Float32frombits(bits))
				}
			}
		}
	}
	return floats
}

// laneChannel is the channel of a lane of a block.
func laneChannel(lane int) int { return int(laneOrder[lane%16]) + lane/16*4 }

// start is what sums of floats begin with, and those of bytes to which 128 is added.
func (c *depthwiseBytesCase) start() []float32 {
	start, taps := make([]float32, c.channels), c.kernelH*c.kernelW
	for block := 0; block < c.channels; block += byteBlock {
		for lane := range byteBlock {
			sum := 0
			if at := block + laneChannel(lane); at < c.channels {
				for _, w := range c.w[at*taps:][:taps] {
					sum -= (c.padValue + 128) * int(w)
				}
			}
			start = append(start, math.Float32frombits(uint32(int32(sum))))
		}
	}
	return start
}

// scratch is as much as a call needs, and not a number.
func (c *depthwiseBytesCase) scratch() []float32 {
	width := (c.outW-1)*c.strideW + (c.kernelW-1)*c.dilationW + 1
	s := make([]float32, (c.kernelH+3)/4*width*byteBlock)
	for i := range s {
		s[i] = float32(math.NaN()) // what was there before
	}
	return s
}
