package ops

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// matrixOps are functions of vectors and matrices that are said in other operators.
func matrixOps() []entry {
	return []entry{
		derived("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", chainProduct("tensors")),
		derived("aten::chain_matmul(Tensor[] matrices) -> Tensor", chainProduct("matrices")),
		derived("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", vandermonde),
		derived("aten::pdist(Tensor self, float p=2.) -> Tensor",
			sameAs("aten._pdist_forward.default")),
		derived("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
			combinations),
		derived("aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				d := c.dim("dim", x.Type.Rank())
				norm := b.aten("linalg_vector_norm", b.cast(x, opmath(x.Type.DType)), c.Arg("p"),
					without(upTo(x.Type.Rank()), func(k int) bool { return k == d }), true)
				factor := b.div(c.Arg("maxnorm"), b.aten("add.Scalar", norm, 1e-7))
				return b.cast(b.mul(x, b.where(b.aten("gt.Scalar", norm, c.Arg("maxnorm")), factor, 1,
					norm.Type.DType)), x.Type.DType)
			}),
		derived("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", vectorNorm),
		derived("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", vectorNorm),
		derived("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", vectorNorm),
		derived("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
			vectorNorm),
		derived("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
			vectorNorm),
	}
}

// vectorNorm is linalg_vector_norm by the arguments of its older forms.
func vectorNorm(b *Builder, c *Call) *ir.Value {
	has := func(name string) bool { return c.Op.sch.Index(name) >= 0 && c.Has(name) }
	args := []any{c.Value("self"), 2, nil, false}
	for i, name := range []string{"self", "p", "dim", "keepdim"} {
		if i > 0 && has(name) {
			args[i] = c.Arg(name)
		}
	}
	if has("dtype") {
		args = append(args, Kw("dtype", c.Arg("dtype")))
	}
	return b.aten("linalg_vector_norm", args...)
}

// chainProduct multiplies matrices. The first and the last may be vectors.
func chainProduct(name string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		first, n := c.Operand(name), len(c.Tensors(name))
		c.errorIf(n == 0, "no matrices")
		y := c.operands[first]
		for _, x := range c.operands[first+1 : first+n] {
			y = b.aten("matmul", y, x)
		}
		return y
	}
}

// vandermonde has the powers 0 to N-1 of each element along a new last dimension.
func vandermonde(b *Builder, c *Call) *ir.Value {
	x := c.Value("x")
	rank := x.Type.Rank()
	if rank == 0 {
		x, rank = b.aten("unsqueeze", x, 0), 1
	}
	n := x.Type.Sizes[rank-1]
	if c.Has("N") {
		n = must(c.SymInt("N"))
	}
	x = b.aten("unsqueeze", x, -1)
	x = b.aten("expand", x, append(slices.Clone(x.Type.Sizes[:rank]), sym.Sub(n, sym.Int(1))))
	return b.aten("cumprod", b.aten("constant_pad_nd", x, []int64{1, 0}, 1), -1)
}

// combinations are those of r elements of a vector, in order.
func combinations(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	c.errorIf(x.Type.Rank() != 1, "%d dimensions, not a vector", x.Type.Rank())
	n, ok := x.Type.Sizes[0].Const()
	r := must(c.Int("r"))
	c.errorIf(!ok, "combinations of a dynamic number of elements; export the model with a fixed one")
	c.errorIf(r < 0, "combinations of %d elements", r)
	if r == 0 {
		return b.aten("zeros", []int64{0}, Kw("dtype", x.Type.DType))
	}
	step, from := int64(1), n
	if c.Bool("with_replacement") {
		step, from = 0, n+r-1
	}
	b.limit(c, r, max(n, 1))
	count := int64(1) // of combinations: each factor of the quotient leaves a whole number
	for k := int64(1); k <= min(r, from-r); k++ {
		count = count * (from - k + 1) / k
		b.limit(c, count, r)
	}
	if r > from {
		return b.aten("zeros", []int64{0, r}, Kw("dtype", x.Type.DType))
	}
	var rows []int64
	var row []int64
	var choose func(from int64)
	choose = func(from int64) {
		if int64(len(row)) == r {
			rows = append(rows, row...)
			return
		}
		for i := from; i < n-step*(r-1-int64(len(row))); i++ {
			row = append(row, i)
			choose(i + step)
			row = row[:len(row)-1]
		}
	}
	choose(0)
	at := b.integers(rows)
	return b.reshaped(b.aten("index_select", x, 0, at), sym.Int(int64(len(rows))/r), sym.Int(r))
}

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
	sizes := make([]sym.Expr, t.Rank())
	for k := range sizes {
		sizes[k] = sym.Int(1)
	}
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

// frequencies are those of a transform's results: fft_fftfreq, fft_rfftfreq.
func frequencies(name string, real bool) entry {
	return derived("aten::"+name+"(int n, float d=1., "+factoryTail+") -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			n, d := must(c.Int("n")), must(c.Float("d"))
			c.errorIf(n < 1 || n > maxPlaces, "a transform of %d elements", n)
			count, dt := n, c.DType("dtype", defaultFloat)
			if real {
				count = n/2 + 1
			}
			c.errorIf(dt != ir.Float32 && dt != ir.Float64, "frequencies of %s", dt)
			xs := make([]float64, count)
			for i := range xs {
				if k := int64(i); real || k < (n+1)/2 {
					xs[i] = float64(k)
				} else {
					xs[i] = float64(k - n)
				}
				xs[i] *= 1 / (float64(n) * d)
			}
			return b.floats(dt, xs, count)
		})
}

// multigamma is the logarithm of the multivariate gamma function with dimension p.
func multigamma(b *Builder, c *Call) *ir.Value {
	x, p := c.Value("self"), must(c.Int("p"))
	c.errorIf(p < 1 || p > 1<<10, "dimension %d", p)
	if !x.Type.DType.IsFloat() {
		x = b.cast(x, defaultFloat)
	}
	var sum *ir.Value
	for j := range p {
		y := b.aten("lgamma", b.aten("sub.Scalar", x, float64(j)/2))
		if sum == nil {
			sum = y
		} else {
			sum = b.add(sum, y)
		}
	}
	return b.aten("add.Scalar", sum, float64(p*(p-1))/4*math.Log(math.Pi))
}
