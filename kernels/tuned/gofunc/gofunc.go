// Package gofunc has the Go functions of hand-made kernels, for packages that
// run programs. Compilers do not import it: they copy the functions' source.
package gofunc

import (
	"math"

	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/tuned/gokernels/conv"
	"github.com/etgen/etgen/kernels/tuned/gokernels/depthwise"
	"github.com/etgen/etgen/kernels/tuned/gokernels/rows"
)

// Epilogue is what hand-made kernels call on runs of results; see tuned.Kernel.
type Epilogue = func(run []float32, o, c int)

// Finish is what becomes of sums before they are results. Add, laid out as the
// results, is added if it is not nil; then come Low and High; then Epilogue if it
// is not nil. Only kernels with tuned.Kernel.Bounds look at the first three.
type Finish struct {
	Add       []float32
	Low, High float32
	Epilogue  Epilogue
}

// Plain leaves sums as they are.
func Plain() Finish { return Finish{Low: float32(math.Inf(-1)), High: float32(math.Inf(1))} }

// Function is a hand-made kernel as a function of its buffers (the result,
// operands, packed constants, scratch if it has any) and its integers.
type Function func(b [][]float32, p []int, f Finish)

// Lookup returns the function that tuned.Kernel.Go names; false if there is none.
func Lookup(name string) (Function, bool) {
	switch name {
	case "rows.Linear":
		return func(b [][]float32, p []int, f Finish) {
			rows.Linear(b[0], b[1], b[2], b[3], p[0], p[1], p[2], f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.Conv":
		return func(b [][]float32, p []int, f Finish) {
			rows.Conv(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
				p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.ConvGather":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvGather(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5], p[6],
				p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], f.Add, f.Low, f.High,
				f.Epilogue)
		}, true
	case "rows.ConvAround":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvAround(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5], p[6],
				p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17], p[18],
				p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.ConvAroundPlanes":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvAroundPlanes(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5],
				p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17],
				p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.ConvEdges":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvEdges(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
				p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17], p[18], p[19],
				p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], p[28], p[29], p[30], p[31],
				p[32], p[33], p[34],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.ConvEdgesPlanes":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvEdgesPlanes(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6],
				p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17], p[18],
				p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], p[28], p[29], p[30],
				p[31], p[32], p[33], p[34],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.ConvFew":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvFew(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5], p[6],
				p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17], p[18],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.ConvFewPlanes":
		return func(b [][]float32, p []int, f Finish) {
			rows.ConvFewPlanes(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5],
				p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16], p[17],
				p[18], p[19],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.Winograd":
		return func(b [][]float32, p []int, f Finish) {
			rows.Winograd(b[0], b[1], b[2], b[3], b[4], p[0], p[1], p[2], p[3], p[4], p[5], p[6],
				p[7], p[8], p[9], p[10], p[11], p[12],
				f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.Depthwise":
		return func(b [][]float32, p []int, f Finish) {
			rows.Depthwise(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
				p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.Matmul":
		return func(b [][]float32, p []int, f Finish) {
			rows.Matmul(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
				p[8], p[9], f.Add, f.Low, f.High, f.Epilogue)
		}, true
	case "rows.Attention":
		return func(b [][]float32, p []int, f Finish) {
			rows.Attention(b[0], b[1], b[2], b[3], b[4], b[5], p[0], p[1], p[2], p[3], p[4], p[5],
				p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], strip.Largest, strip.Sum,
				strip.SubScalar, strip.MulScalar, strip.Transpose, exp(), f.Epilogue)
		}, true
	case "rows.AttentionAdded":
		return func(b [][]float32, p []int, f Finish) {
			rows.AttentionAdded(b[0], b[1], b[2], b[3], b[4], b[5], b[6], p[0], p[1], p[2], p[3],
				p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26],
				strip.Largest, strip.Sum, strip.SubScalar, strip.MulScalar, strip.Transpose, exp(),
				strip.Add, f.Epilogue)
		}, true
	case "rows.AttentionKept":
		return func(b [][]float32, p []int, f Finish) {
			rows.AttentionKept(b[0], b[1], b[2], b[3], bools(b[4]), b[5], b[6], p[0], p[1], p[2],
				p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26],
				strip.Largest, strip.Sum, strip.SubScalar, strip.MulScalar, strip.Transpose, exp(),
				strip.SelectScalar, f.Epilogue)
		}, true
	case "rows.MaxPool":
		return func(b [][]float32, p []int, f Finish) {
			rows.MaxPool(b[0], b[1], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9],
				p[10], p[11], p[12], p[13], f.Epilogue)
		}, true
	case "rows.MaxPoolPlanes":
		return func(b [][]float32, p []int, f Finish) {
			rows.MaxPoolPlanes(b[0], b[1], b[2], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
				p[8], p[9], p[10], p[11], p[12], p[13], f.Epilogue)
		}, true
	case "rows.AvgPool":
		return func(b [][]float32, p []int, f Finish) {
			rows.AvgPool(b[0], b[1], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9],
				p[10], p[11], p[12], f.Epilogue)
		}, true
	case "conv.F32":
		return func(b [][]float32, p []int, f Finish) {
			conv.F32(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8],
				p[9], p[10], p[11], p[12], p[13], p[14], p[15],
				p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27],
				f.Epilogue)
		}, true
	case "depthwise.F32":
		return func(b [][]float32, p []int, f Finish) {
			depthwise.F32(b[0], b[1], b[2], b[3], p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7],
				p[8], p[9], p[10], p[11], p[12], p[13], p[14],
				p[15], p[16], p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], f.Epilogue)
		}, true
	}
	return nil, false
}
