package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// modeOps tell what values are typical.
func modeOps() []Op {
	return []Op{
		nanMedianDim(),
		{
			Schema: "aten::nanmedian(Tensor self) -> Tensor",
			Infer:  reducer{schema: "aten::nanmedian(Tensor self) -> Tensor", rule: exact}.infer,
			Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
				flat := b.Op("aten.reshape.default", c.Arg("self"), []int64{-1})
				return b.Ops("aten.nanmedian.dim", flat, 0)[:1], nil
			},
		},
		modeOp(),
		histogram(),
	}
}

// nanMedianDim is the lower median of the numbers along a dimension, NaN where
// there are none, and its place.
func nanMedianDim() Op {
	r := reducer{schema: "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", rule: exact, nonEmpty: true, more: []ir.DType{ir.Int64}}
	return Op{
		Schema: r.schema,
		Infer:  r.infer,
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			t := c.Tensor("self")
			d, err := c.dim("dim", t.Rank())
			if err != nil || t.Rank() == 0 {
				return b.Ops("aten.sort.default", c.Arg("self"), 0), err
			}
			if !t.DType.IsFloat() {
				return b.Ops("aten.median.dim", c.Arg("self"), d, c.Arg("keepdim")), nil
			}
			vs := b.Ops("aten.sort.default", c.Arg("self"), d) // NaN comes last
			numbers := b.Op("aten.logical_not.default", b.Op("aten.isnan.default", c.Arg("self")))
			count := b.Op("aten.sum.dim_IntList", numbers, []int{d}, true)
			at := b.Op("aten.bitwise_right_shift.Tensor_Scalar",
				b.sub(count, b.scalar(1, ir.Int64)), 1)
			at = b.Op("aten.clamp.default", at, 0)
			for i, v := range vs {
				if v = b.Op("aten.gather.default", v, d, at); !c.Bool("keepdim") {
					v = b.Op("aten.squeeze.dim", v, d)
				}
				vs[i] = v
			}
			return vs, nil
		},
	}
}

// modeOp is the most frequent element along a dimension, the smallest of
// several, and its last place.
func modeOp() Op {
	r := reducer{schema: "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", rule: exact, nonEmpty: true, more: []ir.DType{ir.Int64}}
	return Op{
		Schema: r.schema,
		Infer:  r.infer,
		Loops: func(c *Call) (*loop.Func, error) {
			t := c.Tensor("self")
			d := must(c.dim("dim", t.Rank()))
			l := newLines(t, d)
			it := indexDType(l.length)
			j := sym.NewVar("j", l.length)
			count, most, place := newCounter("count", it), newCounter("most", it),
				newCounter("place", ir.Int64)
			best := &expr.Var{Name: "best", DType: t.DType}
			x := expr.At(2, t.DType, l.at(l.k.Expr()))
			same := expr.Eq(expr.At(2, t.DType, l.at(j.Expr())), x)
			least := comparable(expr.Le)(x, expr.Get(best))
			better := expr.Or(expr.Gt(count.get(), most.get()),
				expr.And(expr.Eq(count.get(), most.get()), least))
			into := sym.Add(sym.Mul(l.o.Expr(), l.inner), l.i.Expr())
			return &loop.Func{Name: "mode", Bufs: c.buffers(), Body: l.each(
				most.start(expr.Int(it, 0)), place.start(expr.Int(ir.Int64, 0)),
				&loop.Let{Var: best, Value: expr.Num(t.DType, 0), Mutable: true},
				l.along(
					count.start(expr.Int(it, 0)),
					&loop.For{Var: j, Extent: l.length,
						Body: []loop.Stmt{count.set(expr.Add(count.get(), expr.Cast(it, same)))}},
					&loop.If{Cond: better, Then: []loop.Stmt{
						most.set(count.get()), place.set(expr.Idx(ir.Int64, l.k.Expr())),
						&loop.Assign{Var: best, Value: x},
					}},
				),
				&loop.Store{Buf: 0, At: into, Value: expr.Get(best)},
				&loop.Store{Buf: 1, At: into, Value: place.get()},
			)}, nil
		},
	}
}

// histogram counts the elements in bins of equal width from min to max; if
// these are equal, from the smallest to the largest element.
func histogram() Op {
	return Op{
		Schema: "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			n, err := c.Int("bins")
			if err == nil && n < 1 {
				err = c.Errorf("%d bins", n)
			}
			if err == nil && !t.DType.IsFloat() {
				err = c.Errorf("not defined on %s", t.DType)
			}
			return []ir.Type{ir.StaticTensor(t.DType, max(n, 0))}, err
		},
		Loops: func(c *Call) (*loop.Func, error) {
			t, bins := c.Tensor("self"), c.Outs[0].Sizes[0]
			m := opmath(t.DType)
			lo := must(c.Float("min"))
			hi := must(c.Float("max"))
			num := func(x float64) *expr.Expr { return expr.Num(m, x) }
			vlo, vhi := &expr.Var{Name: "lo", DType: m}, &expr.Var{Name: "hi", DType: m}
			get := expr.Get
			i, j, z := sym.NewVar("i", t.Numel()), sym.NewVar("j", t.Numel()), sym.NewVar("z", bins)
			x := func(v *sym.Symbol) *expr.Expr {
				return expr.Cast(m, expr.At(1, t.DType, v.Expr()))
			}
			body := []loop.Stmt{
				&loop.For{Var: z, Extent: bins, Body: []loop.Stmt{&loop.Store{Buf: 0, At: z.Expr(),
					Value: expr.Num(t.DType, 0)}}},
				&loop.Let{Var: vlo, Value: num(lo), Mutable: true},
				&loop.Let{Var: vhi, Value: num(hi), Mutable: true},
			}
			if lo == hi {
				body = append(body,
					&loop.Assign{Var: vlo, Value: num(inf)}, &loop.Assign{Var: vhi,
						Value: num(-inf)},
					&loop.For{Var: j, Extent: t.Numel(), Body: []loop.Stmt{
						&loop.Assign{Var: vlo, Value: expr.Min(x(j), get(vlo))},
						&loop.Assign{Var: vhi, Value: expr.Max(x(j), get(vhi))},
					}},
					&loop.If{Cond: expr.Eq(get(vlo), get(vhi)), Then: []loop.Stmt{
						&loop.Assign{Var: vlo, Value: expr.Sub(get(vlo), num(1))},
						&loop.Assign{Var: vhi, Value: expr.Add(get(vhi), num(1))},
					}})
			}
			where := expr.Div(expr.Mul(expr.Sub(x(i), get(vlo)), expr.Idx(m, bins)),
				expr.Sub(get(vhi), get(vlo)))
			at, bind := clampedAt("bin", expr.Cast(ir.Int64, where), bins, false)
			inside := expr.And(expr.Le(get(vlo), x(i)), expr.Le(x(i), get(vhi)))
			body = append(body, &loop.For{Var: i, Extent: t.Numel(), Body: []loop.Stmt{
				&loop.If{Cond: inside, Then: []loop.Stmt{bind, c.write(at, num(1), added)}},
			}})
			return &loop.Func{Name: "histogram", Bufs: c.buffers(), Body: body}, nil
		},
	}
}
