package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// entry asserts what the types of inputs promise of dynamic sizes and of numbers:
// that those which are one expression, or follow from others, are so, and that
// numbers are in their ranges. (C and Go check it where they bind sizes.) Ranges of
// sizes are left to the runtime, which checks that a tensor has room, except where a
// guard gives them: then the graph asserts them.
func (s *sizer) entry(m *ir.Method) error {
	c := &entryChecks{sizer: s, read: map[dimOf]ir.Arg{}}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput {
			continue
		}
		for d, e := range v.Type.Sizes {
			if _, ok := e.Const(); ok {
				continue
			}
			if err := c.dimension(dimOf{v, d}, e); err != nil {
				return err
			}
		}
		if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
			if err := c.integer(v, v.Type.Expr); err != nil {
				return err
			}
		}
	}
	if c.all != nil {
		*s.nodes = append(*s.nodes, &ir.Node{Name: s.names.Fresh("entry"), Op: assertOp,
			Args: []ir.NamedArg{
				{Name: "self", Value: c.all}, {Name: "assert_msg",
					Value: ir.Str("sizes of inputs fit each other")},
			}})
	}
	return nil
}

// entryChecks joins conditions to one.
type entryChecks struct {
	*sizer
	read map[dimOf]ir.Arg
	all  ir.Arg
}

// dimension checks dimension d, whose size is e.
func (c *entryChecks) dimension(d dimOf, e sym.Expr) error {
	size := func() (ir.Arg, error) { return c.size(d) }
	if first, ok := c.scope.dim(e.Key()); ok && first != d {
		return c.equal(size, func() (ir.Arg, error) { return c.size(first) })
	}
	symbols := e.Symbols()
	bare := len(symbols) == 1 && e.Equal(symbols[0].Expr())
	if !bare && c.follows(symbols) {
		return c.equal(size, func() (ir.Arg, error) { return c.sum(e) })
	}
	if bare || len(symbols) == 0 {
		return nil
	}
	coef, rest, linear := e.Coef(symbols[0])
	k, isConst := coef.Const()
	r, known := rest.Const()
	if !linear || !isConst || !known || k <= 1 {
		return nil
	}
	n, err := size()
	if err == nil && r != 0 {
		n, err = c.number("sub", primArgs(n, ir.Int(r))...)
	}
	if err != nil {
		return err
	}
	over, err := c.number("mod", primArgs(n, ir.Int(k))...)
	if err != nil {
		return err
	}
	return c.require("eq", over, ir.Int(0))
}

// integer checks an input that is a number, which is e.
func (c *entryChecks) integer(v *ir.Value, e sym.Expr) error {
	given := func() (ir.Arg, error) { return ir.Ref{Value: v}, nil }
	if d, ok := c.scope.dim(e.Key()); ok {
		return c.equal(given, func() (ir.Arg, error) { return c.size(d) })
	}
	if first := c.scope.value(e.Key()); first != v {
		return c.equal(given, func() (ir.Arg, error) { return ir.Ref{Value: first}, nil })
	}
	lo, hi := e.Bounds()
	if lo != math.MinInt64 {
		if err := c.require("ge", ir.Ref{Value: v}, ir.Int(lo)); err != nil {
			return err
		}
	}
	if hi != math.MaxInt64 {
		return c.require("le", ir.Ref{Value: v}, ir.Int(hi))
	}
	return nil
}

// follows reports whether all symbols are sizes of inputs themselves.
func (c *entryChecks) follows(symbols []*sym.Symbol) bool {
	for _, x := range symbols {
		if _, ok := c.scope.dim(x.Expr().Key()); !ok && c.scope.value(x.Expr().Key()) == nil {
			return false
		}
	}
	return len(symbols) > 0
}

func (c *entryChecks) equal(x, y func() (ir.Arg, error)) error {
	want, err := y()
	if err != nil {
		return err
	}
	have, err := x()
	if err != nil {
		return err
	}
	return c.require("eq", have, want)
}

// size reads a dimension: as a number that the compiler knows nothing of.
func (c *entryChecks) size(d dimOf) (ir.Arg, error) {
	if a := c.read[d]; a != nil {
		return a, nil
	}
	n := &ir.Node{Name: c.names.Fresh("given"), Op: "aten.sym_size.int", Args: []ir.NamedArg{
		{Name: "self", Value: ir.Ref{Value: d.tensor}}, {Name: "dim", Value: ir.Int(d.dim)},
	}}
	v := &ir.Value{Name: n.Name, Type: ir.Type{Kind: ir.IntKind}, Def: n}
	n.Outputs = []*ir.Value{v}
	*c.nodes = append(*c.nodes, n)
	c.read[d] = ir.Ref{Value: v}
	return c.read[d], nil
}

// require adds a comparison to the conditions.
func (c *entryChecks) require(op string, a, b ir.Arg) error {
	cond, err := c.number(op, primArgs(a, b)...)
	if err == nil && c.all != nil {
		cond, err = c.number("sym_ite", choiceArgs(c.all, cond, ir.BoolArg(false))...)
	}
	c.all = cond
	return err
}
