package rt_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// The elements of an IntList are read when the kernel runs.
func sized() *build {
	b := newBuild("forward")
	x, zero, three := b.dynamic(8), b.value(pte.Int(0)), b.value(pte.Int(3))
	n, more := b.value(pte.Null{}), b.value(pte.Int(0))
	sizes := b.value(pte.IntList{int64(more)})
	out := b.dynamic(11)
	b.call("aten::sym_size", "int", x, zero, n)
	b.call("executorch_prim::add", "Scalar", n, three, more)
	b.kernel("aten::full", "out", sizes, more, out)
	return b.inputs(x).outputs(out)
}

func TestIntList(t *testing.T) {
	m := sized().method(t, nil)
	for _, n := range []int64{2, 0, 8} {
		forward(t, m, tensor(t, make([]float32, n), n))
		got := floats(t, m, 0)
		if int64(len(got)) != n+3 || got[0] != float32(n+3) {
			t.Errorf("of %d elements: %v", n, got)
		}
	}
	x := tensor(t, make([]float32, 5), 5)
	if allocs := testing.AllocsPerRun(20, func() {
		if m.SetInput(0, x) != nil || m.Execute(t.Context()) != nil {
			t.Fatal("it fails")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func joined() *build {
	b := newBuild("forward")
	x, y, w := b.dynamic(3), b.dynamic(3), b.constant([]float32{7}, 1)
	list := b.value(pte.TensorList{x, w, y})
	optional := b.value(pte.OptionalTensorList{y, -1, w, b.value(pte.Null{})})
	out, out2 := b.dynamic(7), b.dynamic(7)
	b.kernel("aten::cat", "out", list, out)
	b.kernel("aten::cat", "out", optional, out2)
	return b.inputs(x, y).outputs(out, out2)
}

func TestTensorList(t *testing.T) {
	m := joined().method(t, nil)
	forward(t, m, tensor(t, []float32{1, 2}, 2), tensor(t, []float32{3}, 1))
	wantFloats(t, m, 0, 1, 2, 7, 3)
	wantFloats(t, m, 1, 3, 7)
	forward(t, m, tensor(t, []float32{1}, 1), tensor(t, []float32{3, 4, 5}, 3))
	wantFloats(t, m, 0, 1, 7, 3, 4, 5)
	wantFloats(t, m, 1, 3, 4, 5, 7)
}

// swapped has an operator with two results, which a TensorList repeats.
func swapped() *build {
	b := newBuild("forward")
	x, y, out, out2 := b.planned(1), b.planned(2), b.planned(2), b.planned(1)
	results := b.value(pte.TensorList{out, out2})
	b.call("test::swap", "out", x, y, out, out2, results)
	return b.inputs(x, y).outputs(out, out2)
}

func TestSeveralResults(t *testing.T) {
	m := swapped().method(t, nil)
	forward(t, m, tensor(t, []float32{1}, 1), tensor(t, []float32{2, 3}, 2))
	wantFloats(t, m, 0, 2, 3)
	wantFloats(t, m, 1, 1)
}

func TestResize(t *testing.T) {
	x, err := rt.NewBoundedTensor(ir.Float32, []int64{2, 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := &x.Data[0]
	for _, c := range []struct {
		sizes []int64
		ok    bool
	}{
		{[]int64{1, 1}, true}, {[]int64{3, 2}, true}, {[]int64{6, 1}, true},
		{[]int64{0, 100}, true}, {[]int64{2, 3}, true},
		{[]int64{2, 4}, false}, {[]int64{6}, false}, {[]int64{-1, -1}, false}, {[]int64{1 << 62, 4},
			false}, {[]int64{-1, 0}, false},
	} {
		before := slices.Clone(x.Sizes)
		err := x.Resize(c.sizes)
		switch {
		case (err == nil) != c.ok:
			t.Errorf("%v: %v", c.sizes, err)
		case err != nil && (!errors.Is(err, rt.ErrNotSupported) || !slices.Equal(x.Sizes, before)):
			t.Errorf("%v: %v, sizes are %v", c.sizes, err, x.Sizes)
		case err == nil && (!slices.Equal(x.Sizes, c.sizes) ||
			int64(len(x.Data)) != 4*c.sizes[0]*c.sizes[1]):
			t.Errorf("%v: sizes are %v, %d bytes", c.sizes, x.Sizes, len(x.Data))
		}
	}
	if &x.Data[0] != first {
		t.Error("the memory is another one")
	}
	fixed := tensor(t, make([]float32, 6), 2, 3)
	if fixed.Resize([]int64{2, 3}) != nil ||
		!errors.Is(fixed.Resize([]int64{3, 2}), rt.ErrNotSupported) {
		t.Error("a fixed tensor")
	}
}
