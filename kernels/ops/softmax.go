package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// softmaxRow is one row of a softmax under definition.
type softmaxRow struct {
	x   *expr.Expr // the element
	max *expr.Expr // the largest of the row
	sum *expr.Expr // of exp(x - max) over the row
}

// exp returns exp(x - max) of the element.
func (r *softmaxRow) exp() *expr.Expr { return fn("exp")(expr.Sub(r.x, r.max)) }

// rowwise is an entry that maps self along dimension dim. The largest element
// is subtracted before exp, so that nothing overflows; a row of -inf gives NaN
// as in PyTorch.
func rowwise(schema string, dtype func(*Call) (ir.DType, error), f func(*softmaxRow) *expr.Expr) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			if _, err := c.dim("dim", t.Rank()); err != nil {
				return nil, err
			}
			d, err := dtype(c)
			if err == nil && !d.IsFloat() {
				err = c.Errorf("not defined on %s", d)
			}
			return one(ir.TensorOf(d, t.Sizes...), err)
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("self")
			d, err := c.dim("dim", t.Rank())
			if err != nil {
				return nil, err
			}
			out := c.Outs[0].DType
			m := opmath(out)
			if t.DType == ir.Float64 {
				m = t.DType
			}
			vars, coords := indexVars(t.Sizes)
			load := func(coords []sym.Expr) *expr.Expr { return expr.Cast(m, c.Load("self", coords...)) }
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
			r.max = expr.MaxOf(v, x)
			x, v = over("s")
			r.sum = expr.Sum(v, fn("exp")(expr.Sub(x, r.max)))
			return []expr.Tensor{{DType: out, Vars: vars, Body: expr.Cast(out, f(r))}}, nil
		},
		Samples: softmaxSamples,
	}
}

func softmaxSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
		out = append(out, NewSample("self", Tensor(d, Values{}, r.Shape(3)...), "dim", i%3-1))
	}
	return append(out,
		NewSample("self", Tensor(ir.Float32, Values{Lo: -200, Hi: 200}, 3, 17), "dim", -1),
		NewSample("self", Tensor(ir.Float32, Values{Special: true}, 8, 6), "dim", 1),
		NewSample("self", f32(), "dim", 0),
	)
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
	given := func(c *Call) (ir.DType, error) { return c.DType("dtype", c.Tensor("self").DType), nil }
	soft := func(r *softmaxRow) *expr.Expr { return expr.Div(r.exp(), r.sum) }
	log := func(r *softmaxRow) *expr.Expr { return expr.Sub(expr.Sub(r.x, r.max), fn("log")(r.sum)) }
	safe := func(r *softmaxRow) *expr.Expr { // rows without anything to choose from are 0
		return expr.Select(expr.Eq(r.max, like(r.max, -inf)), like(r.max, 0), soft(r))
	}
	ops := []Op{
		rowwise("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half, soft),
		rowwise("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", half, log),
		rowwise("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", given, safe),
		rowwise("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", given, soft),
		rowwise("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", given, log),
		rowwise("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", given, soft),
		rowwise("aten::special_log_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", given, log),
	}
	for i, name := range []string{"_softmax", "_log_softmax"} {
		samples := ops[i].Samples
		ops[i].Samples = func(r *Rand) []Sample {
			out := samples(r)
			for j := range out {
				out[j].Args = append(out[j].Args, ir.NamedArg{Name: "half_to_float", Value: ir.BoolArg(false)})
			}
			return out
		}
		_ = name
	}
	for i, op := range []string{"aten._softmax.default", "aten._log_softmax.default"} {
		ops[3+i].Decompose = func(b *Builder, c *Call) ([]*ir.Value, error) {
			x := c.Value("self")
			if d := c.Outs[0].DType; d != x.Type.DType {
				x = b.Op("aten._to_copy.default", x, Kw("dtype", d))
			}
			return []*ir.Value{b.Op(op, x, c.Arg("dim"), false)}, nil
		}
		ops[3+i].Compute = nil
	}
	return ops
}
