package main

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/math"
)

// primitive is a function of vectors: dst[i] = fn(a[i], …).
type primitive struct {
	name   string // in Go, of the form that chooses
	doc    string
	fn     *expr.Func
	scalar []bool // by parameter: the same for all elements
	math   bool   // a function of kernels/math
	prog   *program
}

// Parameters of primitives, in the order that they take them.
var (
	varA = &expr.Var{Name: "a", DType: ir.Float32}
	varB = &expr.Var{Name: "b", DType: ir.Float32}
	varC = &expr.Var{Name: "c", DType: ir.Float32}
	varS = &expr.Var{Name: "s", DType: ir.Float32}
	cond = &expr.Var{Name: "c", DType: ir.Bool}
	ints = &expr.Var{Name: "a", DType: ir.Int32}
	// Scalars of quantization: a zero point, limits, and what is subtracted from an integer.
	varZ    = &expr.Var{Name: "z", DType: ir.Float32}
	varLow  = &expr.Var{Name: "low", DType: ir.Float32}
	varHigh = &expr.Var{Name: "high", DType: ir.Float32}
	varLess = &expr.Var{Name: "less", DType: ir.Float32}
	// Integers of linear sums.
	varM    = &expr.Var{Name: "m", DType: ir.Int32}
	varN    = &expr.Var{Name: "n", DType: ir.Int32}
	varPlus = &expr.Var{Name: "plus", DType: ir.Int32}
	varDown = &expr.Var{Name: "down", DType: ir.Int32}
	lowest  = &expr.Var{Name: "low", DType: ir.Int32}
	highest = &expr.Var{Name: "high", DType: ir.Int32}
)

var scalars = []*expr.Var{varS, varZ, varLow, varHigh, varLess, varM, varN, varPlus, varDown,
	lowest, highest}

// of makes the primitive that computes body; its parameters are those given, some of them
// scalars.
func of(name, doc string, body *expr.Expr, params ...*expr.Var) primitive {
	p := primitive{name: name, doc: doc, fn: &expr.Func{Name: name, Params: params, Body: body}}
	for _, v := range params {
		p.scalar = append(p.scalar, slices.Contains(scalars, v))
	}
	return p
}

type two = func(a, b *expr.Expr) *expr.Expr

// orNaN is the second of two operands if it is better than the first or no
// number.
func orNaN(better two) two {
	return func(a, b *expr.Expr) *expr.Expr {
		return expr.Select(expr.Or(better(b, a), expr.Ne(b, b)), b, a)
	}
}

// table returns all primitives that work element by element.
func table() ([]primitive, error) {
	a, b, c, s := expr.Get(varA), expr.Get(varB), expr.Get(varC), expr.Get(varS)
	var out []primitive
	add := func(p primitive) { out = append(out, p) }
	binary := func(name string, f two) { add(of(name, upper(name), f(a, b), varA, varB)) }
	second := func(name string, f two) { add(of(name, upper(name), f(a, s), varA, varS)) }
	first := func(name string, f two) { add(of(name, upper(name), f(s, a), varS, varA)) }
	binary("add", expr.Add)
	second("addScalar", expr.Add)
	binary("sub", expr.Sub)
	second("subScalar", expr.Sub)
	first("scalarSub", expr.Sub)
	binary("mul", expr.Mul)
	second("mulScalar", expr.Mul)
	binary("div", expr.Div)
	second("divScalar", expr.Div)
	first("scalarDiv", expr.Div)
	binary("max", expr.Max)
	second("maxScalar", expr.Max)
	first("scalarMax", expr.Max)
	binary("min", expr.Min)
	second("minScalar", expr.Min)
	first("scalarMin", expr.Min)
	binary("larger", orNaN(expr.Gt))
	binary("smaller", orNaN(expr.Lt))
	add(of("fma", "FMAF32", expr.FMA(a, b, c), varA, varB, varC))
	for _, u := range []struct {
		name string
		f    func(*expr.Expr) *expr.Expr
	}{{"neg", expr.Neg}, {"abs", expr.Abs}, {"sqrt", expr.Sqrt}, {"floor", expr.Floor},
		{"ceil", expr.Ceil}, {"trunc", expr.Trunc}, {"round", expr.Round}} {
		doc := upper(u.name)
		if u.name == "abs" {
			doc = "AbsFloat"
		}
		add(of(u.name, doc, u.f(a), varA))
	}
	for _, u := range []struct {
		name string
		f    two
	}{{"eq", expr.Eq}, {"ne", expr.Ne}, {"lt", expr.Lt}, {"le", expr.Le}} {
		binary(u.name, u.f)
		second(u.name+"Scalar", u.f)
	}
	second("gtScalar", expr.Gt)
	second("geScalar", expr.Ge)
	add(of("select", "Select", expr.Select(expr.Get(cond), a, b), cond, varA, varB))
	add(of("selectScalar", "SelectScalar", expr.Select(expr.Get(cond), a, s), cond, varA, varS))
	add(of("scalarSelect", "ScalarSelect", expr.Select(expr.Get(cond), s, b), cond, varS, varB))
	add(of("convertInt32", "Convert", expr.Cast(ir.Float32, expr.Get(ints)), ints))
	add(of("throughInt8", "ThroughInt8", through(ir.Int8, a), varA))
	add(of("throughUint8", "ThroughUint8", through(ir.Uint8, a), varA))
	add(of("quantize", "Quantize", quantized(a), varA, varZ, varLow, varHigh, varLess))
	add(of("rescale", "Rescale", quantized(expr.Mul(expr.Add(a, b), c)), varA, varB, varC, varZ,
		varLow, varHigh, varLess))
	add(of("mix", "Mix", mixed(a, b), varA, varB, varM, varN, varPlus, varDown, lowest, highest,
		varLess))
	for _, d := range []ir.DType{ir.Int8, ir.Uint8} {
		of8 := &expr.Var{Name: "a", DType: d}
		add(of("convert"+upper(goTypes[d]), "Convert",
			expr.Cast(ir.Float32, expr.Cast(ir.Int32, expr.Get(of8))), of8))
		add(of("truncate"+upper(goTypes[d]), "Truncate", expr.Cast(d, whole(a)), varA))
	}
	for _, name := range functions {
		fn := math.Func(name, ir.Float32)
		add(primitive{name: name, fn: fn, math: true, scalar: []bool{false}, doc: "the function " +
			fn.Name + " of kernels/math"})
	}
	for i := range out {
		prog, err := flatten(out[i].fn)
		if err != nil {
			return nil, err
		}
		out[i].prog = prog
		out[i].name += "F32"
	}
	return out, nil
}

// through is x truncated to an integer of 8 bits and converted back: to one of
// 32 bits first, the smallest where x does not fit, of which the low 8 bits stay.
func through(d ir.DType, x *expr.Expr) *expr.Expr {
	n := whole(x)
	if d == ir.Int8 {
		bits := expr.Int(ir.Int32, 24)
		return expr.Cast(ir.Float32, expr.Shr(expr.Shl(n, bits), bits))
	}
	return expr.Cast(ir.Float32, expr.And(n, expr.Int(ir.Int32, 0xff)))
}

// whole is x truncated to an integer, the smallest where x does not fit.
func whole(x *expr.Expr) *expr.Expr {
	return expr.Select(expr.Lt(x, expr.Float(ir.Float32, 0x1p31)), expr.Cast(ir.Int32, x),
		expr.Int(ir.Int32, -1<<31))
}

// quantized is x rounded, with a zero point and limits, less a number; what is no number counts
// as 0.
func quantized(x *expr.Expr) *expr.Expr {
	n := expr.Add(expr.Round(x), expr.Get(varZ))
	n = expr.Min(expr.Get(varHigh), expr.Max(expr.Get(varLow), n))
	n = expr.Select(expr.Eq(n, n), n, expr.Float(ir.Float32, 0))
	return expr.Sub(n, expr.Get(varLess))
}

// mixed is a linear sum of two integers of 8 bits, shifted and limited, and what is subtracted
// from it.
func mixed(a, b *expr.Expr) *expr.Expr {
	n := expr.Add(expr.Mul(whole(a), expr.Get(varM)),
		expr.Mul(whole(b), expr.Get(varN)))
	down := expr.And(expr.Get(varDown), expr.Int(ir.Int32, 31))
	n = expr.Shr(expr.Add(n, expr.Get(varPlus)), down)
	n = expr.Min(expr.Get(highest), expr.Max(expr.Get(lowest), n))
	return expr.Sub(expr.Cast(ir.Float32, n), expr.Get(varLess))
}

// functions are those of kernels/math that have vector forms of their own: all
// of one argument but those with integers of 64 bits and those that need more
// than AVX2's 16 registers.
var functions = []string{"exp", "exp2", "expm1", "log", "log2", "log10", "sigmoid", "rsqrt", "sinh",
	"cosh", "tanh", "asin", "acos", "atan", "erf", "erfc"}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
