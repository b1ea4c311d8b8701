package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// joined returns the operands of a concatenation that count: PyTorch ignores
// tensors of shape [0] among others.
func joined(ts []ir.Type) []int {
	var keep []int
	for i, t := range ts {
		if t.Rank() != 1 || !t.Sizes[0].IsZero() {
			keep = append(keep, i)
		}
	}
	return keep
}

// catType is the type of the concatenation of a Tensor[] argument.
func catType(c *Call) (ir.Type, int) {
	ts := c.Tensors("tensors")
	c.errorIf(len(ts) == 0, "no tensors to join")
	d := must(c.Promote("tensors"))
	keep := joined(ts)
	if len(keep) == 0 {
		return ir.StaticTensor(d, 0), 0
	}
	first := ts[keep[0]]
	c.errorIf(first.Rank() == 0, "tensors without dimensions cannot be joined")
	dim := c.dim("dim", first.Rank())
	sizes := slices.Clone(first.Sizes)
	last := true
	for n, k := range keep {
		t := ts[k]
		last = last && suggestsChannelsLast(t)
		if n == 0 {
			continue
		}
		c.errorIf(t.Rank() != len(sizes), "%s do not join", sizesOf{first, t})
		for d := range sizes {
			if d == dim {
				sizes[d] = sym.Add(sizes[d], t.Sizes[d])
			} else if differ(sizes[d], t.Sizes[d]) {
				panic(c.Errorf("%s do not join along dimension %d", sizesOf{first, t}, dim))
			}
		}
	}
	t := ir.TensorOf(d, sizes...)
	if last {
		t.Strides = channelsLastStrides(sizes)
	}
	return t, dim
}

// catLoops writes each operand into its slice of the result: a run of memory for
// every index into the dimensions before the joined one.
func catLoops(c *Call) *loop.Func {
	out, dim := catType(c)
	f := &loop.Func{Name: "cat", Bufs: c.buffers()}
	run := func(t ir.Type) sym.Expr { return sym.Mul(t.Sizes[dim:]...) }
	var at sym.Expr
	for _, k := range joined(c.Tensors("tensors")) {
		t := c.operands[k].Type
		vars, coords := indexVars([]sym.Expr{sym.Mul(out.Sizes[:dim]...), run(t)})
		for d, v := range vars {
			if expr.Extent(v).Is(1) {
				coords[d] = sym.Int(0)
			}
		}
		x := expr.At(1+k, t.DType, sym.Add(sym.Mul(coords[0], run(t)), coords[1]))
		to := sym.Add(sym.Mul(coords[0], run(out)), at, coords[1])
		body := []loop.Stmt{&loop.Store{Buf: 0, At: to, Value: expr.Cast(out.DType, x)}}
		for _, v := range slices.Backward(vars) {
			if !expr.Extent(v).Is(1) {
				body = []loop.Stmt{&loop.For{Var: v, Extent: expr.Extent(v), Vectorizable: true,
					Body: body}}
			}
		}
		f.Body = append(f.Body, body...)
		at = sym.Add(at, run(t))
	}
	return f
}

// nest wraps body in loops over vars, the first outermost.
func nest(vars []*sym.Symbol, body ...loop.Stmt) []loop.Stmt {
	for i := len(vars) - 1; i >= 0; i-- {
		body = []loop.Stmt{&loop.For{Var: vars[i], Extent: expr.Extent(vars[i]), Body: body}}
	}
	return body
}

func cat(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t, _ := catType(c)
			return one(t)
		},
		Loops: catLoops,
		Permuted: func(c *Call, order []int) *Call {
			// The same concatenation along the same dimension, which has
			// another place in the order. Tensors of other ranks, which count for nothing,
			// have no such order.
			if slices.ContainsFunc(c.Tensors("tensors"), func(t ir.Type) bool {
				return t.Rank() != len(order)
			}) {
				return nil
			}
			_, dim := catType(c)
			p := c.permuted(order)
			p.Args[c.index("dim")] = ir.Int(slices.Index(order, dim))
			return p
		},
	}
}

// sideBySide is cat, along dim, of operands that have at least n dimensions.
func sideBySide(schema string, n int, dim func(rank int) int) entry {
	return derived(schema, func(b *Builder, c *Call) *ir.Value {
		xs := c.each(func(x *ir.Value) *ir.Value {
			return b.aten("reshape", x, raisedTo(x.Type.Sizes, n))
		})
		return b.aten("cat", xs, dim(xs[0].Type.Rank()))
	})
}

// joinOps put tensors together.
func joinOps() []entry {
	return []entry{
		cat("aten::cat(Tensor[] tensors, int dim=0) -> Tensor"),
		derived("aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", chunkCat),
		derived("aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				xs := c.each(func(x *ir.Value) *ir.Value {
					c.errorIf(!sameSizes(x.Type.Sizes, c.operands[0].Type.Sizes),
						"%s do not stack", sizesOf{c.operands[0].Type, x.Type})
					return b.aten("unsqueeze", x, c.Arg("dim"))
				})
				return b.aten("cat", xs, c.Arg("dim"))
			}),
		sideBySide("aten::hstack(Tensor[] tensors) -> Tensor", 1, func(rank int) int {
			return min(rank-1, 1)
		}),
		sideBySide("aten::vstack(Tensor[] tensors) -> Tensor", 2, func(int) int { return 0 }),
		sideBySide("aten::dstack(Tensor[] tensors) -> Tensor", 3, func(int) int { return 2 }),
	}
}

// combineOps make one tensor of several, in patterns.
func combineOps() []entry {
	return []entry{
		derived("aten::column_stack(Tensor[] tensors) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				columns := c.each(func(x *ir.Value) *ir.Value {
					if x.Type.Rank() > 1 {
						return x
					}
					return b.aten("reshape", x, []sym.Expr{x.Type.Numel(), sym.Int(1)})
				})
				return b.aten("cat", columns, 1)
			}),
		derived("aten::block_diag(Tensor[] tensors) -> Tensor", blockDiag),
		derived("aten::cartesian_prod(Tensor[] tensors) -> Tensor", cartesianProduct),
		{
			Schema: "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				sizes, ok := Broadcast(c.Tensors("tensors")...)
				c.errorIf(!ok, "%s do not broadcast", sizesOf(c.Tensors("tensors")))
				return c.each(func(x *ir.Value) *ir.Value {
					return b.aten("expand", x, sizes)
				})
			},
		},
		derived("aten::kron(Tensor self, Tensor other) -> Tensor", kron),
		derived("aten::trace(Tensor self) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			c.errorIf(c.Tensor("self").Rank() != 2, "the trace of a tensor with %d dimensions",
				c.Tensor("self").Rank())
			return b.aten("sum", b.aten("diagonal", c.Value("self")))
		}),
		derived("aten::tensordot(Tensor self, Tensor other, int[] dims_self, "+
			"int[] dims_other) -> Tensor", tensorDot),
	}
}

// each applies f to the argument tensors.
func (c *Call) each(f func(*ir.Value) *ir.Value) []*ir.Value {
	n := len(c.Tensors("tensors"))
	c.errorIf(n == 0, "no tensors")
	return seq.Of(n, func(i int) *ir.Value { return f(c.operands[c.Operand("tensors")+i]) })
}

// cartesianProduct has the elements of one vector in each column, the last
// changing fastest.
func cartesianProduct(b *Builder, c *Call) *ir.Value {
	var sizes []sym.Expr
	for _, t := range c.Tensors("tensors") {
		c.errorIf(t.Rank() != 1, "a tensor with %d dimensions", t.Rank())
		sizes = append(sizes, t.Sizes[0])
	}
	i := -1
	columns := c.each(func(x *ir.Value) *ir.Value {
		i++
		shape := slices.Repeat([]sym.Expr{sym.Int(1)}, len(sizes))
		shape[i] = sizes[i]
		x = b.aten("expand", b.aten("reshape", x, shape), sizes)
		return b.aten("reshape", x, []int{-1})
	})
	if len(columns) == 1 {
		return columns[0]
	}
	return b.aten("stack", columns, 1)
}

// blockDiag pads each block to the width of the result and puts them below each
// other.
func blockDiag(b *Builder, c *Call) *ir.Value {
	var types []ir.Type
	blocks := c.each(func(x *ir.Value) *ir.Value {
		if r := x.Type.Rank(); r < 2 {
			x = b.aten("reshape", x, []sym.Expr{sym.Int(1), x.Type.Numel()})
		}
		types = append(types, x.Type)
		return x
	})
	width := sym.Int(0)
	d := must(c.Promote("tensors"))
	for _, t := range types {
		c.errorIf(t.Rank() != 2, "a block with %d dimensions", t.Rank())
		width = sym.Add(width, t.Sizes[1])
	}
	left := sym.Int(0)
	for i, x := range blocks {
		next := sym.Add(left, types[i].Sizes[1])
		blocks[i] = b.aten("constant_pad_nd", b.cast(x, d),
			[]sym.Expr{left, sym.Sub(width, next)}, 0)
		left = next
	}
	return b.aten("cat", blocks, 0)
}

// kron multiplies every element of one with every one of the other, their
// dimensions interleaved.
func kron(b *Builder, c *Call) *ir.Value {
	x, y := c.Value("self"), c.Value("other")
	n := max(x.Type.Rank(), y.Type.Rank())
	spread := func(v *ir.Value, first bool) (*ir.Value, []sym.Expr) {
		sizes := slices.Concat(slices.Repeat([]sym.Expr{sym.Int(1)}, n-v.Type.Rank()), v.Type.Sizes)
		var shape []sym.Expr
		for _, s := range sizes {
			if first {
				shape = append(shape, s, sym.Int(1))
			} else {
				shape = append(shape, sym.Int(1), s)
			}
		}
		return b.aten("reshape", v, shape), sizes
	}
	u, a := spread(x, true)
	v, o := spread(y, false)
	sizes := seq.Of(n, func(i int) sym.Expr { return sym.Mul(a[i], o[i]) })
	return b.aten("reshape", b.mul(u, v), sizes)
}

// tensorDot is a matrix product of the dimensions that stay by those that are
// summed over.
func tensorDot(b *Builder, c *Call) *ir.Value {
	side := func(tensor, dims string) (x *ir.Value, keep, sum []int) {
		x = c.Value(tensor)
		ds := must(c.Ints(dims))
		for _, d := range ds {
			if d < 0 {
				d += int64(x.Type.Rank())
			}
			c.errorIf(d < 0 || d >= int64(x.Type.Rank()) || slices.Contains(sum, int(d)),
				"dimension %d of a tensor with %d", d, x.Type.Rank())
			sum = append(sum, int(d))
		}
		for d := range x.Type.Rank() {
			if !slices.Contains(sum, d) {
				keep = append(keep, d)
			}
		}
		return
	}
	x, keepX, sumX := side("self", "dims_self")
	y, keepY, sumY := side("other", "dims_other")
	c.errorIf(len(sumX) != len(sumY), "%d and %d dimensions to sum over", len(sumX), len(sumY))
	of := func(t ir.Type, dims []int) []sym.Expr {
		return seq.Map(dims, func(d int) sym.Expr { return t.Sizes[d] })
	}
	// What has a size of 1 in one operand is summed over in the other.
	for i := range sumX {
		n, m := x.Type.Sizes[sumX[i]], y.Type.Sizes[sumY[i]]
		switch {
		case m.Is(1) && !n.Is(1):
			x = b.aten("sum.dim_IntList", x, sumX[i:i+1], true)
		case n.Is(1) && !m.Is(1):
			y = b.aten("sum.dim_IntList", y, sumY[i:i+1], true)
		default:
			c.errorIf(differ(n, m), "%s do not multiply", sizesOf{x.Type, y.Type})
		}
	}
	rows, k, columns := of(x.Type, keepX), sym.Mul(of(x.Type, sumX)...), of(y.Type, keepY)
	left := b.aten("reshape", b.aten("permute", x, slices.Concat(keepX,
		sumX)), []sym.Expr{sym.Mul(rows...), k})
	right := b.aten("reshape", b.aten("permute", y,
		slices.Concat(sumY, keepY)), []sym.Expr{k, sym.Mul(columns...)})
	return b.aten("reshape", b.aten("mm", left, right), slices.Concat(rows, columns))
}

// chunkCat divides each tensor into chunks along a dimension, the last ones filled with zeros, and
// puts each's behind those of the tensors before.
func chunkCat(b *Builder, c *Call) *ir.Value {
	d, n := int(must(c.Int("dim"))), must(c.Int("num_chunks"))
	c.errorIf(n < 1, "%d chunks", n)
	xs := c.each(func(x *ir.Value) *ir.Value {
		r := x.Type.Rank()
		if d < 0 {
			d += r
		}
		c.errorIf(d < 0 || d >= r, "dimension %d of %s", d, sizesOf{x.Type})
		size := x.Type.Sizes[d]
		whole := sym.Mul(sym.CeilDiv(size, sym.Int(n)), sym.Int(n))
		pads := make([]sym.Expr, 2*(r-d))
		for k := range pads {
			pads[k] = sym.Int(0)
		}
		pads[len(pads)-1] = sym.Sub(whole, size)
		x = b.aten("constant_pad_nd", x, pads)
		return b.reshaped(x, append(slices.Clone(x.Type.Sizes[:d]), sym.Int(n),
			sym.FloorDiv(sym.Mul(x.Type.Sizes[d:]...), sym.Int(n)))...)
	})
	return b.aten("cat", xs, d+1)
}
