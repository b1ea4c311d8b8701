package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// sumBits is how far exponentials of 31 fractional bits are shifted down, for
// their sum to fit.
const sumBits = 12

// cortexMSoftmax is softmax along the last dimension in fixed point. The result
// has a scale of 1/256 and a zero point of -128.
func cortexMSoftmax() Op {
	return Op{
		Schema: cm + "softmax(Tensor input, int dim, int input_zero_point, int output_zero_point, int input_multiplier, int input_shift, int diff_min) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.int8Input("input", 0))
			d := must(c.dim("dim", t.Rank()))
			zero, err := c.Int("output_zero_point")
			switch {
			case err != nil:
			case t.Rank() == 0 || d != t.Rank()-1:
				err = c.Errorf("along dimension %d of %d; it is defined along the last one",
					d, t.Rank())
			case zero != -128:
				err = c.Errorf("a zero point of %d for the result; it is -128", zero)
			}
			return []ir.Type{likeType(t, t.DType)}, err
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			n := must(c.int32Args("input_multiplier", "input_shift", "diff_min"))
			if n[1].Int < 0 || n[1].Int > 30 {
				return nil, c.Errorf("a shift of %d; it lies in [0, 30]", n[1].Int)
			}
			vars, at := indexVars(c.Outs[0].Sizes)
			row := newFixedRow(c, at, n[0], n[1], n[2])
			return []expr.Tensor{{DType: ir.Int8, Vars: vars, Body: expr.Cast(ir.Int8,
				row.probability(at))}}, nil
		},
	}
}

// fixedRow is the row of the input that an element of the result belongs to.
type fixedRow struct {
	c                           *Call
	multiplier, shift, diffMin  *expr.Expr
	max, inverse, headroom, low *expr.Expr
}

func newFixedRow(c *Call, at []sym.Expr, multiplier, shift, diffMin *expr.Expr) *fixedRow {
	row := &fixedRow{c: c, multiplier: multiplier, shift: shift, diffMin: diffMin,
		low: expr.Int(ir.Int32, -128)}
	along := func(name string) ([]*sym.Symbol, []sym.Expr) {
		last := len(at) - 1
		s := sym.NewVar(name, c.Tensor("input").Sizes[last])
		in := append([]sym.Expr(nil), at...)
		in[last] = s.Expr()
		return []*sym.Symbol{s}, in
	}
	over, in := along("r")
	row.max = expr.MaxOf(over, expr.Cast(ir.Int32, c.Load("input", in...)))
	over, in = along("s")
	diff := row.diff(in)
	part := fixed.RoundShift(row.exp(diff), expr.Int(ir.Int32, sumBits))
	sum := expr.Sum(over, expr.Select(expr.Ge(diff, diffMin), part, expr.Int(ir.Int32, 0)))
	// The sum is m·2^(sumBits-headroom) with m in [1, 2): of m the leading one
	// goes, which leaves 31 fractional bits.
	row.headroom = fixed.LeadingZeros(sum)
	m := expr.Xor(expr.Shl(sum, row.headroom), expr.Int(ir.Int32, -1<<31))
	row.inverse = fn("inverse_fixed")(m)
	return row
}

// diff returns the element at minus the largest of the row.
func (r *fixedRow) diff(at []sym.Expr) *expr.Expr {
	return expr.Sub(expr.Cast(ir.Int32, r.c.Load("input", at...)), r.max)
}

// exp returns the exponential of diff in the scale of the input.
func (r *fixedRow) exp(diff *expr.Expr) *expr.Expr {
	return fn("exp_fixed")(fixed.HighMul(expr.Shl(diff, r.shift), r.multiplier))
}

// probability returns the element at of the result.
func (r *fixedRow) probability(at []sym.Expr) *expr.Expr {
	diff := r.diff(at)
	// More than 31 would take a row of over 511 elements that are nearly equal;
	// CMSIS-NN's shift is undefined then.
	by := expr.Min(expr.Sub(expr.Int(ir.Int32, sumBits+23), r.headroom), expr.Int(ir.Int32, 31))
	p := fixed.RoundShift(fixed.HighMul(r.inverse, r.exp(diff)), by)
	lo, hi := int8Limits(ir.Int32)
	return expr.Select(expr.Ge(diff, r.diffMin), between(expr.Add(p, r.low), lo, hi), r.low)
}
