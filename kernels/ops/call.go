package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	raise "github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
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
func (c *Call) restates(name string, want sym.Expr) {
	n := must(c.SymInt(name))
	c.errorIf(!c.needEqual(n, want), "argument %s is %s, by the operands it is %s", name, n, want)
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
func (c *Call) oneElement(name string) {
	n := c.Tensor(name).Numel()
	c.errorIf(!c.needEqual(n, sym.Int(1)), "the tensor has %s elements, not one", n)
}

// restatesInput checks the arguments N, C and HxW against an input of them.
func (c *Call) restatesInput(t ir.Type) {
	c.restates("N", t.Sizes[0])
	c.restates("C", t.Sizes[1])
	c.restates("HxW", sym.Mul(t.Sizes[2:]...))
}

// Needs returns the numbers that must be over 0 for the call to have results, where
// that does not follow from the ranges of symbols. PyTorch refuses the call as it
// runs if one is not, and what computes the call may read outside of its operands.
func (c *Call) Needs() []sym.Expr { return c.needs }

// Arg returns the argument called name; it must be in the schema.
//
//go:noinline
func (c *Call) Arg(name string) ir.Arg { return c.Args[c.index(name)] }

//go:noinline
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
		sizes := seq.Map(order, func(d int) sym.Expr { return t.Sizes[d] })
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
//
//go:noinline
func (c *Call) Has(name string) bool {
	_, none := c.Arg(name).(ir.None)
	return !none
}

// Operand returns the index among Operands of a tensor argument (of its first
// element for a list), -1 if it is None.
//
//go:noinline
func (c *Call) Operand(name string) int { return c.first[c.index(name)] }

// Tensor returns the type of a tensor argument; it must be there.
//
//go:noinline
func (c *Call) Tensor(name string) ir.Type { return c.operands[c.Operand(name)].Type }

// Tensors returns the types of a Tensor[] argument.
func (c *Call) Tensors(name string) []ir.Type {
	list, _ := c.Arg(name).(ir.List)
	return seq.Of(len(list), func(i int) ir.Type { return c.operands[c.Operand(name)+i].Type })
}

// Value returns the value of an argument that refers to one, else nil.
//
//go:noinline
func (c *Call) Value(name string) *ir.Value {
	if r, ok := c.Arg(name).(ir.Ref); ok {
		return r.Value
	}
	return nil
}

// Load returns the element of a tensor argument at coords.
//
//go:noinline
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
	b, known := c.Arg(name).(ir.BoolArg)
	if _, none := c.Arg(name).(ir.None); !known && !none {
		panic(c.Errorf("%s is %s that only the run knows", name, describe(c.Arg(name))))
	}
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

// bindArgs binds the arguments of n to the schema of op.
func bindArgs(op *Op, n *ir.Node) (*Call, error) {
	s := op.sch
	c := &Call{Op: op, Args: make([]ir.Arg, len(s.Args)), node: n}
	pos := 0
	for _, a := range n.Args {
		i := pos
		if a.Name != "" {
			if i = s.Index(a.Name); i < 0 && a.Name == "self" && n.Op != s.Name {
				i = 0 // dropout_ calls "self" what dropout calls "input"
			}
			if i < 0 {
				return nil, c.Errorf("no argument is called %q; the schema is %s", a.Name, s)
			}
		} else if i >= len(s.Args) {
			return nil, c.Errorf("more than %d arguments; the schema is %s", len(s.Args), s)
		}
		if c.Args[i] != nil {
			return nil, c.Errorf("argument %s is given twice", s.Args[i].Name)
		}
		c.Args[i] = a.Value
		pos = i + 1
	}
	for i := range s.Args {
		p := &s.Args[i]
		if c.Args[i] == nil {
			switch {
			case p.HasDefault:
				c.Args[i] = p.Default
			case p.Type.Optional:
				c.Args[i] = ir.None{}
			default:
				return nil, c.Errorf("argument %s is missing; the schema is %s", p.Name, s)
			}
		}
		arg, err := fit(p.Type, c.Args[i], op.entry.numbers)
		if err != nil {
			return nil, c.Errorf("argument %s: %v", p.Name, err)
		}
		c.Args[i] = arg
	}
	c.collect()
	return c, nil
}

// collect lists the tensor and run-time scalar operands.
func (c *Call) collect() {
	c.first = make([]int, len(c.Args))
	for i, a := range c.Args {
		c.first[i] = -1
		ir.EachRef(a, func(v *ir.Value) {
			switch {
			case v.Type.Kind == ir.TensorKind:
				if c.first[i] < 0 {
					c.first[i] = len(c.operands)
				}
				c.operands = append(c.operands, v)
			case v.Type.Kind == ir.FloatKind, v.Type.Kind == ir.BoolKind, v.Type.Kind ==
				ir.IntKind && !v.Type.HasExpr:
				c.scalars = append(c.scalars, v)
			}
		})
	}
}

// Takes returns why a must not be an argument of the operator, nil if it may.
func (op *Op) Takes(p *aten.Param, a ir.Arg) error {
	if _, err := fit(p.Type, a, op.entry.numbers); err != nil {
		return fmt.Errorf("argument %s: %w", p.Name, err)
	}
	return nil
}

// fit checks that a may stand for an argument of type t. One number for a
// list of fixed size stands for that many.
func fit(t *aten.Type, a ir.Arg, numbers bool) (ir.Arg, error) {
	if _, none := a.(ir.None); none {
		if t.Optional {
			return a, nil
		}
		return nil, fmt.Errorf("a None is no %s", t)
	}
	if !t.IsList() {
		if !fits(t, a, numbers) {
			return nil, fmt.Errorf("%s is no %s", describe(a), t)
		}
		if n, ok := a.(ir.Int); ok && t.Name == "bool" {
			return ir.BoolArg(n != 0), nil
		}
		return a, nil
	}
	elem := t.Elems[0]
	list, ok := a.(ir.List)
	if !ok {
		if t.Size == 0 || !fits(elem, a, numbers) {
			return nil, fmt.Errorf("%s is no %s", describe(a), t)
		}
		list = seq.Of(t.Size, func(i int) ir.Arg { return a })
		return list, nil
	}
	for i, x := range list {
		if _, none := x.(ir.None); none && elem.Optional {
			continue
		}
		if !fits(elem, x, numbers) {
			return nil, fmt.Errorf("element %d: %s is no %s", i, describe(x), elem)
		}
	}
	return list, nil
}

// fits tells whether a may stand for an argument of a type that is no list. In
// elementwise operators (numbers) a number may stand for a Tensor: PyTorch makes
// it a tensor without dimensions that counts as a Python number in promotion.
func fits(t *aten.Type, a ir.Arg, numbers bool) bool {
	kind := ir.NoneKind
	if r, ok := a.(ir.Ref); ok {
		kind = r.Value.Type.Kind
	}
	isInt, isFloat, isBool := kind == ir.IntKind, kind == ir.FloatKind, kind == ir.BoolKind
	isComplex := false
	switch a.(type) {
	case ir.Int:
		isInt = true
	case ir.Float:
		isFloat = true
	case ir.BoolArg:
		isBool = true
	case ir.Complex:
		isComplex = true
	}
	ok := true
	switch t.Name {
	case "Tensor":
		ok = kind == ir.TensorKind || numbers && (isInt || isFloat || isBool || isComplex)
	case "Scalar", "number":
		ok = isInt || isFloat || isBool || isComplex
	case "int", "SymInt":
		ok = isInt || isBool
	case "float", "SymFloat":
		ok = isFloat || isInt
	case "bool", "SymBool":
		ok = isBool || isInt
	case "str":
		_, ok = a.(ir.Str)
	case "ScalarType":
		_, ok = a.(ir.DTypeArg)
	case "Layout":
		_, ok = a.(ir.LayoutArg)
	case "Device":
		_, ok = a.(ir.Device)
	case "MemoryFormat":
		_, ok = a.(ir.MemoryFormat)
	}
	return ok
}

func describe(a ir.Arg) string {
	switch a := a.(type) {
	case ir.Ref:
		kinds := [...]string{"a None", "a tensor", "an int", "a float", "a bool", "a string",
			"a token", "an object"}
		if k := int(a.Value.Type.Kind); k < len(kinds) {
			return kinds[k]
		}
	case ir.List:
		return "a list"
	}
	return fmt.Sprintf("%v (%s)", a,
		strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "ir.")))
}

// What fails in a form of an entry ends the form: must, check and Call.errorIf raise the
// error, and the table, or Builder.Do, returns it.

// errorIf ends the form with an error of the call if bad holds.
//
//go:noinline
func (c *Call) errorIf(bad bool, format string, args ...any) {
	if bad {
		panic(c.Errorf(format, args...))
	}
}

// check and must are must.Check and must.Get, which forms are full of.
func check(err error) { raise.Check(err) }

func must[T any](x T, err error) T { return raise.Get(x, err) }

func must2[T, U any](x T, y U, err error) (T, U) { return raise.Get2(x, y, err) }

// caught makes f, a form, return the error that ended it.
func caught[T any](f func(*Call) T) func(*Call) (T, error) {
	if f == nil {
		return nil
	}
	return func(c *Call) (out T, err error) {
		defer raise.Catch(&err)
		return f(c), nil
	}
}

// built is caught for the forms that emit calls.
func built(f func(*Builder, *Call) []*ir.Value) func(*Builder, *Call) ([]*ir.Value, error) {
	if f == nil {
		return nil
	}
	return func(b *Builder, c *Call) (vs []*ir.Value, err error) {
		defer raise.Catch(&err)
		return f(b, c), nil
	}
}
