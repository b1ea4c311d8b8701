package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// suggestsChannelsLast is Tensor::suggest_memory_format() == ChannelsLast (or
// ChannelsLast3d): the strides grow in the order C, W, H, (D,) N, and are not
// just as well row-major.
func suggestsChannelsLast(t ir.Type) bool {
	n := t.Rank()
	if n != 4 && n != 5 || t.Strides[1].IsZero() {
		return false
	}
	order := []int{1}
	for d := n - 1; d >= 2; d-- {
		order = append(order, d)
	}
	least := sym.Int(0)
	for _, d := range append(order, 0) {
		if t.Sizes[d].IsZero() || !sym.LessEq(least, t.Strides[d]) {
			return false
		}
		if d == 0 && least.Equal(t.Strides[1]) {
			return false
		}
		least = t.Strides[d]
		if !t.Sizes[d].Is(1) {
			least = sym.Mul(least, t.Sizes[d])
		}
	}
	return true
}
