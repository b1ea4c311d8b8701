package rt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// affine is 2·x + [1, 2, 3].
func affine() *build {
	b := newBuild("forward")
	x, two := b.planned(3), b.constant([]float32{2}, 1)
	bias, one := b.constant([]float32{1, 2, 3}, 3), b.value(pte.Int(1))
	scaled, out := b.planned(3), b.planned(3)
	b.kernel("aten::mul", "out", two, x, scaled)
	b.kernel("aten::add", "out", scaled, bias, one, out)
	return b.inputs(x).outputs(out)
}

func TestForward(t *testing.T) {
	m := affine().method(t, nil)
	forward(t, m, tensor(t, []float32{1, 2, 3}, 3))
	wantFloats(t, m, 0, 3, 6, 9)
	forward(t, m, tensor(t, []float32{0, 0, 1}, 3))
	wantFloats(t, m, 0, 1, 2, 5)
}

// A planned input is a copy, one that is not is the caller's memory.
func TestInputMemory(t *testing.T) {
	for _, planned := range []bool{true, false} {
		b := newBuild("forward")
		x := b.unplanned(2)
		if planned {
			x = b.planned(2)
		}
		out := b.planned(2)
		b.kernel("aten::add", "out", x, x, out)
		m := b.inputs(x).outputs(out).method(t, nil)
		data := []float32{1, 2}
		if err := m.SetInput(0, tensor(t, data, 2)); err != nil {
			t.Fatal(err)
		}
		data[0] = 10
		if err := m.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		if planned {
			wantFloats(t, m, 0, 2, 4)
		} else {
			wantFloats(t, m, 0, 20, 4)
		}
		if got := m.Meta().Inputs[0].Planned; got != planned {
			t.Errorf("Planned is %v", got)
		}
	}
}

func TestOutputMemory(t *testing.T) {
	b := newBuild("forward")
	x, out := b.planned(2), b.unplanned(2)
	b.kernel("aten::add", "out", x, x, out)
	b.inputs(x).outputs(out, x)
	m := b.method(t, nil)
	forward(t, m, tensor(t, []float32{1, 2}, 2)) // allocated
	wantFloats(t, m, 0, 2, 4)
	memory := make([]byte, 8)
	if err := m.SetOutput(0, memory); err != nil {
		t.Fatal(err)
	}
	forward(t, m, tensor(t, []float32{3, 4}, 2))
	wantFloats(t, m, 0, 6, 8)
	if string(memory) != string(floatBytes(6, 8)) {
		t.Errorf("the caller's memory has %v", memory)
	}
	if err := m.SetOutput(0, memory[:7]); !errors.Is(err, rt.ErrInvalidArgument) {
		t.Errorf("too little memory: %v", err)
	}
	if err := m.SetOutput(1, memory); !errors.Is(err, rt.ErrInvalidState) {
		t.Errorf("a planned output: %v", err)
	}
	if err := m.SetOutput(2, memory); !errors.Is(err, rt.ErrInvalidArgument) {
		t.Errorf("no output: %v", err)
	}
}

// Sizes of inputs are those that the program says, where it says the least.
func TestLeastSizes(t *testing.T) {
	b := newBuild("forward")
	x := b.dynamic(8, 3)
	b.file.SetLeast(0, [][]int64{{4, 3}})
	m := b.inputs(x).outputs(x).method(t, nil)
	for rows, want := range map[int64]string{
		3: "dimension 0 is 3, expected 4 to 8", 4: "", 8: "",
		9: "dimension 0 is 9, expected 4 to 8",
	} {
		err := m.SetInput(0, tensor(t, make([]float32, 3*rows), rows, 3))
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, rt.ErrNotSupported) ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%d rows: %v, want %q", rows, err, want)
		}
	}
	err := m.SetInput(0, tensor(t, make([]float32, 8), 4, 2))
	if !errors.Is(err, rt.ErrNotSupported) ||
		!strings.Contains(err.Error(), "dimension 1 is 2, expected 3") {
		t.Errorf("2 columns: %v", err)
	}
	b.file.Named[0].Data = ir.Bytes("0 9 3")
	if _, err := rt.NewProgram(b.file, nil); !errors.Is(err, rt.ErrInvalidProgram) {
		t.Errorf("least sizes beyond the bound: %v", err)
	}
}

func TestInputChecks(t *testing.T) {
	b := newBuild("forward")
	x := b.planned(2, 3)
	wide := b.dynamic(2, 3)
	n, yes := b.value(pte.Int(7)), b.value(pte.Bool(true))
	half, word, none := b.value(pte.Double(0.5)), b.value(pte.String("add")), b.value(pte.Null{})
	m := b.inputs(x, wide, n, yes, half, word, none).outputs(x).method(t, nil)
	if err := m.Execute(t.Context()); !errors.Is(err, rt.ErrInvalidState) ||
		!strings.Contains(err.Error(), "input 0 is not set") {
		t.Errorf("without inputs: %v", err)
	}
	ints, _ := rt.TensorOf([]int64{2, 3}, make([]int64, 6))
	last, _ := rt.NewTensor(ir.Float32, []int64{2, 3}, []uint8{1, 0}, nil)
	one, _ := rt.NewTensor(ir.Float32, []int64{1, 3}, []uint8{1, 0}, nil)
	for _, c := range []struct {
		i    int
		v    any
		kind error
		says string
	}{
		{0, tensor(t, make([]float32, 6), 2, 3), nil, ""},
		{0, tensor(t, make([]float32, 6), 3, 2), rt.ErrNotSupported,
			"sizes are [3 2], expected [2 3]"},
		{0, tensor(t, make([]float32, 6), 6), rt.ErrNotSupported, "[6]"},
		{0, ints, rt.ErrInvalidArgument, "int64 elements, expected float32"},
		{0, last, rt.ErrInvalidArgument, "dim order is [1 0], expected [0 1]"},
		{0, &rt.Tensor{DType: ir.Float32, Sizes: []int64{2, 3}}, rt.ErrInvalidArgument, "0 bytes"},
		{0, (*rt.Tensor)(nil), rt.ErrInvalidArgument, "nil"},
		{0, int64(1), rt.ErrInvalidArgument, "expected a Tensor"},
		{0, []float32{1}, rt.ErrInvalidArgument, "TensorOf"},
		{1, tensor(t, make([]float32, 4), 4, 1), nil, ""}, // the bound counts elements
		{1, one, nil, ""}, // a dimension of one element has no place in the order
		{1, tensor(t, make([]float32, 8), 2, 4), rt.ErrNotSupported,
			"sizes are [2 4], expected at most the elements of [2 3]"},
		{1, tensor(t, []float32{}, 0, 3), nil, ""},
		{2, 7, nil, ""},
		{2, int64(8), rt.ErrInvalidArgument, "made for the constant 7"},
		{2, 7.0, rt.ErrInvalidArgument, "a Double, expected a Int"},
		{2, tensor(t, []float32{7}, 1), rt.ErrInvalidArgument, "expected a Int"},
		{3, true, nil, ""},
		{3, false, rt.ErrInvalidArgument, "true"},
		{4, 0.50009, nil, ""},
		{4, 0.6, rt.ErrInvalidArgument, "0.5"},
		{5, "add", nil, ""},
		{5, "mul", rt.ErrInvalidArgument, "add"},
		{6, nil, nil, ""},
		{6, 1, rt.ErrInvalidArgument, "expected a None"},
		{7, nil, rt.ErrInvalidArgument, "it has 7"},
		{2, rt.EValue{Kind: rt.Int, Int: 7}, nil, ""},
		{2, &rt.EValue{Kind: rt.Int, Int: 6}, rt.ErrInvalidArgument, ""},
	} {
		err := m.SetInput(c.i, c.v)
		if (err == nil) != (c.kind == nil) || c.kind != nil && (!errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("SetInput(%d, %v): %v; expected %v %q", c.i, c.v, err, c.kind, c.says)
		}
	}
	if err := m.Execute(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := m.Forward(t.Context()); !errors.Is(err, rt.ErrInvalidArgument) {
		t.Errorf("Forward without inputs: %v", err)
	}
}

// State keeps what executions leave, for each method loaded its own.
func TestState(t *testing.T) {
	b := newBuild("forward")
	x, sum, next := b.planned(1), b.state([]float32{100}, 1), b.planned(1)
	b.kernel("aten::add", "out", sum, x, next)
	b.call("aten::copy_", "", sum, next, sum)
	b.inputs(x).outputs(sum)
	p := b.program(t)
	m1, err1 := load(p, "forward", nil)
	m2, err2 := load(p, "forward", nil)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	forward(t, m1, tensor(t, []float32{1}, 1))
	forward(t, m1, tensor(t, []float32{2}, 1))
	forward(t, m2, tensor(t, []float32{5}, 1))
	wantFloats(t, m1, 0, 103)
	wantFloats(t, m2, 0, 105)
}

func TestMissing(t *testing.T) {
	b := affine()
	p := b.program(t)
	_, err := p.LoadMethod("forward", nil)
	var missing *rt.MissingOperatorsError
	if !errors.As(err, &missing) || !errors.Is(err, rt.ErrMissingOperator) ||
		strings.Join(missing.Operators, " ") != "aten::add.out aten::mul.out" {
		t.Errorf("without kernels: %v", err)
	}
	if _, err := p.LoadMethod("backward", nil); !errors.Is(err, rt.ErrNotFound) ||
		!strings.Contains(err.Error(), `["forward"]`) {
		t.Errorf("no such method: %v", err)
	}
	if _, err := p.MethodMeta("backward"); !errors.Is(err, rt.ErrNotFound) {
		t.Errorf("no such method: %v", err)
	}
}

func TestKernelErrors(t *testing.T) {
	b := newBuild("forward")
	x, out := b.planned(2), b.planned(2)
	b.kernel("aten::add", "out", x, x, out)
	b.kernel("test::panic", "out", x, out)
	p, err := rt.NewProgram(b.inputs(x).outputs(out).file,
		&rt.LoadOptions{Platform: &rt.SystemPlatform{}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := load(p, "forward", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Forward(t.Context(), tensor(t, make([]float32, 2), 2))
	var at *rt.Error
	if !errors.Is(err, rt.ErrInternal) || !errors.As(err, &at) || at.Instruction != 1 ||
		at.Op != "test::panic.out" || !strings.Contains(err.Error(), "as it must not") {
		t.Errorf("a panic: %v", err)
	}

	b = newBuild("forward")
	x, y, sum := b.planned(2), b.planned(3), b.planned(3)
	b.kernel("aten::add", "out", x, y, sum)
	m = b.inputs(x, y).outputs(sum).method(t, nil)
	_, err = m.Forward(t.Context(), tensor(t, make([]float32, 2), 2),
		tensor(t, make([]float32, 3), 3))
	if err == nil || err.Error() !=
		`method "forward", instruction 0 (aten::add.out): invalid argument: sizes [2] and [3]` {
		t.Errorf("a kernel's error: %v", err)
	}
	// A kernel that refuses at load.
	b = newBuild("forward")
	x = b.planned(2)
	b.call("aten::add", "out", x, x)
	if _, err := load(b.inputs(x).program(t), "forward", nil); !errors.As(err, &at) ||
		!errors.Is(err, rt.ErrInvalidArgument) {
		t.Errorf("a kernel without arguments: %v", err)
	}
}

func TestCancel(t *testing.T) {
	m := affine().method(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Forward(ctx, tensor(t, make([]float32, 3), 3))
	var at *rt.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &at) || at.Instruction != 0 {
		t.Errorf("cancelled: %v", err)
	}
	forward(t, m, tensor(t, make([]float32, 3), 3)) // it is as before
}

func TestClosed(t *testing.T) {
	m := affine().method(t, nil)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Execute(t.Context()); !errors.Is(err, rt.ErrInvalidState) {
		t.Errorf("a closed method: %v", err)
	}
}

// Sizes that do not change cost no allocation.
func TestNoAllocation(t *testing.T) {
	b := affine()
	b.plan.Values[b.plan.Inputs[0]].(*pte.Tensor).Allocation = nil
	for name, m := range map[string]*rt.Method{"planned": affine().method(t, nil),
		"unplanned": b.method(t, nil)} {
		x := tensor(t, []float32{1, 2, 3}, 3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		allocs := testing.AllocsPerRun(100, func() {
			if err := m.SetInput(0, x); err != nil {
				t.Fatal(err)
			}
			if err := m.Execute(ctx); err != nil {
				t.Fatal(err)
			}
			if m.Output(0).Tensor.Data == nil {
				t.Fatal("no output")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
