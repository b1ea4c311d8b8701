package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
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
func catType(c *Call) (ir.Type, int, error) {
	ts := c.Tensors("tensors")
	if len(ts) == 0 {
		return ir.Type{}, 0, c.Errorf("no tensors to join")
	}
	d, err := c.Promote("tensors")
	if err != nil {
		return ir.Type{}, 0, err
	}
	keep := joined(ts)
	if len(keep) == 0 {
		return ir.StaticTensor(d, 0), 0, nil
	}
	first := ts[keep[0]]
	if first.Rank() == 0 {
		return ir.Type{}, 0, c.Errorf("tensors without dimensions cannot be joined")
	}
	dim, err := c.dim("dim", first.Rank())
	if err != nil {
		return ir.Type{}, 0, err
	}
	sizes := slices.Clone(first.Sizes)
	last := true
	for n, k := range keep {
		t := ts[k]
		last = last && suggestsChannelsLast(t)
		if n == 0 {
			continue
		}
		if t.Rank() != len(sizes) {
			return ir.Type{}, 0, c.Errorf("%s do not join", describeSizes([]ir.Type{first, t}))
		}
		for d := range sizes {
			if d == dim {
				sizes[d] = sym.Add(sizes[d], t.Sizes[d])
			} else if differ(sizes[d], t.Sizes[d]) {
				return ir.Type{}, 0, c.Errorf("%s do not join along dimension %d",
					describeSizes([]ir.Type{first, t}), dim)
			}
		}
	}
	t := ir.TensorOf(d, sizes...)
	if last {
		t.Strides = channelsLastStrides(sizes)
	}
	return t, dim, nil
}

// catLoops writes each operand into its slice of the result: a run of memory for
// every index into the dimensions before the joined one.
func catLoops(c *Call) (*loop.Func, error) {
	out, dim := must2(catType(c))
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
				body = []loop.Stmt{&loop.For{Var: v, Extent: expr.Extent(v), Strip: true,
					Body: body}}
			}
		}
		f.Body = append(f.Body, body...)
		at = sym.Add(at, run(t))
	}
	return f, nil
}

// catPermuted is the same concatenation along the same dimension, which has
// another place in the order. Tensors of other ranks, which count for nothing,
// have no such order.
func catPermuted(c *Call, order []int) *Call {
	_, dim, err := catType(c)
	if err != nil || slices.ContainsFunc(c.Tensors("tensors"), func(t ir.Type) bool {
		return t.Rank() != len(order)
	}) {
		return nil
	}
	p := c.permuted(order)
	p.Args[c.index("dim")] = ir.Int(slices.Index(order, dim))
	return p
}

// nest wraps body in loops over vars, the first outermost.
func nest(vars []*sym.Symbol, body ...loop.Stmt) []loop.Stmt {
	for i := len(vars) - 1; i >= 0; i-- {
		body = []loop.Stmt{&loop.For{Var: vars[i], Extent: expr.Extent(vars[i]), Body: body}}
	}
	return body
}

func cat(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t, _, err := catType(c)
			return one(t, err)
		},
		Loops:    catLoops,
		Permuted: catPermuted,
	}
}

// stackType is the type of the tensors stacked along a new dimension.
func stackType(c *Call) (ir.Type, error) {
	ts := c.Tensors("tensors")
	if len(ts) == 0 {
		return ir.Type{}, c.Errorf("no tensors to stack")
	}
	for _, t := range ts[1:] {
		if !slices.EqualFunc(t.Sizes, ts[0].Sizes, func(a, b sym.Expr) bool {
			return !differ(a, b)
		}) {
			return ir.Type{}, c.Errorf("%s do not stack", describeSizes([]ir.Type{ts[0], t}))
		}
	}
	d := must(c.Promote("tensors"))
	dim := must(c.dim("dim", ts[0].Rank()+1))
	return ir.TensorOf(d, slices.Insert(slices.Clone(ts[0].Sizes), dim,
		sym.Int(int64(len(ts))))...), nil
}

// stacks brings operators on a Tensor[] to cat, the operands reshaped by each.
func stacks(schema string, typ func(*Call) (ir.Type, error), dim func(c *Call) any,
	each func(b *Builder, c *Call, x *ir.Value) *ir.Value) Op {
	return composite(schema, typ, func(b *Builder, c *Call) *ir.Value {
		var xs []*ir.Value
		for _, x := range c.operands {
			xs = append(xs, each(b, c, x))
		}
		return b.Op("aten.cat.default", xs, dim(c))
	})
}

// atLeast returns sizes with dimensions of size 1 put so that there are n, as
// atleast_1d, _2d and _3d do.
func atLeast(sizes []sym.Expr, n int) []sym.Expr {
	one := sym.Int(1)
	switch {
	case len(sizes) >= n:
		return sizes
	case len(sizes) == 0:
		return slices.Repeat([]sym.Expr{one}, n)
	case n == 2:
		return []sym.Expr{one, sizes[0]}
	case len(sizes) == 1:
		return []sym.Expr{one, sizes[0], one}
	}
	return append(slices.Clone(sizes), one)
}

// sideBySide is hstack, vstack and dstack: cat of operands with at least n
// dimensions, along dim.
func sideBySide(schema string, n int, dim func(rank int) int) Op {
	view := func(t ir.Type) ir.Type { return ir.TensorOf(t.DType, atLeast(t.Sizes, n)...) }
	typ := func(c *Call) (ir.Type, error) {
		ts := c.Tensors("tensors")
		if len(ts) == 0 {
			return ir.Type{}, c.Errorf("no tensors to join")
		}
		d := must(c.Promote("tensors"))
		sizes := slices.Clone(view(ts[0]).Sizes)
		at := dim(len(sizes))
		for _, t := range ts[1:] {
			u := view(t)
			if u.Rank() != len(sizes) {
				return u, c.Errorf("%s do not join", describeSizes(ts))
			}
			for i, s := range u.Sizes {
				if i == at {
					sizes[i] = sym.Add(sizes[i], s)
				} else if differ(sizes[i], s) {
					return u, c.Errorf("%s do not join", describeSizes(ts))
				}
			}
		}
		return ir.TensorOf(d, sizes...), nil
	}
	return stacks(schema, typ, func(c *Call) any { return dim(c.Outs[0].Rank()) },
		func(b *Builder, c *Call, x *ir.Value) *ir.Value {
			return b.Op("aten.reshape.default", x, atLeast(x.Type.Sizes, n))
		})
}

// joinOps put tensors together.
func joinOps() []Op {
	dim := func(c *Call) any { return c.Arg("dim") }
	return []Op{
		cat("aten::cat(Tensor[] tensors, int dim=0) -> Tensor"),
		cat("aten::concat(Tensor[] tensors, int dim=0) -> Tensor").core(sameAs("aten.cat.default")),
		cat("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor").core(
			sameAs("aten.cat.default")),
		stacks("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", stackType, dim,
			func(b *Builder, c *Call, x *ir.Value) *ir.Value {
				return b.Op("aten.unsqueeze.default", x, c.Arg("dim"))
			}),
		sideBySide("aten::hstack(Tensor[] tensors) -> Tensor", 1, func(rank int) int {
			return min(rank-1, 1)
		}),
		sideBySide("aten::vstack(Tensor[] tensors) -> Tensor", 2, func(int) int { return 0 }),
		sideBySide("aten::dstack(Tensor[] tensors) -> Tensor", 3, func(int) int { return 2 }),
	}
}
