package compiled

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
)

func tensor(t *testing.T, data []float32, sizes ...int64) *rt.EValue {
	t.Helper()
	x, err := rt.TensorOf(sizes, data)
	if err != nil {
		t.Fatal(err)
	}
	return &rt.EValue{Kind: rt.TensorKind, Tensor: x}
}

// reversed writes its operand backwards, so that it shows if they share memory.
func reversed(c *Call) func() error {
	return func() error {
		in, out := In[float32](c, 0), Out[float32](c, 0)
		for i := range out {
			out[i] = in[len(in)-1-i]
		}
		return nil
	}
}

func prepare(t *testing.T, k Kernel, fixed func(*rt.EValue) bool,
	args ...*rt.EValue) (func() error, error) {
	t.Helper()
	kernel, ok := Registry(k).Lookup(k.Op)
	if !ok {
		t.Fatalf("%s is not in the registry", k.Op)
	}
	return kernel.Prepare(rt.NewCall(k.Op, args, fixed))
}

func run(t *testing.T, k Kernel, fixed func(*rt.EValue) bool, args ...*rt.EValue) {
	t.Helper()
	f, err := prepare(t, k, fixed, args...)
	if err == nil {
		err = f()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, v *rt.EValue, want ...float32) {
	t.Helper()
	got, err := rt.Data[float32](v.Tensor)
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %v (%v), want %v", got, err, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

var reverse = Kernel{Op: "aten::flip.out", Forms: []Form{
	{Args: "f32[4], f32[4]", Outs: 1, New: reversed},
	{Args: "f32[2], f32[2]", Outs: 1, New: reversed},
}}

// Operands that lie where the result goes are read as they were.
func TestOverlap(t *testing.T) {
	memory := []float32{1, 2, 3, 4, 5, 6}
	for _, at := range []int{0, 1, 2} {
		data := append([]float32{}, memory...)
		in, out := tensor(t, data[at:at+4], 4), tensor(t, data[:4], 4)
		run(t, reverse, nil, in, out)
		a := float32(at)
		want(t, out, a+4, a+3, a+2, a+1)
	}
}

// Memory that is not aligned for the elements is used by way of copies.
func TestMisaligned(t *testing.T) {
	bytes := make([]byte, 64)
	at := 0
	for uintptr(unsafe.Pointer(&bytes[at]))%4 != 1 {
		at++
	}
	misaligned := func(data []float32) *rt.EValue {
		b := bytes[at : at+16 : at+16]
		at += 16
		x, err := rt.NewTensor(ir.Float32, []int64{4}, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		if data != nil {
			copy(b, unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 16))
		}
		return &rt.EValue{Kind: rt.TensorKind, Tensor: x}
	}
	out, aligned := misaligned(nil), tensor(t, make([]float32, 4), 4)
	run(t, reverse, nil, misaligned([]float32{1, 2, 3, 4}), out)
	copy(aligned.Tensor.Data, out.Tensor.Data)
	want(t, aligned, 4, 3, 2, 1)
}

// What there is no code for is an error that says what to do.
func TestUnknownForm(t *testing.T) {
	_, err := prepare(t, reverse, nil, tensor(t, make([]float32, 3), 3),
		tensor(t, make([]float32, 3), 3))
	if err == nil || !errors.Is(err, rt.ErrNotSupported) {
		t.Fatal(err)
	}
	for _, text := range []string{"aten::flip.out", "(f32[3], f32[3])",
		"(f32[4], f32[4]), (f32[2], f32[2])", "etgen registry"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}

// Results are no constants, in place or not.
func TestConstantResult(t *testing.T) {
	x, y := tensor(t, make([]float32, 4), 4), tensor(t, make([]float32, 4), 4)
	fixed := func(v *rt.EValue) bool { return v == y }
	k := Kernel{Op: "f", Forms: []Form{{Args: "f32[4], const f32[4]", Outs: 1, New: reversed}}}
	if _, err := prepare(t, k, fixed, x, y); err == nil {
		t.Error("a constant is written")
	}
	k.Forms[0] = Form{Args: "const f32[4], f32[4]", Mutates: true, New: reversed}
	if _, err := prepare(t, k, fixed, y, x); err == nil {
		t.Error("a constant is changed in place")
	}
}

// An operand that is changed in place is apart from the others.
func TestMutates(t *testing.T) {
	k := Kernel{Op: "aten::f_", Forms: []Form{{Args: "f32[3], f32[3]", Mutates: true,
		New: func(c *Call) func() error {
			return func() error {
				x, y := In[float32](c, 0), In[float32](c, 1)
				for i := range x {
					x[i] += y[len(y)-1-i]
				}
				return nil
			}
		}}}}
	x := tensor(t, []float32{1, 2, 3}, 3)
	run(t, k, nil, x, x)
	want(t, x, 4, 4, 4)
}

// Sizes and numbers are those of the moment; results are resized, and may need
// more memory than they end up with.
func TestDynamic(t *testing.T) {
	k := Kernel{Op: "f", Forms: []Form{{Args: "f32[<=4], [1, int], float, bool, f32[<=3]", Outs: 1,
		New: func(c *Call) func() error {
			c.Least(0, 8)
			return func() error {
				if n := len(Out[float32](c, 0)); n != 8 {
					t.Errorf("room for %d elements, want 8", n)
				}
				n := int(c.Int(0))
				copy(Out[float32](c, 0), In[float32](c, 0)[:n])
				if c.Float(1) != 0.5 || !c.Bool(2) || c.Size(0, 0) != 4 {
					t.Error("other numbers")
				}
				c.SetSize(0, 0, n)
				return c.WantResult(0, 0, 0)
			}
		}}}}
	bounded := func(n int64) *rt.EValue {
		x, err := rt.NewBoundedTensor(ir.Float32, []int64{n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &rt.EValue{Kind: rt.TensorKind, Tensor: x}
	}
	x, out := bounded(4), bounded(3)
	copy(x.Tensor.Data, tensor(t, []float32{1, 2, 3, 4}, 4).Tensor.Data)
	one, n := &rt.EValue{Kind: rt.Int, Int: 1}, &rt.EValue{Kind: rt.Int}
	list := &rt.EValue{Kind: rt.IntList, List: []*rt.EValue{one, n}}
	f, err := prepare(t, k, func(v *rt.EValue) bool { return v == one }, x, list,
		&rt.EValue{Kind: rt.Double, Double: 0.5}, &rt.EValue{Kind: rt.Bool, Bool: true}, out)
	if err != nil {
		t.Fatal(err)
	}
	for _, n.Int = range []int64{2, 0, 3} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		want(t, out, []float32{1, 2, 3}[:n.Int]...)
	}
	if n.Int = 4; f() == nil {
		t.Error("a result is larger than its bound")
	}
}

// Constants are packed when the call is prepared.
func TestPack(t *testing.T) {
	k := Kernel{Op: "f", Forms: []Form{{Args: "const f32[2,3], f32[6]", Outs: 1,
		New: func(c *Call) func() error {
			w := Pack[float32](c, 0, Shape{Groups: 1, N: 2, A: 3, B: 1, C: 1, Cols: 2,
				Column: 3, StepA: 1})
			return func() error { copy(Out[float32](c, 0), w); return nil }
		}}}}
	w, out := tensor(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3), tensor(t, make([]float32, 6), 6)
	run(t, k, func(v *rt.EValue) bool { return v == w }, w, out)
	want(t, out, 1, 4, 2, 5, 3, 6)
}
