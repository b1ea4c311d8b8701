package rt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// branches is x+x if the flag is all true, else x*x, as exporters write cond.
func branches() *build {
	b := newBuild("forward")
	flag, x := b.flag(2), b.planned(2)
	out, sum, product := b.unplanned(2), b.planned(2), b.planned(2)
	never := b.value(pte.Bool(false))
	b.emit(pte.JumpFalseCall{Cond: flag, Destination: 4})
	b.kernel("aten::add", "out", x, x, sum)
	b.emit(pte.MoveCall{From: sum, To: out})
	b.emit(pte.JumpFalseCall{Cond: never, Destination: 6})
	b.kernel("aten::mul", "out", x, x, product)
	b.emit(pte.MoveCall{From: product, To: out})
	return b.inputs(flag, x).outputs(out)
}

func bools(t testing.TB, data ...bool) *rt.Tensor {
	t.Helper()
	x, err := rt.TensorOf([]int64{int64(len(data))}, data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestBranches(t *testing.T) {
	m := branches().method(t, nil)
	x := tensor(t, []float32{3, 4}, 2)
	forward(t, m, bools(t, true, true), x)
	wantFloats(t, m, 0, 6, 8)
	forward(t, m, bools(t, true, false), x)
	wantFloats(t, m, 0, 9, 16)
	forward(t, m, bools(t, true, true), x)
	wantFloats(t, m, 0, 6, 8)
}

// loop doubles x while its first element is below 100. Its body is a backward
// jump.
func loop() *build {
	b := newBuild("forward")
	x, state, next := b.planned(1), b.planned(1), b.planned(1)
	limit, go_on, never := b.value(pte.Double(100)), b.flag(1), b.value(pte.Bool(false))
	b.call("aten::copy_", "", state, x, state)
	b.kernel("aten::lt", "Scalar_out", state, limit, go_on)
	b.emit(pte.JumpFalseCall{Cond: go_on, Destination: 6})
	b.kernel("aten::add", "out", state, state, next)
	b.call("aten::copy_", "", state, next, state)
	b.emit(pte.JumpFalseCall{Cond: never, Destination: 1})
	return b.inputs(x).outputs(state)
}

func TestLoop(t *testing.T) {
	m := loop().method(t, nil)
	forward(t, m, tensor(t, []float32{3}, 1))
	wantFloats(t, m, 0, 192)
	forward(t, m, tensor(t, []float32{101}, 1))
	wantFloats(t, m, 0, 101)

	m = loop().method(t, &rt.MethodOptions{MaxInstructions: 50})
	_, err := m.Forward(t.Context(), tensor(t, []float32{0}, 1)) // for ever
	var at *rt.Error
	if !errors.Is(err, rt.ErrInstructionLimit) || !errors.As(err, &at) ||
		!strings.Contains(err.Error(), "50") {
		t.Errorf("an endless loop: %v", err)
	}
	m = loop().method(t, &rt.MethodOptions{MaxInstructions: 3})
	forward(t, m, tensor(t, []float32{101}, 1)) // exactly as many as are allowed
}

func TestChains(t *testing.T) {
	b := newBuild("forward")
	x, y, z := b.planned(1), b.planned(1), b.planned(1)
	b.kernel("aten::add", "out", x, x, y)
	b.plan.Chains = append(b.plan.Chains, &pte.Chain{}, &pte.Chain{})
	b.kernel("aten::mul", "out", y, y, z)
	m := b.inputs(x).outputs(z).method(t, nil)
	forward(t, m, tensor(t, []float32{3}, 1))
	wantFloats(t, m, 0, 36)
}

// A constant that is moved is copied: what is in the slot may be written.
func TestMoveConstant(t *testing.T) {
	b := newBuild("forward")
	weight, slot, x := b.constant([]float32{1, 2}, 2), b.unplanned(2), b.planned(2)
	b.emit(pte.MoveCall{From: weight, To: slot})
	b.kernel("aten::add", "out", slot, x, slot)
	m := b.inputs(x).outputs(slot, weight).method(t, nil)
	for range 2 {
		forward(t, m, tensor(t, []float32{10, 20}, 2))
		wantFloats(t, m, 0, 11, 22)
		wantFloats(t, m, 1, 1, 2)
	}
}

// What kernels are prepared for does not change by a move.
func TestMoveMismatch(t *testing.T) {
	for name, make := range map[string]func(b *build) (from, to int32){
		"rank":    func(b *build) (int32, int32) { return b.planned(4), b.planned(2, 2) },
		"sizes":   func(b *build) (int32, int32) { return b.planned(4), b.planned(2) },
		"dtype":   func(b *build) (int32, int32) { return b.flag(4), b.planned(4) },
		"bound":   func(b *build) (int32, int32) { return b.dynamic(4), b.planned(4) },
		"larger":  func(b *build) (int32, int32) { return b.dynamic(4), b.dynamic(2) },
		"kind":    func(b *build) (int32, int32) { return b.value(pte.Int(1)), b.planned(4) },
		"no slot": func(b *build) (int32, int32) { return b.planned(4), b.value(pte.Null{}) },
	} {
		b := newBuild("forward")
		from, to := make(b)
		b.emit(pte.MoveCall{From: from, To: to})
		p := b.outputs(to).program(t)
		if _, err := load(p, "forward", nil); !errors.Is(err, rt.ErrNotSupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := newBuild("forward")
	list := b.value(pte.BoolList{true})
	b.emit(pte.MoveCall{From: list, To: b.value(pte.Null{})})
	if _, err := load(b.program(t), "forward", nil); !errors.Is(err, rt.ErrNotSupported) {
		t.Errorf("a list: %v", err)
	}
	// A static tensor into a slot of dynamic bounds is fine, and scalars are.
	b = newBuild("forward")
	from, to := b.planned(2), b.dynamic(4)
	n, m := b.value(pte.Int(3)), b.value(pte.Null{})
	b.emit(pte.MoveCall{From: from, To: to})
	b.emit(pte.MoveCall{From: n, To: m})
	method := b.inputs(from).outputs(to, m).method(t, nil)
	forward(t, method, tensor(t, []float32{1, 2}, 2))
	wantFloats(t, method, 0, 1, 2)
	if v := method.Output(1); v.Kind != rt.Int || v.Int != 3 {
		t.Errorf("the moved scalar is %v", v)
	}
}

func TestConditions(t *testing.T) {
	for name, cond := range map[string]func(*build) int32{
		"an Int":         func(b *build) int32 { return b.value(pte.Int(1)) },
		"a float tensor": func(b *build) int32 { return b.planned(1) },
		"None":           func(b *build) int32 { return b.value(pte.Null{}) },
	} {
		b := newBuild("forward")
		b.emit(pte.JumpFalseCall{Cond: cond(b), Destination: 1})
		if err := b.method(t, nil).Execute(t.Context()); !errors.Is(err, rt.ErrInvalidProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Memory that the program does not plan is there when a kernel writes, and gone
// after a FreeCall.
func TestFree(t *testing.T) {
	b := newBuild("forward")
	x, temporary, out := b.planned(2), b.unplanned(2), b.planned(2)
	b.kernel("aten::add", "out", x, x, temporary)
	b.kernel("aten::mul", "out", temporary, x, out)
	b.emit(pte.FreeCall{Value: temporary})
	b.emit(pte.FreeCall{Value: out}) // planned: its memory stays
	m := b.inputs(x).outputs(out, temporary).method(t, nil)
	for range 2 {
		forward(t, m, tensor(t, []float32{3, 4}, 2))
		wantFloats(t, m, 0, 18, 32)
		if got, _ := m.OutputTensor(1); got.Data != nil {
			t.Errorf("the freed tensor has %d bytes", len(got.Data))
		}
	}

	b = newBuild("forward")
	x, temporary, out = b.planned(2), b.unplanned(2), b.planned(2)
	b.emit(pte.FreeCall{Value: temporary})
	b.kernel("aten::mul", "out", temporary, x, out)
	m = b.inputs(x).outputs(out).method(t, nil)
	if _, err := m.Forward(t.Context(), tensor(t, []float32{3, 4}, 2)); !errors.Is(err,
		rt.ErrInvalidProgram) {
		t.Errorf("reading what is freed: %v", err)
	}

	b = newBuild("forward")
	b.emit(pte.FreeCall{Value: b.value(pte.Int(1))})
	if err := b.method(t, nil).Execute(t.Context()); !errors.Is(err, rt.ErrInvalidProgram) {
		t.Errorf("freeing an Int: %v", err)
	}
}
