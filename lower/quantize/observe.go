package quantize

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
)

// Observers lists the ways to choose the range of an activation from what calibration shows.
var Observers = []string{"minmax", "moving-average", "percentile", "mse", "entropy"}

const (
	averaging = 0.01 // the weight of a new sample, PyTorch's averaging_constant
	bins      = 2048 // of a histogram
	shrinks   = 128  // ranges that are tried
)

// observer sees the elements of an activation, sample by sample, once or, if it wants a
// histogram, twice.
type observer struct {
	kind       string
	percentile float64
	lo, hi     float64 // what counts so far; lo > hi: nothing yet
	least      float64 // of all
	most       float64
	counts     []float64 // of bins between least and most, in the second pass
}

func newObserver(kind string, percentile float64) *observer {
	return &observer{kind: kind, percentile: percentile, lo: math.Inf(1), hi: math.Inf(-1),
		least: math.Inf(1), most: math.Inf(-1)}
}

// histogram reports whether a second pass over the samples is wanted.
func histogram(kind string) bool { return kind != "minmax" && kind != "moving-average" }

// floats calls f with each element of float32 data.
func floats(data []byte, f func(x float64)) {
	for ; len(data) >= 4; data = data[4:] {
		f(float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	}
}

// see notes a sample in the first pass. An element that is no finite number is an error.
func (o *observer) see(data []byte) error {
	lo, hi, bad := math.Inf(1), math.Inf(-1), 0
	floats(data, func(x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			bad++
			return
		}
		lo, hi = min(lo, x), max(hi, x)
	})
	if bad > 0 {
		return fmt.Errorf("%d of %d elements are not finite", bad, len(data)/4)
	}
	if lo > hi {
		return nil
	}
	o.least, o.most = min(o.least, lo), max(o.most, hi)
	if o.kind == "moving-average" && o.lo <= o.hi {
		o.lo += averaging * (lo - o.lo)
		o.hi += averaging * (hi - o.hi)
		return nil
	}
	o.lo, o.hi = min(o.lo, lo), max(o.hi, hi)
	return nil
}

// count notes a sample in the second pass.
func (o *observer) count(data []byte) {
	if o.counts == nil {
		o.counts = make([]float64, bins)
	}
	step := (o.most - o.least) / bins
	floats(data, func(x float64) {
		i := 0
		if step > 0 {
			i = min(int((x-o.least)/step), bins-1)
		}
		o.counts[i]++
	})
}

// merge adds what other saw, whose activation shares scale and zero point.
func (o *observer) merge(other *observer) {
	if o.counts != nil && other.counts != nil {
		counts := make([]float64, bins)
		least, most := min(o.least, other.least), max(o.most, other.most)
		for _, from := range []*observer{o, other} {
			for i, n := range from.counts {
				if n > 0 && most > least {
					at := (from.at(i) - least) / (most - least) * bins
					counts[min(int(at), bins-1)] += n
				}
			}
		}
		o.counts = counts
	}
	o.lo, o.hi = min(o.lo, other.lo), max(o.hi, other.hi)
	o.least, o.most = min(o.least, other.least), max(o.most, other.most)
}

// at is the middle of bin i.
func (o *observer) at(i int) float64 { return o.least + (float64(i)+0.5)*(o.most-o.least)/bins }

// bounds returns the range that is to be quantized; ok is false if nothing was seen.
func (o *observer) bounds(to integers) (lo, hi float64, ok bool) {
	if o.lo > o.hi {
		return 0, 0, false
	}
	if o.counts == nil || o.most <= o.least {
		return o.lo, o.hi, true
	}
	switch o.kind {
	case "percentile":
		tail := (1 - o.percentile/100) * sum(o.counts)
		lo, hi = o.tail(0, 1, tail), o.tail(bins-1, -1, tail)
		return min(lo, hi), max(lo, hi), true
	case "mse":
		lo, hi = o.cheapest(func(lo, hi float64) float64 { return o.noise(lo, hi, to) })
	default:
		lo, hi = o.cheapest(func(lo, hi float64) float64 { return o.divergence(lo, hi, to) })
	}
	return lo, hi, true
}

func sum(xs []float64) float64 {
	s := 0.0
	for _, x := range xs {
		s += x
	}
	return s
}

// tail returns the value beyond which, from bin i on in direction by, no more than n elements
// lie.
func (o *observer) tail(i, by int, n float64) float64 {
	for ; i >= 0 && i < bins; i += by {
		if n -= o.counts[i]; n < 0 {
			edge := float64(i)
			if by < 0 {
				edge++
			}
			return o.least + edge*(o.most-o.least)/bins
		}
	}
	return 0
}

// cheapest returns the range of the least cost, of those that shrink both ends, the lower or the
// upper one.
func (o *observer) cheapest(cost func(lo, hi float64) float64) (lo, hi float64) {
	lo, hi = o.least, o.most
	best := cost(lo, hi)
	for _, ends := range [][2]float64{{1, 1}, {1, 0}, {0, 1}} {
		from, to := lo, hi
		for i := 1; i < shrinks; i++ {
			by := float64(i) / shrinks
			l, h := from*(1-by*ends[0]), to*(1-by*ends[1])
			if c := cost(l, h); c < best {
				best, lo, hi = c, l, h
			}
		}
	}
	return lo, hi
}

// noise is the mean square of what rounding does to what was seen, if integers cover lo to hi.
func (o *observer) noise(lo, hi float64, to integers) float64 {
	p := to.cover(lo, hi)
	total := 0.0
	for i, n := range o.counts {
		if n == 0 {
			continue
		}
		x := o.at(i)
		d := to.round(x, p) - x
		total += n * d * d
	}
	return total
}

// divergence is that of Kullback and Leibler between what lies between lo and hi, the rest at
// the ends, and the same in as many levels as there are integers, as in TensorRT's calibration.
func (o *observer) divergence(lo, hi float64, to integers) float64 {
	first := min(max(int((lo-o.least)/(o.most-o.least)*bins), 0), bins-1)
	last := min(max(int((hi-o.least)/(o.most-o.least)*bins), first), bins-1)
	p := slices.Clone(o.counts[first : last+1])
	p[0] += sum(o.counts[:first])
	p[len(p)-1] += sum(o.counts[last+1:])
	levels := min(int(to.most-to.least)+1, len(p))
	q := make([]float64, len(p))
	for level := range levels {
		from, end := level*len(p)/levels, (level+1)*len(p)/levels
		within := o.counts[first+from : first+end]
		some := 0.0
		for _, n := range within {
			if n > 0 {
				some++
			}
		}
		for i, n := range within {
			if n > 0 {
				q[from+i] = sum(within) / some
			}
		}
	}
	ps, qs, d := sum(p), sum(q), 0.0
	if qs == 0 {
		return math.Inf(1)
	}
	const small = 1e-4 // stands for a level that has nothing
	for i, n := range p {
		if n > 0 {
			d += n / ps * math.Log(n/ps/max(q[i]/qs, small/float64(len(p))))
		}
	}
	return d
}

// integers are those of an activation's or a weight's type.
type integers struct {
	least, most int64
	symmetric   bool // the zero point is 0
}

// integersOf returns those of a type; symmetric ones have no use for the least one.
func integersOf(d ir.DType, symmetric bool) integers {
	most := int64(1)<<(8*d.Size()-1) - 1
	if symmetric {
		return integers{-most, most, true}
	}
	return integers{-most - 1, most, false}
}

// cover returns the scale and zero point with which integers cover lo to hi, and 0. A scale
// is a float32; of nothing but 0 it is 1.
func (to integers) cover(lo, hi float64) ir.QParams {
	lo, hi = min(lo, 0), max(hi, 0)
	span, steps := hi-lo, float64(to.most-to.least)
	if to.symmetric {
		span = 2 * max(-lo, hi)
	}
	s := float64(float32(span / steps))
	if span == 0 {
		s = 1
	} else if s < smallestScale {
		s = smallestScale
	}
	if to.symmetric {
		return ir.QParams{Scale: s}
	}
	z := math.RoundToEven(float64(to.least) - lo/s)
	return ir.QParams{Scale: s, ZeroPoint: int64(min(max(z, float64(to.least)), float64(to.most)))}
}

// quantize returns the integer that stands for x.
func (to integers) quantize(x float64, p ir.QParams) int64 {
	q := math.RoundToEven(x/p.Scale) + float64(p.ZeroPoint)
	return int64(min(max(q, float64(to.least)), float64(to.most)))
}

// round returns what the integer that stands for x stands for.
func (to integers) round(x float64, p ir.QParams) float64 {
	return float64(to.quantize(x, p)-p.ZeroPoint) * p.Scale
}

// smallestScale is a scale whose reciprocal, and whose product with another one, are finite
// and exact in float32.
const smallestScale = 0x1p-60
