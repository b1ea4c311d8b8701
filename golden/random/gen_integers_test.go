package random

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// integers emits a part of a quantised network: operators of CMSIS-NN, or floats
// between conversions.
func (g *generator) integers() error {
	return g.b.Do(func() error {
		switch g.r.IntN(8) {
		case 0:
			v := g.any(isFloat)
			if v == nil {
				return errNoFit
			}
			return g.call("quantized_decomposed.quantize_per_tensor.default", v, g.step8(),
				g.r.IntN(21)-10, -128, 127, ir.Int8)
		case 1:
			return g.call("quantized_decomposed.dequantize_per_tensor.default", g.int8s(0),
				g.step8(), g.r.IntN(21)-10, -128, 127, ir.Int8)
		case 2, 3:
			return g.int8Linear()
		case 4, 5, 6:
			return g.int8Conv()
		}
		return g.dequantised()
	})
}

// step8 is a scale. Results of floats lie in the middle of two of its steps as
// good as never.
func (g *generator) step8() float64 { return pick(g.r, 0.0371, 0.0117, 0.1313) }

// int8s returns a tensor of int8 with so many dimensions, with any number if
// that is 0.
func (g *generator) int8s(rank int) *ir.Value {
	v := g.any(func(v *ir.Value) bool {
		n := v.Type.Rank()
		return v.Type.DType == ir.Int8 && n > 0 && (rank == 0 || n == rank) && dim(v, n-1) > 0 &&
			(rank != 4 || dim(v, 1) > 0 && dim(v, 2) > 2 && dim(v, 3) > 2)
	})
	if v != nil && !g.chance(4) {
		return v
	}
	sizes := []sym.Expr{sym.Int(1 + g.r.Int64N(2)), sym.Int(1 + g.r.Int64N(9))}
	if rank == 4 {
		sizes = append(sizes, sym.Int(3+g.r.Int64N(4)), sym.Int(3+g.r.Int64N(4)))
	} else if g.chance(3) {
		sizes = append(sizes, sym.Int(pick(g.r, int64(3), 8, 70)))
	}
	if g.batch != nil {
		sizes[0] = g.batch.Expr()
	}
	v = g.named("wide", ir.Int8, sizes)
	g.keep(v)
	return v
}

// constants returns a tensor that is never an input.
func (g *generator) constants(base string, d ir.DType, sizes ...int64) *ir.Value {
	return g.held(base, ir.Parameter, d, ir.Ints(sizes))
}

// limits are the range of results: all of int8, or from the zero point on.
func (g *generator) limits() (offset, lo, hi int) {
	offset = pick(g.r, -128, 0, g.r.IntN(256)-128)
	return offset, pick(g.r, -128, offset, max(-128, offset-20)),
		pick(g.r, 127, 127, min(127, offset+40))
}

// sums returns what is added to sums: nothing, or numbers that are small, or too
// large for float32 to hold.
func (g *generator) sums(n int64) any {
	if g.chance(3) {
		return nil
	}
	return g.constants(pick(g.r, "b", "bias5000", "bias5000", "bias17000000"), ir.Int32, n)
}

func (g *generator) int8Linear() error {
	x := g.int8s(0)
	in, out := dim(x, x.Type.Rank()-1), 1+g.r.Int64N(20)
	offset, lo, hi := g.limits()
	bias, sum := g.sums(out), any(nil)
	if g.chance(4) {
		bias, sum = nil, bias
	}
	return g.call("cortex_m.quantized_linear.default", x, g.constants("wide", ir.Int8, out,
		in), bias, sum,
		g.r.IntN(256)-127, pick(g.r, 0, 0, g.r.IntN(20)-10), offset,
		[]int64{1<<30 + g.r.Int64N(1<<30)}, []int64{int64(2 - g.r.IntN(13))}, hi, lo)
}

func (g *generator) int8Conv() error {
	x := g.int8s(4)
	in := dim(x, 1)
	kh, kw := 1+g.r.Int64N(3), 1+g.r.Int64N(3)
	pair := func(lo, n int) []int { return []int{lo + g.r.IntN(n), lo + g.r.IntN(n)} }
	offset, lo, hi := g.limits()
	args := func(out int64, w *ir.Value, more ...any) []any {
		all := []any{x, w, g.sums(out), pair(1, 2), pair(0, 2), pair(1, 1)}
		return append(append(all, more...), g.r.IntN(256)-127, offset, g.constants("mult", ir.Int32,
			out), g.constants("shift", ir.Int32, out), lo, hi)
	}
	if g.chance(2) {
		m := 1 + g.r.Int64N(2)
		return g.call("cortex_m.quantized_depthwise_conv2d.default",
			args(in*m, g.constants("wide", ir.Int8, 1, kh, kw, in*m), m)...)
	}
	groups := int64(1)
	if in%2 == 0 && g.chance(4) {
		groups = 2
	}
	out := groups * (1 + g.r.Int64N(10))
	return g.call("cortex_m.quantized_conv2d.default", args(out, g.constants("wide", ir.Int8, out,
		kh, kw, in/groups))...)
}

// dequantised emits a product of floats that stand for integers, with a scale for
// each channel.
func (g *generator) dequantised() error {
	rank := pick(g.r, 2, 4)
	q := g.int8s(rank)
	x := g.b.Op("quantized_decomposed.dequantize_per_tensor.default", q, g.step8(), g.r.IntN(9)-4,
		-128, 127, ir.Int8)
	in, out := dim(x, 1), 1+g.r.Int64N(9)
	sizes := []int64{out, in}
	if rank == 4 {
		sizes = append(sizes, pick(g.r, int64(1), 3), 3)
	}
	var zeros any
	if g.chance(2) {
		zeros = g.constants("zero", ir.Int32, out)
	}
	w := g.b.Op("quantized_decomposed.dequantize_per_channel.default", g.constants("wide", ir.Int8,
		sizes...), g.constants("scale", ir.Float32, out), zeros, 0, -127, 127, ir.Int8)
	var bias any
	if g.chance(2) {
		bias = g.weight(ir.Float32, sym.Int(out))
	}
	var y *ir.Value
	switch {
	case rank == 4:
		y = g.b.Op("aten.conv2d.default", x, w, bias, []int{1, 1}, []int{1, 1})
	case bias != nil && g.chance(2):
		y = g.b.Op("aten.addmm.default", bias, x, g.b.Op("aten.t.default", w))
	default:
		y = g.b.Op("aten.linear.default", x, w, bias)
	}
	if g.chance(2) {
		y = g.b.Op("aten.relu.default", y)
	}
	if !fits(y.Type.Sizes) {
		return fmt.Errorf("too large")
	}
	return g.call("quantized_decomposed.quantize_per_tensor.default", y, g.step8(), g.r.IntN(21)-10,
		-128, 127, ir.Int8)
}
