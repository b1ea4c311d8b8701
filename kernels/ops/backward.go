package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// backwardOps are the gradients that ExecuTorch has kernels for.
func backwardOps() []Op { return []Op{convBackward(), convWeightGrad(), maxPoolBackward()} }

// convBackward gives the gradients of input, weight and bias of a convolution,
// those that output_mask asks for; the others have no elements.
func convBackward() Op {
	wanted := func(c *Call, i int) bool {
		mask, _ := c.Arg("output_mask").(ir.List)
		return i < len(mask) && mask[i] == ir.BoolArg(true)
	}
	return Op{
		Schema: "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			cv := must(convOf(c))
			for _, n := range cv.outPad {
				if !cv.transposed && differ(n, sym.Int(0)) {
					return nil, c.Errorf("an output padding of %s of a convolution", n)
				}
			}
			if sizes, given := c.Arg("bias_sizes").(ir.List); given {
				ns := must(c.SymInts("bias_sizes"))
				if len(sizes) != 1 || differ(ns[0], cv.outChannels()) {
					return nil, c.Errorf("a bias of sizes %v for %s channels", ns, cv.outChannels())
				}
			}
			g := c.Tensor("grad_output")
			want := must(cv.outType(c))
			if g.DType != cv.x.DType || len(g.Sizes) != len(want.Sizes) ||
				slices.ContainsFunc(upTo(g.Rank()), func(d int) bool {
					return differ(g.Sizes[d], want.Sizes[d])
				}) {
				return nil, c.Errorf("a gradient of %s for a result of %s",
					describeSizes([]ir.Type{g}), describeSizes([]ir.Type{want}))
			}
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
			return out, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			cv := must(convOf(c))
			g, x, w := c.Value("grad_output"), c.Value("input"), c.Value("weight")
			out := make([]*ir.Value, 3)
			for i := range out {
				if !wanted(c, i) {
					out[i] = b.Op("aten.empty.memory_format", []int64{0}, Kw("dtype", g.Type.DType))
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
				out[0] = b.Op("aten.convolution.default", g, w, nil, c.Arg("stride"),
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
				out[2] = b.Op("aten.sum.dim_IntList", g, dims)
			}
			return out, nil
		},
	}
}

// convWeightGrad sums, for each weight, the products of what it joins: the
// elements of near, the side of the convolution that has one element per
// window, with those of far they see through it.
func convWeightGrad() Op {
	return Op{
		Schema: "etgen::convolution_weight_gradient(Tensor near, Tensor far, SymInt[] kernel, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			near, far := c.Tensor("near"), c.Tensor("far")
			n := near.Rank() - 2
			if n < 1 || far.Rank() != n+2 || near.DType != far.DType || !near.DType.IsFloat() ||
				differ(near.Sizes[0], far.Sizes[0]) {
				return nil, c.Errorf("operands of %s and %s and of %s", near.DType, far.DType,
					describeSizes([]ir.Type{near, far}))
			}
			for _, name := range []string{"stride", "padding", "dilation"} {
				must(c.spatialArg(name, n))
			}
			kernel := must(c.spatialArg("kernel", n))
			groups, err := c.SymInt("groups")
			if err == nil && !sym.Less(sym.Int(0), groups) {
				err = c.Errorf("%s groups", groups)
			}
			if err != nil {
				return nil, err
			}
			c.need(sym.FloorDiv(near.Sizes[1], groups))
			sizes := append([]sym.Expr{near.Sizes[1], sym.FloorDiv(far.Sizes[1], groups)},
				kernel...)
			return []ir.Type{ir.TensorOf(near.DType, sizes...)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			out, near, far := c.Outs[0], c.Tensor("near"), c.Tensor("far")
			m, n := opmath(out.DType), near.Rank()-2
			stride, _ := c.spatialArg("stride", n)
			pad, _ := c.spatialArg("padding", n)
			dilation, _ := c.spatialArg("dilation", n)
			groups, _ := c.SymInt("groups")
			vars, at := indexVars(out.Sizes)
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
			sum := expr.Sum(over, expr.Mul(expr.Cast(m, c.Load("near", a...)), x))
			return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, sum)}},
				nil
		},
	}
}

// maxPoolBackward adds each gradient to the element that was the largest of
// its window.
func maxPoolBackward() Op {
	return Op{
		Schema: "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			p := must(poolOf(c, 2))
			g, at := c.Tensor("grad_output"), c.Tensor("indices")
			want := p.outType(p.x.DType)
			fits := func(t ir.Type) bool {
				return slices.EqualFunc(t.Sizes, want.Sizes, sym.Expr.Equal)
			}
			if g.DType != p.x.DType || !g.DType.IsFloat() || at.DType != ir.Int64 || !fits(g) ||
				!fits(at) {
				return nil, c.Errorf("a gradient of %s %s and indices of %s %s", g.DType,
					describeSizes([]ir.Type{g}), at.DType, describeSizes([]ir.Type{at}))
			}
			out := ir.TensorOf(p.x.DType, p.x.Sizes...)
			if suggestsChannelsLast(p.x) {
				out.Strides = channelsLastStrides(p.x.Sizes)
			}
			return []ir.Type{out}, nil
		},
		Loops: func(c *Call) (*loop.Func, error) {
			t, g := c.Outs[0], c.Tensor("grad_output")
			lead := t.Rank() - 2
			plane := sym.Mul(t.Sizes[lead:]...)
			vars, at := indexVars(g.Sizes)
			best, bind := c.bindAt("best", c.flatLoad(c.Operand("indices"), at), plane, false)
			into := sym.Add(sym.Mul(sym.RowMajor(t.Sizes[:lead], at[:lead]), plane), best)
			z := sym.NewVar("z", t.Numel())
			f := &loop.Func{Name: "max_pool_backward", Bufs: c.buffers()}
			f.Body = []loop.Stmt{&loop.For{Var: z, Extent: t.Numel(),
				Body: []loop.Stmt{&loop.Store{Buf: 0, At: z.Expr(), Value: expr.Num(t.DType, 0)}}}}
			f.Body = append(f.Body,
				nest(vars, bind, c.write(into, c.flatLoad(c.Operand("grad_output"), at), added))...)
			return f, nil
		},
	}
}
