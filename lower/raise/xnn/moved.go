package xnn

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// moved is what a value is a permutation of: its dimension i is dimension order[i] of from. Images
// have their channels last in payloads, and first in the graph. So what does the same to every
// element does it to from, and is moved behind: most permutations meet their inverse.
type moved struct {
	from  *ir.Value
	order []int64
}

// permute is the permutation of dimensions.
func (r *raiser) permute(x *ir.Value, order []int64) *ir.Value {
	if x.Type.Rank() != len(order) {
		must.Fail("%v has not %d dimensions", x.Type, len(order))
	}
	seen := make([]bool, len(order))
	for _, d := range order {
		if d < 0 || d >= int64(len(order)) || seen[d] {
			must.Fail("%d is no order of dimensions", order)
		}
		seen[d] = true
	}
	if m, ok := r.moved[x]; ok {
		x = m.from
		through := make([]int64, len(order))
		for i, d := range order {
			through[i] = m.order[d]
		}
		order = through
	}
	if slices.IsSorted(order) {
		return x
	}
	y := r.Op("aten.permute_copy.default", x, order)
	r.moved[y] = moved{x, order}
	return y
}

// over applies an elementwise operator of one operand.
func (r *raiser) over(x *ir.Value, f func(*ir.Value) *ir.Value) *ir.Value {
	m, ok := r.moved[x]
	if !ok {
		return f(x)
	}
	return r.permute(f(m.from), m.order)
}

// overAll applies an operator to operands that are moved alike, if they are. F is told how: order,
// nil if they are not.
func (r *raiser) overAll(xs []*ir.Value, f func(xs []*ir.Value,
	order []int64) *ir.Value) *ir.Value {
	var order []int64
	for _, x := range xs {
		if m, ok := r.moved[x]; ok {
			order = m.order
			break
		}
	}
	inside := make([]*ir.Value, len(xs))
	for i, x := range xs {
		m, ok := r.moved[x]
		switch {
		case order == nil:
		case ok && slices.Equal(m.order, order):
			inside[i] = m.from
		case x.Const != nil && x.Type.Rank() == len(order):
			inside[i] = r.permute(x, inverse(order))
		case x.Type.Rank() <= 1 && x.Type.Numel().Is(1):
			inside[i] = x
		default:
			order = nil
		}
	}
	if order == nil {
		return f(xs, nil)
	}
	return r.permute(f(inside, order), order)
}

func inverse(order []int64) []int64 {
	back := make([]int64, len(order))
	for i, d := range order {
		back[d] = int64(i)
	}
	return back
}
