package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// normBackwardOps are the gradients of layer and group normalisation, and a
// product of three tensors. Gradients that output_mask does not ask for have
// no elements.
func normBackwardOps() []Op {
	return []Op{layerNormBackward(), groupNormBackward(), trilinear()}
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
			vs[i] = b.Op("aten.full.default", t.Sizes, 0, Kw("dtype", t.DType))
			continue
		}
		vs[i] = b.cast(b.Op("aten.reshape.default", vs[i], t.Sizes), t.DType)
	}
	return vs
}

// normGradient is the gradient of (x - mean)·rstd, the sums being over dims of
// n elements, given g, that of the result, and the result x̂ itself.
func (b *Builder) normGradient(g, normed, rstd *ir.Value, dims []int) *ir.Value {
	mean := func(v *ir.Value) *ir.Value { return b.Op("aten.mean.dim", v, dims, true) }
	return b.mul(b.sub(b.sub(g, mean(g)), b.mul(normed, mean(b.mul(g, normed)))), rstd)
}

func layerNormBackward() Op {
	return Op{
		Schema: "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.floatInput())
			lead := must(c.trailing(t))
			if g := c.Tensor("grad_out"); g.DType != t.DType || !sameShapes(g, t) {
				return nil, c.Errorf("a gradient of %s %s", g.DType, describeSizes([]ir.Type{g}))
			}
			w := ir.TensorOf(t.DType, t.Sizes[lead:]...)
			return c.maskedGradients(ir.TensorOf(t.DType, t.Sizes...), w, w), nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			t := c.Tensor("input")
			lead := must(c.trailing(t))
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
				return b.Op("aten.sum.dim_IntList", v, upTo(lead))
			}
			dx := b.normGradient(weighted, normed, rstd, upTo(t.Rank())[lead:])
			return b.gradients(c, dx, over(b.mul(g, normed)), over(g)), nil
		},
	}
}

func sameShapes(a, b ir.Type) bool {
	if a.Rank() != b.Rank() {
		return false
	}
	for d, s := range a.Sizes {
		if differ(s, b.Sizes[d]) {
			return false
		}
	}
	return true
}

func groupNormBackward() Op {
	return Op{
		Schema: "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.channels())
			groups, err := c.Int("group")
			if err == nil && (groups < 1 ||
				differ(sym.Mod(t.Sizes[1], sym.Int(groups)), sym.Int(0))) {
				err = c.Errorf("%d groups of %s channels", groups, t.Sizes[1])
			}
			if g := c.Tensor("grad_out"); err == nil && (g.DType != t.DType || !sameShapes(g, t)) {
				err = c.Errorf("a gradient of %s %s", g.DType, describeSizes([]ir.Type{g}))
			}
			if err == nil {
				err = c.restatesInput(t)
			}
			for _, name := range []string{"mean", "rstd"} {
				if s := c.Tensor(name); err == nil &&
					differ(s.Numel(), sym.Mul(t.Sizes[0], sym.Int(groups))) {
					err = c.Errorf("%s is %s for %d groups of each of %s", name,
						describeSizes([]ir.Type{s}), groups, t.Sizes[0])
				}
			}
			if err != nil {
				return nil, err
			}
			w := ir.TensorOf(t.DType, t.Sizes[1])
			return c.maskedGradients(ir.TensorOf(t.DType, t.Sizes...), w, w), nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			t := c.Tensor("input")
			groups := must(c.Int("group"))
			m := opmath(t.DType)
			ch := t.Sizes[1]
			// Batch, group, channel of the group, place.
			grouped := []sym.Expr{t.Sizes[0], sym.Int(groups), sym.FloorDiv(ch, sym.Int(groups)),
				sym.Mul(t.Sizes[2:]...)}
			shape := func(name string, sizes ...sym.Expr) *ir.Value {
				return b.Op("aten.reshape.default", b.cast(c.Value(name), m), sizes)
			}
			one := sym.Int(1)
			x, g := shape("input", grouped...), shape("grad_out", grouped...)
			mean, rstd := shape("mean", grouped[0], grouped[1], one, one), shape("rstd", grouped[0],
				grouped[1], one, one)
			normed := b.mul(b.sub(x, mean), rstd)
			weighted := g
			if c.Has("weight") {
				weighted = b.mul(g, shape("weight", one, grouped[1], grouped[2], one))
			}
			over := func(v *ir.Value) *ir.Value {
				return b.Op("aten.sum.dim_IntList", v, []int{0, 3})
			}
			return b.gradients(c, b.normGradient(weighted, normed, rstd, []int{2, 3}),
				over(b.mul(g, normed)), over(g)), nil
		},
	}
}

// trilinear gives each operand dimensions of size 1 in the places named,
// multiplies all three and sums over sumdim.
func trilinear() Op {
	expanded := func(c *Call, i int) (ir.Type, []int, error) {
		t := c.Tensor([]string{"i1", "i2", "i3"}[i])
		ns, err := c.Ints([]string{"expand1", "expand2", "expand3"}[i])
		rank := t.Rank() + len(ns)
		var at []int
		for _, n := range ns {
			if n < 0 || int(n) >= rank || len(at) > 0 && int(n) <= at[len(at)-1] {
				return t, nil, c.Errorf("%v are no ascending places among %d dimensions", ns, rank)
			}
			at = append(at, int(n))
			if int(n) > t.Rank() {
				return t, nil, c.Errorf("dimension %d of a tensor with %d", n, t.Rank())
			}
			sizes := append(append(append([]sym.Expr(nil), t.Sizes[:n]...), sym.Int(1)),
				t.Sizes[n:]...)
			t = ir.TensorOf(t.DType, sizes...)
		}
		return t, at, err
	}
	return Op{
		Schema: "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			var ts []ir.Type
			for i := range 3 {
				t, _ := must2(expanded(c, i))
				ts = append(ts, t)
			}
			sizes, ok := Broadcast(ts...)
			if !ok || ts[0].Rank() != ts[1].Rank() || ts[0].Rank() != ts[2].Rank() ||
				ts[0].DType != ts[1].DType || ts[0].DType != ts[2].DType {
				return nil, c.Errorf("%s do not go together", describeSizes(ts))
			}
			over := must(c.dims("sumdim", len(sizes), false))
			var left []sym.Expr
			for d, s := range sizes {
				if !over[d] {
					left = append(left, s)
				}
			}
			return []ir.Type{ir.TensorOf(ts[0].DType, left...)}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			var product *ir.Value
			for i, name := range []string{"i1", "i2", "i3"} {
				_, at := must2(expanded(c, i))
				v := c.Value(name)
				for _, d := range at {
					v = b.Op("aten.unsqueeze.default", v, d)
				}
				if product == nil {
					product = v
				} else {
					product = b.mul(product, v)
				}
			}
			if list, _ := c.Arg("sumdim").(ir.List); len(list) == 0 {
				return []*ir.Value{product}, nil
			}
			return b.Ops("aten.sum.dim_IntList", product, c.Arg("sumdim")), nil
		},
	}
}
