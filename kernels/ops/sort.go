package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// sortOps order elements along a dimension.
func sortOps() []entry {
	return []entry{
		sortOp("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, " +
			"Tensor indices)").cores(sortCore),
		sortOp("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> " +
			"(Tensor values, Tensor indices)").cores(sortCore),
		argsortOp("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
		argsortOp("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, " +
			"bool descending=False) -> Tensor"),
		{
			Schema: "aten::msort(Tensor self) -> Tensor",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				return b.Ops("aten.sort.default", c.Arg("self"), 0)[:1]
			},
		},
		{
			Schema: "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, " +
				"bool sorted=True) -> (Tensor values, Tensor indices)",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("self")
				d := c.dim("dim", t.Rank())
				k := must(c.SymInt("k"))
				sizes := append([]sym.Expr(nil), t.Sizes...)
				if len(sizes) > 0 {
					c.errorIf(sym.Less(sizes[d], k), "the %v largest of %v", k, sizes[d])
					c.need(sym.Sub(sym.Add(sizes[d], sym.Int(1)), k))
					sizes[d] = k
				}
				return []ir.Type{ir.TensorOf(t.DType, sizes...), ir.TensorOf(ir.Int64, sizes...)}
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				// Sorts and takes the first k.
				vs := b.Ops("aten.sort.default", c.Arg("self"), c.Arg("dim"),
					bool(c.Bool("largest")))
				if c.Tensor("self").Rank() == 0 {
					return vs
				}
				for i, v := range vs {
					vs[i] = b.aten("slice.Tensor", v, c.Arg("dim"), 0, c.Arg("k"))
				}
				return vs
			},
		},
		orderStatistic(
			"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, " +
				"Tensor indices)"),
		orderStatistic(
			"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
		medianOp("aten::median(Tensor self) -> Tensor"),
	}
}

func sortOp(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			c.dim("dim", t.Rank())
			return []ir.Type{likeType(t, t.DType), likeType(t, ir.Int64)}
		},
		Loops: func(c *Call) *loop.Func {
			return mergeSort(c, c.dim("dim", c.Tensor("self").Rank()), c.Bool("descending"))
		},
	}
}

// argsortOp gives the indices of a sort, which is always stable.
func argsortOp(schema string) entry {
	return entry{
		Schema: schema,
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			return b.Ops("aten.sort.default", c.Arg("self"), c.Arg("dim"), c.Arg("descending"))[1:]
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
		// If only one half has elements left, they are taken without a comparison.
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

// orderStatistic is the k-th smallest element along a dimension and its place;
// without argument k it is the lower median, NaN if there is one.
//
//go:noinline
func orderStatistic(schema string) entry {
	r := reducer{schema: schema, rule: exact, nonEmpty: true, more: []ir.DType{ir.Int64}}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			outs := r.infer(c)
			if c.Op.sch.Index("k") < 0 {
				return outs
			}
			k := must(c.SymInt("k"))
			n := sym.Int(1)
			if t := c.Tensor("self"); t.Rank() > 0 {
				n = t.Sizes[c.dim("dim", t.Rank())]
			}
			c.errorIf(sym.Less(k, sym.Int(1)) || sym.Less(n, k), "element %s of %s", k, n)
			c.need(k)
			c.need(sym.Add(sym.Sub(n, k), sym.Int(1)))
			return outs
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			t := c.Tensor("self")
			d := c.dim("dim", t.Rank())
			if t.Rank() == 0 {
				return b.Ops("aten.sort.default", c.Arg("self"), 0)
			}
			median := c.Op.sch.Index("k") < 0
			vs := b.Ops("aten.sort.default", c.Arg("self"), d)
			var k any
			if median {
				k = sym.FloorDiv(sym.Sub(t.Sizes[d], sym.Int(1)), sym.Int(2))
			} else {
				k = sym.Sub(must(c.SymInt("k")), sym.Int(1))
			}
			var values *ir.Value
			indices := b.aten("select.int", vs[1], d, k)
			if !median || !t.DType.IsFloat() {
				values = b.aten("select.int", vs[0], d, k)
			} else {
				// NaN sorts last. What lies from the median on has the median as its least number, but
				// NaN if there is one.
				values = b.aten("amin", b.aten("slice.Tensor", vs[0], d, k), []int64{int64(d)})
				first := b.Ops("aten.max.dim", c.Arg("self"), d)[1]
				indices = b.aten("where.self", b.aten("isnan", values), first, indices)
			}
			if c.Bool("keepdim") {
				values, indices = b.aten("unsqueeze", values, d), b.aten("unsqueeze", indices, d)
			}
			return []*ir.Value{values, indices}
		},
	}
}

// medianOp is the lower median of all elements.
func medianOp(schema string) entry {
	return entry{
		Schema: schema,
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			flat := b.aten("reshape", c.Arg("self"), []int64{-1})
			return b.Ops("aten.median.dim", flat, 0)[:1]
		},
	}
}

// uniqueOps reduce elements that occur several times to one.
func uniqueOps() []entry {
	return []entry{
		unique("aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, "+
			"bool return_counts=False) -> (Tensor, Tensor, Tensor)", true),
		unique("aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "+
			"bool return_counts=False) -> (Tensor, Tensor, Tensor)", true),
		unique("aten::unique_consecutive(Tensor self, bool return_inverse=False, "+
			"bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)", false),
		// nonzeroList is nonzero with a result for each dimension.
		{
			Schema: "aten::where(Tensor condition) -> Tensor[]",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("condition")
				n := c.counted(0, t.Numel())
				out := slices.Repeat([]ir.Type{ir.TensorOf(ir.Int64, n)}, max(t.Rank(), 1))
				for d := range out { // PyTorch's are the columns of nonzero
					out[d].Offset = sym.Mul(sym.Int(int64(d)), n)
				}
				return out
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				x := c.Value("condition")
				if x.Type.Rank() == 0 {
					x = b.aten("reshape", x, []int64{1})
				}
				at := b.nonzero(x, c.Outs[0].Sizes[0])
				return seq.Of(len(c.Outs), func(d int) *ir.Value {
					return b.aten("select.int", at, 1, d)
				})
			},
		},
		// binCount counts, or adds up the weights of, the elements of each value.
		{
			Schema: "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.indexTensor("self")
				c.errorIf(t.Rank() != 1, "a tensor with %d dimensions", t.Rank())
				least := must(c.SymInt("minlength"))
				d := ir.Int64
				if k := c.Operand("weights"); k >= 0 {
					w := c.operands[k].Type
					c.errorIf(w.Rank() != 1 || differ(w.Sizes[0], t.Sizes[0]), "%s do not fit",
						sizesOf{t, w})
					if d = w.DType; d != ir.Float32 {
						d = ir.Float64
					}
				}
				if t.Sizes[0].IsZero() {
					return []ir.Type{ir.TensorOf(d, least)}
				}
				return []ir.Type{ir.TensorOf(d, c.countedUpTo(0, sym.Int(0), sym.Max(least, sym.Int(maxBins))))}
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				x, out := b.cast(c.Value("self"), ir.Int64), c.Outs[0]
				if x.Type.Sizes[0].IsZero() {
					return b.Ops("aten.full.default", out.Sizes, 0, Kw("dtype", out.DType))
				}
				n := b.aten("add.Scalar", b.aten("amax", x, []int64{0}), 1)
				n = b.aten("clamp", n, c.Arg("minlength"))
				size := b.number(n, out.Sizes[0])
				zeros := b.aten("full", ir.List{size}, 0, Kw("dtype", out.DType))
				w := c.Value("weights")
				if w == nil {
					w = b.aten("full", x.Type.Sizes, 1, Kw("dtype", ir.Int64))
				}
				return b.Ops("aten.scatter_add.default", zeros, 0, x, b.cast(w, out.DType))
			},
		},
	}
}

// unique gives the different elements, or along dim slices, of self, the place
// among them of each that was there, and how often it was. Sorted, the results
// are in ascending order; otherwise only neighbours count as the same.
//
//go:noinline
func unique(schema string, sorts bool) entry {
	along := func(c *Call) (d int, ok bool) {
		if c.Op.sch.Index("dim") < 0 || !c.Has("dim") {
			return 0, false
		}
		d = c.dim("dim", c.Tensor("self").Rank())
		return d, true
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			d, ok := along(c)
			c.errorIf(ok && t.Rank() == 0, "a tensor without dimensions has no slices")
			if !ok {
				u := c.counted(0, t.Numel())
				inverse, counts := ir.StaticTensor(ir.Int64, 0), ir.StaticTensor(ir.Int64, 0)
				if c.Bool("return_inverse") {
					inverse = ir.TensorOf(ir.Int64, t.Sizes...)
				}
				if c.Bool("return_counts") {
					counts = ir.TensorOf(ir.Int64, u)
				}
				return []ir.Type{ir.TensorOf(t.DType, u), inverse, counts}
			}
			sizes := slices.Clone(t.Sizes)
			sizes[d] = c.counted(d, t.Sizes[d])
			counts := ir.TensorOf(ir.Int64, t.Sizes[d])
			if c.Bool("return_counts") {
				counts = ir.TensorOf(ir.Int64, sizes[d])
			}
			return []ir.Type{ir.TensorOf(t.DType, sizes...), ir.TensorOf(ir.Int64, t.Sizes[d]),
				counts}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			d, ok := along(c)
			x := c.Value("self")
			if !ok {
				x, d = b.aten("reshape", x, []int64{-1}), 0
			}
			n, u := x.Type.Sizes[d], c.Outs[0].Sizes[d]
			var order *ir.Value
			if sorts {
				order = b.orderOf(x, d)
				x = b.aten("index_select", x, d, order)
			}
			// first marks the slices that differ from the one before.
			rows := x
			if x.Type.Rank() > 1 {
				rows = b.aten("reshape", b.aten("movedim.int", x, d, 0), []sym.Expr{n, numelWithout(x, d)})
			}
			first := b.aten("ne.Tensor", rows, b.aten("roll", rows, 1, 0))
			if rows.Type.Rank() > 1 {
				first = b.aten("any.dim", first, 1)
			}
			start := b.aten("eq.Scalar", b.aten("arange.start_step", 0, n, 1), 0)
			first = b.aten("logical_or", first, start)
			at := b.aten("select.int", b.nonzero(first, u), 1, 0)
			place := b.sub(b.aten("cumsum", first, 0), b.scalar(1, ir.Int64))
			zeros := func(size sym.Expr) *ir.Value {
				return b.aten("full", []sym.Expr{size}, 0, Kw("dtype", ir.Int64))
			}
			out := []*ir.Value{b.aten("index_select", x, d, at)}
			inverse := place
			if order != nil {
				inverse = b.aten("scatter.src", zeros(n), 0, order, place)
			}
			counts := b.aten("scatter_add", zeros(u), 0, place, b.aten("full",
				[]sym.Expr{n}, 1, Kw("dtype", ir.Int64)))
			for i, v := range []*ir.Value{inverse, counts} {
				t := c.Outs[1+i]
				switch n, known := t.Numel().Const(); {
				case known && n == 0:
					v = b.aten("full", t.Sizes, 0, Kw("dtype", ir.Int64))
				case i == 1 && !c.Bool("return_counts"): // of the size of self, and of no meaning
					v = zeros(t.Sizes[0])
				default:
					v = b.aten("reshape", v, t.Sizes)
				}
				out = append(out, v)
			}
			return out
		},
	}
}

// numelWithout is how many elements a slice of x along d has; reshape finds no size of -1 where
// another is 0.
func numelWithout(x *ir.Value, d int) sym.Expr {
	return sym.Mul(slices.Delete(slices.Clone(x.Type.Sizes), d, d+1)...)
}

// orderOf sorts the slices of x along d as words are sorted: by the last element first, then, as
// they lie, by the one before.
func (b *Builder) orderOf(x *ir.Value, d int) *ir.Value {
	n := x.Type.Sizes[d]
	if x.Type.Rank() == 1 {
		return b.Ops("aten.sort.default", x, 0)[1]
	}
	columns := b.aten("reshape", b.aten("movedim.int", x, d, -1), []sym.Expr{numelWithout(x, d), n})
	start := b.aten("arange.start_step", 0, n, 1)
	last, _, err := b.Scan([]*ir.Value{start}, []*ir.Value{columns}, true,
		func(b *Builder, order, column []*ir.Value) ([]*ir.Value, []*ir.Value) {
			by := b.Ops("aten.sort.stable", b.aten("index_select", column[0], 0, order[0]),
				Kw("stable", true), Kw("dim", 0))[1]
			return []*ir.Value{b.aten("index_select", order[0], 0, by)}, nil
		})
	check(err)
	return last[0]
}

// maxBins bounds the result of bincount where nothing else does.
const maxBins = 1 << 16

// searchOps find places in sorted sequences.
func searchOps() []entry {
	return []entry{
		search("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, "+
			"bool right=False) -> Tensor", "boundaries").core(searchCore("boundaries")),
		search("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, "+
			"bool right=False) -> Tensor", "boundaries").core(searchCore("boundaries")),
		search("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, "+
			"bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
			"sorted_sequence").core(searchCore("sorted_sequence")),
		search("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, "+
			"bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
			"sorted_sequence").core(searchCore("sorted_sequence")),
	}
}

// search counts the elements of the sequence before a value: its place. A
// sequence with several dimensions is one for each row of values.
func search(schema, sequence string) entry {
	infer := func(c *Call) ir.Type {
		seq := c.Tensor(sequence)
		d := ir.Int64
		if c.Bool("out_int32") {
			d = ir.Int32
		}
		c.errorIf(seq.Rank() == 0, "the sequence has no dimension")
		k := c.Operand("self")
		c.errorIf(seq.Rank() > 1 && (k < 0 || sequence == "boundaries"),
			"boundaries with %d dimensions", seq.Rank())
		if k < 0 {
			return ir.TensorOf(d)
		}
		t := c.operands[k].Type
		if n := seq.Rank(); n > 1 {
			same := n == t.Rank()
			for i := 0; same && i < n-1; i++ {
				same = seq.Sizes[i].Equal(t.Sizes[i])
			}
			c.errorIf(!same, "%s do not fit", sizesOf{seq, t})
		}
		return ir.TensorOf(d, t.Sizes...)
	}
	checked := func(c *Call) ir.Type {
		if c.Op.sch.Index("sorter") >= 0 && c.Has("sorter") {
			seq, order := c.Tensor(sequence), c.Tensor("sorter")
			c.errorIf(!sym.AllEqual(seq.Sizes, order.Sizes), "%s do not fit", sizesOf{seq, order})
		}
		return infer(c)
	}
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(checked(c)) },
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			d := must(c.Promote("self", sequence))
			d = opmath(d)
			out, seq := c.Outs[0], c.Tensor(sequence)
			x := c.elem("self", out.Sizes, coords)
			if x == nil {
				x = c.number(c.Arg("self"), d)
			}
			n := seq.Rank()
			r := sym.NewVar("r", seq.Sizes[n-1])
			at := []sym.Expr{r.Expr()}
			if n > 1 {
				at = append(append([]sym.Expr(nil), coords[:n-1]...), r.Expr())
			}
			if c.Op.sch.Index("sorter") >= 0 && c.Has("sorter") {
				place := c.boundIndex("place", c.Load("sorter", at...), seq.Sizes[n-1], false)
				at[n-1] = place.Expr()
			}
			right := c.Bool("right") || c.Op.sch.Index("side") >= 0 && c.Str("side") == "right"
			stop := expr.Ge // the first element that stops the search
			if right {
				stop = expr.Gt
			}
			b := expr.Cast(d, c.Load(sequence, at...))
			before := expr.Not(comparable(stop)(b, expr.Cast(d, x)))
			return expr.Sum([]*sym.Symbol{r}, expr.Cast(out.DType, before))
		}),
	}
}

// sortCore puts every element at its rank: how many come before it. Equal ones
// keep their order, NaN counts as largest.
func sortCore(b *Builder, c *Call) []*ir.Value {
	self := c.Value("self")
	rank := self.Type.Rank()
	if rank == 0 {
		return []*ir.Value{b.aten("clone", self), b.aten("full", []int{}, 0, Kw("dtype", ir.Int64))}
	}
	d := c.dim("dim", rank)
	x := self
	if x.Type.DType == ir.Bool {
		x = b.cast(x, ir.Int64)
	}
	// less[…, i, j…] says that element j comes strictly before element i.
	here, other := b.aten("unsqueeze", x, d+1), b.aten("unsqueeze", x, d)
	less := func(a, z *ir.Value) *ir.Value {
		if !x.Type.DType.IsFloat() {
			return b.aten("lt.Tensor", a, z)
		}
		smaller := b.aten("logical_not", b.aten("ge.Tensor", a, z))
		return b.aten("logical_and", smaller, b.aten("eq.Tensor", a, a))
	}
	before, after := less(other, here), less(here, other)
	if c.Bool("descending") {
		before, after = after, before
	}
	n := self.Type.Sizes[d]
	at := b.aten("arange.start_step", 0, n)
	shape := slices.Repeat([]sym.Expr{sym.Int(1)}, rank-d-1)
	earlier := b.aten("lt.Tensor", b.reshaped(at, append([]sym.Expr{sym.Int(1), n},
		shape...)...), b.reshaped(at, append([]sym.Expr{n, sym.Int(1)}, shape...)...))
	before = b.aten("where.self", earlier, b.aten("logical_not", after), before)
	place := b.aten("sum.dim_IntList", before, []int{d + 1})
	values := b.aten("scatter.src", self, d, place, self)
	index := b.aten("expand", b.reshaped(at, append([]sym.Expr{n}, shape...)...), self.Type.Sizes)
	return []*ir.Value{values, b.aten("scatter.src", place, d, place, index)}
}

// searchCore counts the elements of the sequence that come before a value.
//
//go:noinline
func searchCore(sequence string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		d := must(c.Promote("self", sequence))
		seq := c.Value(sequence)
		if c.Op.sch.Index("sorter") >= 0 && c.Has("sorter") {
			seq = b.aten("gather", seq, -1, c.Value("sorter"))
		}
		x := b.tensor(c, "self", d)
		rank := x.Type.Rank()
		x = b.aten("unsqueeze", x, rank)
		if n := seq.Type.Rank(); n > 1 { // a sequence for each row of values
			seq = b.aten("unsqueeze", seq, n-1)
		}
		stop := "aten.ge.Tensor"
		if c.Bool("right") || c.Op.sch.Index("side") >= 0 && c.Str("side") == "right" {
			stop = "aten.gt.Tensor"
		}
		before := b.aten("logical_not", b.Op(stop, b.cast(seq, d), x))
		return b.cast(b.aten("sum.dim_IntList", before, []int{-1}), c.Outs[0].DType)
	}
}
