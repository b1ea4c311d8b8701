package optimize

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// interpreter runs a method: code with memory and state. It is for one goroutine.
type interpreter struct {
	*code
	boundary *rt.Boundary
	name     string
	tracer   rt.EventTracer

	slots slots
	ints  []int64 // values of symbols
	vars  map[*expr.Var]int
	nums  []eval.Value // values of variables

	arena []byte
	roots map[*native.Buffer]*root

	enter []func() error // before the body: sizes, memory of inputs and outputs
	leave []func() error // after it
	body  []step
	steps []native.Stmt // in the order of their events

	delegates map[int]rt.Delegate // by their numbers in the plan
	at        *rt.Event           // the step that executes

	ctx  context.Context // of the present execution
	done <-chan struct{}
}

// root is the memory of a buffer that is no view. What data holds changes only
// if moves is set: the memory is the caller's.
type root struct {
	data  []byte
	moves bool
}

// step is a statement.
type step struct {
	run   func() error
	event *rt.Event // nil for control flow, which has steps inside
}

func newInterpreter(b *rt.Boundary, c *code) *interpreter {
	m := &interpreter{
		code: c, boundary: b, name: b.Plan.Name, tracer: b.Options.Tracer,
		slots: slots{}, vars: map[*expr.Var]int{}, roots: map[*native.Buffer]*root{},
		delegates: map[int]rt.Delegate{},
	}
	m.memory()
	m.inputs()
	m.outputs()
	m.body = m.block(c.method.Body)
	m.results()
	m.ints = make([]int64, len(m.slots))
	m.nums = make([]eval.Value, len(m.vars))
	return m
}

// memory gives the buffers that are the interpreter's own their memory.
func (m *interpreter) memory() {
	arena, own := int64(0), int64(0)
	for _, b := range m.method.Buffers {
		if b.Root == nil && b.Storage == native.Arena {
			arena = max(arena, b.Offset+b.MaxLen*int64(b.DType.Size()))
		}
	}
	for _, s := range m.state {
		own += int64(len(m.consts[s.Const]))
	}
	must.Check(m.boundary.Reserve(arena + own))

	m.arena = aligned(arena)
	for _, b := range m.method.Buffers {
		if b.Root != nil {
			continue
		}
		switch size := b.MaxLen * int64(b.DType.Size()); b.Storage {
		case native.Arena:
			m.roots[b] = &root{data: m.arena[b.Offset : b.Offset+size : b.Offset+size]}
		case native.Weight:
			m.roots[b] = &root{data: m.consts[b.Const]}
		}
	}
	for _, b := range m.state {
		data := aligned(int64(len(m.consts[b.Const])))
		copy(data, m.consts[b.Const])
		m.roots[b] = &root{data: data}
	}
}

// aligned returns n zero bytes where elements of any type may lie.
func aligned(n int64) []byte {
	return must.Get(rt.NewTensor(ir.Uint8, []int64{n}, nil, nil)).Data
}

// index compiles an index expression.
func (m *interpreter) index(e sym.Expr) (func() (int64, error), error) {
	f, err := m.slots.index(e)
	if err != nil {
		return nil, err
	}
	return func() (int64, error) { return f(m.ints) }, nil
}

// Execute implements rt.Executor.
func (m *interpreter) Execute(ctx context.Context) error {
	m.ctx, m.done = ctx, ctx.Done()
	defer func() { m.ctx, m.done = nil, nil }()
	for _, f := range m.enter {
		if err := f(); err != nil {
			return err
		}
	}
	if err := m.run(m.body); err != nil {
		if errors.Is(err, eval.ErrStopped) {
			err = context.Cause(ctx)
		}
		return err
	}
	for _, f := range m.leave {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// run executes statements.
func (m *interpreter) run(body []step) error {
	for i := range body {
		s := &body[i]
		if err := m.stopped(); err != nil {
			return err
		}
		if s.event == nil {
			if err := s.run(); err != nil {
				return err
			}
			continue
		}
		m.at = s.event
		if m.tracer != nil {
			m.tracer.Begin(s.event)
		}
		err := s.run()
		if m.tracer != nil {
			m.tracer.End(s.event, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.event.Op, err)
		}
	}
	return nil
}

// stopped returns the error of the present execution's context.
func (m *interpreter) stopped() error {
	if m.done != nil {
		select {
		case <-m.done:
			return context.Cause(m.ctx)
		default:
		}
	}
	return nil
}

// operand is a buffer as a statement sees it: a run of its root's bytes.
type operand struct {
	root   *root
	at, n  int64 // in bytes, if they are known
	find   func() (at, n int64, err error)
	buffer *native.Buffer
}

// operand returns where b lies.
func (m *interpreter) operand(b *native.Buffer) *operand {
	r := m.roots[native.Root(b)]
	if r == nil {
		panic(fmt.Errorf("buffer %s has no memory", b.Name))
	}
	size := int64(b.DType.Size())
	o := &operand{root: r, buffer: b}
	at, okAt := b.At.Const()
	n, okLen := b.Len.Const()
	if okAt && okLen {
		o.at, o.n = at*size, n*size
		return o
	}
	atOf := must.Get(m.index(b.At))
	lenOf := must.Get(m.index(b.Len))
	o.find = func() (int64, int64, error) {
		at, err := atOf()
		if err != nil {
			return 0, 0, err
		}
		n, err := lenOf()
		return at * size, n * size, err
	}
	return o
}

// fixed reports whether the operand is always the same bytes.
func (o *operand) fixed() bool { return o.find == nil && !o.root.moves }

// bytes returns the operand's present bytes.
func (o *operand) bytes() ([]byte, error) {
	at, n := o.at, o.n
	if o.find != nil {
		var err error
		if at, n, err = o.find(); err != nil {
			return nil, err
		}
	}
	if at < 0 || n < 0 || at > int64(len(o.root.data)) || n > int64(len(o.root.data))-at {
		return nil, fmt.Errorf("%w: bytes %d to %d of buffer %s, whose memory has %d",
			rt.ErrInternal, at, at+n, o.buffer.Name, len(o.root.data))
	}
	return o.root.data[at : at+n : at+n], nil
}

// operands are the buffers of a statement.
type operands struct {
	all    []*operand
	bufs   [][]byte
	moving []int
}

func (m *interpreter) operands(list []*native.Buffer) *operands {
	o := &operands{bufs: make([][]byte, len(list))}
	for i, b := range list {
		x := m.operand(b)
		o.all = append(o.all, x)
		if !x.fixed() {
			o.moving = append(o.moving, i)
			continue
		}
		o.bufs[i] = must.Get(x.bytes())
	}
	return o
}

// now brings bufs up to date.
func (o *operands) now() (err error) {
	for _, i := range o.moving {
		if o.bufs[i], err = o.all[i].bytes(); err != nil {
			return err
		}
	}
	return nil
}

// isKnown reports whether all symbols of e have places.
func (m *interpreter) isKnown(es []sym.Expr) bool {
	return !slices.ContainsFunc(es, func(e sym.Expr) bool {
		return slices.ContainsFunc(e.Symbols(), func(s *sym.Symbol) bool {
			_, ok := m.slots[s]
			return !ok
		})
	})
}
