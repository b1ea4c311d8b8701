package lower

import (
	"math"
	"math/bits"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// softmax is what quantizes one of int8, and its fixed form.
type softmax struct {
	of   *quantity
	dim  int64
	exps *ir.Constant // of the differences from the largest
}

// leastExp is how many bits the largest exponential has at least.
const leastExp = 16

// softmaxOf reads a call, nil if it is no softmax of int8, or int32 may not hold a row's sum.
func (a *integerArithmetic) softmaxOf(c *ops.Call) *softmax {
	if op := c.Op.Name(); op != "aten._softmax.default" && op != "aten.softmax.int" {
		return nil
	}
	q := a.of[c.Value("self")]
	dim, err := c.Int("dim")
	if err != nil || q == nil || !q.uniform() || q.ints.Type.DType != ir.Int8 ||
		q.ints.Type.Rank() == 0 || c.Outs[0].DType != ir.Float32 {
		return nil
	}
	if dim < 0 {
		dim += int64(q.ints.Type.Rank())
	}
	n, ok := q.ints.Type.Sizes[dim].Const()
	most := 30 - bits.Len64(uint64(max(n-1, 0)))
	if !ok || most < leastExp {
		return nil
	}
	exps := seq.Of(256, func(i int) int64 {
		return int64(math.RoundToEven(math.Ldexp(math.Exp(-float64(i)*q.scale[0]), most)))
	})
	return &softmax{q, dim, intData(ir.Int32, exps, 256)}
}

// quantized is what node q makes of s.
func (s *softmax) quantized(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
	scale := float64(float32(1 / to.scale))
	if scale > 1e30 {
		return nil
	}
	v := denseOp(b, ops.IntegerSoftmax, s.of.ints, b.Constant(q.Name+"_exps", s.exps), s.dim, scale)
	return b.Op(quantizeOp+".default", v, 1.0, to.zero, to.lo, to.hi, to.dtype)
}

// fixed is the same in fixed point.
func (s *softmax) fixed(b *ops.Builder, q *ir.Node, to *quantization) *ir.Value {
	f := to.fixedOf([]fixedTerm{{most: 1 << 30, scale: []float64{0x1p-30}}}, nil)
	if f == nil {
		return nil
	}
	return denseOp(b, ops.FixedSoftmax, s.of.ints, b.Constant(q.Name+"_exps", s.exps), s.dim,
		f.multipliers[0][0], f.added[0], f.up[0], f.shift, f.ties, to.lo, to.hi, to.dtype)
}
