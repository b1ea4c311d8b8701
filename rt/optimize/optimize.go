// Package optimize compiles methods when they are loaded: an application that
// imports it has its programs raised to a graph, fused, replanned and their
// weights packed, instead of instructions interpreted one by one.
//
//	method, err := program.LoadMethod("forward", &rt.MethodOptions{
//		Registry: portable.Registry(),
//		Optimize: optimize.Default,
//	})
//
// All that a method is used with stays as it is: inputs, outputs, state, tracing,
// cancellation. Sums may be rounded in another order than interpreted. The work
// takes some milliseconds to a second per method and is done once for a
// [rt.Program]: methods loaded later share code and packed weights, in other
// goroutines too.
//
// Delegates whose payloads are known are compiled with the rest. Others are called, by the backends
// of the options.
//
// Custom operators that the options declare are called, by the kernels of the registry. A program
// that cannot be raised, as one with other custom operators, is interpreted by the registry. Why
// is told to the program's platform, at [rt.LogInfo], and to [Options].Refused.
//
// Planned memory of the program is not used, be it given by the caller or not: a
// method has an arena of its own, planned anew. It counts against the limit of
// its rt.MemoryManager; constants that are packed or folded do not. Compiling takes
// memory too, so programs that are not trusted should not be optimised.
package optimize

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// Options say what becomes of methods that cannot be optimised.
type Options struct {
	// Refused, if not nil, is told why a method is interpreted.
	Refused func(method string, reason error)
	// Strict lets such a method not load. The error is ErrRefused.
	Strict bool
	// Custom are the schemas of custom operators, as in "my::scale(Tensor x, float by) -> Tensor".
	// A program does not tell them. Their kernels are those of the registry.
	Custom []string
	// Lowered, if not nil, is told the graph that a method is compiled from, once for
	// a [rt.Program] and the same Custom.
	Lowered func(method string, p *ir.Program)
	// Parts, if not nil, is told the same of a method that only calls a delegate.
	Parts func(steps []Part)
	// Loaded, if not nil, is told the steps of a method that was loaded, by the
	// Instruction of their events; control flow is a step that has no events.
	Loaded func(method string, steps []native.Stmt)
}

// Part is a step of a delegate: its kernel, and the debug handles of the nodes of the payload that
// it computes.
type Part struct {
	Kernel  string
	Handles []uint32
}

// partOf reads the lines that handles stand in for.
func partOf(s native.Stmt) Part {
	call, ok := s.(*native.Call)
	if !ok {
		return Part{Kernel: "size"}
	}
	return Part{call.Kernel.Name,
		seq.Map(call.From, func(o native.Origin) uint32 { return uint32(o.Loc.Line) })}
}

// ErrRefused: the method can be interpreted but not optimised. The error that
// wraps it says why.
var ErrRefused = errors.New("the method cannot be optimised")

// Default is an [rt.Optimizer] with the zero Options.
func Default(b *rt.Boundary) (rt.Executor, error) { return With(Options{})(b) }

// With returns an optimizer with options.
func With(o Options) rt.Optimizer {
	return func(b *rt.Boundary) (rt.Executor, error) {
		m, err := load(b, o)
		switch {
		case err == nil:
			if o.Loaded != nil {
				o.Loaded(b.Plan.Name, m.steps)
			}
			if o.Parts != nil {
				o.Parts(seq.Map(m.steps, partOf))
			}
			return m, nil
		case errors.Is(err, rt.ErrOutOfMemory):
			return nil, err
		case o.Strict:
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		b.Log(rt.LogInfo, fmt.Sprintf("method %q is interpreted: %v", b.Plan.Name, err))
		if o.Refused != nil {
			o.Refused(b.Plan.Name, err)
		}
		return nil, nil
	}
}

// codeKey says what a method is compiled from. Custom are the schemas of the options.
type codeKey struct {
	plan   *pte.ExecutionPlan
	custom string
}

// load returns the executor of a method. What was compiled for another method of
// the same plan and the same schemas is taken again.
func load(b *rt.Boundary, o Options) (m *interpreter, err error) {
	defer func() {
		// a defect of the compiler must not keep a program from running
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("internal error: %v", r)
		}
	}()
	defer must.Catch(&err)
	made, err := b.Shared(codeKey{b.Plan, fmt.Sprintf("%q", o.Custom)}, func() (c any, err error) {
		defer must.Catch(&err)
		return compile(b, o), nil
	})
	if err != nil {
		return nil, err
	}
	return newInterpreter(b, made.(*code)), nil
}
