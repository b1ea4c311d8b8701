package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// moved is an entry whose result's elements are elements of self: typ gives
// its type and from the coordinates in self.
func moved(schema string, typ func(*Call) ir.Type,
	from func(c *Call, at []sym.Expr) []sym.Expr) entry {
	return entry{
		Schema: schema,
		Infer:  func(c *Call) []ir.Type { return one(typ(c)) },
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			in := from(c, at)
			return c.Load("self", in...)
		}),
	}
}

// rearrangeOps move elements about.
func rearrangeOps() []entry {
	like := func(c *Call) ir.Type { return likeType(c.Tensor("self"), c.Tensor("self").DType) }
	flipType := func(c *Call) ir.Type {
		t := like(c)
		c.dims("dims", t.Rank(), false)
		return t
	}
	mirrored := func(schema string, dim int) entry {
		return derived(schema, func(b *Builder, c *Call) *ir.Value {
			r := c.Tensor("self").Rank()
			c.errorIf(r <= dim, "a tensor with %d dimensions", r)
			return b.aten("flip", c.Value("self"), []int{dim})
		})
	}
	return []entry{
		derived("aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "+
			"Tensor", resized),
		moved("aten::flip(Tensor self, int[] dims) -> Tensor", flipType,
			func(c *Call, at []sym.Expr) []sym.Expr {
				t := c.Tensor("self")
				set := c.dims("dims", t.Rank(), false)
				for d := range set {
					if set[d] {
						at = reversed(at, t.Sizes, d)
					}
				}
				return at
			}),
		mirrored("aten::fliplr(Tensor self) -> Tensor", 1),
		mirrored("aten::flipud(Tensor self) -> Tensor", 0),
		moved("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", like, roll),
		moved("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", repeatType("repeats", true),
			func(c *Call, at []sym.Expr) []sym.Expr {
				t := c.Tensor("self")
				in := slices.Clone(at[len(at)-t.Rank():])
				for d, s := range t.Sizes {
					if !s.IsZero() {
						in[d] = sym.Mod(in[d], s)
					}
				}
				return in
			}),
		derived("aten::tile(Tensor self, SymInt[] dims) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("repeat", c.Value("self"), c.repeats("dims", false))
			}),
		derived("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				k, i, j := rot90Dims(c)
				x := c.Value("self")
				turned := func(dim int) *ir.Value {
					return b.aten("transpose.int", b.aten("flip", x, []int{dim}), i, j)
				}
				switch k {
				case 1:
					return turned(j)
				case 2:
					return b.aten("flip", x, []int{i, j})
				case 3:
					return turned(i)
				}
				return b.aten("clone", x)
			}),
		triangle("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor",
			func(row, col sym.Expr) *expr.Expr {
				return expr.IdxLe(row, col)
			}).core(func(b *Builder, c *Call) *ir.Value {
			// Puts 0 where the triangle below has something.
			x := c.Value("self")
			k := must(c.SymInt("diagonal"))
			all := b.aten("full", x.Type.Sizes[x.Type.Rank()-2:], true, Kw("dtype", ir.Bool))
			below := b.aten("tril", all, sym.Sub(k, sym.Int(1)))
			return b.aten("masked_fill.Scalar", x, below, 0)
		}),
		triangle("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor",
			func(row, col sym.Expr) *expr.Expr { return expr.IdxLe(col, row) }),
		moved("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", shuffleType(true),
			func(c *Call, at []sym.Expr) []sym.Expr {
				k, ch := shuffleSizes(c)
				in := slices.Clone(at)
				in[ch] = sym.Add(sym.Mul(at[ch], k, k), sym.Mul(sym.Mod(at[ch+1], k), k),
					sym.Mod(at[ch+2], k))
				in[ch+1], in[ch+2] = sym.FloorDiv(at[ch+1], k), sym.FloorDiv(at[ch+2], k)
				return in
			}),
		moved("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
			shuffleType(false), func(c *Call, at []sym.Expr) []sym.Expr {
				k, ch := shuffleSizes(c)
				in := slices.Clone(at)
				in[ch] = sym.FloorDiv(at[ch], sym.Mul(k, k))
				in[ch+1] = sym.Add(sym.Mul(at[ch+1], k), sym.FloorDiv(sym.Mod(at[ch],
					sym.Mul(k, k)), k))
				in[ch+2] = sym.Add(sym.Mul(at[ch+2], k), sym.Mod(at[ch], k))
				return in
			}),
		derived("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", channelShuffle),
		derived("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
			channelShuffle),
	}
}

// reversed returns at with the coordinates of dims counted from the end.
func reversed(at, sizes []sym.Expr, dims ...int) []sym.Expr {
	out := slices.Clone(at)
	for _, d := range dims {
		out[d] = sym.Sub(sym.Sub(sizes[d], sym.Int(1)), at[d])
	}
	return out
}

// roll shifts elements towards the end, those that fall off come in again at
// the start; without dims along the flattened tensor.
func roll(c *Call, at []sym.Expr) []sym.Expr {
	t := c.Tensor("self")
	shifts := must(c.SymInts("shifts"))
	dims := must(c.Ints("dims"))
	shifted := func(i, by, n sym.Expr) sym.Expr {
		if n.IsZero() {
			return i
		}
		return sym.Mod(sym.Sub(i, by), n)
	}
	if len(dims) == 0 {
		c.errorIf(len(shifts) != 1, "%d shifts without dims", len(shifts))
		return unflatten(shifted(sym.RowMajor(t.Sizes, at), shifts[0], t.Numel()), t.Sizes)
	}
	c.errorIf(len(dims) != len(shifts), "%d shifts along %d dimensions", len(shifts), len(dims))
	out := slices.Clone(at)
	for i, n := range dims {
		d := c.wrapDim(n, t.Rank())
		if t.Rank() > 0 {
			out[d] = shifted(out[d], shifts[i], t.Sizes[d])
		}
	}
	return out
}

// repeats returns how often each dimension of the result repeats; where strict
// there must be one number for each dimension of self.
func (c *Call) repeats(name string, strict bool) []sym.Expr {
	reps := must(c.SymInts(name))
	n := c.Tensor("self").Rank()
	if len(reps) < n {
		c.errorIf(strict, "%d repeats of a tensor with %d dimensions", len(reps), n)
		reps = slices.Concat(slices.Repeat([]sym.Expr{sym.Int(1)}, n-len(reps)), reps)
	}
	for _, k := range reps {
		c.errorIf(sym.Less(k, sym.Int(0)), "%s repeats", k)
	}
	return reps
}

func repeatType(name string, strict bool) func(*Call) ir.Type {
	return func(c *Call) ir.Type {
		t := c.Tensor("self")
		reps := c.repeats(name, strict)
		sizes := slices.Clone(reps)
		for i, s := range t.Sizes {
			d := len(sizes) - t.Rank() + i
			sizes[d] = sym.Mul(sizes[d], s)
		}
		return ir.TensorOf(t.DType, sizes...)
	}
}

func rot90Dims(c *Call) (k int64, a, b int) {
	rank := c.Tensor("self").Rank()
	dims := must(c.Ints("dims"))
	c.errorIf(len(dims) != 2 || rank < 2, "a rotation in %d dimensions of a tensor with %d",
		len(dims), rank)
	a = c.wrapDim(dims[0], rank)
	b = c.wrapDim(dims[1], rank)
	c.errorIf(a == b, "a rotation in dimension %d alone", a)
	k = must(c.Int("k"))
	k = (k%4 + 4) % 4
	return
}

// triangle keeps the elements of matrices for which keep(row + diagonal, col)
// holds; the others are 0.
func triangle(schema string, keep func(row, col sym.Expr) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			c.errorIf(t.Rank() < 2, "a tensor with %d dimensions is no matrix", t.Rank())
			return []ir.Type{likeType(t, t.DType)}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			t := c.Tensor("self")
			k := must(c.SymInt("diagonal"))
			n := len(at)
			return expr.Select(keep(sym.Add(at[n-2], k), at[n-1]), c.Load("self", at...),
				expr.Num(t.DType, 0))
		}),
	}
}

// shuffleSizes returns the factor of a pixel shuffle and the index of the
// channel dimension.
func shuffleSizes(c *Call) (k sym.Expr, ch int) {
	n := must(c.Int(c.Op.sch.Args[1].Name))
	ch = c.Tensor("self").Rank() - 3
	c.errorIf(ch < 0 || n < 1, "a factor of %d for a tensor with %d dimensions", n, ch+3)
	return sym.Int(n), ch
}

func shuffleType(up bool) func(*Call) ir.Type {
	return func(c *Call) ir.Type {
		t := c.Tensor("self")
		k, ch := shuffleSizes(c)
		sizes := slices.Clone(t.Sizes)
		kk := sym.Mul(k, k)
		by := func(d int, n sym.Expr) {
			c.errorIf(differ(sym.Mod(sizes[d], n), sym.Int(0)),
				"size %s of dimension %d is no multiple of %s", sizes[d], d, n)
			sizes[d] = sym.FloorDiv(sizes[d], n)
		}
		if up {
			by(ch, kk)
			sizes[ch+1], sizes[ch+2] = sym.Mul(sizes[ch+1], k), sym.Mul(sizes[ch+2], k)
		} else {
			by(ch+1, k)
			by(ch+2, k)
			sizes[ch] = sym.Mul(sizes[ch], kk)
		}
		return inFormatOf(t, t.DType, sizes)
	}
}

func channelShuffle(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	g := must(c.SymInt("groups"))
	sizes := x.Type.Sizes
	c.errorIf(len(sizes) < 3 || !sym.Less(sym.Int(0), g) || differ(sym.Mod(sizes[1], g),
		sym.Int(0)), "%s groups of channels of %s", g, sizesOf{x.Type})
	split := slices.Concat([]sym.Expr{sizes[0], g, sym.FloorDiv(sizes[1], g)}, sizes[2:])
	y := b.aten("transpose.int", b.reshaped(x, split...), 1, 2)
	return b.reshaped(y, sizes...)
}

// im2colCore cuts the padded image into windows along both dimensions.
func im2colCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	n := x.Type.Rank() - 3
	cl := columnsOf(c, x.Type.Sizes[n+1:])
	channels := x.Type.Sizes[n]
	if !cl.pad[0].IsZero() || !cl.pad[1].IsZero() {
		x = b.aten("constant_pad_nd", x, []sym.Expr{cl.pad[1], cl.pad[1], cl.pad[0], cl.pad[0]}, 0)
	}
	for d := range 2 {
		reach := sym.Add(sym.Mul(cl.dilation[d], sym.Sub(cl.kern[d], sym.Int(1))), sym.Int(1))
		x = b.aten("unfold_copy", x, n+1+d, reach, cl.stride[d])
		if !cl.dilation[d].Is(1) {
			x = b.aten("slice.Tensor", x, -1, 0, reach, cl.dilation[d])
		}
	}
	// [lead, channels, blocks, blocks, kernel, kernel]
	perm := []int{n, n + 3, n + 4, n + 1, n + 2}
	if n == 1 {
		perm = append([]int{0}, perm...)
	}
	x = b.aten("permute", x, perm)
	lead := x.Type.Sizes[:n]
	return b.reshaped(x, append(slices.Clone(lead), sym.Mul(channels, sym.Mul(cl.kern...)),
		sym.Mul(cl.blocks...))...)
}

// col2imCore adds the columns up into a padded image at places that are
// constants, and cuts the padding off.
func col2imCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	image := c.spatialArg("output_size", 2)
	cl := columnsOf(c, image)
	var padded []sym.Expr
	var places []int64
	for d := range 2 {
		padded = append(padded, sym.Add(image[d], sym.Mul(sym.Int(2), cl.pad[d])))
	}
	// All sizes are constants from here on: a place is row-major in [kernel,
	// kernel, blocks, blocks].
	at := func(e sym.Expr) int64 {
		n, ok := e.Const()
		c.errorIf(!ok, "an image of dynamic size")
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
	zeros := b.aten("full", []sym.Expr{rows, sym.Mul(padded...)}, 0, Kw("dtype", m))
	index := b.aten("expand", b.integers(places, 1, int64(len(places))), x.Type.Sizes)
	y := b.aten("scatter_add", zeros, 1, index, b.cast(x, m))
	y = b.reshaped(y, append(slices.Clone(c.Outs[0].Sizes[:n+1]), padded...)...)
	for d := range 2 {
		if !cl.pad[d].IsZero() {
			y = b.aten("slice.Tensor", y, n+1+d, cl.pad[d], sym.Add(cl.pad[d], image[d]))
		}
	}
	return b.cast(y, c.Outs[0].DType)
}

// diagonalMask is true at [i, j] where j - i is offset.
func (b *Builder) diagonalMask(rows, cols sym.Expr, offset int64) *ir.Value {
	i := b.aten("arange.start_step", offset, sym.Add(rows, sym.Int(offset)))
	j := b.aten("arange.start_step", 0, cols)
	return b.aten("eq.Tensor", b.aten("unsqueeze", i, 1), j)
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
	return b.aten("permute", x, perm)
}

// asRows lays out what goes on a diagonal by the row it is in: rows before the
// first and behind the last get 0.
func (b *Builder) asRows(x *ir.Value, rows sym.Expr, offset int64) *ir.Value {
	n := x.Type.Sizes[x.Type.Rank()-1]
	first := sym.Int(max(-offset, 0))
	last := sym.Sub(rows, sym.Add(n, first))
	if !first.IsZero() || !last.IsZero() {
		x = b.aten("constant_pad_nd", x, []sym.Expr{first, last}, 0)
	}
	return b.aten("unsqueeze", x, -1)
}

func diagEmbedCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	offset, d1, d2 := diagEmbedArgs(c)
	n := sym.Add(x.Type.Sizes[x.Type.Rank()-1], sym.Int(max(offset, -offset)))
	y := b.where(b.diagonalMask(n, n, offset), b.asRows(x, n, offset), 0, x.Type.DType)
	return b.onDiagonal(y, d1, d2)
}

func diagonalScatterCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	offset := must(c.Int("offset"))
	d1 := c.dim("dim1", x.Type.Rank())
	d2 := c.dim("dim2", x.Type.Rank())
	if n := c.Tensor("src").Rank(); n != x.Type.Rank()-1 {
		check(c.Errorf("a source with %d dimensions for a diagonal with %d", n, x.Type.Rank()-1))
	}
	rest := make([]int, 0, x.Type.Rank())
	for d := range x.Type.Rank() {
		if d != d1 && d != d2 {
			rest = append(rest, d)
		}
	}
	last := b.aten("permute", x, append(rest, d1, d2))
	rows, cols := x.Type.Sizes[d1], x.Type.Sizes[d2]
	y := b.where(b.diagonalMask(rows, cols, offset), b.asRows(c.Value("src"), rows, offset), last,
		x.Type.DType)
	return b.onDiagonal(y, d1, d2)
}

// resized has the elements of a tensor in order, in other sizes. Those that PyTorch leaves as they
// are in memory, behind the last, are 0.
func resized(b *Builder, c *Call) *ir.Value {
	x, sizes := c.Value("self"), must(c.SymInts("size"))
	have, want := x.Type.Numel(), sym.Mul(sizes...)
	flat := b.reshaped(x, have)
	switch {
	case have.Equal(want):
	case sym.Less(want, have):
		flat = b.aten("narrow", flat, 0, 0, want)
	default:
		more := sym.Sub(want, have)
		c.need(sym.Add(more, sym.Int(1)))
		flat = b.aten("constant_pad_nd", flat, []sym.Expr{sym.Int(0), more})
	}
	y := b.reshaped(flat, sizes...)
	return b.aten("clone", y, Kw("memory_format", ir.ContiguousFormat))
}
