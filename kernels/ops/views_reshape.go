package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// reshapes is an entry that views self with other sizes where its strides
// allow it and copies it otherwise.
func reshapes(schema string, sizes func(*Call, ir.Type) ([]sym.Expr, error)) Op {
	shape := func(c *Call) (a alias, ok bool, err error) {
		t := c.Tensor("self")
		want := must(sizes(c, t))
		return c.reshaped(t, want)
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			a, _, err := shape(c)
			return one(a.Type, err)
		},
		View: func(c *Call) ([]View, error) {
			a, ok, err := shape(c)
			if !ok {
				return nil, err
			}
			return []View{{Of: c.Operand("self"), Map: a.at}}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			a, _ := must2(shape(c))
			vars, coords := indexVars(a.Sizes)
			return []expr.Tensor{{DType: a.DType, Vars: vars, Body: c.Load("self",
				a.at(coords)...)}}, nil
		},
	}
}

func argSizes(name string) func(*Call, ir.Type) ([]sym.Expr, error) {
	return func(c *Call, _ ir.Type) ([]sym.Expr, error) { return c.SymInts(name) }
}

func otherSizes(c *Call, _ ir.Type) ([]sym.Expr, error) { return c.Tensor("other").Sizes, nil }

func flattenSizes(c *Call, t ir.Type) ([]sym.Expr, error) {
	first := must(c.dim("start_dim", t.Rank()))
	last := must(c.dim("end_dim", t.Rank()))
	if first > last {
		return nil, c.Errorf("start_dim %d comes after end_dim %d", first, last)
	}
	if t.Rank() == 0 {
		return ir.Ints([]int64{1}), nil
	}
	return slices.Concat(t.Sizes[:first], []sym.Expr{sym.Mul(t.Sizes[first : last+1]...)},
		t.Sizes[last+1:]), nil
}

func strictView(c *Call, t ir.Type) (alias, error) {
	sizes := must(c.SymInts("size"))
	return c.viewedAs(t, sizes)
}

func viewAs(c *Call, t ir.Type) (alias, error) { return c.viewedAs(t, c.Tensor("other").Sizes) }

// viewedAs is reshaped that must not copy.
func (c *Call) viewedAs(t ir.Type, sizes []sym.Expr) (alias, error) {
	a, ok, err := c.reshaped(t, sizes)
	if err == nil && !ok {
		err = c.Errorf("the strides of %s do not allow a view as %s", describeSizes([]ir.Type{t}),
			describeSizes([]ir.Type{a.Type}))
	}
	return a, err
}

func unflattenView(c *Call, t ir.Type) (alias, error) {
	d := must(c.dim("dim", t.Rank()))
	sizes := must(c.SymInts("sizes"))
	if t.Rank() == 0 {
		return alias{}, c.Errorf("a tensor without dimensions")
	}
	sizes = must(c.openSize(sizes, t.Sizes[d]))
	return c.viewedAs(t, slices.Concat(t.Sizes[:d], sizes, t.Sizes[d+1:]))
}
