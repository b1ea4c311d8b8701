package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// measureOps compare vectors, and are other names of operators.
func measureOps() []Op {
	vectors := func(schema string, f func(*Builder, *Call) (*ir.Value, error)) Op {
		return derived(schema, f)
	}
	renamed := func(schema, op string) Op {
		out := derived(schema, func(b *Builder, c *Call) (*ir.Value, error) {
			return sameAs(op)(b, c), nil
		})
		out.numbers = true
		return out
	}
	return []Op{
		vectors("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", cosineSimilarity),
		vectors("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				return b.distance(c, "x1", "x2", c.Bool("keepdim")), nil
			}),
		vectors("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				return sameAs("aten._cdist_forward.default")(b, c), nil
			}),
		vectors("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				d, err := c.Int("dim")
				return b.Op("aten.sum.dim_IntList", b.mul(c.Value("x"), c.Value("y")), []int64{d}),
					err
			}),
		derived("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
			func(b *Builder, c *Call) (*ir.Value, error) {
				return crossProduct(b, c, "dim")
			}),
		derived("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", bilinear),
		derived("aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", isIn),
		renamed("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", "aten.div.Tensor"),
		renamed("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten.div.Scalar"),
		renamed("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", "aten.div.Tensor_mode"),
		renamed("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", "aten.div.Scalar_mode"),
		renamed("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", "aten.mul.Tensor"),
		renamed("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", "aten.mul.Scalar"),
		renamed("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
			"aten.sub.Tensor"),
		renamed("aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
			"aten.sub.Scalar"),
		renamed("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", "aten.xlogy.Tensor"),
		renamed("aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
			"aten.xlogy.Scalar_Other"),
	}
}

// cosineSimilarity divides by norms of at least eps.
func cosineSimilarity(b *Builder, c *Call) (*ir.Value, error) {
	x, y := c.Value("x1"), c.Value("x2")
	d := must(c.Promote("x1", "x2"))
	sizes, ok := Broadcast(x.Type, y.Type)
	if !ok || !d.IsFloat() {
		return nil, c.Errorf("vectors of %s in %s", d, describeSizes([]ir.Type{x.Type, y.Type}))
	}
	dim := must(c.Int("dim"))
	// Each operand is as long as the result before it is measured, as in PyTorch.
	unit := func(v *ir.Value) *ir.Value {
		v = b.Op("aten.expand.default", b.cast(v, d), sizes)
		norm := b.Op("aten.linalg_vector_norm.default", v, 2, []int64{dim}, true)
		return b.div(v, b.Op("aten.clamp.default", norm, c.Arg("eps")))
	}
	return b.Op("aten.sum.dim_IntList", b.mul(unit(x), unit(y)), []int64{dim}), nil
}

// crossProduct rolls both operands one way and the other.
func crossProduct(b *Builder, c *Call, dim string) (*ir.Value, error) {
	d := must(c.dim(dim, c.Tensor("self").Rank()))
	return crossAlong(b, c, d)
}

// crossAlong is the product of the vectors along dimension d.
func crossAlong(b *Builder, c *Call, d int) (*ir.Value, error) {
	x, y := c.Value("self"), c.Value("other")
	if x.Type.Rank() != y.Type.Rank() || x.Type.Rank() == 0 || !x.Type.Sizes[d].Is(3) ||
		!y.Type.Sizes[d].Is(3) {
		return nil, c.Errorf("the cross product of %s", describeSizes([]ir.Type{x.Type, y.Type}))
	}
	roll := func(v *ir.Value, by int) *ir.Value {
		return b.Op("aten.roll.default", v, []int{by}, []int{d})
	}
	return b.sub(b.mul(roll(x, -1), roll(y, -2)), b.mul(roll(x, -2), roll(y, -1))), nil
}

// bilinear is input1ᵀ·weight·input2 for every output feature.
func bilinear(b *Builder, c *Call) (*ir.Value, error) {
	x, y, w := c.Value("input1"), c.Value("input2"), c.Value("weight")
	n := x.Type.Rank() - 1
	if n < 0 || y.Type.Rank() != n+1 || w.Type.Rank() != 3 {
		return nil, c.Errorf("%s", describeSizes([]ir.Type{x.Type, y.Type, w.Type}))
	}
	rows := func(v *ir.Value) *ir.Value {
		return b.Op("aten.reshape.default", v, []sym.Expr{sym.Mul(v.Type.Sizes[:n]...),
			v.Type.Sizes[n]})
	}
	// Of every row the products of each feature of one with each of the other.
	products := b.mul(b.Op("aten.unsqueeze.default", rows(x), 2), b.Op("aten.unsqueeze.default",
		rows(y), 1))
	both := sym.Mul(w.Type.Sizes[1], w.Type.Sizes[2])
	flat := b.Op("aten.reshape.default", products, []sym.Expr{sym.Mul(x.Type.Sizes[:n]...), both})
	weight := b.Op("aten.permute.default", b.Op("aten.reshape.default", w,
		[]sym.Expr{w.Type.Sizes[0], both}), []int{1, 0})
	out := b.Op("aten.reshape.default", b.Op("aten.mm.default", flat, weight),
		append(slices.Clone(x.Type.Sizes[:n]), w.Type.Sizes[0]))
	if c.Has("bias") {
		out = b.add(out, c.Value("bias"))
	}
	return out, nil
}

// isIn compares every element with every one to look for.
func isIn(b *Builder, c *Call) (*ir.Value, error) {
	x := b.Op("aten.unsqueeze.default", c.Value("elements"), -1)
	tests := b.Op("aten.reshape.default", c.Value("test_elements"), []int{-1})
	found := b.Op("aten.any.dim", b.Op("aten.eq.Tensor", x, tests), -1)
	if c.Bool("invert") {
		found = b.Op("aten.logical_not.default", found)
	}
	return found, nil
}

// distance is the norm of order p of the difference of two arguments, moved by
// eps, along the last dimension.
func (b *Builder) distance(c *Call, x, y string, keep bool) *ir.Value {
	d := b.Op("aten.add.Scalar", b.sub(c.Value(x), c.Value(y)), c.Arg("eps"))
	return b.Op("aten.linalg_vector_norm.default", d, c.Arg("p"), []int{-1}, keep)
}
