package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// buffers returns the buffers of an imperative body of c: results, then
// operands.
func (c *Call) buffers() []loop.Buf {
	var bufs []loop.Buf
	for i, t := range c.Outs {
		name := "out"
		if len(c.Outs) > 1 {
			name += itoa(i)
		}
		bufs = append(bufs, loop.Buf{Name: name, DType: t.DType, Role: loop.Out, Len: t.Numel()})
	}
	for i, v := range c.operands {
		name := "x"
		if len(c.operands) > 1 {
			name += itoa(i)
		}
		bufs = append(bufs, loop.Buf{Name: name, DType: v.Type.DType, Role: loop.In, Len: v.Type.Numel()})
	}
	return bufs
}

// lines walks the lines of a tensor along one dimension: element k of a line
// is at base + k·inner in its row-major data.
type lines struct {
	outer, length, inner sym.Expr
	o, k, i              *sym.Symbol
}

func newLines(t ir.Type, dim int) *lines {
	l := &lines{outer: sym.Int(1), length: sym.Int(1), inner: sym.Int(1)}
	if t.Rank() > 0 {
		l.outer, l.length, l.inner = sym.Mul(t.Sizes[:dim]...), t.Sizes[dim], sym.Mul(t.Sizes[dim+1:]...)
	}
	l.o, l.k, l.i = sym.NewVar("o", l.outer), sym.NewVar("k", l.length), sym.NewVar("i", l.inner)
	return l
}

// at returns the flat coordinate of element k of the current line.
func (l *lines) at(k sym.Expr) sym.Expr {
	return sym.Add(sym.Mul(sym.Add(sym.Mul(l.o.Expr(), l.length), k), l.inner), l.i.Expr())
}

// each returns the loop over all lines around body.
func (l *lines) each(body ...loop.Stmt) []loop.Stmt {
	return []loop.Stmt{&loop.For{Var: l.o, Extent: l.outer, Body: []loop.Stmt{
		&loop.For{Var: l.i, Extent: l.inner, Body: body},
	}}}
}

// along returns the loop over the elements of a line.
func (l *lines) along(body ...loop.Stmt) loop.Stmt {
	return &loop.For{Var: l.k, Extent: l.length, Body: body}
}

// cumulative is a running reduction along dimension dim: step gives the new
// value of the accumulator, which starts as init, from it and the element.
func cumulative(schema string, r rule, init float64, step func(acc, x *expr.Expr) *expr.Expr, v Values) Op {
	infer := func(c *Call) (ir.Type, error) {
		t := c.Tensor("self")
		if _, err := c.dim("dim", t.Rank()); err != nil {
			return t, err
		}
		d := c.DType("dtype", ir.InvalidDType)
		if d == ir.InvalidDType {
			var ok bool
			if _, d, ok = r(t.DType); !ok {
				return t, c.Errorf("not defined on %s", t.DType)
			}
		}
		return likeType(t, d), nil
	}
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(infer(c)) },
		Loops: func(c *Call) (*loop.Func, error) {
			if err := c.real(); err != nil {
				return nil, err
			}
			t, out := c.Tensor("self"), c.Outs[0]
			d, err := c.dim("dim", t.Rank())
			if err != nil {
				return nil, err
			}
			l := newLines(t, d)
			dt := opmath(out.DType)
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
		Samples: func(r *Rand) []Sample {
			var out []Sample
			for i, d := range sampleDTypes {
				out = append(out, NewSample("self", Tensor(d, v, r.Shape(3)...), "dim", i%3-1))
			}
			return append(out, NewSample("self", Tensor(ir.Float32, v), "dim", 0))
		},
	}
}

// cumulativeOps are running sums and products.
func cumulativeOps() []Op {
	return []Op{
		cumulative("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", summed, 0, expr.Add, Values{}),
		cumulative("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", summed, 1, expr.Mul, Values{Lo: -2, Hi: 2}),
	}
}
