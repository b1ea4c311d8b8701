package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// backwardOps are the gradients that ExecuTorch has kernels for.
func backwardOps() []entry {
	const ofSoftmax = "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"
	return []entry{convBackward(), convWeightGrad(),
		derived("aten::_softmax_backward_data"+ofSoftmax, func(b *Builder, c *Call) *ir.Value {
			g, y := c.Value("grad_output"), c.Value("output")
			return b.softmaxGradient(c, b.mul(g, y), y)
		}),
		derived("aten::_log_softmax_backward_data"+ofSoftmax, func(b *Builder, c *Call) *ir.Value {
			return b.softmaxGradient(c, c.Value("grad_output"), b.aten("exp", c.Value("output")))
		}),
		// maxPoolBackward adds each gradient to the element that was the largest of
		// its window.
		{
			Schema: "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, " +
				"int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, " +
				"Tensor indices) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				p := poolOf(c, 2)
				g, at := c.Tensor("grad_output"), c.Tensor("indices")
				want := p.outType(p.x.DType)
				fits := func(t ir.Type) bool { return sym.AllEqual(t.Sizes, want.Sizes) }
				c.errorIf(g.DType != p.x.DType || !g.DType.IsFloat() || at.DType != ir.Int64 ||
					!fits(g) || !fits(at), "a gradient of %s %s and indices of %s %s", g.DType,
					sizesOf{g}, at.DType, sizesOf{at})
				return one(inFormatOf(p.x, p.x.DType, p.x.Sizes))
			},
			Loops: func(c *Call) *loop.Func {
				t, g := c.Outs[0], c.Tensor("grad_output")
				lead := t.Rank() - 2
				plane := sym.Mul(t.Sizes[lead:]...)
				vars, at := indexVars(g.Sizes)
				best, bind := c.bindAt("best", c.flatLoad(c.Operand("indices"), at), plane, false)
				into := sym.Add(sym.Mul(sym.RowMajor(t.Sizes[:lead], at[:lead]), plane), best)
				z := sym.NewVar("z", t.Numel())
				f := &loop.Func{Name: "max_pool_backward", Bufs: c.buffers()}
				f.Body = []loop.Stmt{&loop.For{Var: z, Extent: t.Numel(),
					Body: []loop.Stmt{&loop.Store{Buf: 0, At: z.Expr(), Value: expr.Num(t.DType,
						0)}}}}
				f.Body = append(f.Body, nest(vars, bind,
					c.write(into, c.flatLoad(c.Operand("grad_output"), at), added))...)
				return f
			},
		}}
}

// softmaxGradient is g less its sum along the dimension times y.
func (b *Builder) softmaxGradient(c *Call, g, y *ir.Value) *ir.Value {
	m := opmath(g.Type.DType)
	g = b.cast(g, m)
	sum := b.aten("sum.dim_IntList", g, []int64{must(c.Int("dim"))}, true)
	return b.cast(b.sub(g, b.mul(b.cast(y, m), sum)), c.DType("input_dtype", g.Type.DType))
}

// convBackward gives the gradients of input, weight and bias of a convolution,
// those that output_mask asks for; the others have no elements.
//
//go:noinline
func convBackward() entry {
	wanted := func(c *Call, i int) bool {
		mask, _ := c.Arg("output_mask").(ir.List)
		return i < len(mask) && mask[i] == ir.BoolArg(true)
	}
	return entry{
		Schema: "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, " +
			"SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, " +
			"SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) []ir.Type {
			cv := convOf(c)
			for _, n := range cv.outPad {
				c.errorIf(!cv.transposed && differ(n, sym.Int(0)),
					"an output padding of %s of a convolution", n)
			}
			if sizes, given := c.Arg("bias_sizes").(ir.List); given {
				ns := must(c.SymInts("bias_sizes"))
				c.errorIf(len(sizes) != 1 || differ(ns[0], cv.outChannels()),
					"a bias of sizes %v for %s channels", ns, cv.outChannels())
			}
			g := c.Tensor("grad_output")
			want := cv.outType(c)
			c.errorIf(g.DType != cv.x.DType || len(g.Sizes) != len(want.Sizes) ||
				slices.ContainsFunc(upTo(g.Rank()), func(d int) bool {
					return differ(g.Sizes[d], want.Sizes[d])
				}), "a gradient of %s for a result of %s",
				sizesOf{g}, sizesOf{want})
			out := []ir.Type{ir.TensorOf(g.DType, cv.x.Sizes...), ir.TensorOf(g.DType,
				cv.w.Sizes...), ir.TensorOf(g.DType, cv.outChannels())}
			if suggestsChannelsLast(cv.x) || suggestsChannelsLast(cv.w) {
				out[0].Strides, out[1].Strides = channelsLastStrides(cv.x.Sizes),
					channelsLastStrides(cv.w.Sizes)
			}
			for i := range out {
				if !wanted(c, i) {
					out[i] = ir.StaticTensor(g.DType, 0)
				}
			}
			return out
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			cv := convOf(c)
			g, x, w := c.Value("grad_output"), c.Value("input"), c.Value("weight")
			out := make([]*ir.Value, 3)
			for i := range out {
				if !wanted(c, i) {
					out[i] = b.aten("empty.memory_format", []int64{0}, Kw("dtype", g.Type.DType))
				}
			}
			if out[0] == nil {
				// The other kind of convolution takes the gradient back. The last
				// elements of the input that no window reaches are output padding.
				pad := make([]sym.Expr, len(cv.kern))
				for d, k := range cv.kern {
					reach := sym.Mul(cv.dilation[d], sym.Sub(k, sym.Int(1)))
					back := sym.Add(sym.Mul(sym.Sub(g.Type.Sizes[2+d], sym.Int(1)), cv.stride[d]),
						sym.Mul(sym.Int(-2), cv.before[d]), reach, sym.Int(1))
					if !cv.transposed {
						pad[d] = sym.Sub(cv.x.Sizes[2+d], back)
					}
				}
				out[0] = b.aten("convolution", g, w, nil, c.Arg("stride"),
					c.Arg("padding"), c.Arg("dilation"), !cv.transposed, pad, c.Arg("groups"))
			}
			if out[1] == nil {
				near, far := g, x
				if cv.transposed {
					near, far = x, g
				}
				out[1] = b.Op("etgen.convolution_weight_gradient.default", near, far, cv.kern,
					c.Arg("stride"), c.Arg("padding"), c.Arg("dilation"), c.Arg("groups"))
			}
			if out[2] == nil {
				dims := append([]int{0}, upTo(g.Type.Rank())[2:]...)
				out[2] = b.aten("sum.dim_IntList", g, dims)
			}
			return out
		},
	}
}

// convWeightGrad sums, for each weight, the products of what it joins: the
// elements of near, the side of the convolution that has one element per
// window, with those of far they see through it.
func convWeightGrad() entry {
	return entry{
		Schema: "etgen::convolution_weight_gradient(Tensor near, Tensor far, SymInt[] kernel, " +
			"SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			near, far := c.Tensor("near"), c.Tensor("far")
			n := near.Rank() - 2
			c.errorIf(n < 1 || far.Rank() != n+2 || near.DType != far.DType ||
				!near.DType.IsFloat() || differ(near.Sizes[0], far.Sizes[0]),
				"operands of %s and %s and of %s", near.DType, far.DType, sizesOf{near, far})
			for _, name := range []string{"stride", "padding", "dilation"} {
				c.spatialArg(name, n)
			}
			kernel := c.spatialArg("kernel", n)
			groups := must(c.SymInt("groups"))
			c.errorIf(!sym.Less(sym.Int(0), groups), "%s groups", groups)
			c.need(sym.FloorDiv(near.Sizes[1], groups))
			sizes := append([]sym.Expr{near.Sizes[1], sym.FloorDiv(far.Sizes[1], groups)},
				kernel...)
			return []ir.Type{ir.TensorOf(near.DType, sizes...)}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			out, near, far := c.Outs[0], c.Tensor("near"), c.Tensor("far")
			m, n := opmath(out.DType), near.Rank()-2
			stride := c.spatialArg("stride", n)
			pad := c.spatialArg("padding", n)
			dilation := c.spatialArg("dilation", n)
			groups, _ := c.SymInt("groups")
			batch := sym.NewVar("n", near.Sizes[0])
			over := []*sym.Symbol{batch}
			group := sym.FloorDiv(at[0], sym.FloorDiv(near.Sizes[1], groups))
			a := []sym.Expr{batch.Expr(), at[0]}
			b := []sym.Expr{batch.Expr(), sym.Add(sym.Mul(group, out.Sizes[1]), at[1])}
			guard := expr.Bool(true)
			for d := range n {
				o := sym.NewVar("o"+itoa(d), near.Sizes[2+d])
				over = append(over, o)
				a = append(a, o.Expr())
				i := sym.Sub(sym.Add(sym.Mul(o.Expr(), stride[d]), sym.Mul(at[2+d], dilation[d])),
					pad[d])
				guard = expr.And(guard, expr.InRange(i, sym.Int(0), far.Sizes[2+d]))
				b = append(b, i)
			}
			x := expr.Select(guard, expr.Cast(m, c.Load("far", b...)), expr.Num(m, 0))
			return expr.Sum(over, expr.Mul(expr.Cast(m, c.Load("near", a...)), x))
		}),
	}
}

// normBackwardOps are the gradients of layer and group normalisation, and a
// product of three tensors. Gradients that output_mask does not ask for have
// no elements.
func normBackwardOps() []entry {
	return []entry{{
		Schema: "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, " +
			"SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, " +
			"bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) []ir.Type {
			t := c.floatInput()
			lead := c.trailing(t)
			c.gradientOf(t)
			w := ir.TensorOf(t.DType, t.Sizes[lead:]...)
			return c.maskedGradients(ir.TensorOf(t.DType, t.Sizes...), w, w)
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			t := c.Tensor("input")
			lead := c.trailing(t)
			m := opmath(t.DType)
			x, g, rstd := b.cast(c.Value("input"), m), b.cast(c.Value("grad_out"), m),
				b.cast(c.Value("rstd"), m)
			normed := b.mul(b.sub(x, b.cast(c.Value("mean"), m)), rstd)
			weighted := g
			if w := c.Value("weight"); w != nil {
				weighted = b.mul(g, b.cast(w, m))
			}
			over := func(v *ir.Value) *ir.Value {
				if lead == 0 {
					return v
				}
				return b.aten("sum.dim_IntList", v, upTo(lead))
			}
			dx := b.normGradient(weighted, normed, rstd, upTo(t.Rank())[lead:])
			return b.gradients(c, dx, over(b.mul(g, normed)), over(g))
		},
	},
		{
			Schema: "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, " +
				"Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, " +
				"bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
			Infer: func(c *Call) []ir.Type {
				t := c.channels()
				groups := must(c.Int("group"))
				c.errorIf(groups < 1 || differ(sym.Mod(t.Sizes[1], sym.Int(groups)), sym.Int(0)),
					"%d groups of %s channels", groups, t.Sizes[1])
				c.gradientOf(t)
				c.restatesInput(t)
				for _, name := range []string{"mean", "rstd"} {
					s := c.Tensor(name)
					c.errorIf(differ(s.Numel(), sym.Mul(t.Sizes[0], sym.Int(groups))),
						"%s is %s for %d groups of each of %s", name, sizesOf{s}, groups,
						t.Sizes[0])
				}
				w := ir.TensorOf(t.DType, t.Sizes[1])
				return c.maskedGradients(ir.TensorOf(t.DType, t.Sizes...), w, w)
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				t := c.Tensor("input")
				groups := must(c.Int("group"))
				m := opmath(t.DType)
				ch := t.Sizes[1]
				// Batch, group, channel of the group, place.
				grouped := []sym.Expr{t.Sizes[0], sym.Int(groups), sym.FloorDiv(ch,
					sym.Int(groups)), sym.Mul(t.Sizes[2:]...)}
				shape := func(name string, sizes ...sym.Expr) *ir.Value {
					return b.aten("reshape", b.cast(c.Value(name), m), sizes)
				}
				one := sym.Int(1)
				x, g := shape("input", grouped...), shape("grad_out", grouped...)
				mean, rstd := shape("mean", grouped[0], grouped[1], one, one),
					shape("rstd", grouped[0], grouped[1], one, one)
				normed := b.mul(b.sub(x, mean), rstd)
				weighted := g
				if c.Has("weight") {
					weighted = b.mul(g, shape("weight", one, grouped[1], grouped[2], one))
				}
				over := func(v *ir.Value) *ir.Value {
					return b.aten("sum.dim_IntList", v, []int{0, 3})
				}
				return b.gradients(c, b.normGradient(weighted, normed, rstd, []int{2, 3}),
					over(b.mul(g, normed)), over(g))
			},
		}, trilinear()}
}

// maskedGradients gives the types of gradients, those not asked for empty.
func (c *Call) maskedGradients(ts ...ir.Type) []ir.Type {
	mask, _ := c.Arg("output_mask").(ir.List)
	for i := range ts {
		if i >= len(mask) || mask[i] != ir.BoolArg(true) {
			ts[i] = ir.StaticTensor(ts[i].DType, 0)
		}
	}
	return ts
}

// gradients shapes what was computed as the results are; those not asked for
// are empty.
func (b *Builder) gradients(c *Call, vs ...*ir.Value) []*ir.Value {
	for i, t := range c.Outs {
		if n, ok := t.Numel().Const(); ok && n == 0 {
			vs[i] = b.aten("full", t.Sizes, 0, Kw("dtype", t.DType))
			continue
		}
		vs[i] = b.cast(b.aten("reshape", vs[i], t.Sizes), t.DType)
	}
	return vs
}

// normGradient is the gradient of (x - mean)·rstd, the sums being over dims of
// n elements, given g, that of the result, and the result x̂ itself.
func (b *Builder) normGradient(g, normed, rstd *ir.Value, dims []int) *ir.Value {
	mean := func(v *ir.Value) *ir.Value { return b.aten("mean.dim", v, dims, true) }
	return b.mul(b.sub(b.sub(g, mean(g)), b.mul(normed, mean(b.mul(g, normed)))), rstd)
}

// gradientOf checks that grad_out is as a tensor of type t.
func (c *Call) gradientOf(t ir.Type) {
	g := c.Tensor("grad_out")
	c.errorIf(g.DType != t.DType || !sameSizes(g.Sizes, t.Sizes), "a gradient of %s %s", g.DType,
		sizesOf{g})
}

// trilinear gives each operand dimensions of size 1 in the places named,
// multiplies all three and sums over sumdim.
func trilinear() entry {
	expanded := func(c *Call, i int) (ir.Type, []int) {
		t := c.Tensor([]string{"i1", "i2", "i3"}[i])
		ns := must(c.Ints([]string{"expand1", "expand2", "expand3"}[i]))
		rank := t.Rank() + len(ns)
		var at []int
		for _, n := range ns {
			c.errorIf(n < 0 || int(n) >= rank || len(at) > 0 && int(n) <= at[len(at)-1],
				"%v are no ascending places among %d dimensions", ns, rank)
			at = append(at, int(n))
			c.errorIf(int(n) > t.Rank(), "dimension %d of a tensor with %d", n, t.Rank())
			sizes := append(append(append([]sym.Expr(nil), t.Sizes[:n]...), sym.Int(1)),
				t.Sizes[n:]...)
			t = ir.TensorOf(t.DType, sizes...)
		}
		return t, at
	}
	return entry{
		Schema: "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, " +
			"int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			var ts []ir.Type
			for i := range 3 {
				t, _ := expanded(c, i)
				ts = append(ts, t)
			}
			sizes, ok := Broadcast(ts...)
			c.errorIf(!ok || ts[0].Rank() != ts[1].Rank() || ts[0].Rank() != ts[2].Rank() ||
				ts[0].DType != ts[1].DType || ts[0].DType != ts[2].DType, "%s do not go together",
				sizesOf(ts))
			over := c.dims("sumdim", len(sizes), false)
			var left []sym.Expr
			for d, s := range sizes {
				if !over[d] {
					left = append(left, s)
				}
			}
			return []ir.Type{ir.TensorOf(ts[0].DType, left...)}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			var product *ir.Value
			for i, name := range []string{"i1", "i2", "i3"} {
				_, at := expanded(c, i)
				v := c.Value(name)
				for _, d := range at {
					v = b.aten("unsqueeze", v, d)
				}
				if product == nil {
					product = v
				} else {
					product = b.mul(product, v)
				}
			}
			if list, _ := c.Arg("sumdim").(ir.List); len(list) == 0 {
				return []*ir.Value{product}
			}
			return b.Ops("aten.sum.dim_IntList", product, c.Arg("sumdim"))
		},
	}
}
