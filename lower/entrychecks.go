package lower

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// entry asserts what the types of inputs promise of dynamic sizes and integers:
// bounds, and that sizes that are one expression, or follow from others, are so.
// (C and Go check it where they bind sizes; the runtime of a .pte itself checks
// only that a tensor has room.) A lower bound of up to 2 is none: PyTorch gives
// it to every dynamic size, and its loaded program does not check it either.
func (s *sizer) entry(m *ir.Method) error {
	c := &entryChecks{sizer: s, read: map[dimOf]ir.Arg{}}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput {
			continue
		}
		if v.Type.Kind == ir.IntKind && v.Type.HasExpr {
			if err := c.bounds(func() (ir.Arg, error) { return ir.Ref{Value: v}, nil }, v.Type.Expr, math.MinInt64, true); err != nil {
				return err
			}
			continue
		}
		dynamic := 0
		for _, e := range v.Type.Sizes {
			if _, ok := e.Const(); !ok {
				dynamic++
			}
		}
		for d, e := range v.Type.Sizes {
			if _, ok := e.Const(); ok {
				continue
			}
			if err := c.dimension(dimOf{v, d}, e, dynamic > 1); err != nil {
				return err
			}
		}
	}
	if c.all != nil {
		*s.nodes = append(*s.nodes, &ir.Node{Name: s.names.Fresh("entry"), Op: assertOp, Args: []ir.NamedArg{
			{Name: "self", Value: c.all}, {Name: "assert_msg", Value: ir.Str("sizes of inputs are in their ranges and fit each other")},
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

// dimension checks dimension d, whose size is e. Room tells that the tensor may
// have room for more than the bound of e.
func (c *entryChecks) dimension(d dimOf, e sym.Expr, room bool) error {
	size := func() (ir.Arg, error) { return c.size(d) }
	if first, ok := c.scope.dim(e.Key()); ok && first != d {
		return c.equal(size, func() (ir.Arg, error) { return c.size(first) })
	}
	symbols := e.Symbols()
	bare := len(symbols) == 1 && e.Equal(symbols[0].Expr())
	if !bare && c.follows(symbols) {
		return c.equal(size, func() (ir.Arg, error) { return c.sum(e) })
	}
	if err := c.bounds(size, e, 2, room || !bare); err != nil || bare {
		return err
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

// follows reports whether all symbols are sizes of inputs themselves.
func (c *entryChecks) follows(symbols []*sym.Symbol) bool {
	for _, x := range symbols {
		if _, ok := c.scope.dim(x.Expr().Key()); !ok && c.scope.value(x.Expr().Key()) == nil {
			return false
		}
	}
	return len(symbols) > 0
}

// bounds checks that a number is in the range of e, where it is larger than low.
func (c *entryChecks) bounds(number func() (ir.Arg, error), e sym.Expr, low int64, upper bool) error {
	lo, hi := e.Bounds()
	if lo > low {
		if err := c.compare("ge", number, lo); err != nil {
			return err
		}
	}
	if upper && hi < math.MaxInt64 {
		return c.compare("le", number, hi)
	}
	return nil
}

func (c *entryChecks) compare(op string, number func() (ir.Arg, error), bound int64) error {
	x, err := number()
	if err != nil {
		return err
	}
	return c.require(op, x, ir.Int(bound))
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
