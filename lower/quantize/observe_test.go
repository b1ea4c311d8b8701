package quantize

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

func raw(xs ...float64) (b []byte) {
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b
}

// Of a normal distribution with one element far away, minmax covers that one, and the others
// leave it out: mse loses less than minmax does.
func TestObservers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	xs := make([]float64, 100_000)
	for i := range xs {
		xs[i] = r.NormFloat64()
	}
	xs[777] = 60
	to := integersOf(ir.Int8, false)
	bounds := map[string][2]float64{}
	var full *observer
	for _, kind := range Observers {
		o := newObserver(kind, 99.9)
		if err := o.see(raw(xs...)); err != nil {
			t.Fatal(err)
		}
		if histogram(kind) {
			o.count(raw(xs...))
			full = o
		}
		lo, hi, ok := o.bounds(to)
		if !ok || lo > -2 || hi < 2 {
			t.Errorf("%s: %v to %v", kind, lo, hi)
		}
		bounds[kind] = [2]float64{lo, hi}
	}
	if bounds["minmax"][1] != 60 || bounds["moving-average"][1] != 60 {
		t.Errorf("the far element is left out: %v", bounds)
	}
	for kind, most := range map[string]float64{"percentile": 10, "mse": 59, "entropy": 30} {
		if bounds[kind][1] > most {
			t.Errorf("%s covers the far element: %v", kind, bounds[kind])
		}
	}
	noise := func(kind string) float64 { return full.noise(bounds[kind][0], bounds[kind][1], to) }
	if noise("mse") > noise("minmax") || noise("mse") > noise("percentile") {
		t.Errorf("mse loses %v, minmax %v, percentile %v", noise("mse"), noise("minmax"),
			noise("percentile"))
	}
}

// A moving average is PyTorch's: a hundredth of what is new.
func TestMovingAverage(t *testing.T) {
	o := newObserver("moving-average", 0)
	for _, sample := range [][]byte{raw(-1, 1), raw(-2, 3)} {
		if err := o.see(sample); err != nil {
			t.Fatal(err)
		}
	}
	if math.Abs(o.lo+1.01) > 1e-12 || math.Abs(o.hi-1.02) > 1e-12 {
		t.Errorf("%v to %v, want -1.01 to 1.02", o.lo, o.hi)
	}
}

func TestNotFinite(t *testing.T) {
	o := newObserver("minmax", 0)
	err := o.see(raw(1, math.NaN(), math.Inf(1)))
	if err == nil || !strings.Contains(err.Error(), "2 of 3 elements are not finite") {
		t.Errorf("error %v", err)
	}
}

// Integers cover the range and 0, which one of them stands for exactly.
func TestCover(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		lo, hi := r.NormFloat64()*10, r.NormFloat64()*10
		for _, to := range []integers{integersOf(ir.Int8, false), integersOf(ir.Int16, true),
			weightIntegers("int4")} {
			lo, hi := min(lo, hi), max(lo, hi)
			p := to.cover(lo, hi)
			if x := to.round(0, p); x != 0 {
				t.Fatalf("0 is %v with %v", x, p)
			}
			for _, x := range []float64{lo, hi} {
				if d := math.Abs(to.round(x, p) - x); d > p.Scale*0.501+1e-6 && to.most > 7 {
					t.Fatalf("%v is off by %v with %v", x, d, p)
				}
			}
		}
	}
}
