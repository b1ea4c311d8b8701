package rt

// Kernel implements an operator of programs.
type Kernel struct {
	Name string // as programs name it: "aten::add.out"

	// Prepare is called once for every call of the operator when a method is
	// loaded. It checks the arguments' types and gives the function that
	// executes the call; whatever can be done ahead (choosing loops, packing
	// weights) it does here. The function reads its arguments through the slots
	// of c, writes the tensors of the out arguments and resizes those that are
	// Resizable. For fixed sizes it must not allocate. It is called by one
	// goroutine at a time.
	Prepare func(c *Call) (func() error, error)
}

// Call is an operator with the slots of its arguments.
type Call struct {
	Op string // "aten::add.out"
	// Args follow the operator's schema, out arguments last. The slot of the
	// result that a program repeats after them is left out.
	Args []*EValue

	fixed func(*EValue) bool
}

// Fixed reports whether what is in slot v never changes while the method
// lives, a constant tensor's elements included.
func (c *Call) Fixed(v *EValue) bool { return c.fixed(v) }

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

// Lookup returns the kernel of an operator.
func (r *Registry) Lookup(name string) (Kernel, bool) {
	k, ok := r.kernels[name]
	return k, ok
}
