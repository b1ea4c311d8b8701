// Package interp runs graphs of the operator table directly, node by node,
// through kernels/eval: slow, with no planning and no fusion. It folds
// constants, and it is what the table is checked with.
package interp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// Value is what a value of the graph is at run time.
type Value struct {
	Kind   ir.Kind
	Tensor eval.Operand // of a tensor: dense, row-major
	Scalar expr.Value   // of an int (I), bool (I) or float (F)
	Object any          // of a string, a None and the like: the literal
}

// Tensor returns a tensor value.
func Tensor(d ir.DType, sizes []int64, data []byte) Value {
	return Value{Kind: ir.TensorKind, Tensor: eval.Operand{DType: d, Sizes: sizes, Data: data}}
}

// Kernel computes a call on memory: of the result, then of the operands. It ends with
// eval.ErrStopped soon after done is closed.
type Kernel func(bufs [][]byte, done <-chan struct{}) error

// Interpreter runs the nodes of one method.
type Interpreter struct {
	Table *ops.Table
	// Meaning, if not nil, evaluates tensor expressions: loops do not then.
	Meaning func(t expr.Tensor, operands []eval.Operand, syms map[*sym.Symbol]int64,
		scalars []expr.Value) (eval.Operand, error)
	// Kernel, if not nil, is asked for a kernel that computes a call of one tensor; constant gives
	// the elements of operands that never change. Nil: the definition does.
	Kernel func(c *ops.Call, constant func(operand int) ([]byte, bool)) Kernel
	// Done, if not nil, ends what runs with eval.ErrStopped soon after it is closed.
	Done <-chan struct{}
	// Limit, if not nil, is how many iterations of loops may run; it becomes less by
	// those that do. What needs many more ends with eval.ErrStopped.
	Limit *int64
	// Reserve, if not nil, is asked before memory of so many bytes is allocated
	// for results and scratch; its error ends what runs.
	Reserve func(bytes int64) error
	// Kept, if not nil, holds what nodes are compiled to.
	Kept *Kept

	env     map[*ir.Value]Value
	syms    map[*sym.Symbol]int64
	fixed   map[*sym.Symbol]bool // symbols that have their value in the graph that runs
	longest int64                // elements of the longest reduction run
}

// New returns a machine that knows no values yet.
func New(t *ops.Table) *Interpreter {
	return &Interpreter{Table: t, env: map[*ir.Value]Value{}, syms: map[*sym.Symbol]int64{}}
}

// Held returns the bytes of the tensors that the machine holds.
func (m *Interpreter) Held() int64 {
	sum, seen := int64(0), map[*byte]bool{}
	for _, x := range m.env {
		if data := x.Tensor.Data; cap(data) > 0 {
			if first := &data[:1][0]; !seen[first] {
				seen[first] = true
				sum += int64(len(data))
			}
		}
	}
	return sum
}

// Set gives v the value x. A dynamic size of v's type that is a symbol of its
// own takes its value from x.
func (m *Interpreter) Set(v *ir.Value, x Value) {
	m.env[v] = x
	switch x.Kind {
	case ir.TensorKind:
		for d, s := range v.Type.Sizes {
			if d < len(x.Tensor.Sizes) {
				m.bind(s, x.Tensor.Sizes[d])
			}
		}
	case ir.IntKind:
		if v.Type.HasExpr {
			m.bind(v.Type.Expr, x.Scalar.I)
		}
	}
}

// bind solves e = n if e is linear in its one symbol.
func (m *Interpreter) bind(e sym.Expr, n int64) {
	ss := e.Symbols()
	if len(ss) != 1 {
		return
	}
	coef, rest, linear := e.Coef(ss[0])
	a, okA := coef.Const()
	b, okB := rest.Const()
	if linear && okA && okB && a != 0 && (n-b)%a == 0 {
		m.syms[ss[0]] = (n - b) / a
	}
}

// Get returns the value of v.
func (m *Interpreter) Get(v *ir.Value) (Value, error) { return m.Arg(ir.Ref{Value: v}) }

func (m *Interpreter) get(v *ir.Value) Value {
	x, ok := m.env[v]
	switch {
	case ok:
	case v.Const != nil:
		x = m.constant(v.Const)
		m.env[v] = x
	case v.Type.Kind == ir.IntKind && v.Type.HasExpr:
		x = integer(m.size(v.Type.Expr))
	default:
		must.Fail("%%%s has no value", v.Name)
	}
	return x
}

func integer(n int64) Value { return Value{Kind: ir.IntKind, Scalar: expr.Value{I: n}} }

// Arg returns the value of an argument.
func (m *Interpreter) Arg(a ir.Arg) (x Value, err error) {
	defer must.Catch(&err)
	return m.arg(a), nil
}

func (m *Interpreter) arg(a ir.Arg) Value {
	switch a := a.(type) {
	case ir.Ref:
		return m.get(a.Value)
	case ir.Int:
		return integer(int64(a))
	case ir.Float:
		return Value{Kind: ir.FloatKind, Scalar: expr.Value{F: float64(a)}}
	case ir.BoolArg:
		v := Value{Kind: ir.BoolKind}
		if a {
			v.Scalar.I = 1
		}
		return v
	}
	return Value{Object: a}
}

// ErrAssert is the error of an assertion that does not hold.
var ErrAssert = errors.New("assertion failed")

// ErrUnknownSize is the error for a size that follows neither from the sizes of
// inputs nor from a scalar: one that the data of a tensor decides.
var ErrUnknownSize = errors.New("a size depends on data")

// Enter gives the inputs of a method their values and checks them: sizes and
// integers are as the types have them, symbols in their ranges.
func (m *Interpreter) Enter(g *ir.Graph, inputs []Value) (err error) {
	defer must.Catch(&err)
	for i, v := range g.Inputs {
		m.Set(v, inputs[i])
	}
	m.solve(g)
	check := func(v *ir.Value, what string, e sym.Expr, n int64) {
		if want := m.size(e); want != n {
			must.Fail("%s of %s is %d, want %s = %d", what, v.Name, n, e, want)
		}
		for _, s := range e.Symbols() {
			lo, hi := s.Expr().Bounds()
			if n := m.syms[s]; n < lo || n > hi {
				must.Fail("%s of %s: %s is %d, want %d to %d", what, v.Name, s.Name, n, lo, hi)
			}
		}
	}
	for i, v := range g.Inputs {
		x := inputs[i]
		switch {
		case x.Kind == ir.TensorKind:
			for d, e := range v.Type.Sizes {
				check(v, fmt.Sprintf("dimension %d", d), e, x.Tensor.Sizes[d])
			}
		case x.Kind == ir.IntKind && v.Type.HasExpr:
			check(v, "the value", v.Type.Expr, x.Scalar.I)
		}
	}
	return nil
}

func (m *Interpreter) size(e sym.Expr) int64 {
	for _, s := range e.Symbols() {
		m.symbol(s)
	}
	return must.Get(e.Eval(func(s *sym.Symbol) (int64, bool) {
		n, ok := m.syms[s]
		return n, ok
	}))
}

// symbol returns the value of s.
func (m *Interpreter) symbol(s *sym.Symbol) int64 {
	n, ok := m.syms[s]
	if !ok {
		must.In(ErrUnknownSize, "%s", s.Name)
	}
	return n
}

func (m *Interpreter) sizes(es []sym.Expr) []int64 {
	return seq.Map(es, m.size)
}

// Node runs one node, whose operands have values.
func (m *Interpreter) Node(n *ir.Node) (err error) {
	defer must.Catch(&err)
	m.node(n)
	return nil
}

func (m *Interpreter) node(n *ir.Node) {
	must.Check(ir.ErrorAt("", n, must.Try(func() {
		must.Check(eval.Stopped(m.Done))
		if len(n.Regions) > 0 {
			m.control(n)
			return
		}
		outs := m.call(m.bound(n))
		for i, v := range n.Outputs {
			if v != nil && i < len(outs) {
				m.agrees(v, outs[i])
				m.Set(v, outs[i])
				m.fix(v)
			}
		}
	})))
}

// agrees fails unless x, which a node computed, is what v's type says: numbers and
// sizes that give a symbol its value are in its range, others are what follows. Like
// compiled code, the machine tests the numbers themselves: assertions of the model may
// be gone by what the types say.
func (m *Interpreter) agrees(v *ir.Value, x Value) {
	if x.Kind == ir.IntKind && v.Type.HasExpr {
		m.agree(v, v.Type.Expr, x.Scalar.I)
		return
	}
	for d, n := range x.Tensor.Sizes {
		if x.Kind != ir.TensorKind || d >= len(v.Type.Sizes) {
			break
		}
		m.agree(v, v.Type.Sizes[d], n)
	}
}

func (m *Interpreter) agree(v *ir.Value, e sym.Expr, n int64) {
	lo, hi := e.Bounds()
	ss := e.Symbols()
	if len(ss) != 1 || !e.Equal(ss[0].Expr()) || m.fixed[ss[0]] {
		if must.Try(func() { lo = m.size(e) }) == nil {
			hi = lo
		}
	}
	if n < lo || n > hi {
		must.Fail("%w: %s is %d, want %d to %d", ErrAssert, v.Name, n, lo, hi)
	}
}

// fix notes that the symbols of v's type have their values.
func (m *Interpreter) fix(v *ir.Value) {
	if m.fixed == nil {
		return
	}
	for _, es := range [][]sym.Expr{v.Type.Sizes, {v.Type.Expr}} {
		for _, e := range es {
			for _, s := range e.Symbols() {
				m.fixed[s] = true
			}
		}
	}
}

// call returns the results of a bound call, whose operands have values.
func (m *Interpreter) call(c *ops.Call) []Value {
	op := c.Op
	if m.Kernel != nil && len(c.Outs) == 1 && c.Outs[0].Kind == ir.TensorKind {
		if k := m.Kernel(c, m.constants(c)); k != nil {
			return m.kernel(c, k)
		}
	}
	of := m.of(c)
	if of.results == nil {
		of.results, _ = must.Get2(c.Results())
	}
	switch ts := of.results; {
	case ts != nil:
		return m.tensors(c, ts)
	case op.Effect:
		m.effect(c)
		return nil
	case op.Value != nil && len(c.Scalars()) == 0 && (op.ScalarOp == nil || c.Outs[0].HasExpr):
		return []Value{integer(m.size(must.Get(op.Value(c))))}
	case op.ScalarOp != nil:
		return []Value{{Kind: c.Outs[0].Kind, Scalar: m.scalar(c)}}
	case op.Loops != nil:
		return m.loops(c)
	}
	return m.decompose(c)
}

// constants gives the elements of the operands of c that never change.
func (m *Interpreter) constants(c *ops.Call) func(operand int) ([]byte, bool) {
	return func(k int) ([]byte, bool) {
		if v := c.Operands()[k]; v.Const != nil {
			return m.get(v).Tensor.Data, true
		}
		return nil, false
	}
}

// kernel runs a kernel of c, which has one result.
func (m *Interpreter) kernel(c *ops.Call, k Kernel) []Value {
	t := c.Outs[0]
	sizes := m.sizes(t.Sizes)
	bufs := [][]byte{m.allocate(m.size(t.Numel()), t.DType)}
	in, _ := m.operands(c)
	for _, x := range in {
		bufs = append(bufs, x.Data)
	}
	must.Check(k(bufs, m.Done))
	return []Value{Tensor(t.DType, sizes, bufs[0])}
}

func (m *Interpreter) effect(c *ops.Call) {
	if c.Op.ScalarOp == nil {
		return
	}
	if x := m.scalar(c); x.I == 0 {
		if c.Op.ParsedSchema().Index("assert_msg") >= 0 {
			must.Fail("%w: %s", ErrAssert, c.Str("assert_msg"))
		}
		must.Check(ErrAssert)
	}
}

// scalar evaluates the scalar expression of c over its operands.
func (m *Interpreter) scalar(c *ops.Call) expr.Value {
	of := m.of(c)
	if of.scalar == nil {
		e := must.Get(c.Op.ScalarOp(c))
		tensor := *c
		tensor.Outs = []ir.Type{ir.TensorOf(e.DType)}
		of.scalar, of.number = &tensor, expr.Tensor{DType: e.DType, Body: e}
	}
	out := m.tensors(of.scalar, []expr.Tensor{of.number})
	return eval.Get(of.number.DType, out[0].Tensor.Data, 0)
}

func (m *Interpreter) operands(c *ops.Call) (in []eval.Operand, scalars []expr.Value) {
	in = seq.Map(c.Operands(), func(v *ir.Value) eval.Operand { return m.get(v).Tensor })
	for _, v := range c.Scalars() {
		scalars = append(scalars, m.get(v).Scalar)
	}
	return in, scalars
}

// tensors evaluates tensor expressions over the operands of c.
func (m *Interpreter) tensors(c *ops.Call, ts []expr.Tensor) []Value {
	for _, t := range ts {
		m.measure(t.Body)
	}
	if m.Meaning == nil {
		return m.run(c, func() (*loop.Func, error) { return Loops(c, ts, Orders{}) })
	}
	in, scalars := m.operands(c)
	return seq.Map(ts, func(t expr.Tensor) Value {
		return Value{Kind: ir.TensorKind, Tensor: must.Get(m.Meaning(t, in, m.syms, scalars))}
	})
}

// measure notes the longest reduction in e.
func (m *Interpreter) measure(e *expr.Expr) {
	expr.Walk(e, func(e *expr.Expr) {
		if e.Op != expr.OpReduce {
			return
		}
		n := int64(1)
		for _, v := range e.Vars {
			_ = must.Try(func() { n *= m.size(expr.Extent(v)) })
		}
		m.longest = max(m.longest, n)
	})
}

// loops runs an operator's imperative body.
func (m *Interpreter) loops(c *ops.Call) []Value {
	return m.run(c, func() (*loop.Func, error) { return c.Op.Loops(c) })
}

// decompose runs what c decomposes into.
func (m *Interpreter) decompose(c *ops.Call) []Value {
	of := m.of(c)
	if of.parts == nil {
		of.parts, of.outs = must.Get2(ops.Decomposition(m.Table, c))
	}
	for _, n := range of.parts.Nodes {
		m.node(n)
	}
	vals := make([]Value, len(of.outs))
	for i, v := range of.outs {
		vals[i] = m.get(v)
		m.check(vals[i], c.Outs[i], fmt.Sprintf("%s decomposes into result %d", c.Op.Name(), i))
	}
	return vals
}

// check fails unless x, which is called what, is of tensor type t.
func (m *Interpreter) check(x Value, t ir.Type, what string) {
	if t.Kind != ir.TensorKind {
		return
	}
	sizes := m.sizes(t.Sizes)
	if x.Tensor.DType != t.DType || !slices.Equal(x.Tensor.Sizes, sizes) {
		must.Fail("%s of %v%v, inferred is %v%v", what, x.Tensor.DType, x.Tensor.Sizes, t.DType,
			sizes)
	}
}
