package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Broadcast returns the common sizes of ts by NumPy's rule; ok is false if
// there are none, or if sizes may differ when the program runs. A size that is a
// symbol does not count as 1, even if it may be.
func Broadcast(ts ...ir.Type) (sizes []sym.Expr, ok bool) {
	n := 0
	for _, t := range ts {
		n = max(n, t.Rank())
	}
	sizes = make([]sym.Expr, n)
	for i := range sizes {
		sizes[i] = sym.Int(1)
	}
	for _, t := range ts {
		for i, s := range t.Sizes {
			at := &sizes[n-t.Rank()+i]
			switch {
			case s.Is(1):
			case at.Is(1):
				*at = s
			case differ(s, *at):
				return nil, false
			}
		}
	}
	return sizes, true
}

// broadcastsTo reports whether t may stand for a tensor of sizes: those that
// broadcasting gives are these.
func broadcastsTo(t ir.Type, sizes []sym.Expr) bool {
	both, ok := Broadcast(t, ir.Type{Sizes: sizes})
	return ok && sym.AllEqual(both, sizes)
}

// pointwiseType returns the type of the result of an elementwise operator over
// ts: their broadcast sizes and the strides PyTorch's TensorIterator gives,
// which keep the operands' common order of dimensions.
func pointwiseType(d ir.DType, ts ...ir.Type) (ir.Type, bool) {
	sizes, ok := Broadcast(ts...)
	if !ok {
		return ir.Type{}, false
	}
	return ir.Type{Kind: ir.TensorKind, DType: d, Sizes: sizes,
		Strides: pointwiseStrides(sizes, ts)}, true
}

func pointwiseStrides(sizes []sym.Expr, ts []ir.Type) []sym.Expr {
	if strides, ok := sameLayout(sizes, ts); ok {
		return strides
	}
	if rowMajor(sizes, ts) {
		return ir.Contiguous(sizes)
	}
	n := len(sizes)
	// over holds the strides over the broadcast dimensions, 0 where an operand
	// is repeated.
	over := make([][]sym.Expr, len(ts))
	for k, t := range ts {
		over[k] = make([]sym.Expr, n)
		for i := range t.Sizes {
			d := n - t.Rank() + i
			if !t.Sizes[i].Is(1) || sizes[d].Is(1) {
				over[k][d] = t.Strides[i]
			}
		}
	}
	// perm lists the dimensions from the innermost out.
	perm := make([]int, n)
	for i := range perm {
		perm[i] = n - 1 - i
	}
	// compare tells whether dimension a belongs outside (1) or inside (-1) of b.
	compare := func(a, b int) int {
		for k := range ts {
			sa, sb := over[k][a], over[k][b]
			switch {
			case sa.IsZero() || sb.IsZero():
			case sa.Equal(sb):
				if less(sizes[b], sizes[a]) {
					return 1
				}
			case less(sa, sb):
				return -1
			case less(sb, sa):
				return 1
			}
		}
		return 0
	}
	for i := 1; i < n; i++ { // insertion sort that stops only at a clear answer
		at := i
		for j := i - 1; j >= 0; j-- {
			c := compare(perm[j], perm[at])
			if c > 0 {
				perm[j], perm[at] = perm[at], perm[j]
				at = j
			} else if c < 0 {
				break
			}
		}
	}
	return stridesInOrder(sizes, perm)
}

// stridesInOrder returns dense strides with perm's dimensions from the
// innermost out.
func stridesInOrder(sizes []sym.Expr, perm []int) []sym.Expr {
	n := len(sizes)
	rowMajor := true
	for i, d := range perm {
		rowMajor = rowMajor && d == n-1-i
	}
	if rowMajor {
		return ir.Contiguous(sizes)
	}
	strides := make([]sym.Expr, n)
	next := sym.Int(1)
	for _, d := range perm {
		strides[d] = next
		next = sym.Mul(next, sizes[d])
	}
	return strides
}

// sameLayout is TensorIterator's short cut for operands of one shape: all
// row-major, all channels last, or all dense with the same strides.
func sameLayout(sizes []sym.Expr, ts []ir.Type) ([]sym.Expr, bool) {
	eq := sym.Expr.Equal
	contiguous, last, dense := true, true, true
	for _, t := range ts {
		if !slices.EqualFunc(t.Sizes, sizes, eq) {
			return nil, false
		}
		contiguous = contiguous && t.IsContiguous()
		last = last && isChannelsLast(t)
		dense = dense && slices.EqualFunc(t.Strides, ts[0].Strides, eq) && isDense(t)
	}
	switch {
	case len(ts) == 0 || contiguous:
		return ir.Contiguous(sizes), true
	case last:
		return channelsLastStrides(sizes), true
	case dense:
		return ts[0].Strides, true
	}
	return nil, false
}

// rowMajor is FakeTensor's short cut for operands that are all row-major and
// of which one has the common shape. It differs from the long way only for
// tensors without elements.
func rowMajor(sizes []sym.Expr, ts []ir.Type) bool {
	whole := false
	for _, t := range ts {
		whole = whole || slices.EqualFunc(t.Sizes, sizes, sym.Expr.Equal)
		if !t.IsContiguous() {
			return false
		}
	}
	return whole
}

// less reports whether a < b for certain.
func less(a, b sym.Expr) bool { return sym.NonNegative(sym.Sub(sym.Sub(b, a), sym.Int(1))) }

// channelsLastStrides returns the strides of torch.channels_last for four
// dimensions, of channels_last_3d for five.
func channelsLastStrides(sizes []sym.Expr) []sym.Expr {
	perm := []int{1}
	for d := len(sizes) - 1; d >= 2; d-- {
		perm = append(perm, d)
	}
	return stridesInOrder(sizes, append(perm, 0))
}

// isChannelsLast reports whether t is contiguous in the channels-last format
// of its rank.
func isChannelsLast(t ir.Type) bool {
	if t.Rank() != 4 && t.Rank() != 5 {
		return false
	}
	for i, s := range channelsLastStrides(t.Sizes) {
		if !t.Sizes[i].Is(1) && !s.Equal(t.Strides[i]) {
			return false
		}
	}
	return true
}

// isDense reports whether the elements of t fill a run of memory, each at its
// own place, in some order of the dimensions.
func isDense(t ir.Type) bool {
	_, ok := denseOrder(t)
	return ok
}

// denseOrder returns the dimensions of t from the innermost out if t is dense
// for certain. Dimensions of size 1 come last.
func denseOrder(t ir.Type) (perm []int, ok bool) {
	var ones []int
	rest := make([]int, 0, t.Rank())
	for d := t.Rank() - 1; d >= 0; d-- {
		if t.Sizes[d].Is(1) {
			ones = append(ones, d)
		} else {
			rest = append(rest, d)
		}
	}
	next := sym.Int(1)
	for len(rest) > 0 {
		i := slices.IndexFunc(rest, func(d int) bool { return t.Strides[d].Equal(next) })
		if i < 0 {
			return nil, false
		}
		d := rest[i]
		rest = slices.Delete(rest, i, i+1)
		perm = append(perm, d)
		next = sym.Mul(next, t.Sizes[d])
	}
	return append(perm, ones...), true
}

// likeStrides returns the strides of empty_like with preserve_format: those of
// t if it is dense, else row-major ones in the order of t's strides.
func likeStrides(t ir.Type) []sym.Expr {
	if isDense(t) {
		return t.Strides
	}
	return pointwiseStrides(t.Sizes, []ir.Type{t})
}
