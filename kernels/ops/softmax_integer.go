package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// The names of softmax of integers.
const (
	IntegerSoftmax      = "etgen.integer_softmax.default"
	FixedSoftmax        = "etgen.fixed_softmax.default"
	IntegerExponentials = "etgen.integer_exponentials.default"
	IntegerAverage      = "etgen.integer_average.default"
)

// integerSoftmaxes are softmax of int8 along one dimension, and the parts of one for attention. How
// much less than the largest of its row an element is, is an index into a table of exponentials,
// the sum of which is exact.
func integerSoftmaxes() []entry {
	const head = "softmax(Tensor input, Tensor exps, int dim, "
	return []entry{
		{
			// The share of an element's exponential in the sum, times scale, in float32.
			Schema: "etgen::integer_" + head + "float scale) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				scale := float32(must(c.Float("scale")))
				c.errorIf(!(scale > 0) || scale > maxScale, "a scale of %g", scale)
				return one(ir.TensorOf(ir.Float32, c.softmaxInput().Sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				e, sum := c.exponentials(at)
				return expr.Mul(expr.Cast(ir.Float32, e), expr.Div(
					expr.Float(ir.Float32, must(c.Float("scale"))), expr.Cast(ir.Float32, sum)))
			}),
		},
		{
			// The share has 30 fractional bits, and is rescaled as by fixed_rescale.
			Schema: "etgen::fixed_" + head +
				"int multiplier, int added, int up, int shift, int ties, int quant_min, int quant_max, " +
				"ScalarType dtype) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.softmaxInput()
				c.fixedScale()
				c.int32Args("multiplier", "added")
				return one(c.rescaledType("input", ir.Int8))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				e, sum := c.exponentials(at)
				n := c.int32Args("multiplier", "added")
				zeros := fixed.LeadingZeros(sum)
				m := expr.Xor(expr.Shl(sum, zeros), expr.Int(ir.Int32, -1<<31))
				p := fixed.HighMul(expr.Shl(e, expr.Sub(zeros, expr.Int(ir.Int32, 1))),
					fn("inverse_fixed")(m))
				p = fixed.HighHalf(expr.Shl(p, c.shiftArg("up", 30)), n[0])
				return c.fixedScale().of(expr.Add(p, n[1]))
			}),
		},
		{
			// exp((x - largest)·scale)·2^24 as int32, of the last dimension, where mask says so,
			// else 0: what a softmax divides. Scores of int32 are at most 2^30.
			Schema: "etgen::integer_exponentials(Tensor scores, Tensor? mask, float scale) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t, scale := c.Tensor("scores"), must(c.Float("scale"))
				c.errorIf(t.Rank() == 0 || t.DType != ir.Int32 && t.DType != ir.Float32, "scores %s of %s",
					t.DType, sizesOf{t})
				c.errorIf(!(float32(scale) > 0) || float32(scale) > maxScale, "a scale of %g", scale)
				if c.Has("mask") {
					m := c.Tensor("mask")
					c.errorIf(m.DType != ir.Bool || !broadcastsTo(m, t.Sizes), "a mask of %s and %s", m.DType,
						sizesOf{m})
				}
				return one(ir.TensorOf(ir.Int32, t.Sizes...))
			},
			Compute: element(exponential),
		},
		{
			// The average of rows of values less their zero point, which have weights of int32: the
			// quotient of two sums in int64, in float32.
			Schema: "etgen::integer_average(Tensor weights, Tensor mat2, int mat2_zero_point) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				w, v := c.Tensor("weights"), c.Tensor("mat2")
				n := w.Rank()
				c.errorIf(w.DType != ir.Int32 || !quantizedType(v.DType), "%s of %s", v.DType, w.DType)
				c.errorIf(n < 2 || v.Rank() != n || differ(w.Sizes[n-1], v.Sizes[n-2]) ||
					!sameSizes(w.Sizes[:n-2], v.Sizes[:n-2]), "%s do not multiply", sizesOf{w, v})
				c.zeroPoint("mat2")
				return one(ir.TensorOf(ir.Float32, append(slices.Clone(w.Sizes[:n-1]), v.Sizes[n-1])...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				n := len(at) - 1
				sum := func(name string, of func(k sym.Expr, w *expr.Expr) *expr.Expr) *expr.Expr {
					k := sym.NewVar(name, c.Tensor("weights").Sizes[n])
					w := c.Load("weights", append(slices.Clone(at[:n]), k.Expr())...)
					return expr.Sum([]*sym.Symbol{k}, of(k.Expr(), expr.Cast(ir.Int64, w)))
				}
				all := sum("r", func(_ sym.Expr, w *expr.Expr) *expr.Expr { return w })
				some := sum("k", func(k sym.Expr, w *expr.Expr) *expr.Expr {
					v := c.lessZero("mat2", append(slices.Clone(at[:n-1]), k, at[n]))
					return expr.Mul(w, expr.Cast(ir.Int64, v))
				})
				return expr.Div(expr.Cast(ir.Float32, some),
					expr.Cast(ir.Float32, expr.Max(all, expr.Int(ir.Int64, 1))))
			}),
		},
	}
}

// MostExponential is the largest result of integer_exponentials: float32 holds the integers up to
// it.
const MostExponential = 1 << 24

// exponential is the element at of integer_exponentials.
func exponential(c *Call, at []sym.Expr) *expr.Expr {
	t := c.Tensor("scores")
	least := expr.Num(t.DType, -inf)
	if t.DType == ir.Int32 {
		least = expr.Int(ir.Int32, -1<<30)
	}
	kept := func(at []sym.Expr, x, none *expr.Expr) *expr.Expr {
		if !c.Has("mask") {
			return x
		}
		return expr.Select(c.Load("mask", broadcastCoords(c.Tensor("mask"), t.Sizes, at)...), x, none)
	}
	last := len(at) - 1
	r := sym.NewVar("r", t.Sizes[last])
	row := append(slices.Clone(at[:last]), r.Expr())
	most := expr.MaxOf([]*sym.Symbol{r}, kept(row, c.Load("scores", row...), least))
	if t.DType == ir.Float32 { // a row of which nothing counts
		most = expr.Select(expr.Eq(most, least), expr.Num(ir.Float32, 0), most)
	}
	less := expr.Cast(ir.Float32, expr.Sub(c.Load("scores", at...), most))
	e := fn("exp")(expr.Mul(less, expr.Float(ir.Float32, must(c.Float("scale")))))
	one, zero := expr.Num(ir.Float32, MostExponential), expr.Num(ir.Float32, 0)
	return kept(at, between(expr.Round(expr.Mul(e, one)), zero, one), zero)
}

// maxScale is a float32 that a sum of exponentials may be divided into.
const maxScale = 1e30

// softmaxInput is the type of the input of such a call.
func (c *Call) softmaxInput() ir.Type {
	t, exps := c.int8Input("input", 0), c.Tensor("exps")
	c.dim("dim", t.Rank())
	c.errorIf(t.Rank() == 0, "an input without dimensions")
	c.errorIf(exps.DType != ir.Int32 || exps.Rank() != 1 || !exps.Sizes[0].Is(256), "a table of %s",
		sizesOf{exps})
	return t
}

// exponentials are that of the element at and the sum of its row, at least 1 and below 2^31.
func (c *Call) exponentials(at []sym.Expr) (e, sum *expr.Expr) {
	t := c.Tensor("input")
	d := c.dim("dim", t.Rank())
	load := func(at []sym.Expr) *expr.Expr { return expr.Cast(ir.Int32, c.Load("input", at...)) }
	along := func(name string) ([]*sym.Symbol, *expr.Expr) {
		v := sym.NewVar(name, t.Sizes[d])
		in := append([]sym.Expr(nil), at...)
		in[d] = v.Expr()
		return []*sym.Symbol{v}, load(in)
	}
	over, x := along("r")
	most := expr.MaxOf(over, x)
	exp := func(name string, x *expr.Expr) *expr.Expr {
		return c.Load("exps", expr.Bind(name, expr.Sub(most, x), sym.Int(256)).Expr())
	}
	over, x = along("s")
	return exp("at", load(at)), expr.Max(expr.Sum(over, exp("less", x)), expr.Int(ir.Int32, 1))
}
