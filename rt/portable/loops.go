package portable

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/rt"
)

// program is a compiled function, which any number of calls may run.
type program struct {
	f    *loop.Func
	code *eval.Program
	outs int    // buffers that are results; operands and scratch follow
	safe []bool // of result i and operand j at i·operands+j: it runs with both in the same memory
	ins  int
}

func newProgram(f *loop.Func) (*program, error) {
	code, err := eval.Compile(f)
	if err != nil {
		return nil, err
	}
	p := &program{f: f, code: code}
	for _, b := range f.Bufs {
		switch b.Role {
		case loop.Out, loop.InOut:
			p.outs++
		case loop.In:
			p.ins++
		case loop.Scratch:
			if _, ok := b.Len.Const(); !ok {
				return nil, fmt.Errorf("the size %s of scratch is not known", b.Len)
			}
		}
	}
	loads := f.Loads()
	for i := range p.outs {
		for j := range p.ins {
			p.safe = append(p.safe, p.inPlace(i, p.outs+j, loads[p.outs+j]))
		}
	}
	return p, nil
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
func (p *program) loops(reserve func(int64) error) (*loops, error) {
	l := &loops{program: p, runner: p.code.Runner(), bufs: make([][]byte, len(p.f.Bufs))}
	for i, b := range p.f.Bufs {
		if b.Role == loop.Scratch {
			n, _ := b.Len.Const()
			room, err := roomFor(n, b.DType, reserve)
			if err != nil {
				return nil, err
			}
			l.bufs[i] = room
		}
	}
	return l, nil
}

// roomFor returns memory for n elements, which reserve is asked for.
func roomFor(n int64, d ir.DType, reserve func(int64) error) ([]byte, error) {
	size := int64(d.Size())
	if n < 0 || n > math.MaxInt/size {
		return nil, fmt.Errorf("%w: room for %d elements", rt.ErrOutOfMemory, n)
	}
	if err := reserve(n * size); err != nil {
		return nil, err
	}
	return make([]byte, n*size), nil
}

// unlimited is for loops without scratch.
func unlimited(int64) error { return nil }

// newLoops compiles a function that nobody else needs.
func newLoops(f *loop.Func, reserve func(int64) error) (*loops, error) {
	p, err := newProgram(f)
	if err != nil {
		return nil, err
	}
	return p.loops(reserve)
}

func (l *loops) run(bufs [][]byte, done <-chan struct{}) error {
	copy(l.bufs, bufs)
	for i, b := range l.f.Bufs {
		if b.Role == loop.InOut && !overlap(bufs[i], bufs[b.Init]) {
			copy(bufs[i], bufs[b.Init])
		}
	}
	l.runner.Until(done)
	return l.runner.Run(l.bufs, nil, nil)
}

func (l *loops) inPlace(out, in int) bool { return l.safe[out*l.ins+in] }
