package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// Call is an operator with its arguments bound to its schema: every argument
// of the schema is there, defaults filled in.
type Call struct {
	Op   *Op
	Args []ir.Arg  // parallel to the schema's arguments
	Outs []ir.Type // result types; set by Table.Bind from Infer, nil while Infer runs

	operands []*ir.Value // tensor operands in argument order, lists flattened, None left out
	// run-time scalar operands (FloatKind, BoolKind, IntKind without expression)
	scalars []*ir.Value
	first   []int // first operand of each argument, -1 if it has none
	node    *ir.Node
	indices *[]Index // not nil: the definition is read for Indices
	needs   []sym.Expr
	counts  []Count
}

// need says, while Infer runs, that the call needs n to be over 0: a size that must
// have an element, or a bound that must not be passed.
func (c *Call) need(n sym.Expr) {
	if !sym.Less(sym.Int(0), n) && !slices.ContainsFunc(c.needs, n.Equal) {
		c.needs = append(c.needs, n)
	}
}

// restates checks an argument that says again what follows from the operands: want.
// Where only the run knows, the call needs it.
func (c *Call) restates(name string, want sym.Expr) error {
	n, err := c.SymInt(name)
	if err != nil {
		return err
	}
	if !c.needEqual(n, want) {
		return c.Errorf("argument %s is %s, by the operands it is %s", name, n, want)
	}
	return nil
}

// needEqual says, while Infer runs, that the call needs a and b to be equal. It reports
// false if they never are.
func (c *Call) needEqual(a, b sym.Expr) bool {
	over := sym.Sub(a, b)
	if over.IsZero() {
		return true
	}
	c.need(sym.Add(over, sym.Int(1)))
	c.need(sym.Sub(sym.Int(1), over))
	return !sym.Less(over, sym.Int(0)) && !sym.Less(sym.Int(0), over)
}

// oneElement says, while Infer runs, that the call needs a tensor to have one element.
func (c *Call) oneElement(name string) error {
	if n := c.Tensor(name).Numel(); !c.needEqual(n, sym.Int(1)) {
		return c.Errorf("the tensor has %s elements, not one", n)
	}
	return nil
}

// restatesInput checks the arguments N, C and HxW against an input of them.
func (c *Call) restatesInput(t ir.Type) error {
	return errors.Join(c.restates("N", t.Sizes[0]), c.restates("C", t.Sizes[1]),
		c.restates("HxW", sym.Mul(t.Sizes[2:]...)))
}

// Needs returns the numbers that must be over 0 for the call to have results, where
// that does not follow from the ranges of symbols. PyTorch refuses the call as it
// runs if one is not, and what computes the call may read outside of its operands.
func (c *Call) Needs() []sym.Expr { return c.needs }

// Arg returns the argument called name; it must be in the schema.
func (c *Call) Arg(name string) ir.Arg { return c.Args[c.index(name)] }

func (c *Call) index(name string) int {
	for i, a := range c.Op.sch.Args {
		if a.Name == name {
			return i
		}
	}
	// a defect of the entry, caught by the table's test
	panic("ops: " + c.Op.sch.Name + " has no argument " + name)
}

// permuted returns c with the dimensions of every operand and result in another
// order. All have as many as the order, and are dense.
func (c *Call) permuted(order []int) *Call {
	typ := func(t ir.Type) ir.Type {
		sizes := make([]sym.Expr, len(order))
		for i, d := range order {
			sizes[i] = t.Sizes[d]
		}
		return ir.TensorOf(t.DType, sizes...)
	}
	p := *c
	p.Args, p.operands, p.Outs = slices.Clone(c.Args), slices.Clone(c.operands),
		slices.Clone(c.Outs)
	for i, v := range p.operands {
		u := *v
		u.Type = typ(v.Type)
		p.operands[i] = &u
	}
	for i, t := range p.Outs {
		p.Outs[i] = typ(t)
	}
	return &p
}

// Errorf returns an error that names the operator.
func (c *Call) Errorf(format string, args ...any) error {
	return c.wrap(fmt.Errorf(format, args...))
}

// wrap makes err an error of the call, once.
func (c *Call) wrap(err error) error {
	var ce *CallError
	if errors.As(err, &ce) {
		return err
	}
	return &CallError{Op: c.Op.sch.Name, Err: err}
}

// CallError is an error in a call of operator Op. Whoever knows the node adds
// its name and location.
type CallError struct {
	Op  string
	Err error
}

func (e *CallError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Operands returns the tensor operands: Load.Buf indexes them.
func (c *Call) Operands() []*ir.Value { return c.operands }

// Scalars returns the run-time scalar operands: expr.Scalar's Buf indexes them.
func (c *Call) Scalars() []*ir.Value { return c.scalars }

// Has reports whether an optional argument was given (is not None).
func (c *Call) Has(name string) bool {
	_, none := c.Arg(name).(ir.None)
	return !none
}

// Operand returns the index among Operands of a tensor argument (of its first
// element for a list), -1 if it is None.
func (c *Call) Operand(name string) int { return c.first[c.index(name)] }

// Tensor returns the type of a tensor argument; it must be there.
func (c *Call) Tensor(name string) ir.Type { return c.operands[c.Operand(name)].Type }

// Tensors returns the types of a Tensor[] argument.
func (c *Call) Tensors(name string) []ir.Type {
	list, _ := c.Arg(name).(ir.List)
	ts := make([]ir.Type, len(list))
	for i := range list {
		ts[i] = c.operands[c.Operand(name)+i].Type
	}
	return ts
}

// Value returns the value of an argument that refers to one, else nil.
func (c *Call) Value(name string) *ir.Value {
	if r, ok := c.Arg(name).(ir.Ref); ok {
		return r.Value
	}
	return nil
}

// Load returns the element of a tensor argument at coords.
func (c *Call) Load(name string, coords ...sym.Expr) *expr.Expr {
	return c.LoadAt(c.Operand(name), coords...)
}

// LoadAt returns the element of operand k at coords.
func (c *Call) LoadAt(k int, coords ...sym.Expr) *expr.Expr {
	return &expr.Expr{Op: expr.OpLoad, DType: c.operands[k].Type.DType, Buf: k,
		Coords: slices.Clone(coords)}
}

// Int returns an int argument, which must be a constant.
func (c *Call) Int(name string) (int64, error) { return c.constInt(name, c.Arg(name)) }

// Ints returns an int[] argument of constants; a single int counts as a list
// of one (ATen's int[1]).
func (c *Call) Ints(name string) ([]int64, error) {
	list, ok := c.Arg(name).(ir.List)
	if !ok {
		n, err := c.Int(name)
		return []int64{n}, err
	}
	ns := make([]int64, len(list))
	for i, a := range list {
		n, err := c.constInt(name, a)
		if err != nil {
			return nil, err
		}
		ns[i] = n
	}
	return ns, nil
}

// SymInt returns a SymInt argument as an expression.
func (c *Call) SymInt(name string) (sym.Expr, error) { return c.symInt(name, c.Arg(name)) }

// SymInts returns a SymInt[] argument.
func (c *Call) SymInts(name string) ([]sym.Expr, error) {
	list, ok := c.Arg(name).(ir.List)
	if !ok {
		e, err := c.SymInt(name)
		return []sym.Expr{e}, err
	}
	es := make([]sym.Expr, len(list))
	for i, a := range list {
		e, err := c.symInt(name, a)
		if err != nil {
			return nil, err
		}
		es[i] = e
	}
	return es, nil
}

// Bool returns a bool argument.
func (c *Call) Bool(name string) bool {
	b, _ := c.Arg(name).(ir.BoolArg)
	return bool(b)
}

// Str returns a str argument, "" for None.
func (c *Call) Str(name string) string {
	s, _ := c.Arg(name).(ir.Str)
	return string(s)
}

// DType returns a ScalarType? argument, or def for None.
func (c *Call) DType(name string, def ir.DType) ir.DType {
	if d, ok := c.Arg(name).(ir.DTypeArg); ok {
		return ir.DType(d)
	}
	return def
}

// Float returns a float (or Scalar) argument that must be a constant.
func (c *Call) Float(name string) (float64, error) {
	switch a := c.Arg(name).(type) {
	case ir.Float:
		return float64(a), nil
	case ir.Int:
		return float64(a), nil
	case ir.BoolArg:
		if a {
			return 1, nil
		}
		return 0, nil
	}
	return 0, c.Errorf("argument %s must be a constant number", name)
}

func (c *Call) constInt(name string, a ir.Arg) (int64, error) {
	e, err := c.symInt(name, a)
	if err != nil {
		return 0, err
	}
	n, ok := e.Const()
	if !ok {
		return 0, c.Errorf("argument %s must be a constant, not %s", name, e)
	}
	return n, nil
}

func (c *Call) symInt(name string, a ir.Arg) (sym.Expr, error) {
	switch a := a.(type) {
	case ir.Int:
		return sym.Int(int64(a)), nil
	case ir.BoolArg:
		if a {
			return sym.Int(1), nil
		}
		return sym.Int(0), nil
	case ir.Ref:
		if a.Value.Type.Kind == ir.IntKind && a.Value.Type.HasExpr {
			return a.Value.Type.Expr, nil
		}
	}
	return sym.Expr{}, c.Errorf("argument %s is no integer known to the compiler", name)
}
