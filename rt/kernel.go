package rt

import "context"

// Kernel implements an operator of programs.
type Kernel struct {
	Name string // as programs name it: "aten::add.out"

	// Prepare is called once for every call of the operator when a method is
	// loaded. It checks the arguments' types and gives the function that
	// executes the call; whatever can be done ahead (choosing loops, packing
	// weights) it does here. The function reads its arguments through the slots
	// of c, writes the tensors of the out arguments and resizes those that are
	// Resizable. For fixed sizes it must not allocate. It is called by one
	// goroutine at a time. Constants are shared by methods: it refuses out
	// arguments that are Fixed.
	Prepare func(c *Call) (func() error, error)
}

// Call is an operator with the slots of its arguments.
type Call struct {
	Op string // "aten::add.out"
	// Args follow the operator's schema, out arguments last. The slot of the
	// result that a program repeats after them is left out.
	Args []*EValue

	fixed  func(*EValue) bool
	unread func(*EValue) bool
	memory *memory
	run    *run
}

// run is the present execution of a method.
type run struct{ ctx context.Context }

// NewCall returns a call for tests of kernels and for runtimes of another make.
// A nil fixed means that nothing is Fixed.
func NewCall(op string, args []*EValue, fixed func(*EValue) bool) *Call {
	return &Call{Op: op, Args: args, fixed: fixed}
}

// Fixed reports whether what is in slot v never changes while the method
// lives, a constant tensor's elements included. Of a tensor that is not Fixed
// the dtype, rank and dim order never change either, and the sizes do only if it
// is Resizable.
func (c *Call) Fixed(v *EValue) bool { return c.fixed != nil && c.fixed(v) }

// Unread reports whether nothing reads what the call leaves in the tensor of
// slot v: a kernel need not compute it.
func (c *Call) Unread(v *EValue) bool { return c.unread != nil && c.unread(v) }

// Context returns that of the present execution. What a kernel does for long
// ends with context.Cause of it soon after it is done.
func (c *Call) Context() context.Context {
	if c.run == nil || c.run.ctx == nil {
		return context.Background()
	}
	return c.run.ctx
}

// Reserve counts n bytes that the kernel is going to allocate for what lives as
// long as the method: scratch, packed constants. The error is ErrOutOfMemory if
// they are more than MemoryManager.Limit leaves. Memory given back is counted
// with a negative n.
func (c *Call) Reserve(n int64) error {
	if c.memory == nil {
		return nil
	}
	return c.memory.reserve(n)
}

// Registry is a set of kernels by name. It is a value: a program runs with the
// kernels of the registry it is loaded with, and no others.
type Registry struct{ kernels map[string]Kernel }

// NewRegistry returns a registry of kernels; of two with the same name the last
// counts.
func NewRegistry(kernels ...Kernel) *Registry {
	r := &Registry{kernels: make(map[string]Kernel, len(kernels))}
	for _, k := range kernels {
		r.kernels[k.Name] = k
	}
	return r
}

// With returns a registry of r's kernels and others, which replace those of the same names.
func (r *Registry) With(kernels ...Kernel) *Registry {
	all := NewRegistry(kernels...)
	for name, k := range r.kernels {
		if _, replaced := all.kernels[name]; !replaced {
			all.kernels[name] = k
		}
	}
	return all
}

// Lookup returns the kernel of an operator. The runtime's own operators
// (executorch_prim::* and the like) are not in a registry; one that has kernels
// of these names does not replace them.
func (r *Registry) Lookup(name string) (Kernel, bool) {
	if r == nil {
		return Kernel{}, false
	}
	k, ok := r.kernels[name]
	return k, ok
}
