// Package gofunc has the Go functions of hand-made kernels, for packages that
// run programs. Compilers do not import it: they copy the functions' source.
package gofunc

import (
	"math"

	"github.com/etgen/etgen/kernels/strip"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels/rows"
)

// EpilogueFunc is what hand-made kernels call on runs of results; see tuned.Kernel.
type EpilogueFunc = func(run []float32, o, c int)

// Epilogue is what becomes of sums before they are results. Add, laid out as the
// results, is added if it is not nil; then come Low and High; then EpilogueFunc if it
// is not nil. Only kernels with tuned.Kernel.Bounds look at the first three. With a Scale,
// results are rescaled in front of what else becomes of them: see tuned.Rescaling.
type Epilogue struct {
	Add               []float32
	Low, High         float32
	EpilogueFunc      EpilogueFunc
	Shift, Scale      []float32
	Least, Most, Plus float32
	Rescaled          bool // by the function itself
}

// Extras are the operands of an epilogue that a function reads, -1 for those that it does not.
type Extras struct{ Add, Shift, Scale int }

// NoExtras are none.
var NoExtras = Extras{-1, -1, -1}

// Plain leaves sums as they are.
func Plain() Epilogue { return Epilogue{Low: float32(math.Inf(-1)), High: float32(math.Inf(1))} }

// Function is a hand-made kernel as a function of its buffers, in the order of
// tuned.Instance.Slots without those of an epilogue, and its integers.
type Function func(b [][]float32, n []int, f *Epilogue)

// at returns where the buffer of a name is, -1 if there is none.
func at(slots []tuned.Slot, name string) int {
	i := 0
	for _, s := range slots {
		switch {
		case s.Name == name:
			return i
		case s.Kind != tuned.Extra:
			i++
		}
	}
	return -1
}

// take returns the buffer at i, nil if there is none.
func take(b [][]float32, i int) []float32 {
	if i < 0 {
		return nil
	}
	return b[i]
}

// vectors are the functions on slices that attention is made of.
func vectors() rows.Vectors {
	return rows.NewVectors(strip.Largest, strip.Sum, strip.SubScalar, strip.MulScalar,
		strip.Transpose, exp(), strip.Add, strip.SelectScalar)
}
