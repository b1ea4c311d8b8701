package lower

import (
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
)

// Vector returns the name that the vector form of fn has in package strip, ""
// if there is none. Only functions of kernels/math have one: another of the
// same name computes something else.
func Vector(fn *expr.Func) string {
	if !math.Has(fn) {
		return ""
	}
	return strip.Vector(fn.Name)
}

// Function returns the vector form of fn, nil if there is none on this machine.
func Function(fn *expr.Func) func(dst, a []float32) bool {
	if !math.Has(fn) {
		return nil
	}
	return strip.Function(fn.Name)
}
