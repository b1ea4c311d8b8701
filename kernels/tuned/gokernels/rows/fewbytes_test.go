package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFewBytes compares convolutions of bytes into few channels with their definition on all that
// this machine may be taken for: with and without rescaling, in bands of rows, of several planes,
// with padding on either side, strides, dilated rows and largest numbers.
func TestFewBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	machines := levels(t)
	for i := range 400 {
		c := randomFewBytes(r)
		if c == nil {
			continue
		}
		f := unbounded(nil)
		if f.low = -900; i%4 > 0 {
			f.low = float32(math.Inf(-1))
			f.Rescale(draw(r, c.outChannels, false), draw(r, c.outChannels, false), -100, 90, 7)
			for i := range f.scale {
				f.scale[i] /= float32(int(1) << r.IntN(12))
			}
		}
		for k, be := range machines {
			be()
			want, got := c.sums(), make([]float32, c.batch*c.outH*c.outW*c.outChannels)
			rescaled := ConvFewBytes(got, c.x, c.packed(), c.start(), c.scratch(),
				&c.ConvFewBytesParams, &f)
			for o, v := range want {
				if want[o] = max(v, f.low); rescaled {
					want[o] = rescaledOf(v, o%c.outChannels, f.shift, f.scale, f.least, f.most, f.plus)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("machine %d: %+v differ", k, c.ConvFewBytesParams)
			}
		}
	}
}

// fewBytesCase has w[out_channels][in_channels][kernel_h][kernel_w].
type fewBytesCase struct {
	ConvFewBytesParams
	x []float32
	w []int8
}

// randomFewBytes returns a case, or nil.
func randomFewBytes(r *rand.Rand) *fewBytesCase {
	a := ConvFewBytesParams{batch: 1 + r.IntN(2), inChannels: 1 + r.IntN(3),
		outChannels: 1 + r.IntN(8), inH: 1 + r.IntN(12), inW: 1 + r.IntN(70),
		kernelH: 1 + r.IntN(5), kernelW: 1 + r.IntN(9),
		strideH: 1 + r.IntN(3), strideW: 1 + r.IntN(3), dilationH: 1 + r.IntN(2), padH: r.IntN(4),
		padW: r.IntN(4), outStrideChannel: 1, channelsInner: true, padValue: r.IntN(256) - 128}
	reach := a.inH + a.padH + r.IntN(3) - (a.kernelH-1)*a.dilationH
	across := a.inW + a.padW + r.IntN(3) - a.kernelW + 1
	if reach < 1 || across < 1 {
		return nil
	}
	a.outH, a.outW = (reach-1)/a.strideH+1, (across-1)/a.strideW+1
	a.inStrideBatch = a.inChannels * a.inH * a.inW
	a.band = 1 + r.IntN(a.outH)
	a.paddedH = (a.band-1)*a.strideH + (a.kernelH-1)*a.dilationH + 1
	a.phase = (a.outW+fewLanes-1)/fewLanes*fewLanes + (a.kernelW-1)/a.strideW
	a.paddedRow = a.strideW * a.phase
	a.copiedW = max(0, min(a.inW, (a.outW-1)*a.strideW+a.kernelW-a.padW))
	c := &fewBytesCase{a, make([]float32, a.batch*a.inStrideBatch),
		make([]int8, a.outChannels*a.inChannels*a.kernelH*a.kernelW)}
	fillBytes(r, a.padValue, c.x, c.w)
	return c
}

// sums are those of the definition.
func (c *fewBytesCase) sums() (y []float32) {
	for b := range c.batch {
		for p := range c.outH {
			for q := range c.outW {
				for o := range c.outChannels {
					sum := 0
					for i, w := range c.w[o*len(c.w)/c.outChannels:][:len(c.w)/c.outChannels] {
						plane, tap := i/(c.kernelH*c.kernelW), i%(c.kernelH*c.kernelW)
						h := p*c.strideH + tap/c.kernelW*c.dilationH - c.padH
						v := q*c.strideW + tap%c.kernelW - c.padW
						if h >= 0 && h < c.inH && v >= 0 && v < c.inW {
							sum += int(w) * int(c.x[b*c.inStrideBatch+(plane*c.inH+h)*c.inW+v])
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
func (c *fewBytesCase) packed() []float32 {
	each, pixel := len(c.w)/c.outChannels, 1
	if c.inChannels > 1 {
		pixel = 4
	}
	run := (c.kernelW*pixel + 7) / 8 * 8
	floats, bytes := make([]float32, each*fewChannels), make([]uint32, c.kernelH*run*fewChannels/4)
	for i, w := range c.w {
		o, tap := i/each, i%each
		floats[tap*fewChannels+o] = float32(w)
		plane, row, col := tap/(c.kernelH*c.kernelW), tap/c.kernelW%c.kernelH, tap%c.kernelW
		at := col*pixel + plane
		k := (row*run+at/8*8)*fewChannels + o*8 + at%8
		bytes[k/4] |= uint32(uint8(w)) << (k % 4 * 8)
	}
	for _, v := range bytes {
		floats = append(floats, math.Float32frombits(v))
	}
	return floats
}

// start is what sums of floats begin with, and those of bytes to which 128 is added.
func (c *fewBytesCase) start() []float32 {
	start := make([]float32, 3*fewChannels)
	each := len(c.w) / c.outChannels
	for i, w := range c.w {
		at := &start[fewChannels+2*(i/each)]
		*at = math.Float32frombits(math.Float32bits(*at) - uint32((c.padValue+128)*int(w)))
	}
	return start
}

// scratch is as much as a call needs, and not a number.
func (c *fewBytesCase) scratch() []float32 {
	pixel := 1
	if c.inChannels > 1 {
		pixel = 4
	}
	reach := (c.outW-1)*c.strideW + c.kernelW
	bytes := c.paddedH*((reach+c.padW)*pixel+8) + c.strideW*pixel + 16
	s := make([]float32, max(c.inChannels*c.paddedH*c.paddedRow, bytes/4))
	for i := range s {
		s[i] = float32(math.NaN()) // what was there before
	}
	return s
}
