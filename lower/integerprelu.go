package lower

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// prelu is the fixed form of what multiplies numbers below 0 by constants, nil if it has none.
func (m *cortexM) prelu(n *ir.Node, c *ops.Call) quantizer {
	x, w := m.ofBytes(c.Value("self")), c.Value("weight")
	if x == nil || m.stock {
		return nil
	}
	sizes, static := w.Type.StaticSizes()
	by, ok := m.biasOf(w)
	if !ok || !static || len(by) == 0 || slices.ContainsFunc(by, math.IsNaN) {
		return nil
	}
	return func(b *ops.Builder, _ *ir.Node, to *quantization) *ir.Value {
		scale := math.Ldexp(x.scale[0]/to.scale, -ops.PReLUBits)
		// All multipliers have the shift of the largest one.
		_, shift := math.Frexp(scale * max(1, slices.Max(by), -slices.Min(by)))
		if shift < -31 || shift > 0 {
			return nil
		}
		part := func(by float64) int64 {
			return int64(min(math.RoundToEven(math.Ldexp(scale*by, 31-shift)), math.MaxInt32))
		}
		below := make([]int64, len(by))
		for i := range by {
			below[i] = max(part(by[i]), -math.MaxInt32)
		}
		return denseOp(b, ops.FixedPReLU, x.ints, m.fixed(b, n.Name+"_multipliers", ir.Int32, below,
			sizes...), x.zero[0], to.zero, part(1), shift, to.lo, to.hi)
	}
}
