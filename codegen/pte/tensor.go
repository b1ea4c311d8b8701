package pte

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
)

// newTensor describes a tensor of type t. Dynamic sizes are taken at their
// bounds.
func newTensor(t ir.Type) *tensor {
	out := &tensor{typ: t, sizes: make([]int32, t.Rank()), dimOrder: dimOrder(t),
		bytes: int64(t.DType.Size())}
	if t.Kind != ir.TensorKind || out.bytes == 0 {
		panic(fmt.Errorf("a %v is no tensor", t))
	}
	if t.Rank() > pte.MaxRank {
		panic(fmt.Errorf("it has %d dimensions, ExecuTorch's runtime takes %d at most",
			t.Rank(), pte.MaxRank))
	}
	for i, e := range t.Sizes {
		n, fixed := e.Const()
		if !fixed {
			out.dynamic = true
			if e.Undefined() {
				panic(fmt.Errorf("size %d of it is not known", i))
			}
			if _, n = e.Bounds(); n == math.MaxInt64 {
				panic(fmt.Errorf("its size %v has no upper bound, which memory planning needs: %s",
					e, ir.WantBound(e)))
			}
		}
		if n < 0 || n > math.MaxInt32 {
			panic(fmt.Errorf("its size %v may be %d, beyond 32 bits", e, n))
		}
		out.sizes[i] = int32(n)
		if n > 0 && out.bytes > math.MaxInt64/n {
			panic(fmt.Errorf("it has more bytes than 64 bits can count"))
		}
		out.bytes *= n
	}
	return out
}

// dimOrder returns the dimensions from the outermost in memory to the
// innermost, as the strides tell; row-major if these do not belong to dense
// elements.
func dimOrder(t ir.Type) []uint8 {
	order := seq.Of(t.Rank(), func(i int) uint8 { return uint8(i) })
	if t.IsContiguous() {
		return order
	}
	strides := make([]int64, len(order))
	for i, s := range t.Strides {
		n, ok := s.Const()
		if !ok {
			_, n = s.Bounds()
		}
		strides[i] = n
	}
	dense := slices.Clone(order)
	seq.Sort(dense, func(a, b uint8) int {
		switch {
		case strides[a] > strides[b]:
			return -1
		case strides[a] < strides[b]:
			return 1
		}
		return 0
	})
	sizes := make([]int64, len(order))
	for i, s := range t.Sizes {
		n, ok := s.Const()
		if !ok {
			_, n = s.Bounds()
		}
		sizes[i] = n
	}
	want := int64(1)
	for _, d := range slices.Backward(dense) {
		if sizes[d] == 1 {
			continue
		}
		if strides[d] != want {
			return order
		}
		want *= sizes[d]
	}
	return dense
}

// alike reports whether a and b may stand for one another: the same elements
// in the same order, whatever the sizes turn out to be.
func alike(a, b *tensor) bool {
	if a.typ.DType != b.typ.DType || len(a.sizes) != len(b.sizes) || a.dynamic != b.dynamic ||
		!slices.Equal(a.dimOrder, b.dimOrder) {
		return false
	}
	for i := range a.sizes {
		if a.sizes[i] != b.sizes[i] || !a.typ.Sizes[i].Equal(b.typ.Sizes[i]) {
			return false
		}
	}
	return true
}
