package rt_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

var update = flag.Bool("update", false, "write testdata")

// seeds are programs that together have every kind of instruction and value.
func seeds() map[string]*build {
	freed := newBuild("forward")
	x, temporary, out := freed.planned(2), freed.unplanned(2), freed.unplanned(2)
	freed.kernel("aten::add", "out", x, x, temporary)
	freed.kernel("aten::mul", "out", temporary, x, out)
	freed.emit(pte.FreeCall{Value: temporary})
	freed.inputs(x).outputs(out)
	return map[string]*build{
		"affine": affine(), "branches": branches(), "loop": loop(), "sized": sized(),
		"joined":  joined(),
		"swapped": swapped(), "viewed": viewed(), "stacked": stacked(), "counter": counter(),
		"freed": freed,
	}
}

// testdata/affine.pte is what the examples open.
func TestTestdata(t *testing.T) {
	path := filepath.Join("testdata", "affine.pte")
	want := affine().bytes(t)
	if *update {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the writer writes; go test -update", path)
	}
}

// memoryLimit is what a fuzzed program may ask for besides what its file has.
const memoryLimit = 1 << 20

// run loads all methods of a file and executes them twice with zeros. It returns
// the first error that a hostile file must not cause.
func run(t testing.TB, data []byte) error {
	p, err := rt.Load(rt.Bytes(data), &rt.LoadOptions{Platform: &rt.SystemPlatform{}})
	if err != nil {
		return nil
	}
	for _, name := range p.MethodNames() {
		m, err := load(p, name, &rt.MethodOptions{
			Memory: &rt.MemoryManager{Limit: memoryLimit}, MaxInstructions: 200,
			Backends: map[string]rt.Backend{"DoublerBackend": &doubler{}},
		})
		if errors.Is(err, rt.ErrInternal) {
			return err
		}
		if err != nil {
			continue
		}
		for i, in := range m.Meta().Inputs {
			var v any
			if in.Kind == rt.TensorKind {
				if in.Bytes > memoryLimit {
					continue
				}
				if v, err = rt.NewTensor(in.DType, in.Sizes, in.DimOrder, nil); err != nil {
					return err
				}
			}
			if err := m.SetInput(i, v); errors.Is(err, rt.ErrInternal) {
				return err
			}
		}
		for range 2 {
			if err := m.Execute(t.Context()); errors.Is(err, rt.ErrInternal) {
				return err
			}
		}
		for i := range m.Meta().Outputs {
			if _, err := m.OutputTensor(i); err == nil {
				_ = m.SetOutput(i, make([]byte, 4)) // it may refuse, no more
			}
		}
		if err := m.Execute(t.Context()); errors.Is(err, rt.ErrInternal) {
			return err
		}
	}
	return nil
}

// Mutated programs never panic, hang, or allocate without bound; the kernels
// here check what they take.
func FuzzRun(f *testing.F) {
	for _, b := range seeds() {
		f.Add(b.bytes(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := run(t, data)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Error(err)
		}
		if allocated, bound := after.TotalAlloc-before.TotalAlloc,
			4*memoryLimit+3*pte.ReadExpansion*len(data); allocated > uint64(bound) {
			t.Errorf("%d bytes for a file of %d", allocated, len(data))
		}
	})
}
