package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// The names of the normalisations of integers.
const (
	IntegerNorm = "etgen.integer_norm.default"
	FixedNorm   = "etgen.fixed_norm.default"
)

// integerNorms are layer_norm and rms_norm of integers of a quantized network: sums are exact.
// With x the integers and n of them in a row, a row's element and its sum of squares are
//
//	n·x - Σx, n·Σx² - (Σx)²    less their mean, which the zero point is no part of
//	x - zero, Σ(x - zero)²     else
//
// The first over the root of the second is the normalised element, but for a factor of √n without
// a mean.
func integerNorms() []entry {
	const head = "(Tensor input, SymInt[] normalized_shape, "
	return []entry{
		{
			// The element times weight, plus bias, in float32; added is what the sum of squares is
			// more.
			Schema: "etgen::integer_norm" + head +
				"Tensor weight, Tensor? bias, int input_zero_point, bool mean, float added) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.normOf(ir.Float32)
				added := must(c.Float("added"))
				c.errorIf(!(float32(added) > 0), "%g added", added)
				return one(ir.TensorOf(ir.Float32, c.Tensor("input").Sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				r := c.normOf(ir.Float32)
				x, squares := r.row(at)
				y := expr.Mul(expr.Cast(ir.Float32, x),
					inverseStd(expr.Cast(ir.Float32, squares), must(c.Float("added"))))
				w, b := r.param("weight", at), r.param("bias", at)
				if b == nil {
					return expr.Mul(y, w)
				}
				return expr.FMA(y, w, b)
			}),
		},
		{
			// The same in fixed point: the sum of squares is shifted by variance_shift before added
			// is, the element by input_shift. What comes of both has output_fraction fractional
			// bits once it is shifted by output_shift.
			Schema: "etgen::fixed_norm" + head +
				"Tensor multipliers, Tensor biases, int input_zero_point, bool mean, int added, " +
				"int variance_shift, int input_shift, int output_shift, int output_fraction, " +
				"int activation_min, int activation_max) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.int8Input("input", 0)
				c.normOf(ir.Int32)
				for _, name := range []string{"variance_shift", "input_shift", "output_fraction"} {
					n := must(c.Int(name))
					c.errorIf(n < 0 || n > 30, "%s is %d", name, n)
				}
				added := must(c.Int("added"))
				c.errorIf(added < 0 || added >= 1<<61, "%d added", added)
				c.int32Args("output_shift", "activation_min", "activation_max")
				return one(ir.TensorOf(ir.Int8, c.Tensor("input").Sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				r := c.normOf(ir.Int32)
				n := c.int32Args("input_shift", "output_shift", "output_fraction", "activation_min",
					"activation_max")
				x, squares := r.row(at)
				wide := func(n int64) *expr.Expr { return expr.Int(ir.Int64, n) }
				v := expr.Add(expr.Shl(expr.Cast(ir.Int64, squares), wide(must(c.Int("variance_shift")))),
					wide(must(c.Int("added"))))
				if must(c.Int("added")) < 1 {
					v = expr.Max(v, wide(1))
				}
				root, half := fixed.InverseRoot(v)
				y, by := fixed.HighMul(expr.Shl(x, n[0]), root), expr.Add(half, n[1])
				if n[1].Int < -31 || n[1].Int > 0 { // half is from 0 to 30
					by = between(by, expr.Int(ir.Int32, -31), expr.Int(ir.Int32, 30))
				}
				y = fixed.Requantize(y, r.param("multipliers", at), by)
				y = fixed.RoundShift(expr.Add(y, r.param("biases", at)), n[2])
				return finish(y, expr.Int(ir.Int32, 0), n[3], n[4])
			}),
		},
	}
}

// normRow is a call of such an operator.
type normRow struct {
	c    *Call
	lead int // dimensions in front of a row
	n    int64
	// The dtypes of the sum of squares, and of the variance that is made of it.
	squares, sum ir.DType
}

// MostRow bounds the elements of a row of d that is normalised: int32 holds their sum, and one
// times their number.
func MostRow(d ir.DType) int64 { return 1 << (30 - 8*d.Size()) }

// normOf checks a call whose parameters are of some dtype.
func (c *Call) normOf(params ir.DType) *normRow {
	t := c.Tensor("input")
	c.errorIf(!quantizedType(t.DType), "not defined on %s", t.DType)
	r := &normRow{c: c, lead: c.leading(t), squares: ir.Int64, sum: ir.Int64}
	n, ok := sym.Mul(t.Sizes[r.lead:]...).Const()
	c.errorIf(!ok || n < 1 || n > MostRow(t.DType), "rows of %s elements",
		sym.Mul(t.Sizes[r.lead:]...))
	r.n = n
	lo, hi := expr.IntRange(t.DType)
	zero := c.zeroPoint("input")
	c.errorIf(c.Bool("mean") && zero != 0, "a zero point of %d beside a mean", zero)
	far := max(hi-zero, zero-lo)
	if most := n * far * far; most <= 1<<30 {
		if r.squares = ir.Int32; !c.Bool("mean") || most <= 1<<30/n {
			r.sum = ir.Int32
		}
	}
	for _, name := range []string{"weight", "bias", "multipliers", "biases"} {
		if c.Op.sch.Index(name) < 0 || !c.Has(name) {
			continue
		}
		p := c.Tensor(name)
		sizes, ok := Broadcast(p, t)
		c.errorIf(p.DType != params || !ok || !sameSizes(sizes, t.Sizes), "%s is %s of %s", name,
			p.DType, sizesOf{p})
	}
	return r
}

// row is what the element at is made of, as int32, and the sum of squares.
func (r *normRow) row(at []sym.Expr) (x, squares *expr.Expr) {
	zero := expr.Int(ir.Int32, -r.c.zeroPoint("input"))
	x = offset(r.c.Load("input", at...), zero)
	v, over := r.c.overTrailing(ir.Int32, at[:r.lead])
	v = expr.Cast(r.squares, expr.Add(v, zero))
	squares = expr.Cast(r.sum, expr.Sum(over, expr.Mul(v, v)))
	if r.c.Bool("mean") {
		s, over := r.c.overTrailing(ir.Int32, at[:r.lead])
		s = expr.Sum(over, s)
		x = expr.Sub(expr.Mul(x, expr.Int(ir.Int32, r.n)), s)
		s = expr.Cast(r.sum, s)
		squares = expr.Sub(expr.Mul(squares, expr.Int(r.sum, r.n)), expr.Mul(s, s))
	}
	return x, squares
}

// param is a parameter's element for the element at, nil if there is none.
func (r *normRow) param(name string, at []sym.Expr) *expr.Expr {
	if !r.c.Has(name) {
		return nil
	}
	return r.c.Load(name, broadcastCoords(r.c.Tensor(name), r.c.Tensor("input").Sizes, at)...)
}
