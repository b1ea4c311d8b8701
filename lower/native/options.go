package native

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// Options steer Build.
type Options struct {
	Table   *ops.Table
	Kernels []*tuned.Kernel // candidates for selection; nil: definitions only
	Target  tuned.Target
	Planner plan.Planner
	// Later, if not nil, reports whether an input never changes once the program
	// is loaded, so that tuned kernels may have it packed then: each packed
	// operand becomes an input with Packs, and the input itself is left out if
	// nothing else reads it.
	Later func(*ir.Value) bool
	// Specialise gives calls whose constants differ kernels of their own, for
	// programs that are run and not printed.
	Specialise bool
	// Bands, if over 0, makes all convolutions that can be made in bands of rows so,
	// of so many rows or the next higher number that is possible, and if under 0
	// none, for tests; else those are for which it pays.
	Bands int
	// Checked says that the program asserts that indices are in range.
	Checked bool
	// Done, if not nil, ends Build with an error soon after it is closed.
	Done <-chan struct{}
	// sparing makes images channels-last and takes bands for memory: see bandspare.go.
	sparing bool
	// Poison makes the program overwrite every buffer after its last use, so
	// that reading one that is dead shows.
	Poison bool
}
