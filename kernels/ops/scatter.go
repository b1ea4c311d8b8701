package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// update starts the body of an operator that changes elements of a copy of
// self: buffer 0 is the result and holds self at entry.
func (c *Call) update(name string) *loop.Func {
	f := &loop.Func{Name: name, Bufs: c.buffers()}
	f.Bufs[0].Role, f.Bufs[0].Init = loop.InOut, len(c.Outs)+c.Operand("self")
	return f
}

// flatLoad returns the element of operand k at coords, in loop form.
func (c *Call) flatLoad(k int, coords []sym.Expr) *expr.Expr {
	t := c.operands[k].Type
	return expr.At(len(c.Outs)+k, t.DType, sym.RowMajor(t.Sizes, coords))
}

// merge gives the new value of an element from the old one and what is
// written to it, in the compute dtype.
type merge func(old, x *expr.Expr) *expr.Expr

func replaced(_, x *expr.Expr) *expr.Expr { return x }

func added(old, x *expr.Expr) *expr.Expr {
	if old.DType == ir.Bool {
		return expr.Or(old, x)
	}
	return expr.Add(old, x)
}

func multiplied(old, x *expr.Expr) *expr.Expr {
	if old.DType == ir.Bool {
		return expr.And(old, x)
	}
	return expr.Mul(old, x)
}

// write stores the combination of element at of buffer 0 and x.
func (c *Call) write(at sym.Expr, x *expr.Expr, f merge) loop.Stmt {
	d := c.Outs[0].DType
	m := opmath(d)
	old, wide := expr.Cast(m, expr.At(0, d, at)), expr.Cast(m, x)
	value := f(old, wide)
	if value == wide { // nothing is computed in the compute dtype
		value = x
	}
	return &loop.Store{Buf: 0, At: at, Value: expr.Cast(d, value)}
}

// indexPutEntry writes values to the elements that indices select, later ones
// over earlier ones, or adds them.
func indexPutEntry(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			a := advancedOf(c)
			t, v := c.Tensor("self"), c.Tensor("values")
			c.errorIf(v.DType != t.DType, "values of %s for a tensor of %s", v.DType, t.DType)
			c.errorIf(!broadcastsTo(v, a.sizes), "%s do not broadcast",
				sizesOf{v, {Sizes: a.sizes}})
			return []ir.Type{likeType(t, t.DType)}
		},
		Loops: func(c *Call) *loop.Func {
			a := advancedOf(c)
			f := c.update("index_put")
			how := merge(replaced)
			if c.Bool("accumulate") {
				how = added
			}
			k := c.Operand("values")
			vars, at := indexVars(a.sizes)
			var body []loop.Stmt
			in := a.coords(c, at, func(d int, index *expr.Expr) sym.Expr {
				e, s := c.bindAt("at"+itoa(d), c.flat(index), a.self.Sizes[d], true)
				body = append(body, s)
				return e
			})
			v := c.flatLoad(k, broadcastCoords(c.Tensor("values"), a.sizes, at))
			body = append(body, c.write(sym.RowMajor(a.self.Sizes, in), v, how))
			f.Body = nest(vars, body...)
			return f
		},
		variant: func(c *Call) *entry {
			if hasMask(c) {
				return maskedPut(schema)
			}
			return nil
		},
	}
}

// flat turns loads of operands at coordinates into loads from buffers.
func (c *Call) flat(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLoad {
			return e
		}
		return c.flatLoad(e.Buf, e.Coords)
	})
}

// scatterEntry writes to the elements that index names along dim, one for each
// element of index, in row-major order. value gives what is written at coords.
func scatterEntry(schema string, how func(c *Call) merge,
	value func(c *Call, at []sym.Expr) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			c.gatherDim()
			how(c)
			t := c.Tensor("self")
			if c.Op.sch.Index("src") >= 0 {
				d := c.Tensor("src").DType
				c.errorIf(d != t.DType, "src of %s for a tensor of %s", d, t.DType)
			}
			return []ir.Type{likeType(t, t.DType)}
		},
		Loops: func(c *Call) *loop.Func {
			t, idx := c.Tensor("self"), c.Tensor("index")
			d := c.gatherDim()
			f := c.update("scatter")
			if idx.Numel().IsZero() {
				return f
			}
			comb := how(c)
			vars, at := indexVars(idx.Sizes)
			in := make([]sym.Expr, t.Rank())
			copy(in, at)
			var body []loop.Stmt
			if t.Rank() > 0 {
				e, s := c.bindAt("at", c.flatLoad(c.Operand("index"), at), t.Sizes[d], false)
				in[d] = e
				body = append(body, s)
			}
			f.Body = nest(vars, append(body, c.write(sym.RowMajor(t.Sizes, in),
				value(c, at), comb))...)
			return f
		},
	}
}

// always makes the how of scatterEntry.
func always(f merge) func(*Call) merge {
	return func(*Call) merge { return f }
}

// namedReduce is the reduce argument of scatter: "add" or "multiply".
func namedReduce(c *Call) merge {
	switch how := c.Str("reduce"); how {
	case "add":
		return added
	case "multiply":
		return multiplied
	default:
		panic(c.fail("no reduction is called %q", how))
	}
}

func srcValue(c *Call, at []sym.Expr) *expr.Expr {
	k := c.Operand("src")
	in := make([]sym.Expr, c.operands[k].Type.Rank())
	copy(in, at)
	return c.flatLoad(k, in)
}

func scalarValue(c *Call, _ []sym.Expr) *expr.Expr {
	return c.number(c.Arg("value"), opmath(c.Outs[0].DType))
}

// scatterOps write elements at positions that other tensors hold.
func scatterOps() []entry {
	ops := []entry{
		indexPutEntry(
			"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"),
		indexPutEntry(
			"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor").core(indexPutCore),
		indexPutEntry(
			"aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor").core(indexPutCore),
		scatterEntry("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
			always(replaced), srcValue),
		scatterEntry(
			"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
			always(replaced), scalarValue),
		scatterEntry(
			"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", namedReduce, srcValue).core(scatterReduceCore),
		scatterEntry(
			"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", namedReduce, scalarValue).core(scatterReduceCore),
		scatterEntry("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
			always(added), srcValue),
	}
	return slices.Concat(ops, indexUpdateOps(), viewScatterOps())
}

// targets walks what an operator writes: for each of vars, in row-major order,
// the element of self that an index names along dimension dim.
type targets struct {
	vars []*sym.Symbol
	at   []sym.Expr // of the element written from
	flat sym.Expr   // of the element written to, in self
	bind []loop.Stmt
}

// indexTargets are those of an index with one element per slice of sizes along
// dim.
func (c *Call) indexTargets(sizes []sym.Expr, dim int) *targets {
	t := &targets{}
	self := c.Tensor("self")
	t.vars, t.at = indexVars(sizes)
	to := slices.Clone(t.at)
	if self.Rank() > 0 {
		idx := c.flatLoad(c.Operand("index"), t.at[dim : dim+1][:c.Tensor("index").Rank()])
		i, s := c.bindAt("at", idx, self.Sizes[dim], c.Op.sch.Name ==
			"aten.index_fill.int_Scalar" || c.Op.sch.Name == "aten.index_fill.int_Tensor")
		to[dim], t.bind = i, []loop.Stmt{s}
	}
	t.flat = sym.RowMajor(self.Sizes, to)
	return t
}

// scatterTargets are those of an index with one element per element written.
func (c *Call) scatterTargets(dim int) *targets {
	t := &targets{}
	self, idx := c.Tensor("self"), c.Tensor("index")
	t.vars, t.at = indexVars(idx.Sizes)
	to := make([]sym.Expr, self.Rank())
	copy(to, t.at)
	if self.Rank() > 0 {
		i, s := c.bindAt("at", c.flatLoad(c.Operand("index"), t.at), self.Sizes[dim], false)
		to[dim], t.bind = i, []loop.Stmt{s}
	}
	t.flat = sym.RowMajor(self.Sizes, to)
	return t
}

// loop returns the loops around body.
func (t *targets) loop(body ...loop.Stmt) []loop.Stmt {
	return nest(t.vars, append(slices.Clone(t.bind), body...)...)
}

// accumulation is a reduction by name.
type accumulation struct {
	start func(d ir.DType) *expr.Expr // what is neutral
	merge merge
	mean  bool
}

// accumulationOf returns the reduction that a str argument names.
func (c *Call) accumulationOf(name string) *accumulation {
	number := func(x float64) func(ir.DType) *expr.Expr {
		return func(d ir.DType) *expr.Expr { return expr.Num(d, x) }
	}
	switch how := c.Str(name); how {
	case "sum":
		return &accumulation{start: number(0), merge: added}
	case "mean":
		return &accumulation{start: number(0), merge: added, mean: true}
	case "prod":
		return &accumulation{start: number(1), merge: multiplied}
	case "amax":
		return &accumulation{start: lowest, merge: func(a, b *expr.Expr) *expr.Expr {
			return maxNaN(a, b)
		}}
	case "amin":
		return &accumulation{start: highest, merge: func(a, b *expr.Expr) *expr.Expr {
			return minNaN(a, b)
		}}
	default:
		panic(c.fail("no reduction is called %q", how))
	}
}

// highest returns the largest value of d.
func highest(d ir.DType) *expr.Expr {
	switch {
	case d.IsFloat():
		return expr.Float(d, inf)
	case d == ir.Bool:
		return expr.Bool(true)
	}
	return expr.Not(lowest(d))
}

// accumulate is the body that merges value into the targets. Without
// includeSelf the elements written to start from what is neutral.
func (c *Call) accumulate(t *targets, acc *accumulation, value *expr.Expr,
	includeSelf bool) *loop.Func {
	f := c.update("accumulate")
	d := c.Outs[0].DType
	if !includeSelf {
		f.Body = append(f.Body, t.loop(&loop.Store{Buf: 0, At: t.flat, Value: acc.start(d)})...)
	}
	body := []loop.Stmt{c.write(t.flat, value, acc.merge)}
	if !acc.mean {
		f.Body = append(f.Body, t.loop(body...)...)
		return f
	}
	// The mean divides by how many were added, self included if it was.
	n, counts := c.Tensor("self").Numel(), len(f.Bufs)
	f.Bufs = append(f.Bufs, loop.Buf{Name: "counts", DType: ir.Int64, Role: loop.Scratch, Len: n})
	k := sym.NewVar("k", n)
	first := int64(0)
	if includeSelf {
		first = 1
	}
	count := func(at sym.Expr) *expr.Expr { return expr.At(counts, ir.Int64, at) }
	f.Body = append([]loop.Stmt{}, nest([]*sym.Symbol{k}, &loop.Store{Buf: counts, At: k.Expr(),
		Value: expr.Int(ir.Int64, first)})...)
	if !includeSelf {
		f.Body = append(f.Body, t.loop(&loop.Store{Buf: 0, At: t.flat, Value: acc.start(d)})...)
	}
	body = append(body, &loop.Store{Buf: counts, At: t.flat, Value: expr.Add(count(t.flat),
		expr.Int(ir.Int64, 1))})
	f.Body = append(f.Body, t.loop(body...)...)
	k = sym.NewVar("k", n)
	m := opmath(d)
	sum, by := expr.Cast(m, expr.At(0, d, k.Expr())), expr.Cast(m, count(k.Expr()))
	mean := expr.Div(sum, by)
	if !m.IsFloat() {
		mean = floorDivide(sum, by)
	}
	f.Body = append(f.Body, nest([]*sym.Symbol{k}, &loop.If{
		Cond: expr.Gt(count(k.Expr()), expr.Int(ir.Int64, 1)),
		Then: []loop.Stmt{&loop.Store{Buf: 0, At: k.Expr(), Value: expr.Cast(d, mean)}},
	})...)
	return f
}

func scatterReduce() entry {
	return entry{
		Schema: "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			c.gatherDim()
			c.accumulationOf("reduce")
			return one(likeType(c.Tensor("self"), c.Tensor("self").DType))
		},
		Loops: func(c *Call) *loop.Func {
			d := c.gatherDim()
			acc := c.accumulationOf("reduce")
			if c.Tensor("index").Numel().IsZero() {
				return c.update("accumulate")
			}
			t := c.scatterTargets(d)
			return c.accumulate(t, acc, srcValue(c, t.at), c.Bool("include_self"))
		},
	}
}

// indexUpdate is an operator that merges slices of a source, or a value, into
// the slices of self that a vector names.
func indexUpdate(schema, source string, how func(c *Call) *accumulation,
	value func(c *Call, x *expr.Expr) *expr.Expr) entry {
	setup := func(c *Call) (d int, sizes []sym.Expr) {
		self, idx := c.Tensor("self"), ir.Type{}
		idx = c.indexTensor("index")
		d = c.dim("dim", self.Rank())
		c.errorIf(idx.Rank() > 1, "an index with %d dimensions", idx.Rank())
		sizes = slices.Clone(self.Sizes)
		if len(sizes) > 0 {
			c.indexes(idx, sizes[d])
			sizes[d] = idx.Numel()
		}
		if source == "" {
			return
		}
		src := c.Tensor(source)
		if src.DType != self.DType {
			panic(c.fail("%s of %s for a tensor of %s", source, src.DType, self.DType))
		} else if src.Rank() > 0 && !slices.EqualFunc(src.Sizes, sizes, func(a, b sym.Expr) bool {
			return !differ(a, b)
		}) && self.Rank() > 0 {
			panic(c.fail("%s of %s, not %s", source, sizesOf{src}, sizesOf{{Sizes: sizes}}))
		}
		return
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			setup(c)
			how(c)
			return one(likeType(c.Tensor("self"), c.Tensor("self").DType))
		},
		Loops: func(c *Call) *loop.Func {
			d, sizes := setup(c)
			acc := how(c)
			t := c.indexTargets(sizes, d)
			var x *expr.Expr
			if source != "" {
				k := c.Operand(source)
				at := make([]sym.Expr, c.operands[k].Type.Rank())
				copy(at, t.at)
				x = c.flatLoad(k, at)
			}
			self := c.Op.sch.Index("include_self") < 0 || c.Bool("include_self")
			return c.accumulate(t, acc, value(c, x), self)
		},
	}
}

func indexUpdateOps() []entry {
	fixed := func(f merge) func(*Call) *accumulation {
		return func(*Call) *accumulation { return &accumulation{merge: f} }
	}
	named := func(c *Call) *accumulation { return c.accumulationOf("reduce") }
	itself := func(_ *Call, x *expr.Expr) *expr.Expr { return x }
	return []entry{
		scatterReduce().core(scatterReduceCore),
		indexUpdate("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", "source", fixed(added), func(c *Call, x *expr.Expr) *expr.Expr {
			m := opmath(x.DType)
			if m == ir.Bool {
				return x
			}
			return scaled(expr.Cast(m, x), c.number(c.Arg("alpha"), m))
		}).core(indexAddCore),
		indexUpdate("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
			"source", fixed(replaced), itself).core(indexCopyCore),
		indexUpdate("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", "", fixed(replaced), func(c *Call, _ *expr.Expr) *expr.Expr { return scalarValue(c, nil) }).core(indexFillCore),
		indexUpdate("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", "", fixed(replaced), func(c *Call, _ *expr.Expr) *expr.Expr {
			k := c.Operand("value")
			return c.flatLoad(k, zeros(c.operands[k].Type.Rank()))
		}).core(indexFillCore),
		indexUpdate("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
			"source", named, itself).core(indexReduceCore),
		putOp().core(putCore),
		maskedScatter(),
	}
}

// putOp writes to elements of the flattened tensor.
func putOp() entry {
	return entry{
		Schema: "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			self, src := c.Tensor("self"), c.Tensor("source")
			idx := c.indexTensor("index")
			c.errorIf((differ(idx.Numel(), src.Numel()) || src.DType != self.DType),
				"an index of %s for a source of %s and %s", sizesOf{idx}, src.DType, sizesOf{src})
			c.indexes(idx, self.Numel())
			return one(likeType(self, self.DType))
		},
		Loops: func(c *Call) *loop.Func {
			f := c.update("put")
			self, idx, src := c.Tensor("self"), c.Tensor("index"), c.Tensor("source")
			k := sym.NewVar("k", idx.Numel())
			flat := func(name string, t ir.Type) *expr.Expr {
				return expr.At(1+c.Operand(name), t.DType, k.Expr())
			}
			at, s := c.bindAt("at", flat("index", idx), self.Numel(), true)
			how := merge(replaced)
			if c.Bool("accumulate") {
				how = added
			}
			f.Body = nest([]*sym.Symbol{k}, s, c.write(at, flat("source", src), how))
			return f
		},
	}
}

// maskedScatter writes the elements of source, in order, to the elements of
// self where mask holds.
func maskedScatter() entry {
	return entry{
		Schema: "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			self, mask, src := c.Tensor("self"), c.Tensor("mask"), c.Tensor("source")
			sizes, ok := Broadcast(self, mask)
			c.errorIf(!ok || mask.DType != ir.Bool || src.DType != self.DType,
				"a mask of %s and a source of %s for a tensor of %s: %s", mask.DType, src.DType,
				self.DType, sizesOf{self, mask})
			t := likeType(self, self.DType)
			if len(sizes) != self.Rank() || !slices.EqualFunc(sizes, self.Sizes, sym.Expr.Equal) {
				t = ir.TensorOf(self.DType, sizes...)
			}
			c.indexes(mask, src.Numel())
			return one(t)
		},
		Loops: func(c *Call) *loop.Func {
			f := &loop.Func{Name: "masked_scatter", Bufs: c.buffers()}
			out, src := c.Outs[0], c.Tensor("source")
			vars, at := indexVars(out.Sizes)
			load := func(name string) *expr.Expr {
				k := c.Operand(name)
				return c.flatLoad(k, broadcastCoords(c.operands[k].Type, out.Sizes, at))
			}
			flat := sym.RowMajor(out.Sizes, at)
			next := &expr.Var{Name: "next", DType: ir.Int64}
			from, s := clampedAt("from", expr.Get(next), src.Numel(), false)
			f.Body = append([]loop.Stmt{&loop.Let{Var: next, Value: expr.Int(ir.Int64, 0),
				Mutable: true}}, nest(vars, &loop.If{
				Cond: load("mask"),
				Then: []loop.Stmt{
					s,
					&loop.Store{Buf: 0, At: flat, Value: expr.At(1+c.Operand("source"),
						src.DType, from)},
					&loop.Assign{Var: next, Value: expr.Add(expr.Get(next), expr.Int(ir.Int64, 1))},
				},
				Else: []loop.Stmt{&loop.Store{Buf: 0, At: flat, Value: load("self")}},
			})...)
			return f
		},
	}
}
