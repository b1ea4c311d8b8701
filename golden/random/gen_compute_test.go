package random

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// reduce emits a reduction.
func (g *generator) reduce() error {
	v := g.any(isTensor)
	if v == nil {
		return errNoFit
	}
	rank := v.Type.Rank()
	if rank == 0 || g.chance(6) {
		ops := []string{"aten.sum.default", "aten.amax.default", "aten.any.default",
			"aten.all.default"}
		if isFloat(v) {
			ops = append(ops, "aten.mean.default", "aten.mean.default")
		}
		return g.call(pick(g.r, ops...), v)
	}
	keep := g.chance(2)
	d := g.r.IntN(rank)
	dims := g.r.Perm(rank)[:1+g.r.IntN(rank)]
	empty := slices.ContainsFunc(v.Type.Sizes, func(s sym.Expr) bool { return s.IsZero() })
	if empty && g.chance(4) {
		return g.call("aten.sum.dim_IntList", v, dims, keep)
	}
	switch g.r.IntN(9) {
	case 0, 1:
		return g.call("aten.sum.dim_IntList", v, dims, keep)
	case 2:
		if isFloat(v) {
			return g.call("aten.mean.dim", v, dims, keep)
		}
		return g.call("aten.any.dim", v, d, keep)
	case 3:
		return g.call(pick(g.r, "aten.amax.default", "aten.amin.default"), v, dims, keep)
	case 4:
		return g.call(pick(g.r, "aten.argmax.default", "aten.argmin.default"), v, d, keep)
	case 5:
		return g.call(pick(g.r, "aten.max.dim", "aten.min.dim"), v, d, keep)
	case 6:
		if isFloat(v) {
			return g.call("aten.var.correction", v, dims, ops.Kw("correction", g.r.IntN(2)),
				ops.Kw("keepdim", keep))
		}
		return g.call("aten.all.dim", v, d, keep)
	case 7:
		return g.call("aten.cumsum.default", v, d)
	}
	if isFloat(v) {
		return g.call("aten.logsumexp.default", v, dims, keep)
	}
	return g.call("aten.prod.dim_int", v, d, keep)
}

// normalise emits a normalisation.
func (g *generator) normalise() error {
	v := g.any(func(v *ir.Value) bool { return isFloat(v) && v.Type.Rank() > 0 })
	if v == nil {
		return errNoFit
	}
	rank := v.Type.Rank()
	switch g.r.IntN(4) {
	case 0:
		return g.call("aten.softmax.int", v, g.r.IntN(rank))
	case 1:
		return g.call(pick(g.r, "aten._softmax.default", "aten._log_softmax.default"), v,
			g.r.IntN(rank), false)
	case 2:
		if rank < 2 || dim(v, 1) <= 0 {
			return errNoFit
		}
		c := v.Type.Sizes[1]
		w := func() *ir.Value { return g.weight(v.Type.DType, c) }
		variance, err := g.b.Call("aten.abs.default", w())
		if err != nil {
			return err
		}
		vs, err := g.b.Call("aten._native_batch_norm_legit_no_training.default", v, w(), w(), w(),
			variance[0], 0.1, 0.5)
		if err == nil {
			g.keep(vs[0])
		}
		return err
	}
	tail := v.Type.Sizes[rank-1-g.r.IntN(rank):]
	for _, s := range tail {
		if n, ok := s.Const(); !ok || n == 0 {
			return errNoFit
		}
	}
	var w, b any
	if g.chance(2) {
		w, b = g.weight(v.Type.DType, tail...), g.weight(v.Type.DType, tail...)
	}
	if g.chance(2) {
		return g.call("aten.layer_norm.default", v, tail, w, b, 0.5)
	}
	return g.call("aten.native_layer_norm.default", v, tail, w, b, 0.5)
}

// product emits a matrix product.
func (g *generator) product() error {
	v := g.any(func(v *ir.Value) bool { return isFloat(v) && v.Type.Rank() > 0 })
	if v == nil {
		return errNoFit
	}
	rank, d := v.Type.Rank(), v.Type.DType
	last := v.Type.Sizes[rank-1]
	n := sym.Int(1 + g.r.Int64N(9))
	switch g.r.IntN(5) {
	case 0, 1:
		var b any
		if g.chance(2) {
			b = g.weight(d, n)
		}
		return g.call("aten.linear.default", v, g.weight(d, n, last), b)
	case 2:
		w := g.any(func(w *ir.Value) bool {
			r := w.Type.Rank()
			return w.Type.DType == d && r > 0 && w.Type.Sizes[max(r-2, 0)].Equal(last) &&
				(r <= 2 || rank <= 2 || broadcasts(w.Type.Sizes[:r-2], v.Type.Sizes[:rank-2]))
		})
		if w == nil {
			w = g.weight(d, last, n)
		}
		return g.call("aten.matmul.default", v, w)
	case 3:
		if rank != 2 {
			return errNoFit
		}
		return g.call("aten.addmm.default", g.weight(d, n), v, g.weight(d, last, n),
			ops.Kw("beta", pick(g.r, 1.0, 0.5)))
	}
	switch rank {
	case 2:
		return g.call("aten.mm.default", v, g.weight(d, last, n))
	case 3:
		return g.call("aten.bmm.default", v, g.weight(d, v.Type.Sizes[0], last, n))
	}
	return g.call("aten.matmul.default", v, g.weight(d, last))
}

// spatial emits a convolution or pooling.
func (g *generator) spatial() error {
	v := g.any(func(v *ir.Value) bool {
		return isFloat(v) && v.Type.Rank() == 4 && min(dim(v, 1), dim(v, 2)-1, dim(v, 3)-1) > 0
	})
	if v == nil || g.chance(4) {
		batch := sym.Int(1 + g.r.Int64N(2))
		if g.batch != nil {
			batch = g.batch.Expr()
		}
		d := g.main
		if !d.IsFloat() {
			d = ir.Float32
		}
		v = g.input(d, []sym.Expr{batch, sym.Int(1 + g.r.Int64N(6)), sym.Int(3 + g.r.Int64N(4)),
			sym.Int(3 + g.r.Int64N(4))})
	}
	d, c := v.Type.DType, dim(v, 1)
	pair := func(lo, n int) []int { return []int{lo + g.r.IntN(n), lo + g.r.IntN(n)} }
	switch g.r.IntN(4) {
	case 0, 1:
		groups := int64(1)
		if g.chance(3) {
			groups = pick(g.r, c, 1, 2)
			if c%groups != 0 {
				groups = c
			}
		}
		out := groups * (1 + g.r.Int64N(4))
		k := pair(1, 3)
		var b any
		if g.chance(2) {
			b = g.weight(d, sym.Int(out))
		}
		w := g.weight(d, sym.Int(out), sym.Int(c/groups), sym.Int(int64(k[0])),
			sym.Int(int64(k[1])))
		return g.call("aten.conv2d.default", v, w, b, pair(1, 2), pair(0, 2), pair(1, 2), groups)
	case 2:
		return g.call("aten.max_pool2d.default", v, []int{2, 2}, pair(1, 2), pair(0, 2))
	}
	if g.chance(3) {
		return g.call("aten.adaptive_avg_pool2d.default", v, pair(1, 3))
	}
	return g.call("aten.avg_pool2d.default", v, []int{2, 2}, pair(1, 2), pair(0, 2), g.chance(2),
		g.chance(2))
}

// selecting emits an operator with computed positions.
func (g *generator) selecting() error {
	v := g.any(func(v *ir.Value) bool { return v.Type.Rank() > 0 })
	if v == nil {
		return errNoFit
	}
	rank := v.Type.Rank()
	d := g.r.IntN(rank)
	n := dim(v, d)
	if n <= 0 {
		return errNoFit
	}
	k := g.size()
	switch g.r.IntN(9) {
	case 0:
		return g.call("aten.index_select.default", v, d, g.indices(n, k))
	case 1:
		sizes := slices.Clone(v.Type.Sizes)
		sizes[d] = k
		if !fits(sizes) {
			return errNoFit
		}
		return g.call("aten.gather.default", v, d, g.indices(n, sizes...))
	case 2, 3:
		list := make(ir.List, d+1)
		for i := range list {
			list[i] = ir.None{}
		}
		list[d] = ir.Ref{Value: g.indices(n, k)}
		if d > 0 && dim(v, 0) > 0 && g.chance(2) {
			list[0] = ir.Ref{Value: g.indices(dim(v, 0), pick(g.r, k, sym.Int(1)))}
		}
		return g.call("aten.index.Tensor", v, list)
	case 4:
		if rank != 2 || !isFloat(v) || dim(v, 0) <= 0 {
			return errNoFit
		}
		return g.call("aten.embedding.default", v, g.indices(dim(v, 0), g.shape()...))
	case 5:
		if isBool(v) {
			return errNoFit
		}
		vs, err := g.b.Call("aten.sort.default", v, d, g.chance(2))
		if err == nil {
			g.keep(vs...)
		}
		return err
	case 6:
		if isBool(v) {
			return errNoFit
		}
		return g.call("aten.topk.default", v, 1+g.r.Int64N(n), d)
	case 7:
		sizes := slices.Clone(v.Type.Sizes)
		idx := g.indices(n, sizes...)
		if isBool(v) {
			return errNoFit
		}
		return g.call("aten.scatter_add.default", v, d, idx, g.weight(v.Type.DType, sizes...))
	}
	if dim(v, 0) <= 0 || isBool(v) {
		return errNoFit
	}
	sizes := slices.Clone(v.Type.Sizes)
	sizes[0] = k
	return g.call("aten.index_put.default", v, ir.List{ir.Ref{Value: g.indices(dim(v, 0), k)}},
		g.weight(v.Type.DType, sizes...), true)
}
