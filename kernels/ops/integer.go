package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// The names of the integer products.
const (
	IntegerConvolution = "etgen.integer_convolution.default"
	IntegerMatmul      = "etgen.integer_matmul.default"
)

// integerProducts are the sums of products in a quantized network: of integers less their zero
// points, exact in int32, with a bias in int32. What lies outside of an image counts as its
// zero point. The result is the sum as int32, or, rounded, as float32; what scales it is an
// elementwise node behind it, which becomes a kernel's epilogue.
func integerProducts() []entry {
	return []entry{
		{
			Schema: "etgen::integer_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] before, SymInt[] after, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, int input_zero_point, int weight_zero_point, ScalarType dtype) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := convOf(c).outType(c)
				t.DType = c.integerSum("input", "weight")
				return one(t)
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				return convOf(c).compute(c, at)
			}),
		},
		{
			// Row i of self times column j of mat2, or, transposed, row j. Mat2 has two
			// dimensions, for all products, or those of self.
			Schema: "etgen::integer_matmul(Tensor self, Tensor mat2, Tensor? bias, bool transposed, int self_zero_point, int mat2_zero_point, ScalarType dtype) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				x, w := c.Tensor("self"), c.Tensor("mat2")
				r := w.Rank()
				c.errorIf(x.Rank() < 1 || r < 2 || r > 2 && r != x.Rank(),
					"operands with %d and %d dimensions", x.Rank(), r)
				k, n := r-2, r-1
				if c.Bool("transposed") {
					k, n = n, k
				}
				lead := x.Sizes[:x.Rank()-1]
				c.errorIf(differ(x.Sizes[len(lead)], w.Sizes[k]) ||
					r > 2 && !sameSizes(w.Sizes[:r-2], lead[:r-2]), "%s do not multiply",
					sizesOf{x, w})
				c.param("bias", w.Sizes[n])
				return one(ir.TensorOf(c.integerSum("self", "mat2"),
					append(slices.Clone(lead), w.Sizes[n])...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				last := len(at) - 1
				lead := at[:max(c.Tensor("mat2").Rank()-2, 0)]
				y := inner(ir.Int32, c.Tensor("self").Sizes[last],
					func(k sym.Expr) (a, b *expr.Expr) {
						w := append(slices.Clone(lead), k, at[last])
						if c.Bool("transposed") {
							w = append(slices.Clone(lead), at[last], k)
						}
						return c.lessZero("self", append(slices.Clone(at[:last]), k)),
							c.lessZero("mat2", w)
					})
				return affine(y, nil, c.paramAt("bias", ir.Int32, at[last]))
			}),
		},
	}
}

// integerSum checks the operands of an integer product and returns the result's dtype.
func (c *Call) integerSum(x, w string) ir.DType {
	for _, name := range []string{x, w} {
		d := c.Tensor(name).DType
		c.errorIf(d != ir.Int8 && d != ir.Uint8 && d != ir.Int16, "%s of %s", name, d)
		c.zeroPoint(name)
	}
	if k := c.Operand("bias"); k >= 0 && c.operands[k].Type.DType != ir.Int32 {
		panic(c.Errorf("a bias of %s", c.operands[k].Type.DType))
	}
	d := c.DType("dtype", ir.InvalidDType)
	c.errorIf(d != ir.Int32 && d != ir.Float32, "a result of %s", d)
	return d
}

// zeroPoint returns the number of NAME_zero_point, checked against the operand's dtype.
func (c *Call) zeroPoint(name string) int64 {
	zero := must(c.Int(name + "_zero_point"))
	least, most := expr.IntRange(c.Tensor(name).DType)
	c.errorIf(zero < least || zero > most, "a zero point of %d for %s of %s", zero, name,
		c.Tensor(name).DType)
	return zero
}

// lessZero returns an element of an integer product's operand less its zero point.
func (c *Call) lessZero(name string, at []sym.Expr) *expr.Expr {
	return offset(c.Load(name, at...), expr.Int(ir.Int32, -c.zeroPoint(name)))
}
