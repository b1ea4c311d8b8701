package portable

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/rt"
)

// code computes results from operands whose sizes are known.
type code interface {
	// run computes; bufs are the results' memory, then the operands'. It ends
	// with eval.ErrStopped soon after done is closed.
	run(bufs [][]byte, done <-chan struct{}) error
	// inPlace reports whether result out may be the very memory of operand in.
	inPlace(out, in int) bool
}

// compile makes the code of a call, which computes all results or, if only is not
// nil, those numbered, of an operator that computes them by expressions. constant
// gives the elements of operands that never change, in row-major order.
func (k *kernel) compile(c *ops.Call, only []int, o interp.Orders,
	constant func(int) ([]byte, bool)) code {
	if len(c.Scalars()) > 0 {
		panic(fmt.Errorf("a number that is not known"))
	}
	part := c
	if only != nil {
		part = partOf(c, only)
	}
	if len(part.Outs) == 1 && part.Outs[0].Kind == ir.TensorKind && (only == nil || only[0] == 0) {
		if in, want := k.handMadeFor(part, constant); in != nil {
			return k.inOrder(part, o, want, k.newTuned(part, in))
		}
	}
	if l := k.knownLoops(part, only, o); l != nil {
		return l
	}
	ts, _ := must.Get2(c.Results())
	switch {
	case ts != nil:
		if only != nil {
			ts = pick(ts, only)
		}
		return k.loops(part, only, o, func() (*loop.Func, error) { return interp.Loops(c, ts, o) })
	case c.Op.Loops != nil:
		l := k.loops(c, nil, interp.Orders{}, func() (*loop.Func, error) {
			return c.Op.Loops(c)
		})
		return k.inOrder(c, o, interp.Orders{}, l)
	case c.Op.Decompose != nil:
		return k.inOrder(c, o, interp.Orders{}, k.newSequence(c, constant))
	case c.Op.Effect:
		return k.newAssertion(c)
	}
	panic(fmt.Errorf("the operator has no kernel"))
}

// partOf returns c with some of its results.
func partOf(c *ops.Call, only []int) *ops.Call {
	part := *c
	part.Outs = pick(c.Outs, only)
	return &part
}

func pick[T any](xs []T, only []int) []T {
	return seq.Map(only, func(i int) T { return xs[i] })
}

// assertion is the code of an operator that has no result but a condition.
type assertion struct {
	holds   *loops
	bufs    [][]byte // the condition's truth, then operands
	message string
}

func (k *kernel) newAssertion(c *ops.Call) *assertion {
	e := must.Get(c.Op.ScalarOp(c))
	truth := *c
	truth.Outs = []ir.Type{ir.TensorOf(ir.Bool)}
	f := must.Get(interp.Loops(&truth, []expr.Tensor{{DType: ir.Bool, Body: e}}, interp.Orders{}))
	l := newLoops(f, k.reserve)
	a := &assertion{holds: l, bufs: make([][]byte, 1+len(c.Operands())),
		message: "an assertion does not hold"}
	a.bufs[0] = make([]byte, ir.Bool.Size())
	if c.Has("assert_msg") {
		a.message = c.Str("assert_msg")
	}
	return a
}

func (a *assertion) run(bufs [][]byte, done <-chan struct{}) error {
	copy(a.bufs[1:], bufs)
	if err := a.holds.run(a.bufs, done); err != nil {
		return err
	}
	if a.bufs[0][0] == 0 {
		return fmt.Errorf("%w: %s", rt.ErrInvalidArgument, a.message)
	}
	return nil
}

// inPlace: there are no results.
func (a *assertion) inPlace(_, _ int) bool { return true }

// program is a compiled function, which any number of calls may run.
type program struct {
	f    *loop.Func
	code *eval.Program
	outs int    // buffers that are results; operands and scratch follow
	safe []bool // of result i and operand j at i·operands+j: it runs with both in the same memory
	ins  int
}

func newProgram(f *loop.Func) *program {
	code := must.Get(eval.Compile(f))
	p := &program{f: f, code: code}
	for _, b := range f.Bufs {
		switch b.Role {
		case loop.Out, loop.InOut:
			p.outs++
		case loop.In:
			p.ins++
		case loop.Scratch:
			if _, ok := b.Len.Const(); !ok {
				panic(fmt.Errorf("the size %s of scratch is not known", b.Len))
			}
		}
	}
	loads := f.Loads()
	for i := range p.outs {
		for j := range p.ins {
			p.safe = append(p.safe, p.inPlace(i, p.outs+j, loads[p.outs+j]))
		}
	}
	return p
}

// inPlace reports whether the function runs rightly if result buffer out is
// operand buffer in, which it loads from or not.
func (p *program) inPlace(out, in int, loads bool) bool {
	copied := func(b loop.Buf) bool { return b.Role == loop.InOut && b.Init == in }
	if p.f.Bufs[out].Role != loop.InOut {
		return !slices.ContainsFunc(p.f.Bufs, copied) && schedule.InPlace(p.f, out, in)
	}
	return (copied(p.f.Bufs[out]) || !slices.ContainsFunc(p.f.Bufs, copied)) && !loads
}

// loops is a program with memory to run in.
type loops struct {
	*program
	runner *eval.Runner
	bufs   [][]byte // results, operands, scratch
}

// loops returns the program with memory, which reserve is asked for.
func (p *program) loops(reserve func(int64) error) *loops {
	l := &loops{program: p, runner: p.code.Runner(), bufs: make([][]byte, len(p.f.Bufs))}
	for i, b := range p.f.Bufs {
		if b.Role == loop.Scratch {
			n, _ := b.Len.Const()
			l.bufs[i] = allocate(n, b.DType, reserve)
		}
	}
	return l
}

// allocate returns memory for n elements, which reserve is asked for.
func allocate(n int64, d ir.DType, reserve func(int64) error) []byte {
	size := int64(d.Size())
	if n < 0 || n > math.MaxInt/size {
		panic(fmt.Errorf("%w: room for %d elements", rt.ErrOutOfMemory, n))
	}
	must.Check(reserve(n * size))
	return make([]byte, n*size)
}

// unlimited is for loops without scratch.
func unlimited(int64) error { return nil }

// newLoops compiles a function that nobody else needs.
func newLoops(f *loop.Func, reserve func(int64) error) *loops {
	return newProgram(f).loops(reserve)
}

func (l *loops) run(bufs [][]byte, done <-chan struct{}) error {
	copy(l.bufs, bufs)
	for i := range l.outs {
		if b := &l.f.Bufs[i]; b.Role == loop.InOut && !eval.Overlap(bufs[i], bufs[b.Init]) {
			copy(bufs[i], bufs[b.Init])
		}
	}
	l.runner.Until(done)
	return l.runner.Run(l.bufs, nil, nil)
}

func (l *loops) inPlace(out, in int) bool { return l.safe[out*l.ins+in] }
