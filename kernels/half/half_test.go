package half

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/ir"
)

var narrow = []ir.DType{ir.Float16, ir.BFloat16, ir.Float8E4M3FN, ir.Float8E5M2, ir.Float8E4M3FNUZ,
	ir.Float8E5M2FNUZ, ir.Float8E8M0FNU}

func patterns(d ir.DType) int { return 1 << (8 * d.Size()) }

// Every pattern survives the way to float32 and back, NaNs as some NaN.
func TestRoundTrip(t *testing.T) {
	for _, d := range narrow {
		for i := range patterns(d) {
			x := ToFloat32(d, uint16(i))
			back := FromFloat32(d, x)
			if x != x {
				if y := ToFloat32(d, back); y == y {
					t.Fatalf("%s %#x is NaN, came back as %v", d, i, y)
				}
			} else if back != uint16(i) {
				t.Fatalf("%s %#x = %v came back as %#x", d, i, x, back)
			}
		}
	}
}

// Between neighbouring values rounding goes to the nearer one and, in the
// middle, to the even pattern.
func TestNearestEven(t *testing.T) {
	for _, d := range narrow[:6] {
		for i := range patterns(d)/2 - 1 {
			lo, hi := float64(ToFloat32(d, uint16(i))), float64(ToFloat32(d, uint16(i+1)))
			if hi != hi || math.IsInf(hi, 0) || lo != lo || math.IsInf(lo, 0) {
				continue
			}
			mid := (lo + hi) / 2 // exact in float32, but for bfloat16's subnormals' last bit
			if float64(float32(mid)) != mid {
				continue
			}
			even := uint16(i + i&1)
			for _, c := range []struct {
				x    float32
				want uint16
			}{
				{float32(mid), even},
				{math.Nextafter32(float32(mid), 0), uint16(i)},
				{math.Nextafter32(float32(mid), math.MaxFloat32), uint16(i + 1)},
			} {
				if got := FromFloat32(d, c.x); got != c.want {
					t.Fatalf("%s: %v became %#x, want %#x", d, c.x, got, c.want)
				}
			}
		}
	}
}

func TestKnown(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		d    ir.DType
		x    float32
		want uint16
	}{
		{ir.Float16, 1, 0x3c00}, {ir.Float16, -2, 0xc000}, {ir.Float16, 65504, 0x7bff},
		{ir.Float16, 65519.996, 0x7bff},
		{ir.Float16, 65520, 0x7c00}, {ir.Float16, -inf, 0xfc00}, {ir.Float16, 0x1p-24, 1},
		{ir.Float16, 0x1p-25, 0},
		{ir.Float16, 0x1.8p-25, 1}, {ir.Float16, float32(math.Copysign(0, -1)), 0x8000},
		{ir.BFloat16, 1, 0x3f80}, {ir.BFloat16, math.MaxFloat32, 0x7f80},
		{ir.BFloat16, 0x1p-149, 0},
		{ir.Float8E4M3FN, 448, 0x7e}, {ir.Float8E4M3FN, 464, 0x7e}, {ir.Float8E4M3FN, 465, 0x7f},
		{ir.Float8E4M3FN, -inf, 0xff},
		{ir.Float8E5M2, 57344, 0x7b}, {ir.Float8E5M2, inf, 0x7c},
		{ir.Float8E4M3FNUZ, 240, 0x7f}, {ir.Float8E4M3FNUZ, inf, 0x80},
		{ir.Float8E4M3FNUZ, -0x1p-30, 0},
		{ir.Float8E8M0FNU, 1, 127}, {ir.Float8E8M0FNU, 3, 129}, {ir.Float8E8M0FNU, 2.5, 128},
		{ir.Float8E8M0FNU, inf, 255},
	} {
		if got := FromFloat32(c.d, c.x); got != c.want {
			t.Errorf("%s(%v) = %#x, want %#x", c.d, c.x, got, c.want)
		}
	}
}

// The rounding error of random values is at most half the gap around them.
func TestRandomNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		x := math.Float32frombits(r.Uint32())
		for _, d := range narrow[:6] {
			if x != x {
				continue
			}
			b := FromFloat32(d, x)
			y := ToFloat32(d, b)
			if y != y || math.IsInf(float64(y), 0) || math.IsInf(float64(x), 0) {
				continue
			}
			for _, n := range []uint16{b - 1, b + 1} {
				z := ToFloat32(d, n)
				if z == z && math.Abs(float64(x)-float64(z)) < math.Abs(float64(x)-float64(y)) {
					t.Fatalf("%s: %v became %v though %v is nearer", d, x, y, z)
				}
			}
		}
	}
}
