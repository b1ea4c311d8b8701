package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// flipCore is flip along dims.
func flipCore(dims ...int) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		return b.Op("aten.flip.default", c.Value("self"), dims)
	}
}

func rot90Core(b *Builder, c *Call) *ir.Value {
	k, i, j := must3(rot90Dims(c))
	x := c.Value("self")
	turned := func(dim int) *ir.Value {
		return b.Op("aten.transpose.int", b.Op("aten.flip.default", x, []int{dim}), i, j)
	}
	switch k {
	case 1:
		return turned(j)
	case 2:
		return b.Op("aten.flip.default", x, []int{i, j})
	case 3:
		return turned(i)
	}
	return b.Op("aten.clone.default", x)
}

func tileCore(b *Builder, c *Call) *ir.Value {
	reps := must(c.repeats("dims", false))
	return b.Op("aten.repeat.default", c.Value("self"), reps)
}

func channelShuffleCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	g := must(c.SymInt("groups"))
	sizes := x.Type.Sizes
	split := slices.Concat([]sym.Expr{sizes[0], g, sym.FloorDiv(sizes[1], g)}, sizes[2:])
	y := b.Op("aten.transpose.int", b.reshaped(x, split...), 1, 2)
	return b.reshaped(y, sizes...)
}

// triuCore puts 0 where the triangle below has something.
func triuCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	k := must(c.SymInt("diagonal"))
	all := b.Op("aten.full.default", x.Type.Sizes[x.Type.Rank()-2:], true, Kw("dtype", ir.Bool))
	below := b.Op("aten.tril.default", all, sym.Sub(k, sym.Int(1)))
	return b.Op("aten.masked_fill.Scalar", x, below, 0)
}

func repeatEachCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	d := 0
	if !c.Has("dim") {
		x = b.reshaped(x, x.Type.Numel())
	} else {
		d = must(c.dim("dim", x.Type.Rank()))
		if x.Type.Rank() == 0 {
			return b.Op("aten.clone.default", x)
		}
	}
	n := must(c.SymInt("repeats"))
	sizes := slices.Insert(slices.Clone(x.Type.Sizes), d+1, n)
	return b.reshaped(b.Op("aten.expand.default", b.Op("aten.unsqueeze.default", x, d+1), sizes),
		c.Outs[0].Sizes...)
}

// im2colCore cuts the padded image into windows along both dimensions.
func im2colCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	n := x.Type.Rank() - 3
	cl := must(columnsOf(c, x.Type.Sizes[n+1:]))
	channels := x.Type.Sizes[n]
	if !cl.pad[0].IsZero() || !cl.pad[1].IsZero() {
		x = b.Op("aten.constant_pad_nd.default", x, []sym.Expr{cl.pad[1], cl.pad[1], cl.pad[0],
			cl.pad[0]}, 0)
	}
	for d := range 2 {
		reach := sym.Add(sym.Mul(cl.dilation[d], sym.Sub(cl.kern[d], sym.Int(1))), sym.Int(1))
		x = b.Op("aten.unfold_copy.default", x, n+1+d, reach, cl.stride[d])
		if !cl.dilation[d].Is(1) {
			x = b.Op("aten.slice.Tensor", x, -1, 0, reach, cl.dilation[d])
		}
	}
	// [lead, channels, blocks, blocks, kernel, kernel]
	perm := []int{n, n + 3, n + 4, n + 1, n + 2}
	if n == 1 {
		perm = append([]int{0}, perm...)
	}
	x = b.Op("aten.permute.default", x, perm)
	lead := x.Type.Sizes[:n]
	return b.reshaped(x, append(slices.Clone(lead), sym.Mul(channels, sym.Mul(cl.kern...)),
		sym.Mul(cl.blocks...))...)
}

// col2imCore adds the columns up into a padded image at places that are
// constants, and cuts the padding off.
func col2imCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	image := must(c.spatialArg("output_size", 2))
	cl := must(columnsOf(c, image))
	var padded []sym.Expr
	var places []int64
	for d := range 2 {
		padded = append(padded, sym.Add(image[d], sym.Mul(sym.Int(2), cl.pad[d])))
	}
	// All sizes are constants from here on: a place is row-major in [kernel,
	// kernel, blocks, blocks].
	at := func(e sym.Expr) int64 {
		n, ok := e.Const()
		if !ok {
			check(c.Errorf("an image of dynamic size"))
		}
		return n
	}
	width := at(padded[1])
	at(padded[0])
	b.limit(c, at(cl.kern[0]), at(cl.kern[1]), at(cl.blocks[0]), at(cl.blocks[1]))
	for i := range at(cl.kern[0]) {
		for j := range at(cl.kern[1]) {
			for y := range at(cl.blocks[0]) {
				for x := range at(cl.blocks[1]) {
					row := y*at(cl.stride[0]) + i*at(cl.dilation[0])
					places = append(places, row*width+x*at(cl.stride[1])+j*at(cl.dilation[1]))
				}
			}
		}
	}
	n := x.Type.Rank() - 2
	kernel := sym.Mul(cl.kern...)
	rows := sym.Mul(append(slices.Clone(x.Type.Sizes[:n]), sym.FloorDiv(x.Type.Sizes[n],
		kernel))...)
	x = b.reshaped(x, rows, sym.Mul(kernel, x.Type.Sizes[n+1]))
	m := opmath(x.Type.DType)
	zeros := b.Op("aten.full.default", []sym.Expr{rows, sym.Mul(padded...)}, 0, Kw("dtype", m))
	index := b.Op("aten.expand.default", b.integers(places, 1, int64(len(places))), x.Type.Sizes)
	y := b.Op("aten.scatter_add.default", zeros, 1, index, b.cast(x, m))
	y = b.reshaped(y, append(slices.Clone(c.Outs[0].Sizes[:n+1]), padded...)...)
	for d := range 2 {
		if !cl.pad[d].IsZero() {
			y = b.Op("aten.slice.Tensor", y, n+1+d, cl.pad[d], sym.Add(cl.pad[d], image[d]))
		}
	}
	return b.cast(y, c.Outs[0].DType)
}

// diagonalMask is true at [i, j] where j - i is offset.
func (b *Builder) diagonalMask(rows, cols sym.Expr, offset int64) *ir.Value {
	i := b.Op("aten.arange.start_step", offset, sym.Add(rows, sym.Int(offset)))
	j := b.Op("aten.arange.start_step", 0, cols)
	return b.Op("aten.eq.Tensor", b.Op("aten.unsqueeze.default", i, 1), j)
}

// onDiagonal moves the last two dimensions of x to d1 and d2.
func (b *Builder) onDiagonal(x *ir.Value, d1, d2 int) *ir.Value {
	rank := x.Type.Rank()
	perm := make([]int, rank)
	next := 0
	for d := range perm {
		switch d {
		case d1:
			perm[d] = rank - 2
		case d2:
			perm[d] = rank - 1
		default:
			perm[d] = next
			next++
		}
	}
	return b.Op("aten.permute.default", x, perm)
}

// asRows lays out what goes on a diagonal by the row it is in: rows before the
// first and behind the last get 0.
func (b *Builder) asRows(x *ir.Value, rows sym.Expr, offset int64) *ir.Value {
	n := x.Type.Sizes[x.Type.Rank()-1]
	first := sym.Int(max(-offset, 0))
	last := sym.Sub(rows, sym.Add(n, first))
	if !first.IsZero() || !last.IsZero() {
		x = b.Op("aten.constant_pad_nd.default", x, []sym.Expr{first, last}, 0)
	}
	return b.Op("aten.unsqueeze.default", x, -1)
}

func diagEmbedCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	offset, d1, d2 := must3(diagEmbedArgs(c))
	n := sym.Add(x.Type.Sizes[x.Type.Rank()-1], sym.Int(max(offset, -offset)))
	y := b.where(b.diagonalMask(n, n, offset), b.asRows(x, n, offset), 0, x.Type.DType)
	return b.onDiagonal(y, d1, d2)
}

func diagonalScatterCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	offset := must(c.Int("offset"))
	d1 := must(c.dim("dim1", x.Type.Rank()))
	d2 := must(c.dim("dim2", x.Type.Rank()))
	if n := c.Tensor("src").Rank(); n != x.Type.Rank()-1 {
		check(c.Errorf("a source with %d dimensions for a diagonal with %d", n, x.Type.Rank()-1))
	}
	rest := make([]int, 0, x.Type.Rank())
	for d := range x.Type.Rank() {
		if d != d1 && d != d2 {
			rest = append(rest, d)
		}
	}
	last := b.Op("aten.permute.default", x, append(rest, d1, d2))
	rows, cols := x.Type.Sizes[d1], x.Type.Sizes[d2]
	y := b.where(b.diagonalMask(rows, cols, offset), b.asRows(c.Value("src"), rows, offset), last,
		x.Type.DType)
	return b.onDiagonal(y, d1, d2)
}
