package interp

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// Kept holds what nodes are compiled to, for nodes that run several times. Interpreters of one
// table share it, one after the other, as long as nobody changes the nodes.
type Kept struct {
	calls map[*ir.Node]*ops.Call
	forms map[*ops.Call]*forms
}

// NewKept returns an empty one.
func NewKept() *Kept {
	return &Kept{calls: map[*ir.Node]*ops.Call{}, forms: map[*ops.Call]*forms{}}
}

// forms are what a call is made into: those that it has been run by.
type forms struct {
	results []expr.Tensor
	scalar  *ops.Call // with the scalar for a result, which number is
	number  expr.Tensor
	parts   *ir.Graph // the decomposition
	outs    []*ir.Value
	loops   *loop.Func
	program *eval.Program // of the loops
}

// bound binds n.
func (m *Interpreter) bound(n *ir.Node) *ops.Call {
	if m.Kept == nil {
		return must.Get(m.Table.Bind(n))
	}
	c := m.Kept.calls[n]
	if c == nil {
		c = must.Get(m.Table.Bind(n))
		m.Kept.calls[n] = c
	}
	return c
}

// of returns the forms of c, which are kept if its node is.
func (m *Interpreter) of(c *ops.Call) *forms {
	if m.Kept == nil {
		return &forms{}
	}
	f := m.Kept.forms[c]
	if f == nil {
		f = &forms{}
		m.Kept.forms[c] = f
	}
	return f
}

// compiled returns the loops that build returns, and their program.
func (f *forms) compiled(build func() (*loop.Func, error)) (*eval.Program, *loop.Func) {
	if f.program == nil {
		loops := must.Get(build())
		if len(loops.Syms) == 0 { // an entry's own body leaves them to us
			g := *loops
			g.Syms = loops.Free()
			loops = &g
		}
		f.loops, f.program = loops, must.Get(eval.Compile(loops))
	}
	return f.program, f.loops
}
