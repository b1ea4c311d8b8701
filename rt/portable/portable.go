// Package portable has a kernel for every operator of the table that a program
// can call: the table's definitions run by kernels/eval, and the hand-made
// kernels of kernels/tuned where they fit.
//
// A call is compiled when its method is loaded if its sizes and numbers are
// known then, else when it is first executed with them; the code for a few
// combinations of sizes is kept.
package portable

import (
	"sync/atomic"

	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/rt"
)

// Registry returns the kernels of every operator etgen has.
func Registry() *rt.Registry { return New(ops.Standard(), tuned.Standard()) }

// New returns the kernels of the operators of a table. Calls that one of the
// hand-made kernels accepts run by it; without any, all run by their
// definitions.
func New(table *ops.Table, handMade []*tuned.Kernel) *rt.Registry {
	var kernels []rt.Kernel
	programs := &cache{programs: map[string]*program{}}
	for _, f := range forms(table) {
		k := &kernel{form: f, table: table, handMade: handMade, calls: new(atomic.Uint32),
			cache: programs}
		kernels = append(kernels, rt.Kernel{Name: f.file, Prepare: k.prepare})
	}
	return rt.NewRegistry(kernels...)
}

// kernel is the kernel of one operator of programs.
type kernel struct {
	form
	table    *ops.Table
	handMade []*tuned.Kernel
	calls    *atomic.Uint32 // prepared so far
	cache    *cache
	depth    int                     // of decompositions around what is compiled
	reserve  func(bytes int64) error // of the call
}
