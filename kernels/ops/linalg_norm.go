package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
)

// linalgNormOps are norms in terms of linalg_vector_norm. Those of matrices that follow
// from singular values are missing.
func linalgNormOps() []Op {
	const tail = "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
	return []Op{
		derived("aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, "+tail,
			linalgNorm),
		derived("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, "+tail,
			linalgNorm),
		derived("aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], "+tail,
			matrixNorm),
		derived("aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", "+
			"int[] dim=[-2, -1], "+tail, matrixNorm),
	}
}

// linalgNorm is the norm of matrices if ord is given for two dimensions, else that of
// vectors.
func linalgNorm(b *Builder, c *Call) (*ir.Value, error) {
	ord := c.Arg("ord")
	_, word := ord.(ir.Str)
	over := []int64{0, 1}[:min(2, c.Tensor("self").Rank())]
	dims := c.Tensor("self").Rank()
	if c.Has("dim") {
		over = must(c.Ints("dim"))
		dims = len(over)
	}
	switch {
	case !c.Has("ord"):
		ord = ir.Int(2)
	case dims == 2:
		return matrixNormOver(b, c, over)
	case dims != 1 || word:
		return nil, c.Errorf("norm %v of %d dimensions", ord, dims)
	}
	return b.Op("aten.linalg_vector_norm.default", c.Arg("self"), ord, c.Arg("dim"),
		c.Bool("keepdim"), Kw("dtype", c.Arg("dtype"))), nil
}

func matrixNorm(b *Builder, c *Call) (*ir.Value, error) {
	over, err := c.Ints("dim")
	if err == nil && len(over) != 2 {
		err = c.Errorf("a matrix with %d dimensions", len(over))
	}
	if err != nil {
		return nil, err
	}
	return matrixNormOver(b, c, over)
}

// matrixNormOver is the norm of the matrices that two dimensions of self are.
func matrixNormOver(b *Builder, c *Call, over []int64) (*ir.Value, error) {
	rows := must(c.wrapDim(over[0], c.Tensor("self").Rank()))
	columns, err := c.wrapDim(over[1], c.Tensor("self").Rank())
	if err == nil && rows == columns {
		err = c.Errorf("dimension %d is given twice", rows)
	}
	if err != nil {
		return nil, err
	}
	norm := func(ord any, over ...int) *ir.Value {
		return b.Op("aten.linalg_vector_norm.default", c.Arg("self"), ord, over,
			c.Bool("keepdim"), Kw("dtype", c.Arg("dtype")))
	}
	ord := c.Arg("ord")
	if ord == ir.Str("fro") {
		return norm(2, rows, columns), nil
	}
	n, err := c.Float("ord")
	switch {
	case err != nil || math.Abs(n) == 2:
		return nil, c.Errorf("norm %v is one of singular values, which are not supported", ord)
	case math.IsInf(n, 0):
		rows, columns = columns, rows
	case math.Abs(n) != 1:
		return nil, c.Errorf("matrices have no norm %v", ord)
	}
	sums, of := norm(1, rows), columns // the sums of columns, or of rows
	if !c.Bool("keepdim") && rows < columns {
		of--
	}
	op := "aten.amax.default"
	if n < 0 {
		op = "aten.amin.default"
	}
	return b.Op(op, sums, []int{of}, c.Bool("keepdim")), nil
}
