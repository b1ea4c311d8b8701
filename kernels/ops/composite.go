package ops

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// tensorCompositeOps are composites of products, gathers and joins.
func tensorCompositeOps() []entry {
	return []entry{
		takeAlongDim(),
		entry{
			Schema: "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("self")
				n := must(c.Int("num_classes"))
				c.errorIf(n <= 0, "the number of classes follows from the data; pass num_classes")
				c.errorIf(t.DType != ir.Int64, "not defined on %s", t.DType)
				return []ir.Type{ir.TensorOf(ir.Int64, append(slices.Clone(t.Sizes),
					sym.Int(n))...)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				n := len(at) - 1
				return expr.Eq(c.Load("self", at[:n]...), expr.Idx(ir.Int64, at[n]))
			}),
		}.core(func(b *Builder, c *Call) *ir.Value {
			n := must(c.Int("num_classes"))
			hot := b.aten("eq.Tensor", b.aten("unsqueeze", c.Value("self"), -1),
				b.aten("arange.start_step", 0, n))
			return b.cast(hot, ir.Int64)
		}),
		// differences is torch.diff.
		derived(
			"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "+
				"Tensor", func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				n := must(c.Int("n"))
				d := c.dim("dim", x.Type.Rank())
				c.errorIf(x.Type.Rank() == 0 || n < 0 || n > maxParts,
					"difference %d of a tensor with %d dimensions", n, x.Type.Rank())
				for _, name := range []string{"prepend", "append"} {
					if c.Has(name) {
						u := c.Tensor(name)
						c.errorIf(u.DType != x.Type.DType || u.Rank() != x.Type.Rank(),
							"%s of %s and %s", name, u.DType, sizesOf{u})
					}
				}
				var parts []*ir.Value
				for _, v := range []*ir.Value{c.Value("prepend"), x, c.Value("append")} {
					if v != nil && (n > 0 || v == x) {
						parts = append(parts, v)
					}
				}
				if len(parts) > 1 {
					x = b.aten("cat", parts, d)
				}
				op := "aten.sub.Tensor"
				if x.Type.DType == ir.Bool {
					op = "aten.logical_xor.default"
				}
				for range n {
					if x.Type.Sizes[d].IsZero() {
						break
					}
					m := sym.Sub(x.Type.Sizes[d], sym.Int(1))
					x = b.Op(op, b.aten("narrow", x, d, 1, m), b.aten("narrow", x, d, 0, m))
				}
				if n == 0 {
					x = b.aten("clone", x, Kw("memory_format", ir.ContiguousFormat))
				}
				return x
			}),
		// weightNorm is v·g/‖v‖, the norm over all dimensions but dim.
		derived("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				v, g := c.Value("v"), c.Value("g")
				d := v.Type.DType
				m := opmath(d)
				c.errorIf(!d.IsFloat() || g.Type.DType != d || !broadcastsTo(g.Type, v.Type.Sizes),
					"weights of %s and %s: %s", d, g.Type.DType, sizesOf{v.Type, g.Type})
				keep := -1
				n := must(c.Int("dim"))
				if n != -1 {
					keep = c.wrapDim(n, v.Type.Rank())
				}
				var dims []int
				for k := range v.Type.Rank() {
					if k != keep {
						dims = append(dims, k)
					}
				}
				v = b.cast(v, m)
				norm := b.aten("sqrt", b.aten("sum.dim_IntList", b.mul(v, v), dims, true))
				return b.cast(b.mul(v, b.div(b.cast(g, m), norm)), d)
			}),
		// repeatEach repeats each element, or each slice along dim.
		derived("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "+
			"SymInt? output_size=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			x := c.Value("self")
			d := 0
			if !c.Has("dim") {
				x = b.reshaped(x, x.Type.Numel())
			} else {
				d = c.dim("dim", x.Type.Rank())
				if x.Type.Rank() == 0 {
					return b.aten("clone", x)
				}
			}
			n := must(c.SymInt("repeats"))
			c.errorIf(sym.Less(n, sym.Int(0)), "%s repeats", n)
			sizes := slices.Insert(slices.Clone(x.Type.Sizes), d+1, n)
			x = b.aten("expand", b.aten("unsqueeze", x, d+1), sizes)
			return b.reshaped(x, slices.Concat(sizes[:d], []sym.Expr{sym.Mul(sizes[d], n)},
				sizes[d+2:])...)
		}),
		// innerProduct is torch.inner: a product over the last dimensions of both.
		derived("aten::inner(Tensor self, Tensor other) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x, y := c.Value("self"), c.Value("other")
				if x.Type.Rank() == 0 || y.Type.Rank() == 0 {
					return b.aten("mul.Tensor", x, y)
				}
				m, n := x.Type.Rank()-1, y.Type.Rank()-1
				rows := func(v *ir.Value, n int) *ir.Value {
					return b.reshaped(v, sym.Mul(v.Type.Sizes[:n]...), v.Type.Sizes[n])
				}
				p := b.aten("mm", rows(x, m), b.aten("permute", rows(y, n), []int{1, 0}))
				return b.aten("view", p, slices.Concat(x.Type.Sizes[:m], y.Type.Sizes[:n]))
			}),
		meshgrid("aten::meshgrid(Tensor[] tensors) -> Tensor[]"),
		meshgrid("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"),
	}
}

// takeAlongDim is gather with both operands broadcast. Along a dimension indices
// are taken modulo its size.
func takeAlongDim() entry {
	sizes := func(c *Call) (self, idx []sym.Expr, d int) {
		t, i := c.Tensor("self"), c.Tensor("indices")
		if !c.Has("dim") {
			return []sym.Expr{t.Numel()}, []sym.Expr{i.Numel()}, 0
		}
		d = c.dim("dim", t.Rank())
		c.errorIf(t.Rank() != i.Rank() || t.Rank() == 0, "%s do not fit", sizesOf{t, i})
		self, idx = slices.Clone(t.Sizes), slices.Clone(i.Sizes)
		self[d], idx[d] = sym.Int(1), sym.Int(1)
		both, ok := Broadcast(ir.Type{Sizes: self}, ir.Type{Sizes: idx})
		c.errorIf(!ok, "%s do not broadcast", sizesOf{t, i})
		self, idx = both, slices.Clone(both)
		self[d], idx[d] = t.Sizes[d], i.Sizes[d]
		return
	}
	return derived("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			self, idx, d := sizes(c)
			fit := func(x *ir.Value, sizes []sym.Expr) *ir.Value {
				if !c.Has("dim") {
					return b.aten("reshape", x, []int{-1})
				}
				return b.aten("expand", x, sizes)
			}
			at := fit(c.Value("indices"), idx)
			if c.Has("dim") {
				at = b.aten("remainder.Scalar", at, self[d])
			}
			return b.aten("gather", fit(c.Value("self"), self), d, at)
		})
}

// meshgrid expands vectors to a grid, one result for each.
//
//go:noinline
func meshgrid(schema string) entry {
	grid := func(c *Call) (sizes []sym.Expr, axis func(i int) int) {
		ts := c.Tensors("tensors")
		for _, t := range ts {
			c.errorIf(t.Rank() > 1 || t.DType != ts[0].DType, "a grid of %s and %s", t.DType,
				sizesOf{t})
			sizes = append(sizes, t.Numel())
		}
		xy := c.Op.sch.Index("indexing") >= 0 && c.Str("indexing") == "xy" && len(ts) > 1
		axis = func(i int) int {
			if xy && i < 2 {
				return 1 - i
			}
			return i
		}
		if xy {
			sizes[0], sizes[1] = sizes[1], sizes[0]
		}
		return sizes, axis
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			sizes, axis := grid(c)
			var out []ir.Type
			for i, t := range c.Tensors("tensors") {
				a := restrided(t, sizes, make([]sym.Expr, len(sizes)))
				if d := axis(i); t.Rank() == 1 {
					a.Strides[d] = t.Strides[0]
				} else {
					a.Strides[d] = sym.Int(1)
				}
				for d, s := range sizes { // a view keeps the stride of a dimension of size 1
					if s.Is(1) && d != axis(i) {
						a.Strides[d] = sym.Int(1)
					}
				}
				out = append(out, a)
			}
			return out
		},
		View: func(c *Call) []View {
			_, axis := grid(c)
			var out []View
			for i, t := range c.Tensors("tensors") {
				rank := t.Rank()
				out = append(out, View{Of: c.Operand("tensors") + i,
					Map: func(at []sym.Expr) []sym.Expr { return at[axis(i) : axis(i)+1][:rank] }})
			}
			return out
		},
	}
}

// seldomOps are composites that few models have.
func seldomOps() []entry {
	slope := func(c *Call) float64 {
		lower := must(c.Float("lower"))
		upper := must(c.Float("upper"))
		c.errorIf(c.Bool("training"), "slopes drawn at random; export the model after model.eval()")
		return (lower + upper) / 2
	}
	leaks := func(b *Builder, c *Call) *ir.Value {
		s := slope(c)
		return b.aten("leaky_relu", c.Value("self"), s)
	}
	const bounds = "Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, " +
		"Generator? generator=None"
	return []entry{
		derived("aten::isreal(Tensor self) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			return b.aten("ones_like", c.Value("self"), Kw("dtype", ir.Bool))
		}),
		derived("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", sumToSize),
		derived("aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				g := c.Value("grad_output")
				return b.mul(g, b.mul(b.cast(c.Value("mask"), g.Type.DType), c.Arg("scale")))
			}),
		derived("aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				w := b.aten("t", b.cast(c.Value("mat2"), x.Type.DType))
				return b.mul(b.aten("mm", x, w), c.Value("scales"))
			}),
		derived("aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				// Time, batch, channels; the weight is time, in, out.
				x := b.aten("permute", c.Value("self"), []int{1, 2, 0})
				w := b.aten("permute", c.Value("weight"), []int{2, 1, 0})
				y := b.aten("conv1d", x, w, c.Value("bias"), []int{1}, ir.List{c.Arg("pad")})
				return b.aten("permute", y, []int{2, 0, 1})
			}),
		derived("aten::pad_sequence(Tensor[] sequences, bool batch_first=False, "+
			"float padding_value=0., str padding_side=\"right\") -> Tensor", padSequence),
		derived("aten::rrelu(Tensor self, "+bounds+") -> Tensor", leaks),
		{
			Schema: "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, " + bounds +
				") -> (Tensor, Tensor noise_out)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				y := leaks(b, c)
				return []*ir.Value{y, c.Value("noise")}
			},
		},
		derived("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				if c.Has("dim") {
					return crossProduct(b, c, "dim")
				}
				for d, n := range c.Tensor("self").Sizes {
					if n.Is(3) {
						return crossAlong(b, c, d)
					}
				}
				panic(c.Errorf("no dimension of size 3 in %s", sizesOf{c.Tensor("self")}))
			}),
		derived("aten::_is_all_true(Tensor self) -> Tensor", sameAs("aten.all.default")),
		derived("aten::_is_any_true(Tensor self) -> Tensor", sameAs("aten.any.default")),
		derived("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", powersOf),
		derived("aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, "+
			"Scalar alpha=1) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			sum := b.aten("mul.Scalar", b.aten("outer", c.Value("vec1"),
				c.Value("vec2")), c.Arg("alpha"))
			if beta, err := c.Float("beta"); err != nil || beta != 0 {
				sum = b.add(b.aten("mul.Scalar", c.Value("self"), c.Arg("beta")), sum)
			}
			return b.cast(sum, must(c.Promote("self", "vec1", "vec2")))
		}),
		logspace("aten::logspace(Scalar start, Scalar end"),
		logspace("aten::logspace.Scalar_Tensor(Scalar start, Tensor end"),
		logspace("aten::logspace.Tensor_Scalar(Tensor start, Scalar end"),
		logspace("aten::logspace.Tensor_Tensor(Tensor start, Tensor end"),
		derived("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> "+
			"Tensor", affineGrid),
	}
}

// logspace has powers of a base between ends.
func logspace(schema string) entry {
	return derived(schema+", int steps, float base=10., "+factoryTail+") -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			base := must(c.Float("base"))
			_, overload, _ := strings.Cut(strings.TrimPrefix(c.Op.Name(), "aten."), ".")
			d := c.DType("dtype", defaultFloat)
			start, end := any(c.Arg("start")), any(c.Arg("end"))
			if d.IsInt() { // between integers
				start = b.aten("trunc", b.tensor(c, "start", ir.Float64))
				end, overload = b.aten("trunc", b.tensor(c, "end", ir.Float64)), "Tensor_Tensor"
			}
			at := b.Op("aten.linspace."+overload, start, end, c.Arg("steps"),
				Kw("dtype", ir.Float64))
			var y *ir.Value
			switch {
			case base == 2:
				y = b.aten("exp2", at)
			case base <= 0:
				y = b.aten("pow.Scalar", base, at)
			default:
				y = b.aten("exp", b.aten("mul.Scalar", at, math.Log(base)))
			}
			return b.cast(y, d)
		})
}

// sumToSize sums over what broadcasting to the tensor's sizes repeats.
func sumToSize(b *Builder, c *Call) *ir.Value {
	x, to := c.Value("self"), must(c.SymInts("size"))
	lead := x.Type.Rank() - len(to)
	c.errorIf(lead < 0, "%d dimensions to %d", x.Type.Rank(), len(to))
	dims := upTo(lead)
	for i, n := range to {
		if m := x.Type.Sizes[lead+i]; n.Is(1) && !m.Is(1) {
			dims = append(dims, lead+i)
		} else {
			c.errorIf(differ(n, m), "%s to %s", sizesOf{x.Type}, sizesOf{{Sizes: to}})
		}
	}
	if len(dims) > 0 {
		x = b.aten("sum.dim_IntList", x, dims, true) // int64 of integers
	}
	return b.reshaped(x, to...)
}

// padSequence stacks sequences along a new dimension, each padded to the longest.
func padSequence(b *Builder, c *Call) *ir.Value {
	first, n := c.Operand("sequences"), len(c.Tensors("sequences"))
	c.errorIf(n == 0, "no sequences")
	xs := slices.Clone(c.operands[first : first+n])
	longest := sym.Int(0)
	for _, x := range xs {
		c.errorIf(x.Type.Rank() == 0, "a sequence without dimensions")
		longest = sym.Max(longest, x.Type.Sizes[0])
	}
	for i, x := range xs {
		pad := seq.Of(2*x.Type.Rank(), func(k int) sym.Expr { return sym.Int(0) })
		side := len(pad) - 1
		if c.Str("padding_side") == "left" {
			side--
		}
		pad[side] = sym.Sub(longest, x.Type.Sizes[0])
		xs[i] = b.aten("constant_pad_nd", b.cast(x, xs[0].Type.DType), pad, c.Arg("padding_value"))
	}
	dim := 1
	if c.Bool("batch_first") {
		dim = 0
	}
	return b.aten("stack", xs, dim)
}

// powersOf has the powers of a vector's elements in its columns.
func powersOf(b *Builder, c *Call) *ir.Value {
	x := c.Value("x")
	c.errorIf(x.Type.Rank() != 1, "a tensor with %d dimensions", x.Type.Rank())
	n, ok := x.Type.Sizes[0].Const()
	if c.Has("N") {
		n, ok = must(c.Int("N")), true
	}
	c.errorIf(!ok || n < 0 || n > 1<<10, "a dynamic number of powers, or too many")
	if !x.Type.DType.IsFloat() {
		x = b.cast(x, ir.Int64)
	}
	power := b.aten("ones_like", x)
	columns := make([]*ir.Value, n)
	for i := range columns {
		at := n - 1 - int64(i)
		if c.Bool("increasing") {
			at = int64(i)
		}
		columns[at] = power
		power = b.mul(power, x)
	}
	if n == 0 {
		return b.aten("slice.Tensor", b.aten("unsqueeze", x, 1), 1, 0, 0)
	}
	return b.aten("stack", columns, 1)
}

// affineGrid maps the centres of cells of [-1, 1] in each dimension, or, with
// corners aligned, places from border to border.
func affineGrid(b *Builder, c *Call) *ir.Value {
	theta := c.Value("theta")
	sizes := must(c.SymInts("size"))
	n := len(sizes) - 2
	if t := theta.Type; n != 2 && n != 3 || t.Rank() != 3 || !t.Sizes[1].Is(int64(n)) ||
		!t.Sizes[2].Is(int64(n)+1) {
		panic(c.Errorf("a grid of %d dimensions for maps of %s", n, sizesOf{theta.Type}))
	}
	d := theta.Type.DType
	grid := sizes[2:]
	var columns []*ir.Value // x, y, z; 1
	for i := n - 1; i >= 0; i-- {
		steps, ok := grid[i].Const()
		c.errorIf(!ok, "a grid of a dynamic size")
		last := 1.0
		if !c.Bool("align_corners") && steps > 0 {
			last = float64(steps-1) / float64(steps)
		}
		at := b.aten("linspace", -last, last, steps, Kw("dtype", d))
		if steps <= 1 {
			at = b.aten("zeros", []int64{steps}, Kw("dtype", d))
		}
		shape := []int{1, 1, 1}[:n]
		shape[i] = -1
		columns = append(columns, b.aten("expand", b.aten("reshape", at, shape), grid))
	}
	columns = append(columns, b.aten("ones_like", columns[0]))
	places := b.aten("reshape", b.aten("stack", columns, -1), []int{1, -1, n + 1})
	mapped := b.aten("matmul", places, b.aten("transpose.int", theta, 1, 2))
	shape := append(append(sizes[:1:1], grid...), theta.Type.Sizes[1])
	return b.aten("reshape", mapped, shape)
}
