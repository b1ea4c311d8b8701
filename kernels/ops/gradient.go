package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// gradientOps are the overloads of torch.gradient: numerical derivatives along dimensions.
func gradientOps() []entry {
	var out []entry
	for _, o := range []struct{ name, spacing, dim string }{
		{"scalarint", "Scalar? spacing=None, ", "int? dim=None"},
		{"scalararray", "Scalar spacing, ", "int[] dim"},
		{"array", "", "int[] dim"},
		{"scalarrayint", "Scalar[] spacing, ", "int? dim=None"},
		{"scalarrayarray", "Scalar[] spacing, ", "int[] dim"},
		{"tensorarrayint", "Tensor[] spacing, ", "int? dim=None"},
		{"tensorarray", "Tensor[] spacing, ", "int[] dim"},
	} {
		out = append(out, entry{Schema: "aten::gradient." + o.name + "(Tensor self, *, " +
			o.spacing + o.dim + ", int edge_order=1) -> Tensor[]", Decompose: gradients})
	}
	return out
}

func gradients(b *Builder, c *Call) []*ir.Value {
	x := c.Value("self")
	if !x.Type.DType.Part().IsFloat() {
		x = b.cast(x, defaultFloat)
	}
	dims := upTo(x.Type.Rank())
	if one, err := c.Int("dim"); err == nil {
		dims = []int{c.wrapDim(one, x.Type.Rank())}
	} else if c.Has("dim") {
		dims = nil
		for _, d := range must(c.Ints("dim")) {
			dims = append(dims, c.wrapDim(d, x.Type.Rank()))
		}
	}
	c.errorIf(x.Type.Rank() == 0, "a tensor without dimensions")
	edge := must(c.Int("edge_order"))
	c.errorIf(edge != 1 && edge != 2, "edge_order %d", edge)
	var out []*ir.Value
	for i, d := range dims {
		n := x.Type.Sizes[d]
		c.errorIf(sym.LessEq(n, sym.Int(edge)), "dimension %d of size %s is too short", d, n)
		c.need(sym.Sub(n, sym.Int(edge)))
		if c.Op.sch.Index("spacing") >= 0 && c.Operand("spacing") >= 0 {
			out = append(out, b.derivative(x, d, edge, b.steps(c, x.Type, i, d)))
		} else {
			out = append(out, b.evenDerivative(x, d, edge, c.step(i)))
		}
	}
	return out
}

// steps are the distances of the coordinates of neighbours along dimension d, the one that is asked
// for as number i.
func (b *Builder) steps(c *Call, t ir.Type, i, d int) *ir.Value {
	sizes := seq.Of(t.Rank(), func(k int) sym.Expr { return sym.Int(1) })
	n := t.Sizes[d]
	c.errorIf(i >= len(c.Tensors("spacing")), "%d spacings", len(c.Tensors("spacing")))
	at := c.operands[c.Operand("spacing")+i]
	if !at.Type.DType.IsFloat() {
		at = b.cast(at, t.DType.Part())
	}
	c.errorIf(at.Type.Rank() != 1 || differ(at.Type.Sizes[0], n), "coordinates of sizes %s for %s",
		sizesOf{at.Type}, n)
	sizes[d] = sym.Sub(n, sym.Int(1))
	return b.reshaped(b.aten("diff", at), sizes...)
}

// step is the distance of neighbours along the dimension that is asked for as number i.
func (c *Call) step(i int) ir.Arg {
	if c.Op.sch.Index("spacing") < 0 || !c.Has("spacing") {
		return ir.Int(1)
	}
	step := c.Arg("spacing")
	if list, ok := step.(ir.List); ok {
		c.errorIf(i >= len(list), "%d spacings", len(list))
		step = list[i]
	}
	return step
}

// evenDerivative is derivative where all neighbours have the distance step. Differences come
// first: they are small beside the elements.
func (b *Builder) evenDerivative(x *ir.Value, d int, edge int64, step ir.Arg) *ir.Value {
	n := x.Type.Sizes[d]
	part := func(from, size sym.Expr) *ir.Value { return b.aten("narrow", x, d, from, size) }
	first := func(k int64) *ir.Value { return part(sym.Int(k), sym.Int(1)) }
	last := func(k int64) *ir.Value { return part(sym.Sub(n, sym.Int(k)), sym.Int(1)) }
	p, q := b.sub(first(1), first(0)), b.sub(last(1), last(2))
	if edge == 2 {
		p = b.sub(b.add(b.mul(first(0), -1.5), b.mul(first(1), 2.0)), b.mul(first(2), 0.5))
		q = b.add(b.sub(b.mul(last(3), 0.5), b.mul(last(2), 2.0)), b.mul(last(1), 1.5))
	}
	parts := []*ir.Value{b.div(p, step)}
	if !n.Is(2) {
		inside := sym.Sub(n, sym.Int(2))
		both := b.sub(part(sym.Int(2), inside), part(sym.Int(0), inside))
		parts = append(parts, b.div(b.div(both, step), 2.0))
	}
	return b.aten("cat", append(parts, b.div(q, step)), d)
}

// derivative has differences of both neighbours inside, and at the ends those of edge more
// elements.
func (b *Builder) derivative(x *ir.Value, d int, edge int64, steps *ir.Value) *ir.Value {
	n := x.Type.Sizes[d]
	end := func(k int64) sym.Expr { return sym.Sub(n, sym.Int(k)) }
	part := func(v *ir.Value, from, size sym.Expr) *ir.Value {
		return b.aten("narrow", v, d, from, size)
	}
	one := func(v *ir.Value, at sym.Expr) *ir.Value { return part(v, at, sym.Int(1)) }
	// outer is the derivative at the end that p is; q and r are the next elements.
	outer := func(p, q, r, near, far sym.Expr) *ir.Value {
		h := one(steps, near)
		if edge == 1 {
			return b.div(b.sub(one(x, q), one(x, p)), h)
		}
		g := one(steps, far)
		both := b.add(h, g)
		y := b.mul(b.div(both, b.mul(h, g)), one(x, q))
		y = b.sub(y, b.mul(b.div(b.add(both, h), b.mul(h, both)), one(x, p)))
		return b.sub(y, b.mul(b.div(h, b.mul(g, both)), one(x, r)))
	}
	first := outer(sym.Int(0), sym.Int(1), sym.Int(2), sym.Int(0), sym.Int(1))
	last := b.aten("neg", outer(end(1), end(2), end(3), end(2), end(3)))
	if n.Is(2) {
		return b.aten("cat", []*ir.Value{first, last}, d)
	}
	before, after := part(steps, sym.Int(0), end(2)), part(steps, sym.Int(1), end(2))
	sum := b.add(before, after)
	left := b.div(b.aten("neg", after), b.mul(before, sum))
	middle := b.div(b.sub(after, before), b.mul(before, after))
	right := b.div(before, b.mul(after, sum))
	inner := b.add(b.add(b.mul(left, part(x, sym.Int(0), end(2))),
		b.mul(middle, part(x, sym.Int(1), end(2)))), b.mul(right, part(x, sym.Int(2), end(2))))
	return b.aten("cat", []*ir.Value{first, inner, last}, d)
}
