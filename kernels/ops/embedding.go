package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// embeddingBagOps sum, average or take the maximum of the rows in each bag.
// What they give beside serves the gradient.
func embeddingBagOps() []entry {
	const head = "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, " +
		"int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False"
	const results = ") -> (Tensor, Tensor, Tensor, Tensor)"
	return []entry{
		embeddingBag("aten::embedding_bag" + head + results),
		embeddingBag(
			"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, " +
				"bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, " +
				"bool include_last_offset, int? padding_idx" + results),
		embeddingBag("aten::_embedding_bag" + head + ", int padding_idx=-1" + results),
		embeddingBag("aten::_embedding_bag_forward_only" + head + ", int padding_idx=-1" + results),
	}
}

// The modes of embeddingBag.
const (
	bagSum = iota
	bagMean
	bagMax
)

// embeddingBag: offsets, which do not decrease, are where bags begin in
// indices; the last may be where the last bag ends. Its second result is the
// bag of each index, the third how many rows each bag has that are no padding,
// the fourth where in indices the maxima are.
//
//go:noinline
func embeddingBag(schema string) entry {
	return entry{Schema: schema, Decompose: func(b *Builder, c *Call) []*ir.Value {
		w, rows, from := c.Value("weight"), c.Value("indices"), c.Value("offsets")
		c.errorIf(w.Type.Rank() != 2 || rows.Type.Rank() != 1 || from.Type.Rank() != 1,
			"bags of %s", sizesOf([]ir.Type{w.Type, rows.Type, from.Type}))
		mode := must(c.Int("mode"))
		n, bags := rows.Type.Sizes[0], from.Type.Sizes[0]
		if c.Bool("include_last_offset") {
			bags = sym.Sub(bags, sym.Int(1))
			from = b.aten("slice.Tensor", from, 0, 0, bags)
		}
		d, dim := w.Type.DType, w.Type.Sizes[1]
		index := from.Type.DType
		// The bag of a place is the last that begins no later; the first begins at 0.
		places := b.aten("arange", n, Kw("dtype", index))
		begun := b.aten("le.Tensor", b.aten("unsqueeze", b.aten("slice.Tensor",
			from, 0, 1), 1), places)
		bag := b.aten("sum.dim_IntList", begun, []int{0})
		counts := b.aten("ones_like", bag)
		var padding *ir.Value
		pad, padded := c.paddingRow(w.Type)
		if padded {
			padding = b.aten("eq.Scalar", rows, pad)
			counts = b.where(padding, 0, counts, ir.Int64)
		}
		size := b.aten("index_add", b.aten("zeros", []sym.Expr{bags},
			Kw("dtype", ir.Int64)), 0, bag, counts)
		x := b.aten("index_select", w, 0, rows)
		last := b.cast(size, index)
		var y *ir.Value
		switch mode {
		case bagSum, bagMean:
			if c.Has("per_sample_weights") {
				x = b.mul(x, b.aten("unsqueeze", c.Value("per_sample_weights"), 1))
			}
			if padding != nil {
				x = b.where(b.aten("unsqueeze", padding, 1), 0, x, d)
			}
			y = b.aten("index_add", b.aten("zeros", []sym.Expr{bags, dim},
				Kw("dtype", d)), 0, bag, x)
			if mode == bagMean {
				y = b.div(y, b.cast(b.aten("unsqueeze", b.aten("clamp_min", size, 1), 1), d))
			}
		case bagMax:
			in := b.aten("eq.Tensor", b.aten("unsqueeze", b.aten("arange", bags), 1), bag)
			if padding != nil {
				in = b.aten("logical_and", in, b.aten("logical_not", padding))
			}
			each := b.where(b.aten("unsqueeze", in, 2), b.aten("unsqueeze", x, 0), -inf, d)
			most := b.Ops("aten.max.dim", each, 1)
			empty := b.aten("unsqueeze", b.aten("eq.Scalar", size, 0), 1)
			y = b.where(empty, 0, most[0], d)
			last = b.cast(b.where(empty, -1, b.aten("take", rows, most[1]), ir.Int64), index)
		default:
			panic(c.Errorf("mode %d", mode))
		}
		of := b.cast(bag, index)
		// PyTorch's fast path returns it empty. It takes neighbours in memory.
		fast := mode == bagSum && !padded && (d == ir.Float32 || d == ir.Float16) &&
			w.Type.Strides[1].Is(1)
		if fast && c.Has("per_sample_weights") {
			fast = c.Tensor("per_sample_weights").Strides[0].Is(1)
		}
		if fast {
			of = b.aten("zeros", []int{0}, Kw("dtype", index))
		}
		// Without gradients torch.export says that the sizes are as many as offsets.
		if v := c.node.Output(2); v != nil && v.Type.Rank() == 1 &&
			v.Type.Sizes[0].Equal(sym.Add(bags, sym.Int(1))) {
			size = b.aten("constant_pad_nd", size, []int{0, 1})
		}
		return []*ir.Value{y, of, b.cast(size, index), last}
	}}
}

// paddingRow is the row of the table that counts nothing, if there is one.
func (c *Call) paddingRow(table ir.Type) (row sym.Expr, ok bool) {
	if c.Op.sch.Index("padding_idx") < 0 || !c.Has("padding_idx") {
		return row, false
	}
	n := must(c.Int("padding_idx"))
	if n >= 0 {
		return sym.Int(n), true
	}
	// The operator of modules counts from the end, the one it becomes has -1 for none.
	return sym.Add(table.Sizes[0], sym.Int(n)), c.Op.sch.Name == "aten.embedding_bag.padding_idx"
}

const quantEmbeddingArgs = "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, " +
	"int weight_quant_min, int weight_quant_max, Tensor indices"

// quantEmbedding looks up rows of a table of integers of the given number of
// bits and dequantizes them, with a scale per row or per group of columns. A
// byte holds several narrow columns: 4-bit ones from its upper half on, 2-bit
// ones from its lowest bits on, both less half their range.
func quantEmbedding(schema string, bits int64) entry {
	columns := func(w ir.Type) sym.Expr { return sym.Mul(w.Sizes[1], sym.Int(8/bits)) }
	infer := func(c *Call) ir.Type {
		w, s := c.Tensor("weight"), c.Tensor("weight_scales")
		idx := c.indexTensor("indices")
		switch {
		case w.DType != ir.Uint8 && (bits < 8 || w.DType != ir.Int8):
			panic(c.Errorf("a weight of %s", w.DType))
		case !s.DType.IsFloat():
			panic(c.Errorf("scales of %s", s.DType))
		case w.Rank() != 2 || s.Rank() < 1 || s.Rank() > 2 || differ(s.Sizes[0], w.Sizes[0]):
			panic(c.Errorf("weight and scales of %s", sizesOf{w, s}))
		}
		if s.Rank() == 2 {
			c.need(columns(w))
			if n, ok := s.Sizes[1].Const(); !ok || n < 1 ||
				differ(sym.Mod(columns(w), s.Sizes[1]), sym.Int(0)) {
				panic(c.Errorf("%s groups of %s columns", s.Sizes[1], columns(w)))
			}
		}
		if k := c.Operand("weight_zero_points"); k >= 0 &&
			!sym.AllEqual(c.operands[k].Type.Sizes, s.Sizes) {
			panic(c.Errorf("%s of scales and zero points differ", sizesOf{s, c.operands[k].Type}))
		}
		c.indexes(idx, w.Sizes[0])
		d := s.DType
		if c.Op.sch.Index("dtype") >= 0 {
			d = c.DType("dtype", d)
		}
		c.errorIf(!d.IsFloat(), "the result would be %s, not a float", d)
		return ir.TensorOf(d, append(slices.Clone(idx.Sizes), columns(w))...)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(infer(c)) },
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			w, s := c.Tensor("weight"), c.Tensor("weight_scales")
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
			return x
		}),
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
