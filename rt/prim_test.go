package rt_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// runPrim executes an operator of the runtime on values and returns its result.
func runPrim(t *testing.T, op string, args ...pte.EValue) (*rt.EValue, error) {
	t.Helper()
	b := newBuild("forward")
	var slots []int32
	for _, a := range args {
		slots = append(slots, b.value(a))
	}
	out := b.value(pte.Null{})
	name, overload, _ := strings.Cut(op, ".")
	b.call(name, overload, append(slots, out)...)
	m := b.outputs(out).method(t, nil)
	err := m.Execute(t.Context())
	return m.Output(0), err
}

func show(v *rt.EValue) string {
	switch v.Kind {
	case rt.Int:
		return fmt.Sprintf("%d", v.Int)
	case rt.Double:
		text := fmt.Sprint(v.Double)
		if v.Double == math.Trunc(v.Double) && !math.IsInf(v.Double, 0) {
			text += ".0"
		}
		return text
	case rt.Bool:
		return fmt.Sprint(v.Bool)
	}
	return v.Kind.String()
}

func TestScalarOps(t *testing.T) {
	type (
		I = pte.Int
		D = pte.Double
		B = pte.Bool
	)
	nan, inf := D(math.NaN()), D(math.Inf(1))
	for _, c := range []struct {
		op   string
		args []pte.EValue
		want string // or the kind of error
	}{
		{"add", []pte.EValue{I(2), I(3)}, "5"},
		{"add", []pte.EValue{I(2), D(0.5)}, "2.5"},
		{"add", []pte.EValue{I(math.MaxInt64), I(1)}, "-9223372036854775808"},
		{"add", []pte.EValue{B(true), I(1)}, "invalid argument"},
		{"sub", []pte.EValue{D(2), I(3)}, "-1.0"},
		{"mul", []pte.EValue{I(-4), I(3)}, "-12"},
		{"mul", []pte.EValue{D(1.5), D(3)}, "4.5"},
		{"floordiv", []pte.EValue{I(7), I(2)}, "3"},
		{"floordiv", []pte.EValue{I(-7), I(2)}, "-4"},
		{"floordiv", []pte.EValue{I(7), I(-2)}, "-4"},
		{"floordiv", []pte.EValue{I(-7), I(-2)}, "3"},
		{"floordiv", []pte.EValue{I(-6), I(2)}, "-3"},
		{"floordiv", []pte.EValue{I(6), I(0)}, "invalid argument"},
		{"floordiv", []pte.EValue{I(math.MinInt64), I(-1)}, "-9223372036854775808"},
		{"floordiv", []pte.EValue{D(-7), I(2)}, "-4.0"},
		// as in Python, where the floor of the quotient is 10
		{"floordiv", []pte.EValue{D(1), D(0.1)}, "9.0"},
		{"floordiv", []pte.EValue{D(-1), I(0)}, "-Inf"},
		{"floordiv", []pte.EValue{I(1), D(0)}, "+Inf"},
		{"truediv", []pte.EValue{I(7), I(2)}, "3.5"},
		{"truediv", []pte.EValue{D(1), I(0)}, "+Inf"},
		{"truediv", []pte.EValue{B(true), I(2)}, "invalid argument"},
		{"mod", []pte.EValue{I(-7), I(2)}, "-1"},
		{"mod", []pte.EValue{I(7), I(0)}, "invalid argument"},
		{"mod", []pte.EValue{D(7), I(2)}, "invalid argument"},
		{"floordiv.int", []pte.EValue{I(-7), I(2)}, "-3"}, // truncates
		{"floordiv.int", []pte.EValue{I(7), I(0)}, "invalid argument"},
		{"mod.int", []pte.EValue{I(-7), I(2)}, "-1"},
		{"sym_max", []pte.EValue{I(-7), I(2)}, "2"},
		{"sym_min", []pte.EValue{I(-7), I(2)}, "-7"},
		{"sym_min", []pte.EValue{I(-7), D(2)}, "invalid argument"},
		{"eq", []pte.EValue{I(2), D(2)}, "true"},
		{"eq", []pte.EValue{B(true), B(true)}, "true"},
		{"eq", []pte.EValue{B(true), I(1)}, "invalid argument"},
		{"eq", []pte.EValue{nan, nan}, "false"},
		{"eq", []pte.EValue{I(math.MaxInt64), I(math.MaxInt64 - 1)}, "false"},
		{"gt", []pte.EValue{I(2), I(1)}, "true"},
		{"gt", []pte.EValue{nan, I(1)}, "false"},
		{"lt", []pte.EValue{I(2), inf}, "true"},
		{"lt", []pte.EValue{B(false), B(true)}, "true"},
		{"ge", []pte.EValue{I(2), I(2)}, "true"},
		{"ge", []pte.EValue{nan, I(1)}, "false"},
		{"le", []pte.EValue{D(2.5), I(2)}, "false"},
		{"neg", []pte.EValue{I(2)}, "-2"},
		{"neg", []pte.EValue{D(2)}, "-2.0"},
		{"neg", []pte.EValue{B(true)}, "invalid argument"},
		{"sym_float", []pte.EValue{I(2)}, "2.0"},
		{"sym_float", []pte.EValue{B(true)}, "1.0"},
		{"sym_float", []pte.EValue{pte.Null{}}, "invalid argument"},
		{"sym_int", []pte.EValue{D(-2.9)}, "-2"},
		{"sym_int", []pte.EValue{B(true)}, "1"},
		{"sym_int", []pte.EValue{I(5)}, "5"},
		{"sym_int", []pte.EValue{nan}, "invalid argument"},
		{"sym_int", []pte.EValue{D(1e19)}, "invalid argument"},
		{"sym_int", []pte.EValue{pte.String("1")}, "invalid argument"},
		{"sym_not", []pte.EValue{B(true)}, "false"},
		{"sym_not", []pte.EValue{I(1)}, "invalid argument"},
		{"sym_ite", []pte.EValue{B(true), I(1), D(2)}, "1"},
		{"sym_ite", []pte.EValue{B(false), I(1), D(2)}, "2.0"},
		{"sym_ite", []pte.EValue{I(1), I(1), D(2)}, "invalid argument"},
		{"sym_ite", []pte.EValue{B(true), pte.Null{}, D(2)}, "invalid argument"},
		{"ceil", []pte.EValue{D(1.2)}, "2"},
		{"trunc", []pte.EValue{D(-1.8)}, "-1"},
		{"round", []pte.EValue{D(2.5)}, "2"},
		{"round", []pte.EValue{D(-3.5)}, "-4"},
		{"round", []pte.EValue{I(3)}, "invalid argument"},
	} {
		op := "executorch_prim::" + c.op
		if !strings.Contains(op, ".") {
			op += ".Scalar"
		}
		got, err := runPrim(t, op, c.args...)
		text := show(got)
		if err != nil {
			if text = err.Error(); errors.Is(err, rt.ErrInvalidArgument) {
				text = rt.ErrInvalidArgument.Error()
			}
		}
		if text != c.want {
			t.Errorf("%s %v: %s, expected %s", op, c.args, text, c.want)
		}
	}
}

func TestTensorScalars(t *testing.T) {
	for _, c := range []struct {
		dtype pte.ScalarType
		data  []byte
		want  string
	}{
		{0, []byte{200}, "200"},
		{1, []byte{200}, "-56"},
		{2, []byte{0, 0x80}, "-32768"},
		{3, []byte{1, 0, 0, 0x80}, "-2147483647"},
		{4, []byte{1, 0, 0, 0, 1, 0, 0, 0}, "4294967297"},
		{27, []byte{0, 0x80}, "32768"},
		{29, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, "error"},
		{6, floatBytes(0.5), "0.5"},
		{7, []byte{0, 0, 0, 0, 0, 0, 0xe0, 0x3f}, "0.5"},
		{15, []byte{0, 0x3f}, "0.5"},
		{11, []byte{1}, "true"},
		{5, []byte{0, 0x3c}, "error"}, // float16, as in ExecuTorch's runtime
	} {
		b := newBuild("forward")
		d := describe(1)
		d.ScalarType = c.dtype
		x, out, n := b.value(b.place(d)), b.value(pte.Null{}), b.value(pte.Int(0))
		b.call("aten::_local_scalar_dense", "", x, out)
		b.call("aten::sym_numel", "", x, n)
		m := b.inputs(x).outputs(out, n).method(t, nil)
		dtype, _ := c.dtype.DType()
		in, err := rt.NewTensor(dtype, []int64{1}, nil, c.data)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Forward(t.Context(), in)
		got := "error"
		if err == nil {
			got = show(m.Output(0))
			if show(m.Output(1)) != "1" {
				t.Errorf("numel is %s", show(m.Output(1)))
			}
		} else if !errors.Is(err, rt.ErrNotSupported) {
			t.Error(err)
		}
		if got != c.want {
			t.Errorf("%v: %s, expected %s", dtype, got, c.want)
		}
	}
}

func TestSymSize(t *testing.T) {
	for dim, want := range map[pte.Int]string{0: "2", 1: "3", -1: "3", 2: "error", -3: "error"} {
		b := newBuild("forward")
		x, d, out := b.planned(2, 3), b.value(dim), b.value(pte.Int(0))
		b.call("aten::sym_size", "int", x, d, out)
		m := b.inputs(x).outputs(out).method(t, nil)
		got := "error"
		if _, err := m.Forward(t.Context(), tensor(t, make([]float32, 6), 2, 3)); err == nil {
			got = show(m.Output(0))
		}
		if got != want {
			t.Errorf("of dimension %d: %s, expected %s", dim, got, want)
		}
	}
}

// viewed sees x, of n elements, as n/2 rows of 2 and adds it to itself.
func viewed() *build {
	b := newBuild("forward")
	x, two, left := b.dynamic(8), b.value(pte.Int(2)), b.value(pte.Int(-1))
	sizes := b.value(pte.IntList{int64(left), int64(two)})
	rows := describe(4, 2)
	rows.Dynamism = pte.DynamicBound
	view, out := b.value(rows), b.dynamic(4, 2)
	b.call("executorch_prim::et_view", "default", x, sizes, view)
	b.kernel("aten::add", "out", view, view, out)
	return b.inputs(x).outputs(out, view)
}

func TestView(t *testing.T) {
	m := viewed().method(t, nil)
	for _, n := range []int64{4, 8, 2, 0} {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(i)
		}
		forward(t, m, tensor(t, data, n))
		got, _ := m.OutputTensor(0)
		view, _ := m.OutputTensor(1)
		if fmt.Sprint(got.Sizes) != fmt.Sprint([]int64{n / 2, 2}) || len(view.Data) != int(4*n) {
			t.Errorf("sizes are %v and %v", got.Sizes, view.Sizes)
		}
		for i, x := range floats(t, m, 0) {
			if x != float32(2*i) {
				t.Errorf("element %d is %v", i, x)
			}
		}
	}
	if _, err := m.Forward(t.Context(), tensor(t, make([]float32, 3), 3)); !errors.Is(err,
		rt.ErrInvalidArgument) {
		t.Errorf("3 elements in rows of 2: %v", err)
	}
	x := tensor(t, make([]float32, 6), 6)
	if allocs := testing.AllocsPerRun(20, func() {
		if m.SetInput(0, x) != nil || m.Execute(t.Context()) != nil {
			t.Fatal("it fails")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A view of a constant does not let kernels write the constant.
func TestViewConstant(t *testing.T) {
	b := newBuild("forward")
	w, two, x := b.constant([]float32{1, 2}, 2), b.value(pte.Int(2)), b.planned(2)
	sizes, view := b.value(pte.IntList{int64(two)}), b.unplanned(2)
	b.call("executorch_prim::et_view", "default", w, sizes, view)
	b.kernel("aten::add", "out", view, x, view)
	m := b.inputs(x).outputs(view, w).method(t, nil)
	for range 2 {
		forward(t, m, tensor(t, []float32{10, 20}, 2))
		wantFloats(t, m, 0, 11, 22)
		wantFloats(t, m, 1, 1, 2)
	}
}

func TestViewErrors(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int64
		out   []int32
	}{
		"two unknown":     {[]int64{-1, -1}, []int32{2, 2}},
		"negative":        {[]int64{-2, 2}, []int32{2, 2}},
		"other count":     {[]int64{3, 2}, []int32{2, 2}},
		"other rank":      {[]int64{4}, []int32{2, 2}},
		"other sizes":     {[]int64{4, 1}, []int32{2, 2}},
		"unknown by zero": {[]int64{-1, 0}, []int32{2, 2}},
		"overflow":        {[]int64{1 << 40, 1 << 40}, []int32{2, 2}},
	} {
		b := newBuild("forward")
		var list pte.IntList
		for _, s := range c.sizes {
			list = append(list, int64(b.value(pte.Int(s))))
		}
		x, sizes, out := b.planned(4), b.value(list), b.planned(c.out...)
		b.call("executorch_prim::et_view", "default", x, sizes, out)
		if err := b.outputs(out).method(t, nil).Execute(t.Context()); !errors.Is(err,
			rt.ErrInvalidArgument) && !errors.Is(err, rt.ErrNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// stacked copies x to the rows 0, 1 and 2 of its result, as exporters write map:
// a loop that counts.
func stacked() *build {
	b := newBuild("forward")
	x, rows := b.planned(2), b.dynamic(3, 2)
	zero, one, three := b.value(pte.Int(0)), b.value(pte.Int(1)), b.value(pte.Int(3))
	i, done, sum := b.value(pte.Int(0)), b.value(pte.Bool(false)), b.planned(2)
	b.call("aten::copy_", "", sum, x, sum)
	b.call("executorch_prim::et_copy_index", "tensor", rows, sum, i)
	b.call("executorch_prim::add", "Scalar", i, one, i)
	b.kernel("aten::add", "out", sum, x, sum)
	b.call("executorch_prim::eq", "Scalar", i, three, done)
	b.emit(pte.JumpFalseCall{Cond: done, Destination: 1})
	b.call("executorch_prim::sub", "Scalar", i, three, i)
	b.call("executorch_prim::add", "Scalar", i, zero, i)
	return b.inputs(x).outputs(rows)
}

func TestCopyIndex(t *testing.T) {
	m := stacked().method(t, nil)
	for range 2 {
		forward(t, m, tensor(t, []float32{1, 10}, 2))
		wantFloats(t, m, 0, 1, 10, 2, 20, 3, 30)
	}
}

func TestCopyIndexErrors(t *testing.T) {
	for name, c := range map[string]struct {
		rows, row []int32
		index     pte.EValue
	}{
		"beyond":   {[]int32{3, 2}, []int32{2}, pte.Int(3)},
		"negative": {[]int32{3, 2}, []int32{2}, pte.Int(-1)},
		"huge":     {[]int32{3, 2}, []int32{2}, pte.Int(math.MaxInt64)},
		"no Int":   {[]int32{3, 2}, []int32{2}, pte.Double(1)},
		"rank":     {[]int32{3, 2}, []int32{2, 1}, pte.Int(0)},
		"sizes":    {[]int32{3, 2}, []int32{3}, pte.Int(0)},
	} {
		b := newBuild("forward")
		rows, row, index := b.dynamic(c.rows...), b.planned(c.row...), b.value(c.index)
		b.call("executorch_prim::et_copy_index", "tensor", rows, row, index)
		if err := b.outputs(rows).method(t, nil).Execute(t.Context()); !errors.Is(err,
			rt.ErrInvalidArgument) && !errors.Is(err, rt.ErrNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The runtime has all operators of ExecuTorch's runtime that are no kernels.
func TestPrimOps(t *testing.T) {
	for _, op := range strings.Fields(`aten::_local_scalar_dense aten::sym_numel aten::sym_size.int
		executorch_prim::add.Scalar executorch_prim::ceil.Scalar executorch_prim::eq.Scalar
		executorch_prim::et_copy_index.tensor executorch_prim::et_view.default executorch_prim::floordiv.Scalar
		executorch_prim::floordiv.int executorch_prim::ge.Scalar executorch_prim::gt.Scalar executorch_prim::le.Scalar
		executorch_prim::lt.Scalar executorch_prim::mod.Scalar executorch_prim::mod.int executorch_prim::mul.Scalar
		executorch_prim::neg.Scalar executorch_prim::round.Scalar executorch_prim::sub.Scalar
		executorch_prim::sym_float.Scalar executorch_prim::sym_int.Scalar executorch_prim::sym_ite.Scalar
		executorch_prim::sym_max.Scalar executorch_prim::sym_min.Scalar executorch_prim::sym_not.Scalar
		executorch_prim::truediv.Scalar executorch_prim::trunc.Scalar`) {
		if !rt.PrimOp(op) {
			t.Errorf("no %s", op)
		}
	}
	if rt.PrimOp("aten::add.out") {
		t.Error("aten::add.out is a kernel")
	}
}
