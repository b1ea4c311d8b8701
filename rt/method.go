package rt

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/etgen/etgen/ir/must"
)

// DefaultMaxInstructions is how many instructions an execution may take unless
// MethodOptions say otherwise, as in ExecuTorch's runtime.
const DefaultMaxInstructions = 10_000_000

// MethodOptions are what a method is loaded with. Nil stands for the zero value,
// which runs programs of the runtime's own operators only.
type MethodOptions struct {
	Registry *Registry          // the kernels
	Memory   *MemoryManager     // nil allocates
	Data     []*DataFile        // external weights; the first that has a name counts
	Backends map[string]Backend // by the name that delegates have in the program
	Tracer   EventTracer        // nil traces nothing

	// MaxInstructions ends a program that loops; 0 is DefaultMaxInstructions.
	MaxInstructions int

	// Optimize, if not nil, makes an Executor that runs instead of the method's
	// instructions. rt/optimize has one.
	Optimize Optimizer
}

// Method is a method of a program, ready to execute. It has the state of the
// model: mutable buffers keep what one execution leaves for the next. It is for
// one goroutine at a time; load one for each.
type Method struct {
	program  *Program
	meta     *MethodMeta
	inputs   []input
	outputs  []*EValue
	declared []*Tensor // by output: the tensor that SetOutput may give memory, else nil
	callers  []*Tensor // outputs whose memory the caller may give
	chains   [][]step
	executor Executor
	closers  []io.Closer
	tracer   EventTracer
	limit    int
	at       *Event // the instruction that executes
	run      *run
	busy     atomic.Bool
}

// input is an input's slot and what was in it at load.
type input struct {
	slot   *EValue
	tensor *Tensor
	least  []int64 // sizes, nil if the program does not say
	copied bool    // into memory that is the method's
	set    bool
}

// LoadMethod makes the method of that name ready: it allocates planned memory,
// reads the constants, looks up kernels and prepares them. Missing operators are
// one *MissingOperatorsError that lists all.
func (p *Program) LoadMethod(name string, options *MethodOptions) (m *Method, err error) {
	defer must.Catch(&err)
	i := p.find(name)
	if options == nil {
		options = &MethodOptions{}
	}
	if err := must.Try(func() { m = p.load(i, options) }); err != nil {
		return nil, inMethod(name, err)
	}
	return m, nil
}

func (p *Program) load(i int, options *MethodOptions) *Method {
	plan := p.file.Plans[i]
	if len(plan.Chains) == 0 {
		panic(fmt.Errorf("%w: no chains of instructions", ErrInvalidProgram))
	}
	b := &binder{
		program: p, plan: plan, options: options,
		memory: newMemory(options.Memory), data: options.Data, boundary: options.Optimize != nil,
		slots: make([]EValue, len(plan.Values)), uses: make([]use, len(plan.Values)),
		index: make(map[*EValue]int32, len(plan.Values)), work: workOf(plan), run: &run{},
	}
	for v := range b.slots {
		b.index[&b.slots[v]] = int32(v)
	}
	b.findUses()
	b.values()
	m := &Method{program: p, meta: p.metas[i], tracer: options.Tracer,
		limit: options.MaxInstructions, callers: b.callers, run: b.run}
	b.at = func() *Event { return m.at }
	if m.limit <= 0 {
		m.limit = DefaultMaxInstructions
	}
	for j, v := range plan.Inputs {
		slot := &b.slots[v]
		m.inputs = append(m.inputs, input{
			slot: slot, tensor: slot.Tensor, least: m.meta.Inputs[j].Least,
			copied: m.meta.Inputs[j].Planned || b.uses[v].kept,
			set:    slot.Kind != TensorKind, // it has its value
		})
	}
	m.outputs = b.slotsOf(plan.Outputs)
	m.declared = make([]*Tensor, len(m.outputs))
	for j, v := range plan.Outputs {
		if t := m.outputs[j].Tensor; t != nil && t.onDemand && !b.uses[v].kept {
			m.declared[j] = t
		}
	}
	if options.Optimize != nil {
		err := m.optimize(b)
		if m.executor != nil {
			return m
		}
		m.Close()
		must.Check(err)
		interpreted := *options
		interpreted.Optimize = nil
		return p.load(i, &interpreted)
	}
	err := must.Try(func() { m.chains = b.steps() })
	for _, d := range b.delegates {
		if c, ok := d.(io.Closer); ok {
			m.closers = append(m.closers, c)
		}
	}
	if err != nil {
		m.Close()
		panic(err)
	}
	return m
}

// inMethod says in which method err happened, unless it says that itself.
func inMethod(name string, err error) error {
	switch err.(type) {
	case *Error, *MissingOperatorsError:
		return err
	}
	return fmt.Errorf("method %q: %w", name, err)
}

// Meta describes the method.
func (m *Method) Meta() *MethodMeta { return m.meta }

// Close releases what backends and an Executor hold. The method cannot be
// executed afterwards. A method without delegates need not be closed.
func (m *Method) Close() error {
	var first error
	for _, c := range m.closers {
		if err := c.Close(); err != nil && first == nil {
			first = err
		}
	}
	m.closers = nil
	m.busy.Store(true)
	return first
}
