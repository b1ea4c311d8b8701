package rt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/rt"
)

// acceptAll is a kernel that takes any call and does nothing.
func acceptAll(name string) rt.Kernel {
	return rt.Kernel{Name: name, Prepare: func(*rt.Call) (func() error, error) {
		return func() error { return nil }, nil
	}}
}

// Every program that ExecuTorch's exporter wrote loads: what the runtime refuses
// of hostile files, no real one has. What it computes the conformance suite
// checks.
func TestSharedPrograms(t *testing.T) {
	files, err := filepath.Glob("../../shared/pte/*/model.pte")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no ../shared/pte")
	}
	for _, path := range files {
		p, err := rt.Open(path, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		defer p.Close()
		options := &rt.MethodOptions{}
		ptd, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.ptd"))
		for _, name := range ptd {
			d, err := rt.OpenData(name)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			options.Data = append(options.Data, d)
		}
		for _, name := range p.MethodNames() {
			meta, err := p.MethodMeta(name)
			if err != nil {
				t.Fatal(err)
			}
			var kernels []rt.Kernel
			for _, op := range meta.Operators {
				kernels = append(kernels, acceptAll(op))
			}
			options.Registry = rt.NewRegistry(kernels...)
			m, err := p.LoadMethod(name, options)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			for i, in := range meta.Inputs {
				if in.Kind != rt.TensorKind {
					continue
				}
				x, err := rt.NewTensor(in.DType, in.Sizes, in.DimOrder, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.SetInput(i, x); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
}

// The same from a file system and from memory.
func TestLoaders(t *testing.T) {
	b := affine()
	data := b.bytes(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "model.pte"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	loaders := map[string]func() (*rt.Program, error){
		"memory": func() (*rt.Program, error) { return rt.Load(rt.Bytes(data), nil) },
		"misaligned": func() (*rt.Program, error) {
			return rt.Load(rt.Bytes(append([]byte{0}, data...)[1:]), nil)
		},
		"file": func() (*rt.Program, error) {
			return rt.Open(filepath.Join(dir, "model.pte"), nil)
		},
		"fs": func() (*rt.Program, error) {
			return rt.OpenFS(os.DirFS(dir), "model.pte", nil)
		},
		"whole": func() (*rt.Program, error) {
			return rt.OpenFS(sequential{os.DirFS(dir)}, "model.pte", nil)
		},
	}
	for name, open := range loaders {
		p, err := open()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := load(p, "forward", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		forward(t, m, tensor(t, []float32{1, 2, 3}, 3))
		wantFloats(t, m, 0, 3, 6, 9)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		forward(t, m, tensor(t, []float32{1, 2, 4}, 3)) // constants are read
		wantFloats(t, m, 0, 3, 6, 11)
	}
}
