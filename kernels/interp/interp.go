// Package interp runs graphs of the operator table directly, node by node,
// through kernels/eval: slow, with no planning and no fusion. It folds
// constants, and it is what the table is checked with.
package interp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
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

// Interpreter runs the nodes of one method.
type Interpreter struct {
	Table *ops.Table
	// Meaning, if not nil, evaluates tensor expressions: loops do not then.
	Meaning func(t expr.Tensor, operands []eval.Operand, syms map[*sym.Symbol]int64,
		scalars []expr.Value) (eval.Operand, error)
	// Done, if not nil, ends what runs with eval.ErrStopped soon after it is closed.
	Done <-chan struct{}
	// Limit, if not nil, is how many iterations of loops may run; it becomes less by
	// those that do. What needs many more ends with eval.ErrStopped.
	Limit *int64
	// Reserve, if not nil, is asked before memory of so many bytes is allocated
	// for results and scratch; its error ends what runs.
	Reserve func(bytes int64) error

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
func (m *Interpreter) Get(v *ir.Value) (Value, error) {
	if x, ok := m.env[v]; ok {
		return x, nil
	}
	if v.Const != nil {
		x, err := m.constant(v.Const)
		if err == nil {
			m.env[v] = x
		}
		return x, err
	}
	if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
		n, err := m.size(v.Type.Expr)
		return Value{Kind: ir.IntKind, Scalar: expr.Value{I: n}}, err
	}
	return Value{}, fmt.Errorf("%%%s has no value", v.Name)
}

// Arg returns the value of an argument.
func (m *Interpreter) Arg(a ir.Arg) (Value, error) {
	switch a := a.(type) {
	case ir.Ref:
		return m.Get(a.Value)
	case ir.Int:
		return Value{Kind: ir.IntKind, Scalar: expr.Value{I: int64(a)}}, nil
	case ir.Float:
		return Value{Kind: ir.FloatKind, Scalar: expr.Value{F: float64(a)}}, nil
	case ir.BoolArg:
		v := Value{Kind: ir.BoolKind}
		if a {
			v.Scalar.I = 1
		}
		return v, nil
	}
	return Value{Object: a}, nil
}

// ErrAssert is the error of an assertion that does not hold.
var ErrAssert = errors.New("assertion failed")

// ErrUnknownSize is the error for a size that follows neither from the sizes of
// inputs nor from a scalar: one that the data of a tensor decides.
var ErrUnknownSize = errors.New("a size depends on data")

// Enter gives the inputs of a method their values and checks them: sizes and
// integers are as the types have them, symbols in their ranges.
func (m *Interpreter) Enter(g *ir.Graph, inputs []Value) error {
	for i, v := range g.Inputs {
		m.Set(v, inputs[i])
	}
	check := func(v *ir.Value, what string, e sym.Expr, n int64) error {
		want, err := m.size(e)
		if err == nil && want != n {
			return fmt.Errorf("%s of %s is %d, want %s = %d", what, v.Name, n, e, want)
		}
		for _, s := range e.Symbols() {
			lo, hi := s.Expr().Bounds()
			if n := m.syms[s]; err == nil && (n < lo || n > hi) {
				return fmt.Errorf("%s of %s: %s is %d, want %d to %d", what, v.Name,
					s.Name, n, lo, hi)
			}
		}
		return err
	}
	for i, v := range g.Inputs {
		x := inputs[i]
		switch {
		case x.Kind == ir.TensorKind:
			for d, e := range v.Type.Sizes {
				if err := check(v, fmt.Sprintf("dimension %d", d), e, x.Tensor.Sizes[d]); err !=
					nil {
					return err
				}
			}
		case x.Kind == ir.IntKind && v.Type.HasExpr:
			if err := check(v, "the value", v.Type.Expr, x.Scalar.I); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Interpreter) size(e sym.Expr) (int64, error) {
	for _, s := range e.Symbols() {
		if _, ok := m.syms[s]; !ok {
			return 0, fmt.Errorf("%s: %w", s.Name, ErrUnknownSize)
		}
	}
	return e.Eval(func(s *sym.Symbol) (int64, bool) {
		n, ok := m.syms[s]
		return n, ok
	})
}

func (m *Interpreter) sizes(es []sym.Expr) ([]int64, error) {
	out := make([]int64, len(es))
	for i, e := range es {
		var err error
		if out[i], err = m.size(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Node runs one node, whose operands have values.
func (m *Interpreter) Node(n *ir.Node) error {
	if err := m.node(n); err != nil {
		return ir.ErrorAt("", n, err)
	}
	return nil
}

func (m *Interpreter) node(n *ir.Node) error {
	if err := eval.Stopped(m.Done); err != nil {
		return err
	}
	if done, err := m.control(n); done || err != nil {
		return err
	}
	c, err := m.Table.Bind(n)
	if err != nil {
		return err
	}
	outs, err := m.call(c)
	if err != nil {
		return err
	}
	for i, v := range n.Outputs {
		if v != nil && i < len(outs) {
			if err := m.agrees(v, outs[i]); err != nil {
				return err
			}
			m.Set(v, outs[i])
			m.fix(v)
		}
	}
	return nil
}

// agrees reports whether x, which a node computed, is what v's type says: numbers and
// sizes that give a symbol its value are in its range, others are what follows. Like
// compiled code, the machine tests the numbers themselves: assertions of the model may
// be gone by what the types say.
func (m *Interpreter) agrees(v *ir.Value, x Value) error {
	if x.Kind == ir.IntKind && v.Type.HasExpr {
		return m.agree(v, v.Type.Expr, x.Scalar.I)
	}
	for d, n := range x.Tensor.Sizes {
		if x.Kind != ir.TensorKind || d >= len(v.Type.Sizes) {
			break
		}
		if err := m.agree(v, v.Type.Sizes[d], n); err != nil {
			return err
		}
	}
	return nil
}

func (m *Interpreter) agree(v *ir.Value, e sym.Expr, n int64) error {
	lo, hi := e.Bounds()
	ss := e.Symbols()
	if len(ss) != 1 || !e.Equal(ss[0].Expr()) || m.fixed[ss[0]] {
		if want, err := m.size(e); err == nil {
			lo, hi = want, want
		}
	}
	if n < lo || n > hi {
		return fmt.Errorf("%w: %s is %d, want %d to %d", ErrAssert, v.Name, n, lo, hi)
	}
	return nil
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

// Call returns the results of a bound call, whose operands have values.
func (m *Interpreter) call(c *ops.Call) ([]Value, error) {
	ts, err := Tensors(c)
	if err != nil {
		return nil, err
	}
	op := c.Op
	switch {
	case ts != nil:
		return m.tensors(c, ts)
	case op.Effect:
		return nil, m.effect(c)
	case op.Value != nil && len(c.Scalars()) == 0 && (op.ScalarOp == nil || c.Outs[0].HasExpr):
		e, err := op.Value(c)
		if err != nil {
			return nil, err
		}
		n, err := m.size(e)
		return []Value{{Kind: ir.IntKind, Scalar: expr.Value{I: n}}}, err
	case op.ScalarOp != nil:
		e, err := op.ScalarOp(c)
		if err != nil {
			return nil, err
		}
		x, err := m.scalar(c, e)
		return []Value{{Kind: c.Outs[0].Kind, Scalar: x}}, err
	case op.Loops != nil:
		return m.loops(c)
	}
	return m.decompose(c)
}

func (m *Interpreter) effect(c *ops.Call) error {
	if c.Op.ScalarOp == nil {
		return nil
	}
	e, err := c.Op.ScalarOp(c)
	if err != nil {
		return err
	}
	x, err := m.scalar(c, e)
	if err == nil && x.I == 0 {
		err = ErrAssert
		if c.Op.ParsedSchema().Index("assert_msg") >= 0 {
			err = fmt.Errorf("%w: %s", ErrAssert, c.Str("assert_msg"))
		}
	}
	return err
}

// scalar evaluates a scalar expression over the operands of c.
func (m *Interpreter) scalar(c *ops.Call, e *expr.Expr) (expr.Value, error) {
	tensor := *c
	tensor.Outs = []ir.Type{ir.TensorOf(e.DType)}
	out, err := m.tensors(&tensor, []expr.Tensor{{DType: e.DType, Body: e}})
	if err != nil {
		return expr.Value{}, err
	}
	return eval.Get(e.DType, out[0].Tensor.Data, 0), nil
}

func (m *Interpreter) operands(c *ops.Call) ([]eval.Operand, []expr.Value, error) {
	var in []eval.Operand
	var scalars []expr.Value
	for _, v := range c.Operands() {
		x, err := m.Get(v)
		if err != nil {
			return nil, nil, err
		}
		in = append(in, x.Tensor)
	}
	for _, v := range c.Scalars() {
		x, err := m.Get(v)
		if err != nil {
			return nil, nil, err
		}
		scalars = append(scalars, x.Scalar)
	}
	return in, scalars, nil
}

// tensors evaluates tensor expressions over the operands of c.
func (m *Interpreter) tensors(c *ops.Call, ts []expr.Tensor) ([]Value, error) {
	for _, t := range ts {
		m.measure(t.Body)
	}
	in, scalars, err := m.operands(c)
	if err != nil {
		return nil, err
	}
	if m.Meaning != nil {
		outs := make([]Value, len(ts))
		for i, t := range ts {
			o, err := m.Meaning(t, in, m.syms, scalars)
			if err != nil {
				return nil, err
			}
			outs[i] = Value{Kind: ir.TensorKind, Tensor: o}
		}
		return outs, nil
	}
	f, err := Loops(c, ts, Orders{})
	if err != nil {
		return nil, err
	}
	return m.run(c, f, in, scalars)
}

// measure notes the longest reduction in e.
func (m *Interpreter) measure(e *expr.Expr) {
	expr.Walk(e, func(e *expr.Expr) {
		if e.Op != expr.OpReduce {
			return
		}
		n := int64(1)
		for _, v := range e.Vars {
			if k, err := m.size(expr.Extent(v)); err == nil {
				n *= k
			}
		}
		m.longest = max(m.longest, n)
	})
}

// decompose runs what c decomposes into.
func (m *Interpreter) decompose(c *ops.Call) ([]Value, error) {
	g, outs, err := Decomposition(m.Table, c)
	if err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if err := m.Node(n); err != nil {
			return nil, err
		}
	}
	vals := make([]Value, len(outs))
	for i, v := range outs {
		if vals[i], err = m.Get(v); err != nil {
			return nil, err
		}
		if err := m.check(vals[i], c.Outs[i]); err != nil {
			return nil, fmt.Errorf("%s decomposes into result %d %w", c.Op.Name(), i, err)
		}
	}
	return vals, nil
}

// check tells whether x is of tensor type t.
func (m *Interpreter) check(x Value, t ir.Type) error {
	if t.Kind != ir.TensorKind {
		return nil
	}
	sizes, err := m.sizes(t.Sizes)
	if err != nil {
		return err
	}
	if x.Tensor.DType != t.DType || !slices.Equal(x.Tensor.Sizes, sizes) {
		return fmt.Errorf("of %v%v, inferred is %v%v", x.Tensor.DType, x.Tensor.Sizes,
			t.DType, sizes)
	}
	return nil
}
