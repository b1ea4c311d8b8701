package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// indexPutCore is index_put under another name.
func indexPutCore(b *Builder, c *Call) *ir.Value {
	return b.Op("aten.index_put.default", c.Value("self"), c.Arg("indices"), c.Value("values"),
		c.Arg("accumulate"))
}

// slicesAt returns an index of slices along dim as one of elements: expanded to
// the shape of what is written.
func (b *Builder) slicesAt(c *Call, sizes []sym.Expr, dim int) *ir.Value {
	idx := c.Value("index")
	if idx.Type.DType != ir.Int64 {
		idx = b.cast(idx, ir.Int64)
	}
	if len(sizes) == 0 {
		return b.Op("aten.view.default", idx, []int{})
	}
	shape := slices.Repeat([]sym.Expr{sym.Int(1)}, len(sizes))
	shape[dim] = idx.Type.Numel()
	return b.Op("aten.expand.default", b.reshaped(idx, shape...), sizes)
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

func indexAddCore(b *Builder, c *Call) *ir.Value {
	d, sizes := b.indexUpdateDim(c)
	src := b.reshaped(c.Value("source"), sizes...)
	if a, err := c.Float("alpha"); err != nil || a != 1 {
		src = b.cast(b.mul(src, c.Arg("alpha")), src.Type.DType)
	}
	return b.Op("aten.scatter_add.default", c.Value("self"), d, b.slicesAt(c, sizes, d), src)
}

func indexCopyCore(b *Builder, c *Call) *ir.Value {
	d, sizes := b.indexUpdateDim(c)
	return b.Op("aten.scatter.src", c.Value("self"), d, b.slicesAt(c, sizes, d),
		b.reshaped(c.Value("source"), sizes...))
}

// indexFillCore takes indices from the end too.
func indexFillCore(b *Builder, c *Call) *ir.Value {
	self := c.Value("self")
	if self.Type.Rank() == 0 {
		return b.Op("aten.full_like.default", self, c.Arg("value"))
	}
	d, _ := b.indexUpdateDim(c)
	indices := make(ir.List, d+1)
	for i := range d {
		indices[i] = ir.None{}
	}
	indices[d] = ir.Ref{Value: c.Value("index")}
	return b.Op("aten.index_put.default", self, indices, b.tensor(c, "value", self.Type.DType))
}

// putCore writes to elements of the flattened self.
func putCore(b *Builder, c *Call) *ir.Value {
	self, n := c.Value("self"), c.Tensor("index").Numel()
	index := ir.List{ir.Ref{Value: b.reshaped(c.Value("index"), n)}}
	y := b.Op("aten.index_put.default", b.reshaped(self, self.Type.Numel()), index,
		b.reshaped(c.Value("source"), n), c.Arg("accumulate"))
	return b.reshaped(y, self.Type.Sizes...)
}

func takeCore(b *Builder, c *Call) *ir.Value {
	self := c.Value("self")
	return b.Op("aten.index.Tensor", b.reshaped(self, self.Type.Numel()),
		[]*ir.Value{c.Value("index")})
}

// stridedScatterCore writes src to constant places in the storage of self.
func stridedScatterCore(b *Builder, c *Call) *ir.Value {
	self, src := c.Value("self"), c.Value("src")
	sizes := must(c.Ints("size"))
	strides := must(c.Ints("stride"))
	first := int64(0)
	if c.Has("storage_offset") {
		first = must(c.Int("storage_offset"))
	}
	b.limit(c, sizes...)
	c.errorIf(len(strides) != len(sizes), "%d strides for %d sizes", len(strides), len(sizes))
	places := []int64{first}
	for d, n := range sizes {
		var next []int64
		for _, p := range places {
			for i := range n {
				next = append(next, p+i*strides[d])
			}
		}
		places = next
	}
	flat := b.reshaped(self, self.Type.Numel())
	y := b.Op("aten.scatter.src", flat, 0, b.integers(places), b.reshaped(src, src.Type.Numel()))
	return b.reshaped(y, self.Type.Sizes...)
}

// searchCore counts the elements of the sequence that come before a value.
func searchCore(sequence string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		d := must(c.Promote("self", sequence))
		seq := c.Value(sequence)
		if c.Op.sch.Index("sorter") >= 0 && c.Has("sorter") {
			seq = b.Op("aten.gather.default", seq, -1, c.Value("sorter"))
		}
		x := b.tensor(c, "self", d)
		rank := x.Type.Rank()
		x = b.Op("aten.unsqueeze.default", x, rank)
		if n := seq.Type.Rank(); n > 1 { // a sequence for each row of values
			seq = b.Op("aten.unsqueeze.default", seq, n-1)
		}
		stop := "aten.ge.Tensor"
		if c.Bool("right") || c.Op.sch.Index("side") >= 0 && c.Str("side") == "right" {
			stop = "aten.gt.Tensor"
		}
		before := b.Op("aten.logical_not.default", b.Op(stop, b.cast(seq, d), x))
		return b.cast(b.Op("aten.sum.dim_IntList", before, []int{-1}), c.Outs[0].DType)
	}
}

func oneHotCore(b *Builder, c *Call) *ir.Value {
	n := must(c.Int("num_classes"))
	hot := b.Op("aten.eq.Tensor", b.Op("aten.unsqueeze.default", c.Value("self"), -1),
		b.Op("aten.arange.start_step", 0, n))
	return b.cast(hot, ir.Int64)
}

// sortCore puts every element at its rank: how many come before it. Equal ones
// keep their order, NaN counts as largest.
func sortCore(b *Builder, c *Call) []*ir.Value {
	self := c.Value("self")
	rank := self.Type.Rank()
	if rank == 0 {
		return []*ir.Value{b.Op("aten.clone.default", self), b.Op("aten.full.default", []int{}, 0,
			Kw("dtype", ir.Int64))}
	}
	d := c.dim("dim", rank)
	x := self
	if x.Type.DType == ir.Bool {
		x = b.cast(x, ir.Int64)
	}
	// less[…, i, j…] says that element j comes strictly before element i.
	here, other := b.Op("aten.unsqueeze.default", x, d+1), b.Op("aten.unsqueeze.default", x, d)
	less := func(a, z *ir.Value) *ir.Value {
		if !x.Type.DType.IsFloat() {
			return b.Op("aten.lt.Tensor", a, z)
		}
		smaller := b.Op("aten.logical_not.default", b.Op("aten.ge.Tensor", a, z))
		return b.Op("aten.logical_and.default", smaller, b.Op("aten.eq.Tensor", a, a))
	}
	before, after := less(other, here), less(here, other)
	if c.Bool("descending") {
		before, after = after, before
	}
	n := self.Type.Sizes[d]
	at := b.Op("aten.arange.start_step", 0, n)
	shape := slices.Repeat([]sym.Expr{sym.Int(1)}, rank-d-1)
	earlier := b.Op("aten.lt.Tensor", b.reshaped(at, append([]sym.Expr{sym.Int(1), n},
		shape...)...), b.reshaped(at, append([]sym.Expr{n, sym.Int(1)}, shape...)...))
	before = b.Op("aten.where.self", earlier, b.Op("aten.logical_not.default", after), before)
	place := b.Op("aten.sum.dim_IntList", before, []int{d + 1})
	values := b.Op("aten.scatter.src", self, d, place, self)
	index := b.Op("aten.expand.default", b.reshaped(at, append([]sym.Expr{n}, shape...)...),
		self.Type.Sizes)
	return []*ir.Value{values, b.Op("aten.scatter.src", place, d, place, index)}
}

// hitsOf tells which of the elements written go to which of self, along one
// more dimension behind dim: [.., self's size, the index's size, ..].
func (b *Builder) hitsOf(index *ir.Value, n sym.Expr, d int) *ir.Value {
	shape := slices.Repeat([]sym.Expr{sym.Int(1)}, index.Type.Rank()-d-1)
	at := b.reshaped(b.Op("aten.arange.start_step", 0, n), append([]sym.Expr{n, sym.Int(1)},
		shape...)...)
	return b.Op("aten.eq.Tensor", b.Op("aten.unsqueeze.default", index, d), at)
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
	// What the index does not reach in the other dimensions goes nowhere.
	var pads []sym.Expr
	short := false
	for k := self.Type.Rank() - 1; k >= 0; k-- {
		n := index.Type.Sizes[k]
		if !src.Type.Sizes[k].Equal(n) {
			src = b.Op("aten.slice.Tensor", src, k, 0, n)
		}
		missing := sym.Sub(self.Type.Sizes[k], n)
		if k == d {
			missing = sym.Int(0)
		}
		short = short || !missing.IsZero()
		pads = append(pads, sym.Int(0), missing)
	}
	if short {
		index, src = b.Op("aten.constant_pad_nd.default", index, pads, -1),
			b.Op("aten.constant_pad_nd.default", src, pads, 0)
	}
	hits := b.hitsOf(index, self.Type.Sizes[d], d)
	spread := b.Op("aten.unsqueeze.default", b.cast(src, m), d)
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
	touched := b.Op("aten.any.dim", hits, d+1)
	if includeSelf {
		y = b.Op(join, x, y)
	}
	if how == "mean" {
		count := b.Op("aten.sum.dim_IntList", hits, []int{d + 1})
		if includeSelf {
			count = b.add(count, 1)
		}
		count = b.Op("aten.clamp.default", count, 1)
		if m.IsFloat() {
			y = b.div(y, b.cast(count, m))
		} else {
			y = b.cast(b.Op("aten.div.Tensor_mode", y, count, Kw("rounding_mode", "floor")), m)
		}
	}
	return b.where(touched, b.cast(y, dt), self, dt)
}

// scatterReduceCore merges by name.
func scatterReduceCore(b *Builder, c *Call) *ir.Value {
	self, index := c.Value("self"), c.Value("index")
	d := c.gatherDim()
	if index.Type.Numel().IsZero() {
		return b.Op("aten.clone.default", self)
	}
	how, include := c.Str("reduce"), c.Op.sch.Index("include_self") < 0 || c.Bool("include_self")
	var src *ir.Value
	if c.Op.sch.Index("src") >= 0 {
		src = c.Value("src")
	} else {
		src = b.Op("aten.expand.default", b.scalar(c.Arg("value"), self.Type.DType),
			index.Type.Sizes)
	}
	switch how {
	case "add":
		how = "sum"
	case "multiply":
		how = "prod"
	}
	if how == "sum" && include {
		return b.Op("aten.scatter_add.default", self, d, index, src)
	}
	return b.reduceInto(self, b.cast(index, ir.Int64), src, d, how, include)
}

func indexReduceCore(b *Builder, c *Call) *ir.Value {
	d, sizes := b.indexUpdateDim(c)
	src := b.reshaped(c.Value("source"), sizes...)
	if c.Tensor("index").Numel().IsZero() {
		return b.Op("aten.clone.default", c.Value("self"))
	}
	return b.reduceInto(c.Value("self"), b.slicesAt(c, sizes, d), src, d, c.Str("reduce"),
		c.Bool("include_self"))
}
