package raise_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

func f32(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

type calls = [][][]float32

func check(t *testing.T, a *asm, in, want calls) {
	t.Helper()
	if diff := cmp.Diff(want, calls(run(t, a, in...))); diff != "" {
		p, _ := a.raise()
		t.Errorf("%s\n%s", diff, p)
	}
}

// A place that is read with other sizes, in part and across two tensors.
func TestMemory(t *testing.T) {
	a := newAsm()
	x := a.at(0, 2, 4)
	y, z := a.at(64, 2, 4), a.at(96, 4)
	flat, part, both := a.at(64, 8), a.at(80, 4), a.at(80, 8)
	a.neg(x, y)
	a.neg(part, z) // -(-x[4], …)
	o1, o2 := a.at(128, 8), a.at(160, 8)
	a.neg(flat, o1)
	a.neg(both, o2)
	a.io([]int32{x}, []int32{o1, o2})
	check(t, a, calls{{{1, 2, 3, 4, 5, 6, 7, 8}}},
		calls{{{1, 2, 3, 4, 5, 6, 7, 8}, {5, 6, 7, 8, -5, -6, -7, -8}}})
}

// Memory of two buffers, and freeing what a runtime allocated: the places of one
// buffer are not those of the other.
func TestBuffersAndFree(t *testing.T) {
	a := newAsm()
	x, y, out, twice := a.at(0, 2), a.at(0, 2), a.at(64, 2), a.at(80, 2)
	a.plan.Values[y].(*pte.Tensor).Allocation.MemoryID = 2
	a.plan.BufferSizes = append(a.plan.BufferSizes, 64)
	a.neg(x, y)
	a.add(x, y, out)
	a.add(y, y, twice)
	a.code = append(a.code, pte.FreeCall{Value: a.at(96, 2)})
	a.io([]int32{x}, []int32{twice, out})
	check(t, a, calls{{{1, 2}}}, calls{{{-2, -4}, {0, 0}}})
}

// Dimensions in another order in memory.
func TestDimOrder(t *testing.T) {
	a := newAsm()
	x := a.at(0, 2, 3)
	transposed := tensorAt(6, 64, 2, 3)
	transposed.DimOrder = []uint8{1, 0}
	y, flat, out := a.value(transposed), a.at(64, 6), a.at(128, 6)
	a.neg(x, y)
	a.neg(flat, out)
	a.io([]int32{x}, []int32{out})
	check(t, a, calls{{{1, 2, 3, 4, 5, 6}}}, calls{{{1, 4, 2, 5, 3, 6}}})
}

// Memory that is read before it is written outlives the call.
func TestState(t *testing.T) {
	a := newAsm()
	x, n := a.at(0, 2), a.at(64, 2)
	sum := a.at(128, 2)
	a.add(x, n, sum)
	a.copy(n, sum)
	a.io([]int32{x}, []int32{sum})
	check(t, a, calls{{{1, 2}}, {{1, 2}}, {{0, 1}}}, calls{{{1, 2}}, {{2, 4}}, {{2, 5}}})
}

// An input that is written to is returned for that once. What is returned again is a result.
func TestReturnedTwice(t *testing.T) {
	a := newAsm()
	x, n := a.at(0, 2), a.at(64, 2)
	a.neg(x, n)
	a.copy(x, n)
	a.io([]int32{x}, []int32{x, x, n})
	p, err := a.raise()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []ir.OutputKind
	for _, o := range p.Methods[0].Outputs {
		kinds = append(kinds, o.Kind)
	}
	want := []ir.OutputKind{ir.UserInputMutation, ir.UserOutput, ir.UserOutput}
	if !slices.Equal(kinds, want) {
		t.Errorf("outputs are %v, want %v\n%s", kinds, want, p)
	}
}

// if x > 0 { y = -x; moved = y } else { z = x + x; moved = z }; with memory that
// one of the ways changes.
func TestBranch(t *testing.T) {
	a := newAsm()
	x, y, z, moved := a.at(0, 1), a.at(16, 1), a.at(32, 1), a.at(48, 1)
	kept := a.at(80, 1)
	zero := a.value(pte.Int(0))
	test := a.value(tensorAt(11, 64, 1))
	never := a.value(pte.Bool(false))
	a.neg(x, kept)
	a.call("aten::gt", "Scalar_out", x, zero, test, test)
	other := a.jump(test)
	a.neg(x, y)
	a.move(y, moved)
	end := a.jump(never)
	other()
	a.add(x, x, z)
	a.copy(kept, z)
	a.move(z, moved)
	end()
	a.io([]int32{x}, []int32{moved, kept})
	check(t, a, calls{{{3}}, {{-2}}}, calls{{{-3}, {-3}}, {{-4}, {-4}}})
}

// for x < 100 { x += x; n += 1 }, tested before the first round.
func TestWhile(t *testing.T) {
	a := newAsm()
	in, x, twice, n := a.at(0, 1), a.at(16, 1), a.at(32, 1), a.at(48, 1)
	one, none := a.constant(1), a.constant(0)
	limit := a.value(pte.Int(100))
	test, never := a.value(tensorAt(11, 64, 1)), a.value(pte.Bool(false))
	a.copy(x, in)
	a.copy(n, none)
	head := len(a.code)
	a.call("aten::lt", "Scalar_out", x, limit, test, test)
	end := a.jump(test)
	a.add(x, x, twice)
	a.copy(x, twice)
	a.add(n, one, twice)
	a.copy(n, twice)
	a.jumpTo(never, head)
	end()
	a.io([]int32{in}, []int32{x, n})
	check(t, a, calls{{{3}}, {{100}}}, calls{{{192}, {6}}, {{100}, {0}}})
}

// A loop carries a tensor without elements, whose size varies.
func TestCarriesSizes(t *testing.T) {
	a := newAsm()
	in, x, next, y := a.dyn(0, 5, 0), a.dyn(16, 5, 0), a.dyn(32, 5, 0), a.dyn(48, 5, 0)
	n, one, none, test := a.at(64, 1), a.constant(1), a.constant(0), a.value(tensorAt(11, 80, 1))
	never := a.value(pte.Bool(false))
	copyOut := func(from, to int32) { a.call("aten::copy", "out", from, from, never, to, to) }
	copyOut(in, x)
	a.copy(n, none)
	head := len(a.code)
	a.call("aten::lt", "Scalar_out", n, a.value(pte.Int(3)), test, test)
	exit := a.jump(test)
	a.neg(x, next)
	copyOut(next, x)
	more := a.at(96, 1)
	a.add(n, one, more)
	a.copy(n, more)
	a.jumpTo(never, head)
	exit()
	a.neg(x, y)
	a.io([]int32{in}, []int32{y})
	p, err := a.raise()
	if err != nil {
		t.Fatal(err)
	}
	out := p.Methods[0].Graph.Outputs[0].(ir.Ref).Value
	if size := out.Type.Sizes[0].String(); size != "s0" {
		t.Errorf("its result has a size of %s\n%s", size, p)
	}
}

// do { n += 1; if x > 50 break; x += x } while x < 1000, which leaves in two
// places, around a loop that counts.
func TestLoops(t *testing.T) {
	a := newAsm()
	in, x, tmp, n := a.at(0, 1), a.at(16, 1), a.at(32, 1), a.at(48, 1)
	one, none := a.constant(1), a.constant(0)
	fifty, thousand := a.value(pte.Int(50)), a.value(pte.Int(1000))
	t1, t2 := a.value(tensorAt(11, 64, 1)), a.value(tensorAt(11, 80, 1))
	i, three, step, done := a.value(pte.Int(0)), a.value(pte.Int(3)), a.value(pte.Int(1)),
		a.value(pte.Bool(false))
	zero := a.value(pte.Int(0))
	a.copy(x, in)
	a.copy(n, none)
	head := len(a.code)
	a.move(zero, i)
	inner := len(a.code)
	a.add(n, one, tmp)
	a.copy(n, tmp)
	a.call("executorch_prim::add", "Scalar", i, step, i)
	a.call("executorch_prim::eq", "Scalar", i, three, done)
	a.jumpTo(done, inner)
	a.call("aten::le", "Scalar_out", x, fifty, t1, t1)
	end := a.jump(t1)
	a.add(x, x, tmp)
	a.copy(x, tmp)
	a.call("aten::ge", "Scalar_out", x, thousand, t2, t2)
	a.jumpTo(t2, head)
	end()
	a.io([]int32{in}, []int32{x, n})
	check(t, a, calls{{{3}}, {{60}}}, calls{{{96}, {18}}, {{60}, {3}}})
}

// A number that a loop counts and that is returned.
func TestCarriedNumber(t *testing.T) {
	a := newAsm()
	in, x, tmp := a.at(0, 1), a.at(16, 1), a.at(32, 1)
	limit := a.value(pte.Int(100))
	n, two := a.value(pte.Int(0)), a.value(pte.Int(2))
	seven := a.value(pte.Int(7))
	test, never := a.value(tensorAt(11, 64, 1)), a.value(pte.Bool(false))
	out := a.at(96, 1)
	a.copy(x, in)
	a.move(seven, n)
	head := len(a.code)
	a.call("aten::lt", "Scalar_out", x, limit, test, test)
	end := a.jump(test)
	a.add(x, x, tmp)
	a.copy(x, tmp)
	a.call("executorch_prim::add", "Scalar", n, two, n)
	a.jumpTo(never, head)
	end()
	a.call("aten::mul", "Scalar_out", in, n, out, out)
	a.io([]int32{in}, []int32{out})
	check(t, a, calls{{{3}}, {{200}}}, calls{{{57}}, {{1400}}})
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(a *asm)
		want  []string
	}{
		{"operators", func(a *asm) {
			x, y := a.at(0, 2), a.at(16, 2)
			a.call("my::thing", "out", x, y, y)
			a.call("aten::neg", "out", x, y)
			a.call("your::thing", "", y, y)
			a.io([]int32{x}, []int32{y})
		}, []string{"test.pte: method forward: instruction 0 (my::thing.out): its functional form " +
			"my.thing.default is not supported", "instruction 1 (aten::neg.out): it has 2 arguments, " +
			"want 3", "instruction 2 (your::thing): the operator is not supported"}},
		{"delegate", func(a *asm) {
			x, y := a.at(0, 2), a.at(16, 2)
			a.plan.Delegates = []pte.Delegate{{ID: "Other", Processed: ir.Bytes{1}},
				{ID: "XnnpackBackend", Processed: ir.Bytes{1}}}
			a.code = append(a.code, pte.DelegateCall{Args: []int32{x}},
				pte.DelegateCall{Delegate: 1, Args: []int32{x, y}})
			a.io([]int32{x}, []int32{y})
		}, []string{
			"instruction 0 (delegate call): delegate 0 (Other): none of its arguments is a result",
			"instruction 1 (delegate call): delegate 1 (XnnpackBackend): XNNPACK payload: 1 bytes"}},
		{"into a loop", func(a *asm) {
			x, y := a.at(0, 1), a.at(16, 1)
			test := a.value(tensorAt(11, 64, 1))
			a.call("aten::lt", "Scalar_out", x, a.value(pte.Int(1)), test, test)
			a.jumpTo(test, 3)
			a.neg(x, y)
			a.neg(x, y)
			a.jumpTo(test, 2)
			a.io([]int32{x}, []int32{y})
		}, []string{"instruction 4 (jump): a jump into the middle of a loop"}},
		{"for ever", func(a *asm) {
			x, y := a.at(0, 1), a.at(16, 1)
			a.neg(x, y)
			a.jumpTo(a.value(pte.Bool(false)), 0)
			a.io([]int32{x}, []int32{y})
		}, []string{"a loop that never ends"}},
		{"sizes", func(a *asm) {
			x, y := a.at(0, 2), a.at(16, 3)
			a.neg(x, y)
			a.io([]int32{x}, []int32{y})
		}, []string{"instruction 0 (aten::neg.out): the result f32[2] does not fit value 1"}},
		{"clobbered", func(a *asm) {
			x, y, z, moved := a.at(0, 1), a.at(16, 1), a.at(32, 1), a.at(48, 1)
			test := a.value(tensorAt(11, 64, 1))
			never := a.value(pte.Bool(false))
			a.call("aten::gt", "Scalar_out", x, a.value(pte.Int(0)), test, test)
			other := a.jump(test)
			a.neg(x, y)
			a.move(y, moved)
			end := a.jump(never)
			other()
			a.neg(x, z)
			a.move(z, moved)
			end()
			a.neg(x, y)
			a.io([]int32{x}, []int32{moved})
		}, []string{"value 3: output 0: instruction 7 has written over it"}},
		{"in place", func(a *asm) { // a kernel would read elements that it has written
			x, y, z := a.at(0, 4), a.at(64, 4), a.at(64, 4)
			a.neg(x, y)
			dims := a.value(pte.IntList{int64(a.value(pte.Int(0)))})
			a.call("aten::flip", "out", y, dims, z, z)
			a.io([]int32{x}, []int32{z})
		}, []string{"instruction 1 (aten::flip.out): it writes value 2 where value 1 lies, " +
			"whose elements it reads in another order"}},
		{"indices", func(a *asm) {
			x := a.at(0, 1)
			a.call("aten::neg", "out", x, 7, -1)
			a.io([]int32{x, 9}, []int32{x})
		}, []string{"input 1 is value 9; there are 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAsm()
			c.build(a)
			_, err := a.raise()
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v\ndoes not say %q", err, w)
				}
			}
		})
	}
}

// State whose initial data is in a file beside the program begins with that.
func TestExternalState(t *testing.T) {
	a := newAsm()
	x := a.at(0, 2)
	state := a.at(16, 2)
	a.plan.Values[state].(*pte.Tensor).ExtraInfo = &pte.ExtraTensorInfo{Name: "state", External: true}
	out := a.at(32, 2)
	a.add(x, state, out)
	a.copy(state, out)
	a.io([]int32{x}, []int32{out})
	var data ir.Bytes
	for _, f := range []float64{3, 4} {
		data = tensor.Append(data, ir.Float32, f)
	}
	beside := &pte.DataFile{Entries: []pte.DataEntry{{Key: "state", Data: data}}}
	p, err := raise.Program(a.file, "test.pte", ops.Standard(), beside)
	if err != nil {
		t.Fatal(err)
	}
	for i, spec := range p.Methods[0].Inputs {
		if spec.Kind != ir.Buffer {
			continue
		}
		got := make([]byte, len(data))
		if _, err := p.Methods[0].Graph.Inputs[i].Const.Data.ReadAt(got, 0); err != nil ||
			!bytes.Equal(got, data) {
			t.Errorf("the state begins with %v (%v), want %v", got, err, data)
		}
		return
	}
	t.Error("there is no state")
}

// A call that no runtime can make is refused although nobody needs what it gives.
func TestUndefined(t *testing.T) {
	a := newAsm()
	x := a.value(tensorAt(9, 0, 0, 2)) // complex64, of no elements
	out := a.value(tensorAt(11, 16, 0, 2))
	a.call("aten::logical_or", "out", x, x, out, out)
	a.io([]int32{x}, []int32{out})
	if _, err := a.raise(); err == nil || !strings.Contains(err.Error(),
		"not yet defined on complex64") {
		t.Errorf("%v", err)
	}
}
