// Package gofunc has the Go functions of hand-made kernels, for packages that
// run programs. Compilers do not import it: they copy the functions' source.
package gofunc

import (
	"math"

	"github.com/etgen/etgen/kernels/tuned/gokernels/conv"
	"github.com/etgen/etgen/kernels/tuned/gokernels/depthwise"
	"github.com/etgen/etgen/kernels/tuned/gokernels/matmul"
	"github.com/etgen/etgen/kernels/tuned/gokernels/rows"
)

// Epilogue is what hand-made kernels call on runs of results; see tuned.Kernel.
type Epilogue = func(run []float32, o, c int)

// Function is a hand-made kernel as a function of its buffers (the result,
// operands, packed constants, scratch if it has any), its integers and an
// epilogue, which may be nil.
type Function func(b [][]float32, p []int, e Epilogue)

// Lookup returns the function that tuned.Kernel.Go names; false if there is none.
func Lookup(name string) (Function, bool) {
	low, high := float32(math.Inf(-1)), float32(math.Inf(1)) // the epilogue does it all
	switch name {
	case "rows.Linear":
		return func(b [][]float32, p []int, e Epilogue) {
			rows.Linear(b[0], b[1], b[2], b[3], p[0], p[1], p[2], nil, low, high, e)
		}, true
	case "rows.Conv":
		return func(b [][]float32, p []int, e Epilogue) {
			rows.Conv(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				nil, low, high, e)
		}, true
	case "rows.ConvGather":
		return func(b [][]float32, p []int, e Epilogue) {
			rows.ConvGather(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], nil, low, high, e)
		}, true
	case "rows.Depthwise":
		return func(b [][]float32, p []int, e Epilogue) {
			rows.Depthwise(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], nil, low, high, e)
		}, true
	case "matmul.F32":
		return func(b [][]float32, p []int, e Epilogue) {
			matmul.F32(b[0], b[1], b[2], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], e)
		}, true
	case "conv.F32":
		return func(b [][]float32, p []int, e Epilogue) {
			conv.F32(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], e)
		}, true
	case "depthwise.F32":
		return func(b [][]float32, p []int, e Epilogue) {
			depthwise.F32(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14],
				p[15], p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], e)
		}, true
	}
	return nil, false
}
