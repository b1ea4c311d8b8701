package sym

import (
	"math/rand/v2"
	"testing"
)

// dim is an extent of a tensor: a constant, or a product with sizes.
type dim = Expr

func product(xs []dim) Expr { return Mul(xs...) }

// flatten returns the row-major position of an index.
func flatten(index []Expr, shape []dim) Expr {
	var at Expr
	for i := range shape {
		at = Add(Mul(at, shape[i]), index[i])
	}
	return at
}

// unflatten returns the index of a row-major position.
func unflatten(at Expr, shape []dim) []Expr {
	out := make([]Expr, len(shape))
	for i := range shape {
		out[i] = Mod(FloorDiv(at, product(shape[i+1:])), shape[i])
	}
	return out
}

func offset(index []Expr, strides []Expr) Expr {
	var at Expr
	for i := range index {
		at = Add(at, Mul(index[i], strides[i]))
	}
	return at
}

// viewStrides is PyTorch's computeStride: the strides of a view of the given
// shape, or nil if there is no such view. Extents are constants without 1.
func viewStrides(oldShape, oldStrides, newShape []int64) []int64 {
	out := make([]int64, len(newShape))
	d := len(newShape) - 1
	base, elements, covered := oldStrides[len(oldStrides)-1], int64(1), int64(1)
	for i := len(oldShape) - 1; i >= 0; i-- {
		elements *= oldShape[i]
		if i > 0 && oldStrides[i-1] == elements*base {
			continue
		}
		for d >= 0 && (covered < elements || newShape[d] == 1) {
			out[d] = covered * base
			covered *= newShape[d]
			d--
		}
		if covered != elements {
			return nil
		}
		if i > 0 {
			base, elements, covered = oldStrides[i-1], 1, 1
		}
	}
	return out
}

// split writes n as a product of random factors above 1.
func split(r *rand.Rand, n int64) []int64 {
	var out []int64
	for n > 1 {
		f := int64(2)
		for n%f != 0 {
			f++
		}
		n /= f
		if len(out) > 0 && r.IntN(2) == 0 {
			out[len(out)-1] *= f
		} else {
			out = append(out, f)
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func ints(xs []int64) []Expr {
	out := make([]Expr, len(xs))
	for i, x := range xs {
		out[i] = Int(x)
	}
	return out
}

func vars(shape []dim) []Expr {
	out := make([]Expr, len(shape))
	for i, n := range shape {
		out[i] = NewVar("i"+string(rune('0'+i)), n).Expr()
	}
	return out
}

// TestViewIsAffine reads permuted and sliced tensors under another shape:
// wherever PyTorch can express that with strides, the offset simplifies to them.
func TestViewIsAffine(t *testing.T) {
	views := 0
	for seed := range 20000 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		n := []int64{8, 12, 16, 24, 36, 60, 72, 96, 120}[r.IntN(9)]
		shape := split(r, n)
		strides := make([]int64, len(shape))
		stride := 1 + r.Int64N(3)
		order := r.Perm(len(shape))
		if r.IntN(2) == 0 {
			for i := range order {
				order[i] = len(shape) - 1 - i
			}
		}
		for _, d := range order {
			strides[d] = stride
			stride *= shape[d]
			if r.IntN(3) == 0 {
				stride *= 2 // a slice of something wider
			}
		}
		view := split(r, n)
		want := viewStrides(shape, strides, view)
		if want == nil {
			continue
		}
		views++
		index := vars(ints(view))
		got := offset(unflatten(flatten(index, ints(view)), ints(shape)), ints(strides))
		if e := offset(index, ints(want)); !got.Equal(e) {
			t.Fatalf("seed %d: %v with strides %v as %v: offset %s, want %s", seed, shape, strides,
				view, got, e)
		}
	}
	if views < 5000 {
		t.Errorf("only %d of the cases are views", views)
	}
}

// TestReshapeChain goes through any number of contiguous shapes and back.
func TestReshapeChain(t *testing.T) {
	n, m := NewSymbol("n", 1, 1<<40), NewSymbol("m", 2, 1<<20)
	for seed := range 3000 {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		constant := []int64{1, 4, 6, 12, 24}[r.IntN(5)]
		shape := func() []dim {
			s := append(ints(split(r, constant)), n.Expr(), m.Expr())
			r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
			if k := r.IntN(len(s)); k > 0 && r.IntN(2) == 0 { // merge two
				s[k-1] = Mul(s[k-1], s[k])
				s = append(s[:k], s[k+1:]...)
			}
			return s
		}
		first := shape()
		start := vars(first)
		index, from := start, first
		for range 1 + r.IntN(4) {
			to := shape()
			index, from = unflatten(flatten(index, from), to), to
		}
		back := unflatten(flatten(index, from), first)
		for i := range back {
			if !back[i].Equal(start[i]) {
				t.Fatalf("seed %d: index %d of %v is %s", seed, i, first, back[i])
			}
		}
	}
}
