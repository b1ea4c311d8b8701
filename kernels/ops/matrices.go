package ops

import (
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
				return b.renormed(x, c.Arg("p"), without(upTo(x.Type.Rank()), func(k int) bool {
					return k == d
				}), c.Arg("maxnorm"), nil)
			}),
		derived("aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, "+
			"float norm_type) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x, i := c.Value("self"), c.indexTensor("indices")
				c.errorIf(x.Type.Rank() != 2, "an embedding of %s", sizesOf{x.Type})
				rows := x.Type.Sizes[0]
				asked := b.aten("index_fill.int_Scalar", b.aten("zeros", []sym.Expr{rows, sym.Int(1)},
					Kw("dtype", ir.Bool)), 0, b.reshaped(c.Value("indices"), i.Numel()), true)
				return b.renormed(x, c.Arg("norm_type"), []int{1}, c.Arg("max_norm"), asked)
			}),
		derived("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", vectorNorm),
		derived("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "+
			"Tensor", vectorNorm),
		derived("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "+
			"ScalarType dtype) -> Tensor", vectorNorm),
		derived("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
			vectorNorm),
		derived("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
			vectorNorm),
	}
}

// renormed is x with norms over dims of no more than most; of the slices asked for, nil for all.
func (b *Builder) renormed(x *ir.Value, p ir.Arg, dims []int, most ir.Arg,
	asked *ir.Value) *ir.Value {
	norm := b.aten("linalg_vector_norm", b.cast(x, opmath(x.Type.DType)), p, dims, true)
	over := b.aten("gt.Scalar", norm, most)
	if asked != nil {
		over = b.aten("logical_and", over, asked)
	}
	factor := b.div(most, b.aten("add.Scalar", norm, 1e-7))
	return b.cast(b.mul(x, b.where(over, factor, 1, norm.Type.DType)), x.Type.DType)
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
