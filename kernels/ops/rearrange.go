package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// moved is an entry whose result's elements are elements of self: typ gives
// its type and from the coordinates in self.
func moved(schema string, typ func(*Call) (ir.Type, error),
	from func(c *Call, at []sym.Expr) ([]sym.Expr, error)) Op {
	return Op{
		Schema: schema,
		Infer:  func(c *Call) ([]ir.Type, error) { return one(typ(c)) },
		Compute: func(c *Call) ([]expr.Tensor, error) {
			vars, at := indexVars(c.Outs[0].Sizes)
			in := must(from(c, at))
			return []expr.Tensor{{DType: c.Outs[0].DType, Vars: vars, Body: c.Load("self", in...)}},
				nil
		},
	}
}

// rearrangeOps move elements about.
func rearrangeOps() []Op {
	like := func(c *Call) (ir.Type, error) {
		return likeType(c.Tensor("self"), c.Tensor("self").DType), nil
	}
	flipType := func(c *Call) (ir.Type, error) {
		t, _ := like(c)
		_, err := c.dims("dims", t.Rank(), false)
		return t, err
	}
	side := func(dim int) (func(*Call) (ir.Type, error), func(*Call,
		[]sym.Expr) ([]sym.Expr, error)) {
		typ := func(c *Call) (ir.Type, error) {
			t, _ := like(c)
			if t.Rank() <= dim {
				return t, c.Errorf("a tensor with %d dimensions", t.Rank())
			}
			return t, nil
		}
		return typ, func(c *Call, at []sym.Expr) ([]sym.Expr, error) {
			return reversed(at, c.Tensor("self").Sizes, dim), nil
		}
	}
	lrType, lr := side(1)
	udType, ud := side(0)
	return []Op{
		moved("aten::flip(Tensor self, int[] dims) -> Tensor", flipType, flip),
		moved("aten::fliplr(Tensor self) -> Tensor", lrType, lr).core(flipCore(1)),
		moved("aten::flipud(Tensor self) -> Tensor", udType, ud).core(flipCore(0)),
		moved("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", like, roll),
		moved("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", repeatType("repeats", true),
			tile),
		moved("aten::tile(Tensor self, SymInt[] dims) -> Tensor", repeatType("dims", false), tile).core(tileCore),
		moved("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", rot90Type, rot90).core(rot90Core),
		triangle("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor",
			func(row, col sym.Expr) *expr.Expr { return expr.IdxLe(row, col) }).core(triuCore),
		triangle("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor",
			func(row, col sym.Expr) *expr.Expr { return expr.IdxLe(col, row) }),
		moved("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", shuffleType(true),
			pixelShuffle),
		moved("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
			shuffleType(false), pixelUnshuffle),
		moved("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", channelShuffleType,
			channelShuffle).core(channelShuffleCore),
		moved("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
			channelShuffleType, channelShuffle).core(channelShuffleCore),
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

func flip(c *Call, at []sym.Expr) ([]sym.Expr, error) {
	t := c.Tensor("self")
	set := must(c.dims("dims", t.Rank(), false))
	for d := range set {
		if set[d] {
			at = reversed(at, t.Sizes, d)
		}
	}
	return at, nil
}

// roll shifts elements towards the end, those that fall off come in again at
// the start; without dims along the flattened tensor.
func roll(c *Call, at []sym.Expr) ([]sym.Expr, error) {
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
		if len(shifts) != 1 {
			return nil, c.Errorf("%d shifts without dims", len(shifts))
		}
		return unflatten(shifted(sym.RowMajor(t.Sizes, at), shifts[0], t.Numel()), t.Sizes), nil
	}
	if len(dims) != len(shifts) {
		return nil, c.Errorf("%d shifts along %d dimensions", len(shifts), len(dims))
	}
	out := slices.Clone(at)
	for i, n := range dims {
		d := must(c.wrapDim(n, t.Rank()))
		if t.Rank() > 0 {
			out[d] = shifted(out[d], shifts[i], t.Sizes[d])
		}
	}
	return out, nil
}

// repeats returns how often each dimension of the result repeats; where strict
// there must be one number for each dimension of self.
func (c *Call) repeats(name string, strict bool) ([]sym.Expr, error) {
	reps, err := c.SymInts(name)
	if err != nil {
		return nil, err
	}
	n := c.Tensor("self").Rank()
	if len(reps) < n {
		if strict {
			return nil, c.Errorf("%d repeats of a tensor with %d dimensions", len(reps), n)
		}
		reps = slices.Concat(slices.Repeat([]sym.Expr{sym.Int(1)}, n-len(reps)), reps)
	}
	for _, k := range reps {
		if sym.Less(k, sym.Int(0)) {
			return nil, c.Errorf("%s repeats", k)
		}
	}
	return reps, nil
}

func repeatType(name string, strict bool) func(*Call) (ir.Type, error) {
	return func(c *Call) (ir.Type, error) {
		t := c.Tensor("self")
		reps := must(c.repeats(name, strict))
		sizes := slices.Clone(reps)
		for i, s := range t.Sizes {
			d := len(sizes) - t.Rank() + i
			sizes[d] = sym.Mul(sizes[d], s)
		}
		return ir.TensorOf(t.DType, sizes...), nil
	}
}

func tile(c *Call, at []sym.Expr) ([]sym.Expr, error) {
	t := c.Tensor("self")
	in := slices.Clone(at[len(at)-t.Rank():])
	for d, s := range t.Sizes {
		if !s.IsZero() {
			in[d] = sym.Mod(in[d], s)
		}
	}
	return in, nil
}

func rot90Dims(c *Call) (k int64, a, b int, err error) {
	rank := c.Tensor("self").Rank()
	dims, err := c.Ints("dims")
	if err != nil {
		return
	}
	if len(dims) != 2 || rank < 2 {
		err = c.Errorf("a rotation in %d dimensions of a tensor with %d", len(dims), rank)
		return
	}
	if a, err = c.wrapDim(dims[0], rank); err != nil {
		return
	}
	if b, err = c.wrapDim(dims[1], rank); err != nil {
		return
	}
	if a == b {
		err = c.Errorf("a rotation in dimension %d alone", a)
		return
	}
	if k, err = c.Int("k"); err == nil {
		k = (k%4 + 4) % 4
	}
	return
}

func rot90Type(c *Call) (ir.Type, error) {
	t := c.Tensor("self")
	k, a, b := must3(rot90Dims(c))
	if k%2 == 0 {
		return likeType(t, t.DType), nil
	}
	// Eager flips, then transposes.
	return swapped(likeType(t, t.DType), a, b).Type, nil
}

func rot90(c *Call, at []sym.Expr) ([]sym.Expr, error) {
	k, a, b := must3(rot90Dims(c))
	sizes := c.Tensor("self").Sizes
	in := slices.Clone(at)
	if k%2 == 1 {
		in[a], in[b] = in[b], in[a]
	}
	switch k {
	case 1:
		in = reversed(in, sizes, b)
	case 2:
		in = reversed(in, sizes, a, b)
	case 3:
		in = reversed(in, sizes, a)
	}
	return in, nil
}

// triangle keeps the elements of matrices for which keep(row + diagonal, col)
// holds; the others are 0.
func triangle(schema string, keep func(row, col sym.Expr) *expr.Expr) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			if t.Rank() < 2 {
				return nil, c.Errorf("a tensor with %d dimensions is no matrix", t.Rank())
			}
			return []ir.Type{likeType(t, t.DType)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("self")
			k := must(c.SymInt("diagonal"))
			vars, at := indexVars(t.Sizes)
			n := len(at)
			x := expr.Select(keep(sym.Add(at[n-2], k), at[n-1]), c.Load("self", at...),
				expr.Num(t.DType, 0))
			return []expr.Tensor{{DType: t.DType, Vars: vars, Body: x}}, nil
		},
	}
}

// shuffleSizes returns the factor of a pixel shuffle and the index of the
// channel dimension.
func shuffleSizes(c *Call) (k sym.Expr, ch int, err error) {
	n := must(c.Int(c.Op.sch.Args[1].Name))
	ch = c.Tensor("self").Rank() - 3
	if ch < 0 || n < 1 {
		err = c.Errorf("a factor of %d for a tensor with %d dimensions", n, ch+3)
	}
	return sym.Int(n), ch, err
}

func shuffleType(up bool) func(*Call) (ir.Type, error) {
	return func(c *Call) (ir.Type, error) {
		t := c.Tensor("self")
		k, ch := must2(shuffleSizes(c))
		sizes := slices.Clone(t.Sizes)
		kk := sym.Mul(k, k)
		by := func(d int, n sym.Expr) {
			if differ(sym.Mod(sizes[d], n), sym.Int(0)) {
				check(c.Errorf("size %s of dimension %d is no multiple of %s", sizes[d], d, n))
			}
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
		u := ir.TensorOf(t.DType, sizes...)
		if suggestsChannelsLast(t) {
			u.Strides = channelsLastStrides(sizes)
		}
		return u, nil
	}
}

func pixelShuffle(c *Call, at []sym.Expr) ([]sym.Expr, error) {
	k, ch := must2(shuffleSizes(c))
	in := slices.Clone(at)
	in[ch] = sym.Add(sym.Mul(at[ch], k, k), sym.Mul(sym.Mod(at[ch+1], k), k), sym.Mod(at[ch+2], k))
	in[ch+1], in[ch+2] = sym.FloorDiv(at[ch+1], k), sym.FloorDiv(at[ch+2], k)
	return in, nil
}

func pixelUnshuffle(c *Call, at []sym.Expr) ([]sym.Expr, error) {
	k, ch := must2(shuffleSizes(c))
	in := slices.Clone(at)
	in[ch] = sym.FloorDiv(at[ch], sym.Mul(k, k))
	in[ch+1] = sym.Add(sym.Mul(at[ch+1], k), sym.FloorDiv(sym.Mod(at[ch], sym.Mul(k, k)), k))
	in[ch+2] = sym.Add(sym.Mul(at[ch+2], k), sym.Mod(at[ch], k))
	return in, nil
}

func channelShuffleType(c *Call) (ir.Type, error) {
	t := c.Tensor("self")
	g := must(c.SymInt("groups"))
	if t.Rank() < 3 || !sym.Less(sym.Int(0), g) || differ(sym.Mod(t.Sizes[1], g), sym.Int(0)) {
		return t, c.Errorf("%s groups of channels of %s", g, describeSizes([]ir.Type{t}))
	}
	return ir.TensorOf(t.DType, t.Sizes...), nil
}

func channelShuffle(c *Call, at []sym.Expr) ([]sym.Expr, error) {
	g := must(c.SymInt("groups"))
	per := sym.FloorDiv(c.Tensor("self").Sizes[1], g)
	in := slices.Clone(at)
	in[1] = sym.Add(sym.Mul(sym.Mod(at[1], g), per), sym.FloorDiv(at[1], g))
	return in, nil
}
