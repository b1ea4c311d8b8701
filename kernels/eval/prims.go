package eval

import (
	"maps"
	"slices"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
)

// step is a compiled call on n iterations.
type step = func(fr *frame, n int)

// form compiles a call of a primitive.
type form = func(*vectors, *loop.Vector) step

// call compiles a call. What it is generic over is the type of the elements of
// its last vector operand, else of its result.
func (v *vectors) call(c *loop.Vector) step {
	if c.Prim == "Apply" {
		return v.apply(c)
	}
	d := c.Dst.DType
	for _, a := range c.Args {
		if a.Kind == loop.TempOperand || a.Kind == loop.RunOperand {
			d = a.DType
		}
	}
	if of := primitives[d]; of != nil {
		if f := of()[c.Prim]; f != nil {
			return f(v, c)
		}
	}
	return unknown(c)
}

func unknown(c *loop.Vector) step {
	must.Fail("no primitive %s of %s", c.Prim, c.Dst.DType)
	return nil
}

// numeric are the types of strip.Numeric, integers first.
var numeric = []ir.DType{ir.Uint8, ir.Int8, ir.Uint16, ir.Int16, ir.Uint32, ir.Int32, ir.Uint64,
	ir.Int64, ir.Float32, ir.Float64}

// into is a primitive that depends on the type of the result too: its forms are for
// the first of the types.
func into(types []ir.DType, forms ...form) form {
	return func(v *vectors, c *loop.Vector) step {
		if k := slices.Index(types, c.Dst.DType); k >= 0 && k < len(forms) {
			return forms[k](v, c)
		}
		return unknown(c)
	}
}

// prims are primitives by name.
type prims map[string]form

// with returns the primitives of p and q.
func (p prims) with(q prims) prims {
	maps.Copy(p, q)
	return p
}

// primitives are all primitives, by the type that calls are generic over: those of a
// type are made when the first is asked for. Narrow floats are their bits.
var primitives map[ir.DType]func() prims

// init and no initial value: what compiles calls comes back to the table.
func init() {
	lazily := func(of func() prims, more prims) func() prims {
		return sync.OnceValue(func() prims { return of().with(more) })
	}
	primitives = map[ir.DType]func() prims{
		ir.Bool:   lazily(bools, nil),
		ir.Uint8:  lazily(integers[uint8], nil),
		ir.Int8:   lazily(integers[int8], nil),
		ir.Uint16: lazily(integers[uint16], nil),
		ir.Int16:  lazily(integers[int16], nil),
		ir.Uint32: lazily(integers[uint32],
			prims{"BitsFloat32": convert(strip.BitsFloat32[uint32])}),
		ir.Int32: lazily(integers[int32],
			prims{"BitsFloat32": convert(strip.BitsFloat32[int32])}),
		ir.Uint64: lazily(integers[uint64],
			prims{"BitsFloat64": convert(strip.BitsFloat64[uint64])}),
		ir.Int64: lazily(integers[int64],
			prims{"BitsFloat64": convert(strip.BitsFloat64[int64])}),
		ir.Float16:  lazily(moves[uint16], prims{"FromF16": convert(strip.FromF16)}),
		ir.BFloat16: lazily(moves[uint16], prims{"FromBF16": convert(strip.FromBF16)}),
		ir.Float32: lazily(floats[float32], prims{
			"ToF16":        convert(strip.ToF16),
			"ToBF16":       convert(strip.ToBF16),
			"FMAF32":       ternary(strip.FMAF32),
			"ThroughInt8":  convert(strip.ThroughInt8),
			"ThroughUint8": convert(strip.ThroughUint8),
			"Quantize":     quantize,
			"Rescale":      rescale,
			"Mix":          mix,
			"Float32Bits": into([]ir.DType{ir.Int32, ir.Uint32}, convert(strip.Float32Bits[int32]),
				convert(strip.Float32Bits[uint32])),
		}),
		ir.Float64: lazily(floats[float64], prims{
			"FMAF64":      ternary(strip.FMAF64),
			"TruncMulAdd": ternary(strip.TruncMulAdd),
			"Float64Bits": into([]ir.DType{ir.Int64, ir.Uint64}, convert(strip.Float64Bits[int64]),
				convert(strip.Float64Bits[uint64])),
		}),
	}
}

// bools are primitives whose vectors are all bool, and what makes numbers of bools.
func bools() prims {
	return moves[bool]().with(prims{
		"And": pairwise(strip.And),
		"Or":  pairwise(strip.Or),
		"Xor": pairwise(strip.Xor),
		"Not": convert(strip.Not),
		"Any": reduceBools(strip.Any),
		"All": reduceBools(strip.All),
		"Numbers": into(numeric, convert(strip.Numbers[uint8]), convert(strip.Numbers[int8]),
			convert(strip.Numbers[uint16]), convert(strip.Numbers[int16]),
			convert(strip.Numbers[uint32]), convert(strip.Numbers[int32]),
			convert(strip.Numbers[uint64]), convert(strip.Numbers[int64]),
			convert(strip.Numbers[float32]), convert(strip.Numbers[float64])),
	})
}

func integers[T strip.Integer]() prims {
	return numbers[T]().with(prims{
		"BitAnd":       pairwise(strip.BitAnd[T]),
		"BitAndScalar": second(strip.BitAndScalar[T]),
		"BitOr":        pairwise(strip.BitOr[T]),
		"BitOrScalar":  second(strip.BitOrScalar[T]),
		"BitXor":       pairwise(strip.BitXor[T]),
		"BitXorScalar": second(strip.BitXorScalar[T]),
		"Shl":          pairwise(strip.Shl[T]),
		"Shr":          pairwise(strip.Shr[T]),
		"ShlScalar":    second(strip.ShlScalar[T]),
		"ShrScalar":    second(strip.ShrScalar[T]),
		"AbsInt":       convert(strip.AbsInt[T]),
		"SumInt":       reduceInts(strip.SumInt[T]),
		"Largest":      reduceInts(strip.Largest[T]),
		"Smallest":     reduceInts(strip.Smallest[T]),
		"Iota":         ascending[T],
		"Gather": into(slices.Concat(numeric, []ir.DType{ir.Bool, ir.Float16, ir.BFloat16}),
			gather[uint8, T], gather[int8, T], gather[uint16, T], gather[int16, T],
			gather[uint32, T], gather[int32, T], gather[uint64, T], gather[int64, T],
			gather[float32, T], gather[float64, T], gather[bool, T], gather[uint16, T],
			gather[uint16, T]),
	})
}

func floats[T strip.Float]() prims {
	return numbers[T]().with(prims{
		"Div":       pairwise(strip.Div[T]),
		"DivScalar": second(strip.DivScalar[T]),
		"ScalarDiv": first(strip.ScalarDiv[T]),
		"Mod":       pairwise(strip.Mod[T]),
		"ModScalar": second(strip.ModScalar[T]),
		"AbsFloat":  convert(strip.AbsFloat[T]),
		"Sqrt":      convert(strip.Sqrt[T]),
		"Floor":     convert(strip.Floor[T]),
		"Ceil":      convert(strip.Ceil[T]),
		"Trunc":     convert(strip.Trunc[T]),
		"Round":     convert(strip.Round[T]),
		"Sum":       reduceFloats(alone(strip.Sum[T])),
		"Dot":       reduceFloats(strip.Dot[T]),
		"Largest":   reduceFloats(alone(strip.Largest[T])),
		"Smallest":  reduceFloats(alone(strip.Smallest[T])),
		"Truncate": into(numeric,
			convert(strip.Truncate[uint8, T]), convert(strip.Truncate[int8, T]),
			convert(strip.Truncate[uint16, T]), convert(strip.Truncate[int16, T]),
			convert(strip.Truncate[uint32, T]), convert(strip.Truncate[int32, T]),
			convert(strip.Truncate[uint64, T]), convert(strip.Truncate[int64, T])),
	})
}

func numbers[T strip.Numeric]() prims {
	return moves[T]().with(prims{
		"Larger":    pairwise(strip.Larger[T]),
		"Smaller":   pairwise(strip.Smaller[T]),
		"Add":       pairwise(strip.Add[T]),
		"AddScalar": second(strip.AddScalar[T]),
		"Sub":       pairwise(strip.Sub[T]),
		"SubScalar": second(strip.SubScalar[T]),
		"ScalarSub": first(strip.ScalarSub[T]),
		"Mul":       pairwise(strip.Mul[T]),
		"MulScalar": second(strip.MulScalar[T]),
		"Max":       pairwise(strip.Max[T]),
		"MaxScalar": second(strip.MaxScalar[T]),
		"ScalarMax": first(strip.ScalarMax[T]),
		"Min":       pairwise(strip.Min[T]),
		"MinScalar": second(strip.MinScalar[T]),
		"ScalarMin": first(strip.ScalarMin[T]),
		"Neg":       convert(strip.Neg[T]),
		"Eq":        pairwise(strip.Eq[T]),
		"Ne":        pairwise(strip.Ne[T]),
		"Lt":        pairwise(strip.Lt[T]),
		"Le":        pairwise(strip.Le[T]),
		"EqScalar":  second(strip.EqScalar[T]),
		"NeScalar":  second(strip.NeScalar[T]),
		"LtScalar":  second(strip.LtScalar[T]),
		"LeScalar":  second(strip.LeScalar[T]),
		"GtScalar":  second(strip.GtScalar[T]),
		"GeScalar":  second(strip.GeScalar[T]),
		"Convert": into(numeric, convert(strip.Convert[uint8, T]), convert(strip.Convert[int8, T]),
			convert(strip.Convert[uint16, T]), convert(strip.Convert[int16, T]),
			convert(strip.Convert[uint32, T]), convert(strip.Convert[int32, T]),
			convert(strip.Convert[uint64, T]), convert(strip.Convert[int64, T]),
			convert(strip.Convert[float32, T]), convert(strip.Convert[float64, T])),
	})
}

// moves are primitives on elements of any type, which are not looked at.
func moves[T element]() prims {
	return prims{"Copy": convert(func(dst, a []T) { copy(dst, a) }), "Fill": fill[T],
		"Load": load[T], "Store": scatter[T], "Select": choose[T], "SelectScalar": choose[T],
		"ScalarSelect": choose[T]}
}

// apply compiles a scalar function applied to every element.
func (v *vectors) apply(c *loop.Vector) step {
	if f := vectorForm(c.Fn); f != nil {
		return convert(func(dst, a []float32) { f(dst, a) })(v, c)
	}
	if f := math.Native(c.Fn); f != nil {
		return convert(math.OnSlices(f))(v, c)
	}
	x := &expr.Var{Name: "x", DType: c.Args[0].DType}
	slot := v.local(x)
	call := expr.CallFn(c.Fn, expr.Get(x))
	if x.DType == ir.Float64 {
		f := v.f64(call)
		return each(v, c, func(fr *frame, x float64) float64 { fr.f64s[slot] = x; return f(fr) })
	}
	f := v.f32(call)
	return each(v, c, func(fr *frame, x float32) float32 { fr.f32s[slot] = x; return f(fr) })
}
