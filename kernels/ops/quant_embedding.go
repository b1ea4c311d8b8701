package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

const quantEmbeddingArgs = "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices"

// quantEmbedding looks up rows of a table of integers of the given number of
// bits and dequantizes them, with a scale per row or per group of columns. A
// byte holds several narrow columns: 4-bit ones from its upper half on, 2-bit
// ones from its lowest bits on, both less half their range.
func quantEmbedding(schema string, bits int64) Op {
	columns := func(w ir.Type) sym.Expr { return sym.Mul(w.Sizes[1], sym.Int(8/bits)) }
	infer := func(c *Call) (ir.Type, error) {
		w, s := c.Tensor("weight"), c.Tensor("weight_scales")
		idx := must(c.indexTensor("indices"))
		switch {
		case w.DType != ir.Uint8 && (bits < 8 || w.DType != ir.Int8):
			return w, c.Errorf("a weight of %s", w.DType)
		case !s.DType.IsFloat():
			return w, c.Errorf("scales of %s", s.DType)
		case w.Rank() != 2 || s.Rank() < 1 || s.Rank() > 2 || differ(s.Sizes[0], w.Sizes[0]):
			return w, c.Errorf("weight and scales of %s", describeSizes([]ir.Type{w, s}))
		}
		if s.Rank() == 2 {
			c.need(columns(w))
			if n, ok := s.Sizes[1].Const(); !ok || n < 1 ||
				differ(sym.Mod(columns(w), s.Sizes[1]), sym.Int(0)) {
				return w, c.Errorf("%s groups of %s columns", s.Sizes[1], columns(w))
			}
		}
		if k := c.Operand("weight_zero_points"); k >= 0 &&
			!slices.EqualFunc(c.operands[k].Type.Sizes, s.Sizes, sym.Expr.Equal) {
			return w, c.Errorf("%s of scales and zero points differ",
				describeSizes([]ir.Type{s, c.operands[k].Type}))
		}
		check(c.indexes(idx, w.Sizes[0]))
		d := s.DType
		if c.Op.sch.Index("dtype") >= 0 {
			d = c.DType("dtype", d)
		}
		if !d.IsFloat() {
			return w, c.Errorf("the result would be %s, not a float", d)
		}
		return ir.TensorOf(d, append(slices.Clone(idx.Sizes), columns(w))...), nil
	}
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(infer(c)) },
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out, w, s := c.Outs[0], c.Tensor("weight"), c.Tensor("weight_scales")
			vars, at := indexVars(out.Sizes)
			last := len(at) - 1
			row := c.boundIndex("row", c.Load("indices", at[:last]...), w.Sizes[0], false).Expr()
			q := packedColumn(c, row, at[last], bits)
			param := []sym.Expr{row}
			if s.Rank() == 2 {
				param = append(param, sym.FloorDiv(at[last], sym.FloorDiv(columns(w), s.Sizes[1])))
			}
			x := expr.Cast(ir.Float32, q)
			if c.Has("weight_zero_points") {
				x = expr.Sub(x, expr.Cast(ir.Float32, c.Load("weight_zero_points", param...)))
			}
			x = expr.Mul(x, expr.Cast(ir.Float32, c.Load("weight_scales", param...)))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, x)}}, nil
		},
	}
}

// packedColumn returns the integer at a row and column of the weight.
func packedColumn(c *Call, row, column sym.Expr, bits int64) *expr.Expr {
	if bits == 8 {
		return c.Load("weight", row, column)
	}
	per := sym.Int(8 / bits)
	b := expr.Cast(ir.Int32, c.Load("weight", row, sym.FloorDiv(column, per)))
	place := sym.Mod(column, per)
	if bits == 4 {
		place = sym.Sub(sym.Int(1), place)
	}
	b = expr.Shr(b, expr.Idx(ir.Int32, sym.Mul(place, sym.Int(bits))))
	b = expr.And(b, expr.Int(ir.Int32, 1<<bits-1))
	return expr.Sub(b, expr.Int(ir.Int32, 1<<(bits-1)))
}
