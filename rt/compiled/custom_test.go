package compiled

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

// twice is a kernel of my::twice(Tensor x) -> Tensor that body computes.
func twice(body func(x, out []float32) error) Custom {
	return Custom{Op: "my::twice.out", Func: "my.Twice", Outs: 1,
		Args: []Param{{Name: "x", Kind: rt.TensorKind, Elem: "float32"},
			{Name: "out", Kind: rt.TensorKind, Elem: "float32", Written: true}},
		Call: func(a []*Value) error { return body(Elements[float32](a[0]), Elements[float32](a[1])) }}
}

func double(x, out []float32) error {
	for i, v := range x {
		out[i] = 2 * v
	}
	return nil
}

func prepareCustom(k Custom, fixed func(*rt.EValue) bool, args ...*rt.EValue) (func() error,
	error) {
	return Kernels(k)[0].Prepare(rt.NewCall(k.Op, args, fixed))
}

// bounded is a tensor of dynamic size.
func bounded(t *testing.T, bound ...int64) *rt.EValue {
	t.Helper()
	x, err := rt.NewBoundedTensor(ir.Float32, bound, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &rt.EValue{Kind: rt.TensorKind, Tensor: x}
}

// A result of dynamic size has what the function for sizes tells. Memory that operands share with
// results is copied before.
func TestCustomSizes(t *testing.T) {
	k := twice(double)
	k.Sizes = func(a []*Value) [][]int { return [][]int{a[0].Sizes()} }
	out := bounded(t, 4)
	run, err := prepareCustom(k, nil, tensor(t, []float32{1, 2, 3}, 3), out)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	want(t, out, 2, 4, 6)

	x := tensor(t, []float32{1, 2, 3}, 3)
	reverse := twice(func(x, out []float32) error {
		for i := range out {
			out[i] = x[len(x)-1-i]
		}
		return nil
	})
	if run, err = prepareCustom(reverse, nil, x, x); err == nil {
		err = run()
	}
	if err != nil {
		t.Fatal(err)
	}
	want(t, x, 3, 2, 1)
}

// What a function does wrong is an error of the call, which names the operator.
func TestCustomFaults(t *testing.T) {
	sized := func(s ...int) Custom {
		k := twice(double)
		k.Sizes = func([]*Value) [][]int { return [][]int{s} }
		return k
	}
	for _, test := range []struct {
		name string
		k    Custom
		out  *rt.EValue
		want string
	}{
		{"panic", twice(func(x, out []float32) error { panic("no") }), nil, "its kernel panicked: no"},
		{"outside", twice(func(x, out []float32) error { out[:3][2] = 1; return nil }), nil,
			"its kernel panicked: runtime error: slice bounds out of range"},
		{"error", twice(func(x, out []float32) error { return errors.New("not today") }), nil,
			"not today"},
		{"too large", sized(5), bounded(t, 4), "the sizes of result 0"},
		{"another rank", sized(1, 1), bounded(t, 4), "the sizes of result 0"},
		{"negative", sized(-1), bounded(t, 4), "the sizes of result 0"},
		{"short", sized(1), bounded(t, 4), "its kernel panicked: runtime error: index out of range"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.out == nil {
				test.out = tensor(t, make([]float32, 2), 2)
			}
			run, err := prepareCustom(test.k, nil, tensor(t, []float32{1, 2}, 2), test.out)
			if err != nil {
				t.Fatal(err)
			}
			err = run()
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "my::twice.out") {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// Programs that call an operator otherwise than its function takes are refused when loaded.
func TestCustomRefuses(t *testing.T) {
	number := &rt.EValue{Kind: rt.Int, Int: 1}
	ints, err := rt.NewTensor(ir.Int32, []int64{2}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	last, err := rt.NewTensor(ir.Float32, []int64{1, 2}, []uint8{1, 0}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, out := tensor(t, []float32{1, 2}, 2), tensor(t, []float32{1, 2}, 2)
	list := &rt.EValue{Kind: rt.TensorList, List: []*rt.EValue{x,
		{Kind: rt.TensorKind, Tensor: ints}}}
	ofLists := twice(double)
	ofLists.Args = slices.Clone(ofLists.Args)
	ofLists.Args[0].List = true
	for _, test := range []struct {
		k     Custom
		x     *rt.EValue
		out   *rt.EValue
		fixed bool
		want  string
	}{
		{twice(double), number, out, false, "kernel my.Twice takes x of float32, and the program " +
			"gives it Int"},
		{twice(double), &rt.EValue{Kind: rt.TensorKind, Tensor: ints}, out, false, "gives it int32"},
		{twice(double), &rt.EValue{Kind: rt.TensorKind, Tensor: last}, out, false, "dim order [1 0]"},
		{twice(double), &rt.EValue{}, out, false, "gives it None"},
		{twice(double), nil, out, false, "gives it None"},
		{ofLists, list, out, false, "takes x of lists of float32, and the program gives it a list with " +
			"int32"},
		{ofLists, number, out, false, "gives it Int"},
		{twice(double), x, out, true, "it would write to a constant, out"},
		{twice(double), x, bounded(t, 2), false, "sizes of its results are dynamic"},
	} {
		_, err := prepareCustom(test.k, func(v *rt.EValue) bool { return test.fixed }, test.x, test.out)
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "my::twice.out") {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if _, err := prepareCustom(twice(double), nil, x); err == nil {
		t.Error("a call without the result is taken")
	}
}

// What a function writes to the tensors of a list stays, wherever these lie. A constant among them
// is refused.
func TestCustomWrittenLists(t *testing.T) {
	k := Custom{Op: "my::double_all", Func: "my.DoubleAll", Args: []Param{
		{Name: "list", Kind: rt.TensorKind, Elem: "float32", List: true, Written: true},
		{Name: "y", Kind: rt.TensorKind, Elem: "float32", Written: true, Optional: true}},
		Call: func(a []*Value) error {
			for _, x := range List(a[0], Elements[float32]) {
				for i := range x {
					x[i] *= 2
				}
			}
			return nil
		}}
	x, none := tensor(t, []float32{1, 2, 3}, 3), &rt.EValue{}
	list := &rt.EValue{Kind: rt.TensorList, List: []*rt.EValue{tensor(t, []float32{4}, 1), x}}
	_, err := prepareCustom(k, func(v *rt.EValue) bool { return v == x }, list, none)
	if err == nil || !strings.Contains(err.Error(), "it would write to a constant, list") {
		t.Errorf("a constant in a list: %v", err)
	}
	for _, y := range []*rt.EValue{none, x} { // x is written as y too
		run, err := prepareCustom(k, func(v *rt.EValue) bool { return v == none }, list, y)
		if err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	want(t, list.List[0], 16)
	want(t, x, 4, 8, 12)

	room := make([]byte, 16)
	for at := range 4 { // three of them are not aligned
		data := room[at : at+4]
		binary.LittleEndian.PutUint32(data, math.Float32bits(3))
		u, err := rt.NewTensor(ir.Float32, []int64{1}, nil, data)
		if err != nil {
			t.Fatal(err)
		}
		run, err := prepareCustom(k, nil, &rt.EValue{Kind: rt.TensorList,
			List: []*rt.EValue{{Kind: rt.TensorKind, Tensor: u}}}, none)
		if err == nil {
			err = run()
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(data)); err != nil || got != 6 {
			t.Errorf("at %d: %v, %v; want 6", at, got, err)
		}
	}
}

// A function gets numbers, strings and lists as they are at each call. Calls do not allocate.
func TestCustomArguments(t *testing.T) {
	var n int64
	var least *float64
	var sizes []int
	var factors []float64
	var word string
	k := Custom{Op: "my::all", Func: "my.All", Args: []Param{{Name: "n", Kind: rt.Int},
		{Name: "least", Kind: rt.Double, Optional: true}, {Name: "sizes", Kind: rt.Int, List: true},
		{Name: "factors", Kind: rt.Double, List: true}, {Name: "word", Kind: rt.String},
		{Name: "none", Kind: rt.TensorKind, Elem: "int8", Optional: true}},
		Call: func(a []*Value) error {
			n, least = a[0].Int(), Optional(a[1], (*Value).Float)
			sizes = List(a[2], func(v *Value) int { return int(v.Int()) })
			factors, word = List(a[3], (*Value).Float), a[4].Text()
			if Elements[int8](a[5]) != nil || len(a[5].Sizes()) > 0 {
				return errors.New("None is a tensor")
			}
			return nil
		}}
	number := func(n int64) *rt.EValue { return &rt.EValue{Kind: rt.Int, Int: n} }
	args := []*rt.EValue{number(3), {Kind: rt.Double, Double: 0.5},
		{Kind: rt.IntList, List: []*rt.EValue{number(1), number(2)}},
		{Kind: rt.DoubleList, Doubles: []float64{1.5, 2.5}}, {Kind: rt.String, String: "word"}, {}}
	run, err := prepareCustom(k, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil || n != 3 || *least != 0.5 || !slices.Equal(sizes, []int{1, 2}) ||
		!slices.Equal(factors, []float64{1.5, 2.5}) || word != "word" {
		t.Errorf("%v: %d %v %v %v %q", err, n, *least, sizes, factors, word)
	}
	args[0].Int, args[2].List[1].Int, args[3].Doubles[0] = 4, 7, 9
	if err := run(); err != nil || n != 4 || sizes[1] != 7 || factors[0] != 9 {
		t.Errorf("%v: %d %v %v", err, n, sizes, factors)
	}
	if n := testing.AllocsPerRun(10, func() { err = run() }); n > 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}
