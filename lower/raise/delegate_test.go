package raise_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// Delegates whose payloads nobody reads become calls. Which arguments are results, the program
// does not say: those that nothing else fills.
func TestDelegates(t *testing.T) {
	a := newAsm()
	x, w, y, p, q := a.at(0, 2), a.constant(1, 2), a.at(16, 2), a.at(32, 2), a.at(48, 3)
	out := a.at(64, 2)
	a.plan.Delegates = []pte.Delegate{
		{ID: "Unused", Processed: ir.Bytes{1}},
		{ID: "TestBackend", Processed: ir.Bytes("abc"),
			Specs: []ir.CompileSpec{{Key: "k", Value: []byte{4}}}},
		{ID: "TestBackend", Processed: ir.Bytes("abc")},
	}
	a.file.Named = []ir.NamedData{{Key: "key", Data: ir.Bytes("data")}}
	a.neg(x, y)
	delegate := func(i int32, args ...int32) {
		a.code = append(a.code, pte.DelegateCall{Delegate: i, Args: args})
	}
	delegate(1, y, w, x, a.value(pte.Int(7)), p, q)
	delegate(2, p, q, out)
	a.io([]int32{x}, []int32{out})
	program, err := a.raise()
	if err != nil {
		t.Fatal(err)
	}
	want := `delegate lowered_module_1 "TestBackend" = "abc"
  spec "k" = "\x04"
  named "key" = "data"
delegate lowered_module_2 "TestBackend" = "abc"
  named "key" = "data"

method forward {
  input %input_0: f32[2]
  const %constant: f32[2] = [1.0, 2.0]

  %neg: f32[2] = aten.neg.default(self=%input_0)
  %executorch_call_delegate_out: f32[2], %executorch_call_delegate_out_1: f32[3] = executorch_call_delegate: executorch_call_delegate("lowered_module_1", %neg, %constant, %input_0, 7)
  %executorch_call_delegate_1: f32[2] = executorch_call_delegate("lowered_module_2", %executorch_call_delegate_out, %executorch_call_delegate_out_1)
  return (%executorch_call_delegate_1)
}
`
	_, got, _ := strings.Cut(program.String(), "delegate ")
	if diff := cmp.Diff(want, "delegate "+got); diff != "" {
		t.Error(diff)
	}
}

// What a delegate with a known payload computes is no result of the delegate that takes it.
func TestDelegateBehindKnownOne(t *testing.T) {
	a := newAsm()
	x, y, out := a.at(0, 2), a.at(16, 2), a.at(32, 2)
	sin := "1version:0#op:demo::aten.sin.default, numel:2, dtype:torch.float32<debug_handle>1#"
	a.plan.Delegates = []pte.Delegate{
		{ID: "BackendWithCompilerDemo", Processed: ir.Bytes(sin)},
		{ID: "TestBackend", Processed: ir.Bytes("abc")},
	}
	a.code = append(a.code, pte.DelegateCall{Delegate: 0, Args: []int32{x, y}},
		pte.DelegateCall{Delegate: 1, Args: []int32{y, out}})
	a.io([]int32{x}, []int32{out})
	program, err := a.raise()
	if err != nil {
		t.Fatal(err)
	}
	want := `executorch_call_delegate("lowered_module_1", %sin)`
	if got := program.String(); !strings.Contains(got, want) {
		t.Errorf("%s\nhas no %s", got, want)
	}
}

// The exporter leaves out calls that make views: what a delegate takes may be another view of what
// a kernel has filled. A result may reuse the memory of what is no longer needed.
func TestDelegateTakesView(t *testing.T) {
	for _, test := range []struct {
		name, want string
		build      func(a *asm, delegate func(args ...int32), x, out int32)
	}{
		{"view", "(\"lowered_module_0\", %neg)", func(a *asm, delegate func(...int32), x, out int32) {
			y, z := a.at(16, 2), a.at(16, 2)
			a.neg(x, y)
			delegate(z, out)
		}},
		{"view of what others read", "(\"lowered_module_0\", %neg)",
			func(a *asm, delegate func(...int32), x, out int32) {
				y, z, p := a.at(16, 2), a.at(16, 2), a.at(48, 2)
				a.neg(x, y)
				a.neg(y, p)
				delegate(z, out)
			}},
		{"reused", "aten.neg.default(self=%executorch_call_delegate)",
			func(a *asm, delegate func(...int32), x, out int32) {
				y, p, q := a.at(16, 2), a.at(48, 2), a.at(16, 2)
				a.neg(x, y)
				a.neg(y, p)
				delegate(p, q)
				a.neg(q, out)
			}},
		{"view that is read before and behind", "(\"lowered_module_0\", %neg)",
			func(a *asm, delegate func(...int32), x, out int32) {
				y, z, p, q := a.at(16, 2), a.at(16, 2), a.at(48, 2), a.at(64, 2)
				a.neg(x, y)
				a.neg(z, p)
				delegate(z, out)
				a.neg(z, q)
			}},
		{"view of state", "(\"lowered_module_0\", %state)",
			func(a *asm, delegate func(...int32), x, out int32) {
				n, z, p, q := a.at(16, 2), a.at(16, 2), a.at(48, 2), a.at(64, 2)
				a.file.Mutable = [][]ir.Blob{{nil, ir.Bytes(make([]byte, 8))}}
				a.plan.Values[n].(*pte.Tensor).DataIndex = 1
				a.neg(n, p)
				delegate(z, out)
				a.neg(z, q)
				a.copy(n, x)
			}},
		{"in the place of what nobody reads", "aten.neg.default(self=%executorch_call_delegate)",
			func(a *asm, delegate func(...int32), x, out int32) {
				y, q := a.at(16, 2), a.at(16, 2)
				a.neg(x, y)
				delegate(x, q)
				a.neg(q, out)
			}},
		{"in the place of another type", "executorch_call_delegate(\"lowered_module_0\", %input_0)",
			func(a *asm, delegate func(...int32), x, out int32) {
				y, q := a.at(16, 2), a.value(tensorAt(pte.ScalarType(4), 16, 1))
				a.neg(x, y)
				delegate(x, q, out)
			}},
	} {
		a := newAsm()
		x, out := a.at(0, 2), a.at(32, 2)
		a.plan.Delegates = []pte.Delegate{{ID: "TestBackend", Processed: ir.Bytes("abc")}}
		test.build(a, func(args ...int32) {
			a.code = append(a.code, pte.DelegateCall{Delegate: 0, Args: args})
		}, x, out)
		a.io([]int32{x}, []int32{out})
		program, err := a.raise()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := program.String(); !strings.Contains(got, test.want) {
			t.Errorf("%s:\n%s\nhas no %s", test.name, got, test.want)
		}
	}
}
