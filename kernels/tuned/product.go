package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// product is a call that is a product of matrices,
//
//	y[b][i][j] = sum of x[b][i][k]·w[b][k][j] over k, + bias[j],
//
// y dense, x and w addressed by strides.
type product struct {
	x, w, bias     int // operands; bias is -1 if there is none
	batch, m, n, k sym.Expr
	xs, ws         [3]sym.Expr // strides of x over b, i, k and of w over b, k, j
}

// sizes are the fields that all products have.
func (p *product) sizes() Values { return Values{"m": p.m, "n": p.n, "k": p.k} }

// productOf reads c as a product of float32 matrices, or returns nil.
func productOf(c *ops.Call) *product {
	var p *product
	switch c.Op.Name() {
	case "aten.mm.default":
		p = matrices(c, "self", "mat2", "")
	case "aten.addmm.default":
		p = matrices(c, "mat1", "mat2", "self")
	case "aten.bmm.default":
		p = matrices(c, "self", "mat2", "")
	case "aten.baddbmm.default":
		p = matrices(c, "batch1", "batch2", "self")
	case "aten.mv.default":
		p = vector(c, "self", "vec", "")
	case "aten.addmv.default":
		p = vector(c, "mat", "vec", "self")
	case "aten.linear.default":
		p = rows(c)
	}
	if p == nil || !allFloat32(c) || !scaledByOne(c) || !p.addsRow(c) && !p.addsAll(c) {
		return nil
	}
	return p
}

// matrices reads a[m, k]·b[k, n], or a batch of such products.
func matrices(c *ops.Call, a, b, add string) *product {
	x, w := c.Tensor(a), c.Tensor(b)
	r := x.Rank()
	one := sym.Int(1)
	p := &product{x: c.Operand(a), w: c.Operand(b), bias: -1, batch: sym.Mul(x.Sizes[:r-2]...),
		m: x.Sizes[r-2], n: w.Sizes[r-1], k: x.Sizes[r-1]}
	p.xs = [3]sym.Expr{sym.Mul(p.m, p.k), p.k, one}
	p.ws = [3]sym.Expr{sym.Mul(p.k, p.n), p.n, one}
	if add != "" {
		p.bias = c.Operand(add)
	}
	return p
}

// vector reads a[n, k]·v[k] as the row v times the transposed matrix.
func vector(c *ops.Call, a, v, add string) *product {
	w := c.Tensor(a)
	zero, one := sym.Int(0), sym.Int(1)
	p := &product{x: c.Operand(v), w: c.Operand(a), bias: -1, batch: one, m: one, n: w.Sizes[0],
		k: w.Sizes[1]}
	p.xs = [3]sym.Expr{zero, zero, one}
	p.ws = [3]sym.Expr{zero, one, p.k}
	if add != "" {
		p.bias = c.Operand(add)
	}
	return p
}

// rows reads linear: input[…, k]·weight[n, k] transposed, + bias[n].
func rows(c *ops.Call) *product {
	x, w := c.Tensor("input"), c.Tensor("weight")
	r := x.Rank()
	if w.Rank() != 2 {
		return nil
	}
	zero, one := sym.Int(0), sym.Int(1)
	p := &product{x: c.Operand("input"), w: c.Operand("weight"), bias: c.Operand("bias"),
		batch: one,
		m:     sym.Mul(x.Sizes[:r-1]...), n: w.Sizes[0], k: w.Sizes[1]}
	p.xs = [3]sym.Expr{zero, p.k, one}
	p.ws = [3]sym.Expr{zero, one, p.k}
	return p
}

// addsRow reports whether what is added, if anything, is the same for all rows:
// one element, or one for each column.
func (p *product) addsRow(c *ops.Call) bool {
	if p.bias < 0 {
		return true
	}
	n := c.Operands()[p.bias].Type.Numel()
	s := c.Operands()[p.bias].Type.Sizes
	return n.Is(1) || n.Equal(p.n) && len(s) > 0 && s[len(s)-1].Equal(p.n)
}

// addsAll reports whether what is added has an element for every result.
func (p *product) addsAll(c *ops.Call) bool {
	return slices.EqualFunc(c.Operands()[p.bias].Type.Sizes, c.Outs[0].Sizes, sym.Expr.Equal)
}

// scaledByOne reports whether a call that may scale product and summand does not.
func scaledByOne(c *ops.Call) bool {
	for _, name := range []string{"alpha", "beta"} {
		if c.Op.ParsedSchema().Index(name) >= 0 {
			if x, err := c.Float(name); err != nil || x != 1 {
				return false
			}
		}
	}
	return true
}

func allFloat32(c *ops.Call) bool {
	for _, v := range c.Operands() {
		if v.Type.DType != ir.Float32 {
			return false
		}
	}
	return c.Outs[0].DType == ir.Float32
}
