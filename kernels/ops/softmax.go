package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// softmaxRow is one row of a softmax under definition.
type softmaxRow struct {
	x   *expr.Expr // the element
	max *expr.Expr // what is subtracted: the largest of the row, if it is finite
	sum *expr.Expr // of exp(x - max) over the row
}

// exp returns exp(x - max) of the element.
func (r *softmaxRow) exp() *expr.Expr { return fn("exp")(expr.Sub(r.x, r.max)) }

// rowwise is an entry that maps self along dimension dim. What base makes of
// the largest element is subtracted before exp, so that nothing overflows; a
// row of -inf gives NaN, as in PyTorch, if base leaves it.
func rowwise(schema string, dtype func(*Call) (ir.DType, error),
	base func(max *expr.Expr) *expr.Expr, f func(*softmaxRow) *expr.Expr) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			must(c.dim("dim", t.Rank()))
			d, err := dtype(c)
			if err == nil && !d.IsFloat() {
				err = c.Errorf("not defined on %s", d)
			}
			return one(ir.TensorOf(d, t.Sizes...), err)
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("self")
			d := must(c.dim("dim", t.Rank()))
			out := c.Outs[0].DType
			m := opmath(out)
			if t.DType == ir.Float64 {
				m = t.DType
			}
			vars, coords := indexVars(t.Sizes)
			load := func(coords []sym.Expr) *expr.Expr {
				return expr.Cast(m, c.Load("self", coords...))
			}
			over := func(name string) (*expr.Expr, []*sym.Symbol) {
				if t.Rank() == 0 {
					return load(coords), nil
				}
				v := sym.NewVar(name, t.Sizes[d])
				at := append([]sym.Expr(nil), coords...)
				at[d] = v.Expr()
				return load(at), []*sym.Symbol{v}
			}
			r := &softmaxRow{x: load(coords)}
			x, v := over("r")
			r.max = base(expr.MaxOf(v, x))
			x, v = over("s")
			r.sum = expr.Sum(v, fn("exp")(expr.Sub(x, r.max)))
			return []expr.Tensor{{DType: out, Vars: vars, Body: expr.Cast(out, f(r))}}, nil
		},
	}
}

// softmaxOps are softmax and its logarithm.
func softmaxOps() []Op {
	half := func(c *Call) (ir.DType, error) {
		d := c.Tensor("self").DType
		if !c.Bool("half_to_float") {
			return d, nil
		}
		if d != ir.Float16 {
			return d, c.Errorf("half_to_float of %s", d)
		}
		return ir.Float32, nil
	}
	soft := func(r *softmaxRow) *expr.Expr { return expr.Div(r.exp(), r.sum) }
	log := func(r *softmaxRow) *expr.Expr {
		return expr.Sub(expr.Sub(r.x, r.max), fn("log")(r.sum))
	}
	top := func(max *expr.Expr) *expr.Expr { return max }
	// A row without anything to choose from is 0: counted from 0 its exponentials
	// are, and so is their sum. A Select of the whole would keep the sum, which
	// the row has in common, in one of its arms.
	finite := func(max *expr.Expr) *expr.Expr {
		return expr.Select(expr.Eq(max, like(max, -inf)), like(max, 0), max)
	}
	safe := func(r *softmaxRow) *expr.Expr {
		return expr.Div(r.exp(), expr.Select(expr.Eq(r.sum, like(r.sum, 0)), like(r.sum, 1), r.sum))
	}
	return []Op{
		rowwise("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half, top,
			soft),
		rowwise("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half, top,
			log),
		rowwise("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			askedFor, finite, safe).core(safeSoftmaxCore),
		softmaxAs("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			"aten._softmax.default"),
		softmaxAs("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			"aten._log_softmax.default"),
		softmaxAs("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
			"aten._softmax.default"),
		softmaxAs("aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", "aten._log_softmax.default"),
	}
}

// askedFor is the dtype argument, else self's.
func askedFor(c *Call) (ir.DType, error) { return c.DType("dtype", c.Tensor("self").DType), nil }

// softmaxAs is op of self converted to the dtype asked for.
func softmaxAs(schema, op string) Op {
	typ := func(c *Call) (ir.Type, error) {
		t := c.Tensor("self")
		d, _ := askedFor(c)
		if !d.IsFloat() {
			return t, c.Errorf("not defined on %s", d)
		}
		_, err := c.dim("dim", t.Rank())
		return ir.TensorOf(d, t.Sizes...), err
	}
	return composite(schema, typ, func(b *Builder, c *Call) *ir.Value {
		x := c.Value("self")
		if d := c.Outs[0].DType; d != x.Type.DType {
			x = b.Op("aten._to_copy.default", x, Kw("dtype", d))
		}
		return b.Op(op, x, c.Arg("dim"), false)
	})
}
