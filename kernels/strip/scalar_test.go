package strip

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
)

func TestHalfAll(t *testing.T) {
	for h := range 1 << 16 {
		for _, c := range []struct {
			d  ir.DType
			to func(uint16) float32
		}{{ir.Float16, F16ToF32}, {ir.BFloat16, BF16ToF32}} {
			got, want := c.to(uint16(h)), half.ToFloat32(c.d, uint16(h))
			if got != want && !(got != got && want != want) ||
				math.Signbit(float64(got)) != math.Signbit(float64(want)) && got == got {
				t.Fatalf("%s %#04x: got %g, want %g", c.d, h, got, want)
			}
		}
	}
}

func TestHalfRounding(t *testing.T) {
	check := func(x float32) {
		t.Helper()
		if got, want := F32ToF16(x), half.FromFloat32(ir.Float16, x); got != want {
			t.Fatalf("float16 of %g (%#x): got %#04x, want %#04x", x, math.Float32bits(x), got,
				want)
		}
		if got, want := F32ToBF16(x), half.FromFloat32(ir.BFloat16, x); got != want {
			t.Fatalf("bfloat16 of %g (%#x): got %#04x, want %#04x", x, math.Float32bits(x), got,
				want)
		}
	}
	for h := range 1 << 16 { // every value, and what lies just beside the middle of two
		for _, f := range []float32{F16ToF32(uint16(h)), BF16ToF32(uint16(h))} {
			b := math.Float32bits(f)
			for _, d := range []uint32{0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001} {
				check(math.Float32frombits(b + d))
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 18 {
		check(math.Float32frombits(r.Uint32()))
	}
}

func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	near := func() float32 {
		return float32(r.IntN(1<<24)) * float32(math.Ldexp(1, r.IntN(60)-30)) *
			float32(1-2*r.IntN(2))
	}
	for range 1 << 18 {
		a, b, c := near(), near(), near()
		got, want := FMA32(a, b, c), float32(expr.FMA32(float64(a), float64(b), float64(c)))
		if got != want {
			t.Fatalf("fma(%g, %g, %g): got %g, want %g", a, b, c, got, want)
		}
	}
}

func TestToInt(t *testing.T) {
	for _, x := range []float64{0, 1.9, -1.9, -0x1p31, -0x1p31 - 0.5, -0x1p31 - 1, 0x1p31 - 0.5,
		0x1p31, 0x1p40, 0x1p62, -0x1p63, 0x1p63, 0x1p64, 0x1p63 + 0x1p40, math.NaN(), math.Inf(1),
		math.Inf(-1), 1e300} {
		convert := func(d ir.DType) int64 { return expr.Convert(expr.Value{F: x}, ir.Float64, d).I }
		if got, want := int64(ToInt32(x)), convert(ir.Int32); got != want {
			t.Errorf("int32 of %g: got %d, want %d", x, got, want)
		}
		if got, want := ToInt64(x), convert(ir.Int64); got != want {
			t.Errorf("int64 of %g: got %d, want %d", x, got, want)
		}
		if got, want := int64(ToUint64(x)), convert(ir.Uint64); got != want {
			t.Errorf("uint64 of %g: got %d, want %d", x, got, want)
		}
	}
}

func TestFloorDivMod(t *testing.T) {
	for a := -7; a <= 7; a++ {
		for b := -3; b <= 3; b++ {
			if b == 0 {
				continue
			}
			if q := FloorDiv(a, b); q != int(math.Floor(float64(a)/float64(b))) ||
				FloorMod(a, b) != a-b*q {
				t.Errorf("%d, %d: got %d, %d", a, b, q, FloorMod(a, b))
			}
		}
	}
}
