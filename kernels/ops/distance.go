package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// distanceOps measure between rows.
func distanceOps() []Op { return []Op{cdistForward(), pdistForward()} }

// normStep is the part of the p-norm that a component of a difference adds and
// how the parts come together; root ends it.
func normStep(p float64) (part func(*expr.Expr) *expr.Expr, kind expr.ReduceKind, root func(*expr.Expr) *expr.Expr) {
	same := func(x *expr.Expr) *expr.Expr { return x }
	switch p {
	case 0:
		return func(x *expr.Expr) *expr.Expr { return expr.Cast(x.DType, expr.Ne(x, like(x, 0))) },
			expr.ReduceSum, same
	case 1:
		return expr.Abs, expr.ReduceSum, same
	case 2:
		return func(x *expr.Expr) *expr.Expr { return expr.Mul(x, x) }, expr.ReduceSum, expr.Sqrt
	case inf:
		return expr.Abs, expr.ReduceMax, func(x *expr.Expr) *expr.Expr {
			return expr.Max(like(x, 0), x)
		}
	}
	return func(x *expr.Expr) *expr.Expr { return power(expr.Abs(x), like(x, p)) }, expr.ReduceSum,
		func(x *expr.Expr) *expr.Expr { return power(x, like(x, 1/p)) }
}

// normOrder returns argument p, not negative.
func (c *Call) normOrder() (float64, error) {
	p, err := c.Float("p")
	if err == nil && !(p >= 0) {
		err = c.Errorf("a norm of order %v", p)
	}
	return p, err
}

// cdistForward is the distance of every row of x1 to every row of x2.
func cdistForward() Op {
	return Op{
		Schema: "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			a, b := c.Tensor("x1"), c.Tensor("x2")
			must(c.normOrder())
			if !a.DType.IsFloat() || a.DType != b.DType {
				return nil, c.Errorf("operands of %s and %s", a.DType, b.DType)
			}
			m, n := a.Rank(), b.Rank()
			if m < 2 || n < 2 || differ(a.Sizes[m-1], b.Sizes[n-1]) {
				return nil, c.Errorf("rows of %s", describeSizes([]ir.Type{a, b}))
			}
			batch, ok := Broadcast(ir.Type{Sizes: a.Sizes[:m-2]}, ir.Type{Sizes: b.Sizes[:n-2]})
			if !ok {
				return nil, c.Errorf("%s do not broadcast", describeSizes([]ir.Type{a, b}))
			}
			return []ir.Type{ir.TensorOf(a.DType, append(slices.Clone(batch), a.Sizes[m-2],
				b.Sizes[n-2])...)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			p := must(c.normOrder())
			out := c.Outs[0]
			m := opmath(out.DType)
			vars, at := indexVars(out.Sizes)
			batch := len(at) - 2
			last := c.Tensor("x1").Sizes[c.Tensor("x1").Rank()-1]
			k := sym.NewVar("k", last)
			row := func(name string, r sym.Expr) *expr.Expr {
				t := c.Tensor(name)
				lead := t
				lead.Sizes = t.Sizes[:t.Rank()-2]
				return expr.Cast(m, c.Load(name, append(broadcastCoords(lead, out.Sizes[:batch],
					at[:batch]), r, k.Expr())...))
			}
			part, kind, root := normStep(p)
			sum := expr.Reduction(kind, []*sym.Symbol{k},
				part(expr.Sub(row("x1", at[batch]), row("x2", at[batch+1]))))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType,
				root(sum))}}, nil
		},
	}
}

// pdistForward is the distance of every row to each later one, in the order of
// the rows.
func pdistForward() Op {
	return Op{
		Schema: "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			must(c.normOrder())
			if !t.DType.IsFloat() || t.Rank() != 2 {
				return nil, c.Errorf("rows of a %s tensor with %d dimensions", t.DType, t.Rank())
			}
			n := t.Sizes[0]
			return []ir.Type{ir.TensorOf(t.DType, sym.FloorDiv(sym.Mul(n, sym.Sub(n, sym.Int(1))),
				sym.Int(2)))}, nil
		},
		Loops: func(c *Call) (*loop.Func, error) {
			p := must(c.normOrder())
			t, out := c.Tensor("self"), c.Outs[0]
			m := opmath(t.DType)
			it := indexDType(sym.Max(t.Numel(), out.Numel()))
			i := sym.NewVar("i", t.Sizes[0])
			j := sym.NewVar("j", sym.Sub(sym.Sub(t.Sizes[0], sym.Int(1)), i.Expr()))
			k := sym.NewVar("k", t.Sizes[1])
			x := func(row sym.Expr) *expr.Expr {
				return expr.Cast(m, expr.At(1, t.DType, sym.RowMajor(t.Sizes,
					[]sym.Expr{row, k.Expr()})))
			}
			part, kind, root := normStep(p)
			d := part(expr.Sub(x(i.Expr()), x(sym.Add(i.Expr(), j.Expr(), sym.Int(1)))))
			acc, at := &expr.Var{Name: "acc", DType: m}, newCounter("at", it)
			next := expr.Add(expr.Get(acc), d)
			if kind == expr.ReduceMax {
				next = expr.Select(expr.Or(expr.IsNaN(d), expr.Gt(d, expr.Get(acc))), d,
					expr.Get(acc))
			}
			bind, place := index("place", at.get(), out.Sizes[0])
			return &loop.Func{Name: "pdist", Bufs: c.buffers(), Body: []loop.Stmt{
				at.start(expr.Int(it, 0)),
				&loop.For{Var: i, Extent: t.Sizes[0],
					Body: []loop.Stmt{&loop.For{Var: j, Extent: expr.Extent(j), Body: []loop.Stmt{
						&loop.Let{Var: acc, Value: expr.Num(m, 0), Mutable: true},
						&loop.For{Var: k, Extent: t.Sizes[1],
							Body: []loop.Stmt{&loop.Assign{Var: acc,
								Value: next}}},
						bind,
						&loop.Store{Buf: 0, At: place, Value: expr.Cast(t.DType,
							root(expr.Get(acc)))},
						at.add(1),
					}}}},
			}}, nil
		},
	}
}
