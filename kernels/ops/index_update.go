package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

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
	t.vars, t.at = indexVars(sizes)
	self, to := c.slicedSizes(), slices.Clone(t.at)
	idx := c.flatLoad(c.Operand("index"), t.at[dim : dim+1][:c.Tensor("index").Rank()])
	i, s := c.bindAt("at", idx, self[dim], c.Op.sch.Name ==
		"aten.index_fill.int_Scalar" || c.Op.sch.Name == "aten.index_fill.int_Tensor")
	to[dim], t.bind = i, []loop.Stmt{s}
	t.flat = sym.RowMajor(self, to)
	return t
}

// slicedSizes are the sizes of self, of which a tensor without dimensions has one of 1.
func (c *Call) slicedSizes() []sym.Expr {
	if sizes := c.Tensor("self").Sizes; len(sizes) > 0 {
		return slices.Clone(sizes)
	}
	return []sym.Expr{sym.Int(1)}
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
		panic(c.Errorf("no reduction is called %q", how))
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

// indexUpdate is an operator that merges slices of a source, or a value, into
// the slices of self that a vector names.
//
//go:noinline
func indexUpdate(schema, source string, how func(c *Call) *accumulation,
	value func(c *Call, x *expr.Expr) *expr.Expr) entry {
	setup := func(c *Call) (d int, sizes []sym.Expr) {
		self, idx := c.Tensor("self"), ir.Type{}
		idx = c.indexTensor("index")
		d = c.dim("dim", self.Rank())
		c.errorIf(idx.Rank() > 1, "an index with %d dimensions", idx.Rank())
		sizes = c.slicedSizes()
		c.indexes(idx, sizes[d])
		sizes[d] = idx.Numel()
		if source == "" {
			return
		}
		src := c.Tensor(source)
		if src.DType != self.DType {
			panic(c.Errorf("%s of %s for a tensor of %s", source, src.DType, self.DType))
		} else if src.Rank() > 0 && !sameSizes(src.Sizes, sizes) && self.Rank() > 0 {
			panic(c.Errorf("%s of %s, not %s", source, sizesOf{src}, sizesOf{{Sizes: sizes}}))
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
		entry{
			Schema: "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, " +
				"*, bool include_self=True) -> Tensor",
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
		}.core(scatterReduceCore),
		indexUpdate("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, "+
			"Scalar alpha=1) -> Tensor", "source", fixed(added), func(c *Call, x *expr.Expr) *expr.Expr {
			m := opmath(x.DType)
			if m == ir.Bool {
				return expr.And(x, c.number(c.Arg("alpha"), m))
			}
			return scaled(expr.Cast(m, x), c.number(c.Arg("alpha"), m))
		}).core(func(b *Builder, c *Call) *ir.Value {
			d, sizes := b.indexUpdateDim(c)
			src := b.reshaped(c.Value("source"), sizes...)
			if a, err := c.Float("alpha"); err != nil || a != 1 {
				src = b.cast(b.mul(src, c.Arg("alpha")), src.Type.DType)
			}
			return b.aten("scatter_add", c.Value("self"), d, b.slicesAt(c, sizes, d), src)
		}),
		indexUpdate("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
			"source", fixed(replaced), itself).core(func(b *Builder, c *Call) *ir.Value {
			d, sizes := b.indexUpdateDim(c)
			return b.aten("scatter.src", c.Value("self"), d, b.slicesAt(c, sizes, d),
				b.reshaped(c.Value("source"), sizes...))
		}),
		indexUpdate(
			"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", "",
			fixed(replaced), func(c *Call, _ *expr.Expr) *expr.Expr { return scalarValue(c, nil) }).core(
			indexFillCore),
		indexUpdate(
			"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", "",
			fixed(replaced), func(c *Call, _ *expr.Expr) *expr.Expr {
				k := c.Operand("value")
				return c.flatLoad(k, zeros(c.operands[k].Type.Rank()))
			}).core(indexFillCore),
		indexUpdate("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, "+
			"*, bool include_self=True) -> Tensor",
			"source", named, itself).core(func(b *Builder, c *Call) *ir.Value {
			d, sizes := b.indexUpdateDim(c)
			src := b.reshaped(c.Value("source"), sizes...)
			if c.Tensor("index").Numel().IsZero() {
				return b.aten("clone", c.Value("self"))
			}
			return b.reduceInto(c.Value("self"), b.slicesAt(c, sizes, d), src, d, c.Str("reduce"),
				c.Bool("include_self"))
		}),
		derived("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				// Writes to elements of the flattened self.
				self, n, src := c.Value("self"), c.indexTensor("index").Numel(), c.Tensor("source")
				c.errorIf(differ(n, src.Numel()) || src.DType != self.Type.DType,
					"an index of %s for a source of %s and %s", n, src.DType, sizesOf{src})
				index := ir.List{ir.Ref{Value: b.reshaped(c.Value("index"), n)}}
				y := b.aten("index_put", b.reshaped(self, self.Type.Numel()), index,
					b.reshaped(c.Value("source"), n), c.Arg("accumulate"))
				return b.reshaped(y, self.Type.Sizes...)
			}),
		maskedScatter(),
	}
}

// slicesAt returns an index of slices along dim as one of elements: expanded to
// the shape of what is written.
func (b *Builder) slicesAt(c *Call, sizes []sym.Expr, dim int) *ir.Value {
	idx := c.Value("index")
	if idx.Type.DType != ir.Int64 {
		idx = b.cast(idx, ir.Int64)
	}
	if len(sizes) == 0 {
		return b.aten("view", idx, []int{})
	}
	shape := slices.Repeat([]sym.Expr{sym.Int(1)}, len(sizes))
	shape[dim] = idx.Type.Numel()
	return b.aten("expand", b.reshaped(idx, shape...), sizes)
}

// indexUpdateDim returns the dim argument and the sizes of what is written.
func (b *Builder) indexUpdateDim(c *Call) (int, []sym.Expr) {
	self := c.Tensor("self")
	d := c.dim("dim", self.Rank())
	sizes := slices.Clone(self.Sizes)
	if len(sizes) > 0 {
		sizes[d] = c.Tensor("index").Numel()
	}
	return d, sizes
}

// indexFillCore takes indices from the end too.
func indexFillCore(b *Builder, c *Call) *ir.Value {
	self := c.Value("self")
	d, _ := b.indexUpdateDim(c)
	if self.Type.Rank() == 0 {
		self = b.reshaped(self, sym.Int(1))
	}
	indices := make(ir.List, d+1)
	for i := range d {
		indices[i] = ir.None{}
	}
	indices[d] = ir.Ref{Value: c.Value("index")}
	y := b.aten("index_put", self, indices, b.tensor(c, "value", self.Type.DType))
	return b.reshaped(y, c.Outs[0].Sizes...)
}

// hitsOf tells which of the elements written go to which of self, along one
// more dimension behind dim: [.., self's size, the index's size, ..].
func (b *Builder) hitsOf(index *ir.Value, n sym.Expr, d int) *ir.Value {
	shape := slices.Repeat([]sym.Expr{sym.Int(1)}, index.Type.Rank()-d-1)
	at := b.reshaped(b.aten("arange.start_step", 0, n), append([]sym.Expr{n, sym.Int(1)},
		shape...)...)
	return b.aten("eq.Tensor", b.aten("unsqueeze", index, d), at)
}

// reduceInto merges src into self where index, of src's shape along d, says.
func (b *Builder) reduceInto(self, index, src *ir.Value, d int, how string,
	includeSelf bool) *ir.Value {
	dt := self.Type.DType
	if self.Type.Rank() == 0 {
		one := []sym.Expr{sym.Int(1)}
		y := b.reduceInto(b.reshaped(self, one...), b.reshaped(index, one...),
			b.reshaped(src, one...), 0, how, includeSelf)
		return b.reshaped(y)
	}
	m := opmath(dt)
	// Where index is smaller than self in other dimensions, it is padded with -1, which adds
	// nothing.
	var pads []sym.Expr
	short := false
	for k := self.Type.Rank() - 1; k >= 0; k-- {
		n := index.Type.Sizes[k]
		if !src.Type.Sizes[k].Equal(n) {
			src = b.aten("slice.Tensor", src, k, 0, n)
		}
		missing := sym.Sub(self.Type.Sizes[k], n)
		if k == d {
			missing = sym.Int(0)
		}
		short = short || !missing.IsZero()
		pads = append(pads, sym.Int(0), missing)
	}
	if short {
		index, src = b.aten("constant_pad_nd", index, pads, -1),
			b.aten("constant_pad_nd", src, pads, 0)
	}
	hits := b.hitsOf(index, self.Type.Sizes[d], d)
	spread := b.aten("unsqueeze", b.cast(src, m), d)
	x := b.cast(self, m)
	neutral, join, reduce := any(0), "aten.add.Tensor", "aten.sum.dim_IntList"
	switch how {
	case "prod":
		neutral, join, reduce = 1, "aten.mul.Tensor", "aten.prod.dim_int"
	case "amax", "amin":
		bound := lowest(m)
		join, reduce = "aten.maximum.default", "aten.amax.default"
		if how == "amin" {
			bound = highest(m)
			join, reduce = "aten.minimum.default", "aten.amin.default"
		}
		switch {
		case m == ir.Bool:
			neutral = bound.Int != 0
		case m.IsFloat():
			neutral = bound.Float
		default:
			neutral = bound.Int
		}
	}
	chosen := b.where(hits, spread, neutral, m)
	over := any([]int{d + 1})
	if how == "prod" {
		over = d + 1
	}
	y := b.Op(reduce, chosen, over)
	y = b.cast(y, m)
	touched := b.aten("any.dim", hits, d+1)
	if includeSelf {
		y = b.Op(join, x, y)
	}
	if how == "mean" {
		count := b.aten("sum.dim_IntList", hits, []int{d + 1})
		if includeSelf {
			count = b.add(count, 1)
		}
		count = b.aten("clamp", count, 1)
		if m.IsFloat() {
			y = b.div(y, b.cast(count, m))
		} else {
			y = b.cast(b.aten("div.Tensor_mode", y, count, Kw("rounding_mode", "floor")), m)
		}
	}
	return b.where(touched, b.cast(y, dt), self, dt)
}

// scatterReduceCore merges by name.
func scatterReduceCore(b *Builder, c *Call) *ir.Value {
	self, index := c.Value("self"), c.Value("index")
	d := c.gatherDim()
	if index.Type.Numel().IsZero() {
		return b.aten("clone", self)
	}
	how, include := c.Str("reduce"), c.Op.sch.Index("include_self") < 0 || c.Bool("include_self")
	var src *ir.Value
	if c.Op.sch.Index("src") >= 0 {
		src = c.Value("src")
	} else {
		src = b.aten("expand", b.scalar(c.Arg("value"), self.Type.DType), index.Type.Sizes)
	}
	switch how {
	case "add":
		how = "sum"
	case "multiply":
		how = "prod"
	}
	if how == "sum" && include {
		return b.aten("scatter_add", self, d, index, src)
	}
	return b.reduceInto(self, b.cast(index, ir.Int64), src, d, how, include)
}

// maskedOps index where a mask allows it. Elsewhere indices may be out of range.
func maskedOps() []entry {
	indices := func(b *Builder, c *Call) ir.List {
		x := c.Tensor("self")
		at := slices.Clone(c.Arg("indices").(ir.List))
		c.errorIf(len(at) > x.Rank(), "%d indices of a tensor with %d dimensions", len(at), x.Rank())
		for d, a := range at {
			if ref, ok := a.(ir.Ref); ok {
				last := b.SymInt(sym.Sub(x.Sizes[d], sym.Int(1)))
				at[d] = ir.Ref{Value: b.aten("clamp", ref.Value, 0, last)}
			}
		}
		return at
	}
	return []entry{
		derived("aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, "+
			"Scalar fill) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			found := b.aten("index.Tensor", c.Value("self"), indices(b, c))
			return b.aten("where.self", c.Value("mask"), found, b.tensor(c, "fill", found.Type.DType))
		}),
		derived("aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, "+
			"Tensor?[] indices, Tensor values) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			values := b.aten("masked_fill.Scalar", c.Value("values"),
				b.aten("logical_not", c.Value("mask")), 0)
			return b.aten("index_put", c.Value("self"), indices(b, c), values, true)
		}),
	}
}
