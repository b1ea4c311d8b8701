package native

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// form is a value that has no buffer: the expression of the node that defines it.
type form struct {
	node   *ir.Node
	call   *ops.Call
	tensor expr.Tensor // Load.Buf indexes the call's operands, Scalar.Buf its scalars
}

// fused is a value as an expression over values that have buffers.
type fused struct {
	tensor  expr.Tensor // Load.Buf indexes args, Scalar.Buf indexes scalars
	args    []*ir.Value
	scalars []*ir.Value
	from    []Origin
}

// fuse returns f with the expression of every operand that has no buffer of its
// own inlined, and so on. All is put together at once: however many nodes are
// fused, each of their expressions is gone through a constant number of times.
func (b *builder) fuse(f *form) (*fused, error) {
	fu := &fuser{b: b, out: &fused{tensor: f.tensor}, memo: map[fusedAt]*expr.Expr{},
		seen: map[*form]bool{}}
	fu.out.tensor.Body = expr.Simplify(expr.Rewrite(f.tensor.Body, fu.inline(f)))
	fu.origins(f)
	return fu.out, fu.err
}

// fuser puts one fused expression together.
type fuser struct {
	b    *builder
	out  *fused
	memo map[fusedAt]*expr.Expr
	seen map[*form]bool // whose origins are noted
	err  error
}

// fusedAt is an element of a value: at equal coordinates it is computed once.
type fusedAt struct {
	value  *ir.Value
	coords string
}

// inline returns what takes a node of f's expression to the numbering of what is
// put together, with operands inlined.
func (fu *fuser) inline(f *form) func(*expr.Expr) *expr.Expr {
	return func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpScalar:
			n := *e
			n.Buf = add(&fu.out.scalars, f.call.Scalars()[e.Buf])
			return &n
		case expr.OpLoad:
			return fu.load(f.call.Operands()[e.Buf], e)
		}
		return e
	}
}

// load returns what stands for a load of v.
func (fu *fuser) load(v *ir.Value, e *expr.Expr) *expr.Expr {
	sub := fu.b.forms[v]
	if sub == nil {
		if t, ok := fu.b.uniform(v); ok {
			return t.Body
		}
		n := *e
		n.Buf = add(&fu.out.args, v)
		return &n
	}
	t := sub.tensor
	if len(e.Coords) != len(t.Vars) || e.DType != t.DType || t.Body.DType != t.DType {
		fu.err = fmt.Errorf("%s is loaded as %s of rank %d, but is %s of rank %d", v.Name, e.DType,
			len(e.Coords), t.Body.DType, len(t.Vars))
		return e
	}
	key := fusedAt{v, expr.CoordsKey(e.Coords)}
	if x, ok := fu.memo[key]; ok {
		return x
	}
	m := make(expr.Subst, len(e.Coords))
	for i, s := range t.Vars {
		m[s] = e.Coords[i]
	}
	x := expr.RewriteFresh(t.Body, m, fu.inline(sub))
	fu.memo[key] = x
	return x
}

// origins notes the nodes that f is computed by, operands first.
func (fu *fuser) origins(f *form) {
	if fu.seen[f] {
		return
	}
	fu.seen[f] = true
	for _, k := range expr.Loads(f.tensor.Body) {
		if sub := fu.b.forms[f.call.Operands()[k]]; sub != nil {
			fu.origins(sub)
		}
	}
	fu.out.from = append(fu.out.from, originOf(f.node))
}

// renumber maps operand and scalar numbers.
func renumber(e *expr.Expr, operand, scalar func(int) int) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		f := operand
		switch e.Op {
		case expr.OpScalar:
			f = scalar
		case expr.OpLoad:
		default:
			return e
		}
		k := f(e.Buf)
		if k == e.Buf {
			return e
		}
		n := *e
		n.Buf = k
		return &n
	})
}

func add(list *[]*ir.Value, v *ir.Value) int {
	if i := slices.Index(*list, v); i >= 0 {
		return i
	}
	*list = append(*list, v)
	return len(*list) - 1
}

// tensorsOf returns a node's results as expressions, and whether they are views
// of operands; nil if it has no such definition. An operator that is sometimes
// a view and sometimes a copy gives no views in the second case.
func tensorsOf(c *ops.Call) (ts []expr.Tensor, view bool, err error) {
	if c.Op.View != nil {
		views, err := c.Op.View(c)
		if err != nil {
			return nil, false, err
		}
		for i, v := range views {
			vars := varsOf(c.Outs[i])
			ts = append(ts, expr.Tensor{DType: c.Outs[i].DType, Vars: vars, Body: c.LoadAt(v.Of,
				v.Map(symExprs(vars))...)})
		}
		if ts != nil {
			return ts, true, nil
		}
	}
	if c.Op.Compute != nil {
		ts, err = c.Op.Compute(c)
	}
	return ts, false, err
}

// varsOf makes one loop variable per dimension of a tensor.
func varsOf(t ir.Type) []*sym.Symbol {
	vars := make([]*sym.Symbol, len(t.Sizes))
	for i, s := range t.Sizes {
		vars[i] = sym.NewVar(axisName(i, len(t.Sizes)), s)
	}
	return vars
}

// axisName names loop variables so that the innermost of up to four reads
// i, j, k, l from the outside.
func axisName(i, rank int) string {
	const letters = "ijklmnpq"
	if rank <= len(letters) {
		return letters[i : i+1]
	}
	return "i" + string(rune('0'+i/10)) + string(rune('0'+i%10))
}

func symExprs(vars []*sym.Symbol) []sym.Expr {
	es := make([]sym.Expr, len(vars))
	for i, v := range vars {
		es[i] = v.Expr()
	}
	return es
}

func originOf(n *ir.Node) Origin {
	return Origin{Node: foreign.Of(n.Name), Op: foreign.Of(n.Op), Loc: LocationOf(n.Loc)}
}

// Base returns the plain name of the operator.
func (o Origin) Base() foreign.Text { return foreign.Of(ir.OpBase(o.Op.Raw())) }

// LocationOf makes l a location of the native form.
func LocationOf(l ir.Location) Location {
	return Location{File: foreign.Of(l.File), Line: l.Line, Module: foreign.Of(l.Module)}
}

// String returns what l is in the text form.
func (l Location) String() string { return l.graph().String() }

// graph returns l as a graph has it.
func (l Location) graph() ir.Location {
	return ir.Location{File: l.File.Raw(), Line: l.Line, Module: l.Module.Raw()}
}

func appendOrigin(list []Origin, o Origin) []Origin {
	if slices.Contains(list, o) {
		return list
	}
	return append(list, o)
}
