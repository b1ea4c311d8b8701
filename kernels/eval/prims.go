package eval

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
)

// step is a compiled call on n iterations.
type step = func(fr *frame, n int)

// call compiles a call. What it is generic over is the type of the elements of
// its first vector operand, else of its result.
func (v *vectors) call(c *loop.Vector) step {
	if c.Prim == "Apply" {
		return v.apply(c)
	}
	if f := bitsCall(v, c); f != nil {
		return f
	}
	d := c.Dst.DType
	for _, a := range c.Args {
		if a.Kind == loop.TempOperand || a.Kind == loop.RunOperand {
			d = a.DType
			break
		}
	}
	return forms{ir.Bool: boolCall, ir.Uint8: intCall[uint8], ir.Int8: intCall[int8],
		ir.Uint16: intCall[uint16], ir.Int16: intCall[int16], ir.Uint32: intCall[uint32],
		ir.Int32: intCall[int32], ir.Uint64: intCall[uint64], ir.Int64: intCall[int64],
		ir.Float16: halfCall, ir.BFloat16: halfCall, ir.Float32: float32Call,
		ir.Float64: floatCall[float64],
	}.of(d, v, c)
}

// forms are what compiles a call, by the dtype that it depends on.
type forms []func(*vectors, *loop.Vector) step

func (f forms) of(d ir.DType, v *vectors, c *loop.Vector) step {
	if int(d) < len(f) && f[d] != nil {
		return f[d](v, c)
	}
	return unknown(c)
}

func number[D strip.Numeric](v *vectors, c *loop.Vector) step {
	return convert(v, c, strip.Numbers[D])
}

func truncate[D strip.Integer, S strip.Float](v *vectors, c *loop.Vector) step {
	return convert(v, c, strip.Truncate[D, S])
}

func cast[D, S strip.Numeric](v *vectors, c *loop.Vector) step {
	return convert(v, c, strip.Convert[D, S])
}

func unknown(c *loop.Vector) step {
	fail("no primitive %s of %s", c.Prim, c.Dst.DType)
	return nil
}

// boolCall compiles primitives whose vectors are all bool, and those that turn
// bools into numbers or choose by them.
func boolCall(v *vectors, c *loop.Vector) step {
	switch c.Prim {
	case "And":
		return binary2(v, c, strip.And)
	case "Or":
		return binary2(v, c, strip.Or)
	case "Xor":
		return binary2(v, c, strip.Xor)
	case "Not":
		return unary(v, c, strip.Not)
	case "Any", "All":
		f := strip.Any
		if c.Prim == "All" {
			f = strip.All
		}
		x, slot := operand[bool](v, c.Args[0]), v.known(c.Acc)
		return func(fr *frame, n int) {
			fr.ints[slot] = strip.FromBool[int64](f(fr.ints[slot] != 0, x(fr, n)))
		}
	case "Numbers":
		return forms{ir.Uint8: number[uint8], ir.Int8: number[int8], ir.Uint16: number[uint16],
			ir.Int16: number[int16], ir.Uint32: number[uint32], ir.Int32: number[int32],
			ir.Uint64: number[uint64], ir.Int64: number[int64], ir.Float32: number[float32],
			ir.Float64: number[float64],
		}.of(c.Dst.DType, v, c)
	case "Select", "SelectScalar", "ScalarSelect":
		return forms{ir.Bool: choose[bool], ir.Uint8: choose[uint8], ir.Int8: choose[int8],
			ir.Uint16: choose[uint16], ir.Float16: choose[uint16], ir.BFloat16: choose[uint16],
			ir.Int16: choose[int16], ir.Uint32: choose[uint32], ir.Int32: choose[int32],
			ir.Uint64: choose[uint64], ir.Int64: choose[int64], ir.Float32: choose[float32],
			ir.Float64: choose[float64],
		}.of(c.Dst.DType, v, c)
	}
	return moveCall[bool](v, c)
}

// halfCall compiles primitives on the bits of narrow floats.
func halfCall(v *vectors, c *loop.Vector) step {
	switch c.Prim {
	case "FromF16":
		return convert(v, c, strip.FromF16)
	case "FromBF16":
		return convert(v, c, strip.FromBF16)
	}
	return moveCall[uint16](v, c)
}

// bitsCall compiles primitives between floats and their bits, nil if c is none.
func bitsCall(v *vectors, c *loop.Vector) step {
	type key struct {
		prim string
		d    ir.DType
	}
	switch (key{c.Prim, c.Dst.DType}) {
	case key{"Float32Bits", ir.Int32}:
		return convert(v, c, strip.Float32Bits[int32])
	case key{"Float32Bits", ir.Uint32}:
		return convert(v, c, strip.Float32Bits[uint32])
	case key{"Float64Bits", ir.Int64}:
		return convert(v, c, strip.Float64Bits[int64])
	case key{"Float64Bits", ir.Uint64}:
		return convert(v, c, strip.Float64Bits[uint64])
	case key{"BitsFloat32", ir.Float32}:
		if c.Args[0].DType == ir.Int32 {
			return convert(v, c, strip.BitsFloat32[int32])
		}
		return convert(v, c, strip.BitsFloat32[uint32])
	case key{"BitsFloat64", ir.Float64}:
		if c.Args[0].DType == ir.Int64 {
			return convert(v, c, strip.BitsFloat64[int64])
		}
		return convert(v, c, strip.BitsFloat64[uint64])
	}
	return nil
}

func intCall[T strip.Integer](v *vectors, c *loop.Vector) step {
	switch c.Prim {
	case "BitAnd":
		return binary2(v, c, strip.BitAnd[T])
	case "BitAndScalar":
		return second(v, c, strip.BitAndScalar[T])
	case "BitOr":
		return binary2(v, c, strip.BitOr[T])
	case "BitOrScalar":
		return second(v, c, strip.BitOrScalar[T])
	case "BitXor":
		return binary2(v, c, strip.BitXor[T])
	case "BitXorScalar":
		return second(v, c, strip.BitXorScalar[T])
	case "Shl":
		return binary2(v, c, strip.Shl[T])
	case "Shr":
		return binary2(v, c, strip.Shr[T])
	case "ShlScalar":
		return second(v, c, strip.ShlScalar[T])
	case "ShrScalar":
		return second(v, c, strip.ShrScalar[T])
	case "AbsInt":
		return unary(v, c, strip.AbsInt[T])
	case "SumInt":
		return reduceInt(v, c, strip.SumInt[T])
	case "Largest":
		return reduceInt(v, c, strip.Largest[T])
	case "Smallest":
		return reduceInt(v, c, strip.Smallest[T])
	case "Iota":
		first, by := v.index(c.Args[0].At), v.index(c.Args[1].At)
		take := result[T](v, c.Dst)
		return func(fr *frame, n int) {
			dst, to := take(fr, n)
			strip.Iota(dst, int(first(fr)), int(by(fr)))
			store(to, dst)
		}
	case "Gather":
		return gatherBy[T](v, c)
	}
	return numericCall[T](v, c)
}

func float32Call(v *vectors, c *loop.Vector) step {
	switch c.Prim {
	case "ToF16":
		return convert(v, c, strip.ToF16)
	case "ToBF16":
		return convert(v, c, strip.ToBF16)
	case "FMAF32":
		return ternary(v, c, strip.FMAF32)
	case "TruncMulAdd":
		return rescale(v, c)
	case "ThroughInt8":
		return unary(v, c, strip.ThroughInt8)
	case "ThroughUint8":
		return unary(v, c, strip.ThroughUint8)
	}
	return floatCall[float32](v, c)
}

func floatCall[T strip.Float](v *vectors, c *loop.Vector) step {
	switch c.Prim {
	case "Div":
		return binary2(v, c, strip.Div[T])
	case "DivScalar":
		return second(v, c, strip.DivScalar[T])
	case "ScalarDiv":
		return first(v, c, strip.ScalarDiv[T])
	case "Mod":
		return binary2(v, c, strip.Mod[T])
	case "ModScalar":
		return second(v, c, strip.ModScalar[T])
	case "AbsFloat":
		return unary(v, c, strip.AbsFloat[T])
	case "Sqrt":
		return unary(v, c, strip.Sqrt[T])
	case "Floor":
		return unary(v, c, strip.Floor[T])
	case "Ceil":
		return unary(v, c, strip.Ceil[T])
	case "Trunc":
		return unary(v, c, strip.Trunc[T])
	case "Round":
		return unary(v, c, strip.Round[T])
	case "Truncate":
		return forms{ir.Uint8: truncate[uint8, T], ir.Int8: truncate[int8, T],
			ir.Uint16: truncate[uint16, T], ir.Int16: truncate[int16, T],
			ir.Uint32: truncate[uint32, T], ir.Int32: truncate[int32, T],
			ir.Uint64: truncate[uint64, T], ir.Int64: truncate[int64, T],
		}.of(c.Dst.DType, v, c)
	case "Sum":
		return reduceFloat(v, c, func(acc T, x, _ []T) T { return strip.Sum(acc, x) })
	case "Dot":
		return reduceFloat(v, c, strip.Dot[T])
	case "Largest":
		return reduceFloat(v, c, func(acc T, x, _ []T) T { return strip.Largest(acc, x) })
	case "Smallest":
		return reduceFloat(v, c, func(acc T, x, _ []T) T { return strip.Smallest(acc, x) })
	case "FMAF64":
		if f, ok := any(strip.FMAF64).(func(dst, a, b, c []T)); ok {
			return ternary(v, c, f)
		}
	}
	return numericCall[T](v, c)
}

func numericCall[T strip.Numeric](v *vectors, c *loop.Vector) step {
	switch c.Prim {
	case "Larger":
		return binary2(v, c, strip.Larger[T])
	case "Smaller":
		return binary2(v, c, strip.Smaller[T])
	case "Add":
		return binary2(v, c, strip.Add[T])
	case "AddScalar":
		return second(v, c, strip.AddScalar[T])
	case "Sub":
		return binary2(v, c, strip.Sub[T])
	case "SubScalar":
		return second(v, c, strip.SubScalar[T])
	case "ScalarSub":
		return first(v, c, strip.ScalarSub[T])
	case "Mul":
		return binary2(v, c, strip.Mul[T])
	case "MulScalar":
		return second(v, c, strip.MulScalar[T])
	case "Max":
		return binary2(v, c, strip.Max[T])
	case "MaxScalar":
		return second(v, c, strip.MaxScalar[T])
	case "ScalarMax":
		return first(v, c, strip.ScalarMax[T])
	case "Min":
		return binary2(v, c, strip.Min[T])
	case "MinScalar":
		return second(v, c, strip.MinScalar[T])
	case "ScalarMin":
		return first(v, c, strip.ScalarMin[T])
	case "Neg":
		return unary(v, c, strip.Neg[T])
	case "Eq":
		return compare2(v, c, strip.Eq[T])
	case "Ne":
		return compare2(v, c, strip.Ne[T])
	case "Lt":
		return compare2(v, c, strip.Lt[T])
	case "Le":
		return compare2(v, c, strip.Le[T])
	case "EqScalar":
		return compareScalar(v, c, strip.EqScalar[T])
	case "NeScalar":
		return compareScalar(v, c, strip.NeScalar[T])
	case "LtScalar":
		return compareScalar(v, c, strip.LtScalar[T])
	case "LeScalar":
		return compareScalar(v, c, strip.LeScalar[T])
	case "GtScalar":
		return compareScalar(v, c, strip.GtScalar[T])
	case "GeScalar":
		return compareScalar(v, c, strip.GeScalar[T])
	case "Convert":
		return forms{ir.Uint8: cast[uint8, T], ir.Int8: cast[int8, T], ir.Uint16: cast[uint16, T],
			ir.Int16: cast[int16, T], ir.Uint32: cast[uint32, T], ir.Int32: cast[int32, T],
			ir.Uint64: cast[uint64, T], ir.Int64: cast[int64, T], ir.Float32: cast[float32, T],
			ir.Float64: cast[float64, T],
		}.of(c.Dst.DType, v, c)
	}
	return moveCall[T](v, c)
}

// apply compiles a scalar function applied to every element.
func (v *vectors) apply(c *loop.Vector) step {
	if f := vectorForm(c.Fn); f != nil {
		return unary(v, c, func(dst, a []float32) { f(dst, a) })
	}
	if f := math.NativeSlice(c.Fn); f != nil {
		return unary(v, c, f)
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
