package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// unflatten is the inverse of sym.RowMajor.
func unflatten(at sym.Expr, sizes []sym.Expr) []sym.Expr {
	coords := make([]sym.Expr, len(sizes))
	for d := len(sizes) - 1; d >= 0; d-- {
		switch {
		case d == 0:
			coords[d] = at
		case sizes[d].IsZero() || sizes[d].Is(1): // nothing is ever read, or 0
		default:
			coords[d] = sym.Mod(at, sizes[d])
			at = sym.FloorDiv(at, sizes[d])
		}
	}
	return coords
}

// reshapeCoords returns the coordinates in a tensor of sizes from of what is at
// coords after it was reshaped to sizes to. Dimensions are matched in groups of
// equal product, so that what stays the same needs no division.
func reshapeCoords(from, to, coords []sym.Expr) []sym.Expr {
	out := make([]sym.Expr, len(from))
	for i, j := 0, 0; i < len(from) || j < len(to); {
		i0, j0 := i, j
		p, q := sym.Int(1), sym.Int(1)
		if i < len(from) {
			p = from[i]
			i++
		}
		if j < len(to) {
			q = to[j]
			j++
		}
		for !p.Equal(q) {
			switch {
			case i < len(from) && sym.LessEq(p, q):
				p = sym.Mul(p, from[i])
				i++
			case j < len(to) && sym.LessEq(q, p):
				q = sym.Mul(q, to[j])
				j++
			default: // who is larger cannot be told: all the rest is one group
				i, j = len(from), len(to)
				q = p
			}
		}
		copy(out[i0:], unflatten(sym.RowMajor(to[j0:j], coords[j0:j]), from[i0:i]))
	}
	return out
}

// openSize returns sizes with the one -1 in it replaced so that they hold
// numel elements.
func (c *Call) openSize(sizes []sym.Expr, numel sym.Expr) []sym.Expr {
	sizes = slices.Clone(sizes)
	open, known := -1, sym.Int(1)
	for d, s := range sizes {
		switch {
		case s.Is(-1):
			c.errorIf(open >= 0, "more than one size is -1")
			open = d
		default:
			if n, ok := s.Const(); ok && n < 0 {
				panic(c.Errorf("size %d", n))
			}
			known = sym.Mul(known, s)
		}
	}
	if open >= 0 {
		c.errorIf(known.IsZero(), "a size of -1 beside a size of 0")
		sizes[open] = sym.FloorDiv(numel, known)
		known = sym.Mul(known, sizes[open])
	}
	c.errorIf(differ(known, numel), "%s elements do not make %s", numel, sizesOf{{Sizes: sizes}})
	return sizes
}

// viewStrides returns the strides with which t's storage holds t reshaped to
// sizes; ok is false if no strides do. Sizes that cannot be compared count as
// different.
func viewStrides(t ir.Type, sizes []sym.Expr) (strides []sym.Expr, ok bool) {
	if sym.AllEqual(sizes, t.Sizes) {
		return t.Strides, true
	}
	if t.Numel().IsZero() || t.IsContiguous() && t.Numel().Equal(sym.Mul(sizes...)) {
		return ir.Contiguous(sizes), true
	}
	strides = make([]sym.Expr, len(sizes))
	if t.Rank() == 0 {
		for d := range strides {
			strides[d] = sym.Int(1)
		}
		return strides, true
	}
	v := len(sizes) - 1
	base := t.Strides[t.Rank()-1]
	have, want := sym.Int(1), sym.Int(1)
	for d := t.Rank() - 1; d >= 0; d-- {
		have = sym.Mul(have, t.Sizes[d])
		if d > 0 && (t.Sizes[d-1].Is(1) || t.Strides[d-1].Equal(sym.Mul(have, base))) {
			continue
		}
		for v >= 0 && (sizes[v].Is(1) || !want.Equal(have)) {
			strides[v] = sym.Mul(want, base)
			want = sym.Mul(want, sizes[v])
			v--
			if less(have, want) {
				return nil, false
			}
		}
		if differ(want, have) || v >= 0 && !want.Equal(have) {
			return nil, false
		}
		if d > 0 {
			base = t.Strides[d-1]
			have, want = sym.Int(1), sym.Int(1)
		}
	}
	return strides, v < 0
}

// tracedStrides are the strides that PyTorch's tracer gives to a view that
// viewStrides allows: it splits and merges dimensions from the left, and so
// differs from eager in strides of dimensions of size 1.
func tracedStrides(t ir.Type, sizes []sym.Expr) (strides []sym.Expr, ok bool) {
	if t.Numel().IsZero() || t.IsContiguous() && (len(sizes) == 1 && t.Rank() > 1 ||
		len(sizes) == 2 && t.Rank() == 1) {
		return ir.Contiguous(sizes), true
	}
	if t.Rank() == 0 {
		return ir.Contiguous(sizes), true
	}
	have, stride := slices.Clone(t.Sizes), slices.Clone(t.Strides)
	for i, n := range sizes {
		if i >= len(have) { // only ones are left
			have, stride = append(have, sym.Int(1)), append(stride, stride[i-1])
			continue
		}
		if n.Equal(have[i]) {
			continue
		}
		end, product := i, have[i]
		for !sym.Mod(product, n).IsZero() {
			if end++; end >= len(have) {
				return nil, false
			}
			product = sym.Mul(product, have[end])
		}
		least := stride[end]
		for d := end - 1; d >= i; d-- {
			if !have[d].Is(1) && less(stride[d], least) {
				least = stride[d]
			}
		}
		have, stride = slices.Replace(have, i, end+1, product), slices.Replace(stride, i,
			end+1, least)
		if inner := sym.FloorDiv(product, n); !inner.Is(1) || !product.Equal(n) {
			have, stride = slices.Replace(have, i, i+1, n, inner), slices.Replace(stride, i, i+1,
				sym.Mul(least, inner), least)
		}
	}
	return stride[:len(sizes)], true
}

// reshaped returns t, viewed with other sizes; the type is dense if no view is
// possible, and ok false.
func (c *Call) reshaped(t ir.Type, sizes []sym.Expr) (a alias, ok bool) {
	sizes = c.openSize(sizes, t.Numel())
	from := t.Sizes
	at := func(coords []sym.Expr) []sym.Expr { return reshapeCoords(from, sizes, coords) }
	strides, ok := viewStrides(t, sizes)
	if !ok {
		return alias{ir.TensorOf(t.DType, sizes...), at}, false
	}
	if traced, ok := tracedStrides(t, sizes); ok {
		strides = traced
	}
	return alias{restrided(t, sizes, strides), at}, true
}

// storageCoords returns the coordinates in t of the element at position at of
// its storage. t must be dense.
func storageCoords(t ir.Type, at sym.Expr) ([]sym.Expr, bool) {
	perm, ok := denseOrder(t)
	if !ok {
		return nil, false
	}
	slices.Reverse(perm) // from the outermost in
	sizes := seq.Map(perm, func(d int) sym.Expr { return t.Sizes[d] })
	out := make([]sym.Expr, len(perm))
	for i, c := range unflatten(sym.Sub(at, t.Offset), sizes) {
		out[perm[i]] = c
	}
	return out, true
}

// strided returns the tensor that has the given sizes and strides over t's
// storage. What it reads must lie in t itself, and t be dense.
func (c *Call) strided(t ir.Type, sizes, strides []sym.Expr, offset sym.Expr) alias {
	c.errorIf(len(sizes) != len(strides), "%d sizes and %d strides", len(sizes), len(strides))
	last, empty := offset, false
	for d, s := range sizes {
		empty = empty || s.IsZero()
		c.errorIf(!sym.NonNegative(s) || !sym.NonNegative(strides[d]), "the size %s with stride %s",
			s, strides[d])
		last = sym.Add(last, sym.Mul(sym.Sub(s, sym.Int(1)), strides[d]))
	}
	c.errorIf(!empty && !(sym.LessEq(t.Offset, offset) && sym.Less(last, sym.Add(t.Offset,
		t.Numel()))),
		"elements %s to %s of the storage are asked for, of which the operand holds only %s to %s",
		offset, last, t.Offset, sym.Add(t.Offset, t.Numel(), sym.Int(-1)))
	c.errorIf(!isDense(t),
		"the operand has gaps or repeated elements, so that its storage is not at hand; make it "+
			"contiguous before as_strided")
	a := restrided(t, sizes, strides)
	a.Offset = offset
	return alias{a, func(coords []sym.Expr) []sym.Expr {
		at := offset
		for d, x := range coords {
			at = sym.Add(at, sym.Mul(x, strides[d]))
		}
		out, _ := storageCoords(t, at)
		return out
	}}
}

// reshapes is an entry that views self with other sizes where its strides
// allow it and copies it otherwise.
func reshapes(schema string, sizes func(*Call, ir.Type) []sym.Expr) entry {
	shape := func(c *Call) (a alias, ok bool) {
		t := c.Tensor("self")
		want := sizes(c, t)
		return c.reshaped(t, want)
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			a, _ := shape(c)
			return one(a.Type)
		},
		View: func(c *Call) []View {
			a, ok := shape(c)
			if !ok {
				return nil
			}
			return []View{{Of: c.Operand("self"), Map: a.at}}
		},
		Compute: element(func(c *Call, coords []sym.Expr) *expr.Expr {
			a, _ := shape(c)
			return c.Load("self", a.at(coords)...)
		}),
	}
}

func argSizes(name string) func(*Call, ir.Type) []sym.Expr {
	return func(c *Call, _ ir.Type) []sym.Expr { return must(c.SymInts(name)) }
}

func strictView(c *Call, t ir.Type) alias { return c.viewedAs(t, must(c.SymInts("size"))) }

// viewedAs is reshaped that must not copy.
func (c *Call) viewedAs(t ir.Type, sizes []sym.Expr) alias {
	a, ok := c.reshaped(t, sizes)
	c.errorIf(!ok, "the strides of %s do not allow a view as %s", sizesOf{t}, sizesOf{a.Type})
	return a
}

// rankOps give tensors at least so many dimensions.
func rankOps() []entry {
	var out []entry
	for n, name := range []string{"aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d"} {
		rank := n + 1
		sizes := func(t ir.Type) []sym.Expr { return raisedTo(t.Sizes, rank) }
		out = append(out,
			reshapes(name+"(Tensor self) -> Tensor", func(_ *Call, t ir.Type) []sym.Expr {
				return sizes(t)
			}),
			entry{
				Schema: name + ".Sequence(Tensor[] tensors) -> Tensor[]",
				Decompose: func(b *Builder, c *Call) []*ir.Value {
					return c.each(func(x *ir.Value) *ir.Value {
						return b.aten("reshape", x, sizes(x.Type))
					})
				},
			})
	}
	return out
}

// raisedTo puts ones around sizes: a vector is a row, and a matrix has one
// element at each place of three dimensions.
func raisedTo(sizes []sym.Expr, rank int) []sym.Expr {
	one := sym.Int(1)
	out := slices.Clone(sizes)
	if len(out) == 0 {
		out = append(out, one)
	}
	if len(out) == 1 && rank > 1 {
		out = []sym.Expr{one, out[0]}
	}
	if len(out) == 2 && rank > 2 {
		out = append(out, one)
	}
	return out
}

// bitType is the integer that the bits of elements of a size, in bytes, are moved in.
func bitType(size int) (ir.DType, bool) {
	switch size {
	case 1:
		return ir.Uint8, true
	case 2:
		return ir.Int16, true
	case 4:
		return ir.Int32, true
	case 8:
		return ir.Int64, true
	}
	return 0, false
}

// viewDType looks at the bytes of self as elements of another dtype, little
// endian. If they are larger or smaller the last dimension shrinks or grows. The
// result is a copy: what is written to it in place does not reach self.
func viewDType() entry {
	return entry{
		Schema: "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			d := c.DType("dtype", t.DType)
			from, to := int64(t.DType.Size()), int64(d.Size())
			if _, known := bitType(int(to)); !known || t.DType.IsComplex() || d.IsComplex() ||
				d == ir.Bool && t.DType != ir.Bool {
				panic(c.Errorf("elements of %s as %s", t.DType, d))
			}
			out := t
			out.DType = d
			if from == to {
				return []ir.Type{out}
			}
			last := t.Rank() - 1
			c.errorIf(last < 0, "a tensor without dimensions has no elements of another size")
			if s, ok := t.Strides[last].Const(); !ok || s != 1 {
				panic(c.Errorf("the last dimension of %s is not dense", t))
			}
			scale := func(e sym.Expr) sym.Expr {
				if to < from {
					return sym.Mul(e, sym.Int(from/to))
				}
				k := sym.Int(to / from)
				if n, ok := sym.Mod(e, k).Const(); !ok || n != 0 {
					panic(c.Errorf("%s is not made of whole elements of %s", t, d))
				}
				return sym.FloorDiv(e, k)
			}
			out.Sizes, out.Strides = slices.Clone(t.Sizes), slices.Clone(t.Strides)
			out.Sizes[last] = scale(t.Sizes[last])
			for i := range last {
				out.Strides[i] = scale(t.Strides[i])
			}
			out.Offset = scale(t.Offset)
			return []ir.Type{out}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			t, o := c.Tensor("self"), c.Outs[0]
			from, to := t.DType.Size(), o.DType.Size()
			mine, _ := bitType(from) // the integers of self's elements and the result's
			theirs, _ := bitType(to)
			load := func(at []sym.Expr) *expr.Expr {
				return expr.Bitcast(mine, c.Load("self", at...))
			}
			var x *expr.Expr
			last := len(at) - 1
			switch {
			case from == to:
				x = load(at)
			case to < from: // a part of an element
				k := sym.Int(int64(from / to))
				src := slices.Clone(at)
				src[last] = sym.FloorDiv(at[last], k)
				by := expr.Mul(expr.Idx(mine, sym.Mod(at[last], k)), expr.Int(mine, int64(8*to)))
				x = expr.Cast(theirs, expr.Shr(load(src), by))
			default: // several elements
				k := to / from
				mask := expr.Int(theirs, int64(1)<<(8*from)-1)
				for part := range k {
					src := slices.Clone(at)
					src[last] = sym.Add(sym.Mul(at[last], sym.Int(int64(k))), sym.Int(int64(part)))
					y := expr.Shl(expr.And(expr.Cast(theirs, load(src)), mask),
						expr.Int(theirs, int64(8*from*part)))
					if x == nil {
						x = y
					} else {
						x = expr.Or(x, y)
					}
				}
			}
			return expr.Bitcast(o.DType, x)
		}),
	}
}

// viewScatter is self with the elements that a view of it shares replaced by
// those of src.
//
//go:noinline
func viewScatter(schema string, of func(c *Call, t ir.Type) alias) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t, src := c.Tensor("self"), c.Tensor("src")
			a := of(c, t)
			c.errorIf(!broadcastsTo(src, a.Sizes), "%s do not fit a view of %s", sizesOf{src},
				sizesOf{a.Type})
			if t.Numel().IsZero() {
				return []ir.Type{t}
			}
			return []ir.Type{likeType(t, t.DType)}
		},
		Loops: func(c *Call) *loop.Func {
			t := c.Tensor("self")
			a := of(c, t)
			f := c.update("scatter")
			vars, at := indexVars(a.Sizes)
			x := c.flatLoad(c.Operand("src"), broadcastCoords(c.Tensor("src"), a.Sizes, at))
			f.Body = nest(vars, c.write(sym.RowMajor(t.Sizes, a.at(at)), x, replaced))
			return f
		},
	}
}

func viewScatterOps() []entry {
	return []entry{
		viewScatter("aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, "+
			"SymInt? end=None, SymInt step=1) -> Tensor", sliceView),
		viewScatter("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
			selectView),
		viewScatter("aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, "+
			"int dim2=1) -> Tensor", diagonalView).core(diagonalScatterCore),
		viewScatter("aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "+
			"SymInt? storage_offset=None) -> Tensor", stridedView).core(stridedScatterCore),
	}
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
	y := b.aten("scatter.src", flat, 0, b.integers(places), b.reshaped(src, src.Type.Numel()))
	return b.reshaped(y, self.Type.Sizes...)
}
