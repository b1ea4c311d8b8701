package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// form is a value as an expression over values that have buffers.
type form struct {
	tensor  expr.Tensor // Load.Buf indexes args, Scalar.Buf indexes scalars
	args    []*ir.Value
	scalars []*ir.Value
	from    []Origin
}

// finalBase separates, while a form is put together, final operand numbers
// from the numbers of the expression that is still being inlined into.
const finalBase = 1 << 20

// formOf fuses result i of a node: its tensor expression with the expression
// of every operand that has no buffer of its own inlined.
func (b *builder) formOf(n *ir.Node, c *ops.Call, t expr.Tensor) (*form, error) {
	f := &form{tensor: t}
	body := renumber(t.Body, nil, func(i int) int { return finalBase + f.addScalar(c.Scalars()[i]) })
	for _, k := range expr.Loads(body) {
		if k >= finalBase {
			continue
		}
		var err error
		if body, err = expr.Inline(body, k, f.absorb(b, c.Operands()[k])); err != nil {
			return nil, err
		}
	}
	f.tensor.Body = expr.Simplify(renumber(body, fromFinal, fromFinal))
	f.from = appendOrigin(f.from, originOf(n))
	return f, nil
}

// renumber maps operand and scalar numbers; nil leaves them as they are.
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
		if f == nil {
			return e
		}
		n := *e
		n.Buf = f(e.Buf)
		return &n
	})
}

func fromFinal(k int) int { return k - finalBase }

// absorb returns operand v as a tensor in f's final numbering.
func (f *form) absorb(b *builder, v *ir.Value) expr.Tensor {
	sub := b.forms[v]
	if sub == nil {
		if t, ok := b.uniform(v); ok {
			return t
		}
		vars := varsOf(v.Type)
		return expr.Tensor{DType: v.Type.DType, Vars: vars, Body: &expr.Expr{
			Op: expr.OpLoad, DType: v.Type.DType, Buf: finalBase + f.addArg(v), Coords: symExprs(vars)}}
	}
	t := sub.tensor
	t.Body = renumber(t.Body,
		func(k int) int { return finalBase + f.addArg(sub.args[k]) },
		func(k int) int { return finalBase + f.addScalar(sub.scalars[k]) })
	for _, o := range sub.from {
		f.from = appendOrigin(f.from, o)
	}
	return t
}

func (f *form) addArg(v *ir.Value) int    { return add(&f.args, v) }
func (f *form) addScalar(v *ir.Value) int { return add(&f.scalars, v) }

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
			ts = append(ts, expr.Tensor{DType: c.Outs[i].DType, Vars: vars, Body: c.LoadAt(v.Of, v.Map(symExprs(vars))...)})
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

func originOf(n *ir.Node) Origin { return Origin{Node: n.Name, Op: n.Op, Loc: n.Loc} }

func appendOrigin(list []Origin, o Origin) []Origin {
	if slices.Contains(list, o) {
		return list
	}
	return append(list, o)
}
