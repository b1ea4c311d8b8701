package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// cumulativeOps are running reductions along a dimension.
func cumulativeOps() []Op {
	return []Op{
		cumulative("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
			summed, 0, expr.Add),
		cumulative("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
			summed, 1, expr.Mul).core(cumulativeCore(1, cumprodStep)),
		cumulative("aten::logcumsumexp(Tensor self, int dim) -> Tensor", floatOnly, -inf, logAddExp).core(cumulativeCore(-inf, logcumsumexpStep)),
		cumulativeExtreme("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
			expr.Ge).cores(cumulativeExtremeCore("aten.ge.Tensor")),
		cumulativeExtreme("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
			expr.Le).cores(cumulativeExtremeCore("aten.le.Tensor")),
	}
}

// cumulative is a running reduction along dimension dim: step gives the new
// value of the accumulator, which starts as init, from it and the element.
func cumulative(schema string, r rule, init float64, step func(acc, x *expr.Expr) *expr.Expr) Op {
	infer := func(c *Call) (ir.Type, error) {
		t := c.Tensor("self")
		must(c.dim("dim", t.Rank()))
		if c.Op.sch.Index("dtype") >= 0 && c.Has("dtype") {
			return likeType(t, c.DType("dtype", t.DType)), nil
		}
		_, d, ok := r(t.DType)
		if !ok {
			return t, c.Errorf("not defined on %s", t.DType)
		}
		return likeType(t, d), nil
	}
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(infer(c)) },
		Loops: func(c *Call) (*loop.Func, error) {
			t, out := c.Tensor("self"), c.Outs[0]
			d := must(c.dim("dim", t.Rank()))
			l := newLines(t, d)
			dt := accumulator(out.DType)
			acc := &expr.Var{Name: "acc", DType: dt}
			at := l.at(l.k.Expr())
			x := expr.Cast(dt, expr.Cast(out.DType, expr.At(1, t.DType, at)))
			return &loop.Func{
				Name: "cumulative", Bufs: c.buffers(),
				Body: l.each(
					&loop.Let{Var: acc, Value: expr.Num(dt, init), Mutable: true},
					l.along(
						&loop.Assign{Var: acc, Value: step(expr.Get(acc), x)},
						&loop.Store{Buf: 0, At: at, Value: expr.Cast(out.DType, expr.Get(acc))},
					)),
			}, nil
		},
	}
}

// cumulativeExtreme is the running extremum with its place: the last one of
// equals, and from the first NaN on the last NaN.
func cumulativeExtreme(schema string, reaches func(a, b *expr.Expr) *expr.Expr) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			_, err := c.dim("dim", t.Rank())
			return []ir.Type{likeType(t, t.DType), likeType(t, ir.Int64)}, err
		},
		Loops: func(c *Call) (*loop.Func, error) {
			t := c.Tensor("self")
			d := must(c.dim("dim", t.Rank()))
			l := newLines(t, d)
			best, place := &expr.Var{Name: "best", DType: t.DType}, &expr.Var{Name: "place",
				DType: ir.Int64}
			at, k := l.at(l.k.Expr()), expr.Idx(ir.Int64, l.k.Expr())
			x := expr.At(2, t.DType, at)
			first := expr.Eq(k, expr.Int(ir.Int64, 0))
			better := expr.Or(expr.IsNaN(x), expr.And(expr.Not(expr.IsNaN(expr.Get(best))),
				comparable(reaches)(x, expr.Get(best))))
			return &loop.Func{
				Name: "cumulative_extreme", Bufs: c.buffers(),
				Body: l.each(
					&loop.Let{Var: best, Value: expr.Num(t.DType, 0), Mutable: true},
					&loop.Let{Var: place, Value: expr.Int(ir.Int64, 0), Mutable: true},
					l.along(
						&loop.If{Cond: expr.Or(first, better), Then: []loop.Stmt{
							&loop.Assign{Var: best, Value: x},
							&loop.Assign{Var: place, Value: k},
						}},
						&loop.Store{Buf: 0, At: at, Value: expr.Get(best)},
						&loop.Store{Buf: 1, At: at, Value: expr.Get(place)},
					)),
			}, nil
		},
	}
}
