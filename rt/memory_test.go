package rt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// The caller's planned buffers are used, those it does not give are allocated.
func TestPlannedMemory(t *testing.T) {
	b := newBuild("forward")
	x, y := b.planned(2), b.planned(2)
	second := describe(2)
	second.Allocation = &pte.Allocation{MemoryID: 2}
	b.plan.BufferSizes = append(b.plan.BufferSizes, 8)
	out := b.value(second)
	b.kernel("aten::add", "out", x, x, y)
	b.kernel("aten::mul", "out", y, x, out)
	p := b.inputs(x).outputs(out).program(t)
	meta, _ := p.MethodMeta("forward")
	if !slices.Equal(meta.PlannedBuffers, []int64{32, 8}) {
		t.Fatalf("planned buffers are %v", meta.PlannedBuffers)
	}
	first := make([]byte, 40)
	m, err := load(p, "forward",
		&rt.MethodOptions{Memory: &rt.MemoryManager{Planned: [][]byte{first}, Limit: 8}})
	if err != nil {
		t.Fatal(err)
	}
	forward(t, m, tensor(t, []float32{3, 4}, 2))
	wantFloats(t, m, 0, 18, 32)
	if !slices.Equal(first[:24], append(floatBytes(3, 4), append(make([]byte, 8),
		floatBytes(6, 8)...)...)) {
		t.Errorf("the caller's buffer has %v", first)
	}
	_, err = load(p, "forward",
		&rt.MethodOptions{Memory: &rt.MemoryManager{Planned: [][]byte{first[:31]}}})
	if !errors.Is(err, rt.ErrInvalidArgument) ||
		!strings.Contains(err.Error(), "takes 32 bytes, the one given has 31") {
		t.Errorf("a buffer too small: %v", err)
	}
	_, err = load(p, "forward", &rt.MethodOptions{Memory: &rt.MemoryManager{Limit: 39}})
	if !errors.Is(err, rt.ErrOutOfMemory) {
		t.Errorf("a limit too small: %v", err)
	}
}

// A program that asks for memory beyond the limit is refused before anything is
// allocated.
func TestMemoryLimit(t *testing.T) {
	b := newBuild("forward")
	b.plan.BufferSizes[1] = 1 << 50
	if _, err := load(b.program(t), "forward", nil); !errors.Is(err, rt.ErrOutOfMemory) {
		t.Errorf("a planned buffer of 1 PiB: %v", err)
	}
	b = newBuild("forward")
	x := b.planned(1)
	for range 1000 {
		b.kernel("aten::add", "out", x, x, b.unplanned(1<<30))
	}
	if _, err := load(b.program(t), "forward", nil); !errors.Is(err, rt.ErrOutOfMemory) {
		t.Errorf("4 TiB without a plan: %v", err)
	}
	// Constants that share bytes of the file do not multiply them.
	b = newBuild("forward")
	for range 8 {
		b.constant(make([]float32, 1<<10), 1<<10)
	}
	file := affineFile(t, b)
	if _, err := load(file, "forward", nil); err != nil {
		t.Error(err)
	}
}

// affineFile loads b from a file whose constants have to be read.
func affineFile(t *testing.T, b *build) *rt.Program {
	t.Helper()
	p, err := rt.Load(&counting{DataLoader: rt.Bytes(b.bytes(t))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A small file does not make much work.
func TestSharedLists(t *testing.T) {
	b := newBuild("forward")
	x, out := b.planned(1), b.dynamic(1)
	list := make(pte.TensorList, 20_000)
	for i := range list {
		list[i] = x
	}
	args := []int32{b.value(list), out}
	for range 20_000 {
		b.kernel("aten::cat", "out", args...)
	}
	if _, err := load(b.inputs(x).outputs(out).program(t), "forward", nil); !errors.Is(err,
		rt.ErrNotSupported) {
		t.Error(err)
	}
}

// What the caller judges programs by comes first.
func TestVerify(t *testing.T) {
	b := newBuild("forward")
	x := b.planned(2)
	b.kernel("aten::add", "out", x, x, b.planned(2)) // no alpha
	b.inputs(x).outputs(x)
	schemas := func(p *pte.Program) error { return pte.Verify(p, nil) }
	if _, err := rt.NewProgram(b.file, &rt.LoadOptions{Verify: schemas}); err != nil {
		t.Error(err)
	}
	bad := errors.New("nothing is good enough")
	if _, err := rt.NewProgram(b.file, &rt.LoadOptions{Verify: func(*pte.Program) error {
		return bad
	}}); !errors.Is(err, bad) || !errors.Is(err, rt.ErrInvalidProgram) {
		t.Errorf("a judge that refuses: %v", err)
	}
}

// One program serves many goroutines.
func TestConcurrent(t *testing.T) {
	for _, p := range []*rt.Program{affineFile(t, affine()), affine().program(t)} {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				m, err := load(p, "forward", nil)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 50 {
					x := float32(g*100 + i)
					out, err := m.Forward(t.Context(), tensor(t, []float32{x, x, x}, 3))
					if err != nil {
						t.Error(err)
						return
					}
					if got, _ := rt.Data[float32](out[0].Tensor); got[2] != 2*x+3 {
						t.Errorf("%v instead of %v", got[2], 2*x+3)
					}
				}
			})
		}
		wg.Wait()
	}
}

// A method that executes refuses a second execution.
func TestBusy(t *testing.T) {
	b := newBuild("forward")
	x, out := b.planned(1), b.planned(1)
	b.kernel("test::reenter", "out", x, out)
	b.inputs(x).outputs(out)
	var m *rt.Method
	registry := rt.NewRegistry(rt.Kernel{Name: "test::reenter.out",
		Prepare: func(*rt.Call) (func() error, error) {
			return func() error {
				for _, err := range []error{m.Execute(t.Context()), m.SetInput(0, nil),
					m.SetOutput(0, nil)} {
					if !errors.Is(err, rt.ErrInvalidState) {
						t.Errorf("while it executes: %v", err)
					}
				}
				return nil
			}, nil
		}})
	m = b.method(t, &rt.MethodOptions{Registry: registry})
	forward(t, m, tensor(t, []float32{1}, 1))
}

func TestTensors(t *testing.T) {
	x, err := rt.TensorOf([]int64{2, 2}, []int16{1, 2, 3, -4})
	if err != nil || x.DType != ir.Int16 || fmt.Sprint(x.Data) != "[1 0 2 0 3 0 252 255]" {
		t.Fatalf("%v, %v", x, err)
	}
	if _, err := rt.Data[uint16](x); !errors.Is(err, rt.ErrInvalidArgument) {
		t.Errorf("another type: %v", err)
	}
	if _, err := rt.Data[int16](nil); !errors.Is(err, rt.ErrInvalidArgument) {
		t.Errorf("nil: %v", err)
	}
	if empty, err := rt.TensorOf[complex128]([]int64{0, 5}, nil); err != nil || empty.Numel() != 0 {
		t.Errorf("no elements: %v", err)
	}
	for name, make := range map[string]func() (*rt.Tensor, error){
		"count": func() (*rt.Tensor, error) { return rt.TensorOf([]int64{3}, []bool{true}) },
		"negative": func() (*rt.Tensor, error) {
			return rt.TensorOf([]int64{-1, -1}, []bool{true})
		},
		"bytes": func() (*rt.Tensor, error) {
			return rt.NewTensor(ir.Int32, []int64{1}, nil, []byte{1})
		},
		"dtype": func() (*rt.Tensor, error) { return rt.NewTensor(0, []int64{1}, nil, nil) },
		"order": func() (*rt.Tensor, error) {
			return rt.NewTensor(ir.Int32, []int64{1, 1}, []uint8{0, 0}, nil)
		},
		"overflow": func() (*rt.Tensor, error) {
			return rt.NewTensor(ir.Int32, []int64{1 << 40, 1 << 40}, nil, nil)
		},
		"rank": func() (*rt.Tensor, error) {
			return rt.NewTensor(ir.Int32, slices.Repeat([]int64{1}, 17), nil, nil)
		},
	} {
		if _, err := make(); !errors.Is(err, rt.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
