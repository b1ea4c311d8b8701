package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// sortOps order elements along a dimension.
func sortOps() []Op {
	return []Op{
		sortOp("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)").cores(sortCore),
		sortOp("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)").cores(sortCore),
		argsortOp("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
		argsortOp("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"),
		{
			Schema: "aten::msort(Tensor self) -> Tensor",
			Infer: func(c *Call) ([]ir.Type, error) {
				return []ir.Type{likeType(c.Tensor("self"), c.Tensor("self").DType)}, nil
			},
			Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
				return b.Ops("aten.sort.default", c.Arg("self"), 0)[:1], nil
			},
		},
		{
			Schema:    "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
			Infer:     inferTopK,
			Decompose: decomposeTopK,
		},
		orderStatistic(
			"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"),
		orderStatistic(
			"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
		medianOp("aten::median(Tensor self) -> Tensor"),
	}
}

func sortOp(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			_, err := c.dim("dim", t.Rank())
			return []ir.Type{likeType(t, t.DType), likeType(t, ir.Int64)}, err
		},
		Loops: func(c *Call) (*loop.Func, error) {
			d := must(c.dim("dim", c.Tensor("self").Rank()))
			return mergeSort(c, d, c.Bool("descending")), nil
		},
	}
}

// argsortOp gives the indices of a sort, which is always stable.
func argsortOp(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			_, err := c.dim("dim", c.Tensor("self").Rank())
			return []ir.Type{likeType(c.Tensor("self"), ir.Int64)}, err
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			return b.Ops("aten.sort.default", c.Arg("self"), c.Arg("dim"), c.Arg("descending"))[1:],
				nil
		},
	}
}

// before reports whether a comes strictly before b; NaN counts as largest.
func before(a, b *expr.Expr, descending bool) *expr.Expr {
	if descending {
		a, b = b, a
	}
	lt := comparable(expr.Lt)(a, b)
	if !a.DType.IsFloat() {
		return lt
	}
	return expr.Or(lt, expr.And(expr.IsNaN(b), expr.Not(expr.IsNaN(a))))
}

// mergeSort sorts positions, bottom up and stable, then writes values and
// positions. Buffers: values, indices, self, two scratch lines of positions.
func mergeSort(c *Call, dim int, descending bool) *loop.Func {
	t := c.Tensor("self")
	l := newLines(t, dim)
	n, it := l.length, indexDType(l.length)
	const values, indices, self, from, to = 0, 1, 2, 3, 4
	f := &loop.Func{Name: "sort", Bufs: append(c.buffers(),
		loop.Buf{Name: "order", DType: it, Role: loop.Scratch, Len: n},
		loop.Buf{Name: "merged", DType: it, Role: loop.Scratch, Len: n})}

	num := func(k int64) *expr.Expr { return expr.Int(it, k) }
	end := expr.Idx(it, n)
	width, lo, mid, hi := newCounter("width", it), newCounter("lo", it), newCounter("mid", it),
		newCounter("hi", it)
	i, j, p := newCounter("i", it), newCounter("j", it), newCounter("p", it)
	right := &expr.Var{Name: "right", DType: ir.Bool}

	// take stores position k's entry of the order at p and steps k.
	take := func(k counter) []loop.Stmt {
		bindK, atK := index("at", k.get(), n)
		bindP, atP := index("into", p.get(), n)
		return []loop.Stmt{bindK, bindP, &loop.Store{Buf: to, At: atP, Value: expr.At(from, it,
			atK)}, k.add(1)}
	}
	bindI, atI := index("left_at", i.get(), n)
	bindJ, atJ := index("right_at", j.get(), n)
	bindL, left := index("left_pos", expr.At(from, it, atI), n)
	bindR, rightPos := index("right_pos", expr.At(from, it, atJ), n)
	merge := []loop.Stmt{
		// What is left over goes over without comparing.
		&loop.Let{Var: right, Value: expr.Lt(j.get(), hi.get()), Mutable: true},
		&loop.If{Cond: expr.And(expr.Lt(i.get(), mid.get()), expr.Lt(j.get(), hi.get())),
			Then: []loop.Stmt{
				bindI, bindJ, bindL, bindR,
				&loop.Assign{Var: right, Value: before(expr.At(self, t.DType, l.at(rightPos)),
					expr.At(self, t.DType, l.at(left)), descending)},
			}},
		&loop.If{Cond: expr.Get(right), Then: take(j), Else: take(i)},
		p.add(1),
	}
	pass := []loop.Stmt{
		lo.start(num(0)),
		&loop.While{Cond: expr.Lt(lo.get(), end), Body: []loop.Stmt{
			mid.fixed(expr.Min(expr.Add(lo.get(), width.get()), end)),
			hi.fixed(expr.Min(expr.Add(mid.get(), width.get()), end)),
			i.start(lo.get()), j.start(mid.get()), p.start(lo.get()),
			&loop.While{Cond: expr.Lt(p.get(), hi.get()), Body: merge},
			lo.set(hi.get()),
		}},
		&loop.For{Var: l.k, Extent: n, Body: []loop.Stmt{
			&loop.Store{Buf: from, At: l.k.Expr(), Value: expr.At(to, it, l.k.Expr())},
		}},
		width.set(expr.Add(width.get(), width.get())),
	}
	k0, k1 := sym.NewVar("k", n), sym.NewVar("k", n)
	bindPos, pos := index("pos", expr.At(from, it, k1.Expr()), n)
	f.Body = l.each(
		&loop.For{Var: k0, Extent: n, Body: []loop.Stmt{&loop.Store{Buf: from, At: k0.Expr(),
			Value: expr.Idx(it, k0.Expr())}}},
		width.start(num(1)),
		&loop.While{Cond: expr.Lt(width.get(), end), Body: pass},
		&loop.For{Var: k1, Extent: n, Body: []loop.Stmt{
			bindPos,
			&loop.Store{Buf: values, At: l.at(k1.Expr()), Value: expr.At(self, t.DType, l.at(pos))},
			&loop.Store{Buf: indices, At: l.at(k1.Expr()), Value: expr.Idx(ir.Int64, pos)},
		}},
	)
	return f
}

func inferTopK(c *Call) ([]ir.Type, error) {
	t := c.Tensor("self")
	d := must(c.dim("dim", t.Rank()))
	k := must(c.SymInt("k"))
	sizes := append([]sym.Expr(nil), t.Sizes...)
	if len(sizes) > 0 {
		if sym.Less(sizes[d], k) {
			return nil, c.Errorf("the %v largest of %v", k, sizes[d])
		}
		c.need(sym.Sub(sym.Add(sizes[d], sym.Int(1)), k))
		sizes[d] = k
	}
	return []ir.Type{ir.TensorOf(t.DType, sizes...), ir.TensorOf(ir.Int64, sizes...)}, nil
}

// decomposeTopK sorts and takes the first k.
func decomposeTopK(b *Builder, c *Call) ([]*ir.Value, error) {
	vs := b.Ops("aten.sort.default", c.Arg("self"), c.Arg("dim"), bool(c.Bool("largest")))
	if c.Tensor("self").Rank() == 0 {
		return vs, nil
	}
	for i, v := range vs {
		vs[i] = b.Op("aten.slice.Tensor", v, c.Arg("dim"), 0, c.Arg("k"))
	}
	return vs, nil
}

// orderStatistic is the k-th smallest element along a dimension and its place;
// without argument k it is the lower median, NaN if there is one.
func orderStatistic(schema string) Op {
	r := reducer{schema: schema, rule: exact, nonEmpty: true, more: []ir.DType{ir.Int64}}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			outs, err := r.infer(c)
			if err != nil || c.Op.sch.Index("k") < 0 {
				return outs, err
			}
			k := must(c.SymInt("k"))
			n := sym.Int(1)
			if t := c.Tensor("self"); t.Rank() > 0 {
				d := must(c.dim("dim", t.Rank()))
				n = t.Sizes[d]
			}
			if sym.Less(k, sym.Int(1)) || sym.Less(n, k) {
				return nil, c.Errorf("element %s of %s", k, n)
			}
			c.need(k)
			c.need(sym.Add(sym.Sub(n, k), sym.Int(1)))
			return outs, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			t := c.Tensor("self")
			d, err := c.dim("dim", t.Rank())
			if err != nil || t.Rank() == 0 {
				return b.Ops("aten.sort.default", c.Arg("self"), 0), err
			}
			median := c.Op.sch.Index("k") < 0
			vs := b.Ops("aten.sort.default", c.Arg("self"), d)
			var k any
			if median {
				k = sym.FloorDiv(sym.Sub(t.Sizes[d], sym.Int(1)), sym.Int(2))
			} else {
				e := must(c.SymInt("k"))
				k = sym.Sub(e, sym.Int(1))
			}
			pick := func(v *ir.Value, at any) *ir.Value { return b.Op("aten.select.int", v, d, at) }
			values, indices := pick(vs[0], k), pick(vs[1], k)
			if median && t.DType.IsFloat() { // NaN sorts last
				last := sym.Sub(t.Sizes[d], sym.Int(1))
				top := pick(vs[0], last)
				first := b.Ops("aten.max.dim", c.Arg("self"), d)[1]
				isNaN := b.Op("aten.isnan.default", top)
				values = b.Op("aten.where.self", isNaN, top, values)
				indices = b.Op("aten.where.self", isNaN, first, indices)
			}
			if c.Bool("keepdim") {
				values, indices = b.Op("aten.unsqueeze.default", values, d),
					b.Op("aten.unsqueeze.default", indices, d)
			}
			return []*ir.Value{values, indices}, nil
		},
	}
}

// medianOp is the lower median of all elements.
func medianOp(schema string) Op {
	r := reducer{schema: schema, rule: exact}
	return Op{
		Schema: schema,
		Infer:  r.infer,
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			flat := b.Op("aten.reshape.default", c.Arg("self"), []int64{-1})
			return b.Ops("aten.median.dim", flat, 0)[:1], nil
		},
	}
}
