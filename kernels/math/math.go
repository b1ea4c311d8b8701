// Package math holds the scalar functions that operators need and freestanding
// targets lack, as expressions of basic arithmetic: the same for C, Go and
// eval. The float32 functions use no float64 arithmetic, for many
// microcontrollers have none. Every function's Doc states its error bound in
// units in the last place, which the tests hold against references; they hold
// whether or not a compiler contracts products and sums to fused operations.
package math

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// Names lists the functions, those of two arguments last.
var Names = [...]string{
	"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid", "rsqrt",
	"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
	"erf", "erfc",
	"pow", "atan2",
}

var (
	single = f32.all()
	double = f64.all()
	whole  = fixed()
)

// Func returns the function called name for Float32, Float64 or Int32
// (fixed-point numbers), nil if there is none.
func Func(name string, d ir.DType) *expr.Func {
	switch d {
	case ir.Float32:
		return single[name]
	case ir.Float64:
		return double[name]
	case ir.Int32:
		return whole[name]
	}
	return nil
}

// Has reports whether fn is a function of this package. Its name alone does not
// say so: anyone may give a function of their own the same.
func Has(fn *expr.Func) bool {
	name, d := strings.CutSuffix(fn.Name, f32.name)
	if d {
		return single[name] == fn
	}
	name, d = strings.CutSuffix(fn.Name, f64.name)
	return d && double[name] == fn
}

// all returns the functions for one format by name.
func (f form) all() map[string]*expr.Func {
	exp, half, log, log1p, atan := f.exp(), f.halfExp(), f.log(), f.log1p(), f.atan()
	return map[string]*expr.Func{
		"exp": exp, "exp2": f.exp2(), "expm1": f.expm1(), "sigmoid": f.sigmoid(exp),
		"log": log, "log1p": log1p, "log2": f.log2(), "log10": f.log10(), "rsqrt": f.rsqrt(),
		"sin": f.sin(), "cos": f.cos(), "tan": f.tan(),
		"asin": f.asin(), "acos": f.acos(), "atan": atan, "atan2": f.atan2(atan),
		"sinh": f.sinh(half), "cosh": f.cosh(half), "tanh": f.tanh(),
		"asinh": f.asinh(log, log1p), "acosh": f.acosh(log, log1p), "atanh": f.atanh(log1p),
		"erf": f.erf(), "erfc": f.erfc(exp), "pow": f.pow(),
	}
}
