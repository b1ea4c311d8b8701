package rt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// Optimizer makes an Executor of a method when it is loaded. Nil without an error
// says that it cannot, and the instructions are interpreted. With an error the
// method does not load.
type Optimizer func(*Boundary) (Executor, error)

// Boundary is what an Executor and its Method share: the slots of inputs and
// outputs. All else, planned memory and instructions too, is the Executor's: it
// has memory of its own for what lies between, and it holds the state, which
// begins with the data that the program says.
//
// The Method does everything that callers see: it checks inputs against the
// program and copies those that the program plans memory for, into memory of
// their own; it gives outputs memory of their own, or the caller's; it keeps
// instructions from running concurrently. MethodMeta is that of the program.
type Boundary struct {
	Program *Program
	Plan    *pte.ExecutionPlan
	Options *MethodOptions

	// Inputs are the slots of the inputs. At every execution their tensors have
	// Sizes and Data that SetInput set; Data may lie elsewhere each time.
	// Scalars never change.
	Inputs []*EValue
	// Outputs are the slots of the outputs. Execute resizes those tensors that
	// are Resizable and writes Data, which may lie elsewhere each time; of
	// scalars it sets the value. The slots of outputs that are constants are
	// filled already and never written. An output that is an input too has the
	// same slot in both lists, and two outputs may have the same slot.
	Outputs []*EValue

	data    dataFiles
	closers []io.Closer // delegates
	memory  *memory     // what is left of the method's
}

// Constant returns the data of a tensor of the plan that is a constant of the
// file or of a data file. Nobody may write it; it is shared with other methods.
func (b *Boundary) Constant(v *pte.Tensor) (_ []byte, err error) {
	defer must.Catch(&err)
	t, n := declare(v)
	if !v.IsConstant() {
		return nil, fmt.Errorf("%w: the tensor is no constant", ErrInvalidArgument)
	}
	return b.binder().constant(v, t, n), nil
}

// Initial returns a copy of the data that a tensor in planned memory starts
// with; zeros if the program says nothing.
func (b *Boundary) Initial(v *pte.Tensor) (_ []byte, err error) {
	defer must.Catch(&err)
	t, n := declare(v)
	if v.Allocation == nil {
		return nil, fmt.Errorf("%w: the tensor has no planned memory", ErrInvalidArgument)
	}
	t.own = alignedBytes(n)
	b.binder().initial(v, t)
	return t.own, nil
}

// Reserve counts n bytes that the Executor allocates for as long as the method lives. The error is
// ErrOutOfMemory if they are more than MemoryManager.Limit leaves.
func (b *Boundary) Reserve(n int64) error { return b.memory.reserve(n) }

// Kernel prepares a call of an operator that the registry of the options has a kernel for. Fixed
// reports which slots never change, see [Call.Fixed]; what the kernel reserves counts as in
// Reserve.
func (b *Boundary) Kernel(op string, args []*EValue, fixed func(*EValue) bool) (
	func(context.Context) error, error) {
	k, ok := b.Options.Registry.Lookup(op)
	if !ok || k.Prepare == nil {
		return nil, &MissingOperatorsError{Method: b.Plan.Name, Operators: []string{op}}
	}
	now := &run{}
	f, err := k.Prepare(&Call{Op: op, Args: args, fixed: fixed, memory: b.memory, run: now})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		now.ctx = ctx
		defer func() { now.ctx = nil }()
		return f()
	}, nil
}

// binder returns what finds the program's data.
func (b *Boundary) binder() *binder { return &binder{program: b.Program, data: b.data} }

// Shared returns what made returned when it was first called with that key for
// this program and these data files. It is for what Executors of several methods,
// in several goroutines, have in common: it must not change. After an error it is
// made again.
func (b *Boundary) Shared(key any, made func() (any, error)) (any, error) {
	return b.Program.shared.get(sharedKey{fmt.Sprintf("%p", b.data), key}, made)
}

// Log tells the program's platform.
func (b *Boundary) Log(level LogLevel, message string) { b.Program.platform.Log(level, message) }

// sharedKey is a key of an optimizer. Files are the addresses of the data files.
type sharedKey struct {
	files string
	key   any
}

// shared keeps what is made once for a program.
type shared struct {
	mu      sync.Mutex
	entries map[any]*sharedEntry
}

type sharedEntry struct {
	mu    sync.Mutex
	value any
	done  bool
}

func (s *shared) get(key any, made func() (any, error)) (any, error) {
	s.mu.Lock()
	if s.entries == nil {
		s.entries = map[any]*sharedEntry{}
	}
	e := s.entries[key]
	if e == nil {
		e = &sharedEntry{}
		s.entries[key] = e
	}
	s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return e.value, nil
	}
	value, err := made()
	if err != nil {
		return nil, err
	}
	e.value, e.done = value, true
	return value, nil
}

// Executor runs a method instead of its instructions. If it is an io.Closer
// too, Method.Close closes it.
type Executor interface {
	// Execute runs the method once. For fixed sizes it should not allocate. It
	// returns the error of ctx when that is done. It is called by one goroutine
	// at a time; a panic becomes an error that names the method. It tells the
	// tracer of the options its steps if there is one.
	Execute(ctx context.Context) error
}

// optimize makes the method's Executor.
func (m *Method) optimize(b *binder) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrInternal, r)
		}
	}()
	boundary := &Boundary{Program: b.program, Plan: b.plan, Options: b.options, Outputs: m.outputs,
		data: b.data, memory: b.memory}
	for i := range m.inputs {
		boundary.Inputs = append(boundary.Inputs, m.inputs[i].slot)
	}
	for _, out := range m.outputs { // the instructions might have moved a tensor with memory there
		if t := out.Tensor; t != nil && t.onDemand && !slices.Contains(m.callers, t) {
			m.callers = append(m.callers, t)
		}
	}
	defer func() { m.closers = append(m.closers, boundary.closers...) }()
	m.executor, err = b.options.Optimize(boundary)
	if err != nil {
		return err
	}
	if c, ok := m.executor.(io.Closer); ok {
		m.closers = append(m.closers, c)
	}
	return nil
}
