package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// graphSum is how the quantized graph makes the floats that a sum stands for.
type graphSum struct {
	floats    func(b *ops.Builder) *ir.Value
	parts     int64   // a step of the operands has so many
	whole     float64 // so many of the sums are whole steps
	most      int64   // the sum of the sizes of the terms, in parts
	roundings int64   // of a term, from dequantizing to quantizing
}

// graphOf is the floats that n makes of its operands.
func graphOf(n *ir.Node, parts int64, whole float64, most, roundings int64) *graphSum {
	return &graphSum{func(b *ops.Builder) *ir.Value {
		return b.Op(n.Op, withRefs(n, func(*ir.Value) *ir.Value { return nil })...)
	}, parts, whole, most, roundings}
}

// doubt is that of a sum with a scale, in steps of one that is by times as much.
func (g *graphSum) doubt(by float64) (steps float64, many bool) {
	parts, halves := partsOf(by*float64(g.parts)), 0.0
	if parts > 0 && parts*g.parts%2 == 0 {
		halves = g.whole / float64(parts)
	}
	return doubtOf(halves, by*float64(g.most), g.roundings)
}

// doubtOf is how many steps beside the middle of two integers the graph's floats decide, 0 if fewer
// than one in mayDiffer results differ without, and whether many lie there: so many of the results
// lie in the middle, a term has so many roundings, and the sizes of terms add up to so many steps.
func doubtOf(halves, most float64, roundings int64) (steps float64, many bool) {
	many = halves*mayDiffer >= 1
	if !many && most*math.Sqrt(float64(roundings))*0x1p-24*mayDiffer < 1 {
		return 0, false
	}
	return most * float64(roundings) * 0x1p-24, many
}

// asGraph is the sum quantized as the graph does where it decides.
func (s *scaledSum) asGraph(a *integerArithmetic, b *ops.Builder, q *ir.Node,
	to *quantization) *ir.Value {
	doubt, halves := s.graph.doubt(s.scale[0] / to.scale)
	if doubt == 0 || s.most == 0 && !halves { // sums of int64
		return s.quantized(b, q, to)
	}
	other := to.float(b, s.graph.floats(b))
	if s.ints == nil && (a.speed || a.vectors) || s.most == 0 {
		return other
	}
	fixed := *s
	if s.ints == nil {
		fixed.ints = withDType(b, s.sum.Def, ir.Int32)
	}
	near := *to
	near.other, near.near = other, doubt
	if made := fixed.rescaled(b, q, &near); made != nil {
		return made
	}
	return other
}

// withDType is what n makes, as integers of d.
func withDType(b *ops.Builder, n *ir.Node, d ir.DType) *ir.Value {
	args := withRefs(n, func(*ir.Value) *ir.Value { return nil })
	for i, a := range n.Args {
		if a.Name == "dtype" {
			args[i] = ops.Kw("dtype", d)
		}
	}
	return b.Op(n.Op, args...)
}

// partsOf returns the smallest number of parts of one of which x is a whole number, but for what
// float32 rounds; 0 if there is none up to mayDiffer.
func partsOf(x float64) int64 {
	for n := 1.0; n <= mayDiffer; n++ {
		if y := x * n; math.Abs(y-math.Round(y)) <= y*0x1p-21 {
			return int64(n)
		}
	}
	return 0
}
