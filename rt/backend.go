package rt

import (
	"context"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// Backend runs the parts of programs that were lowered to it. Programs name it,
// as "XnnpackBackend"; MethodOptions.Backends says which one that is.
type Backend interface {
	// Init prepares a delegate when a method is loaded.
	Init(*DelegateInit) (Delegate, error)
}

// DelegateInit is what a backend makes a delegate of.
type DelegateInit struct {
	Method    string
	Processed ir.Blob // what the backend's compiler wrote
	Specs     []pte.CompileSpec
	// Named finds data by name, in the program and in the data files given.
	Named func(key string) (ir.Blob, bool)
}

// Delegate is a part of a method. If it is an io.Closer too, Method.Close
// closes it.
type Delegate interface {
	// Execute reads and writes the tensors in args, which are inputs and
	// outputs in the order that the backend's compiler wrote. It is called by
	// one goroutine at a time.
	Execute(ctx context.Context, args []*EValue) error
}
