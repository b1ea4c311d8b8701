package portable_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/portable"
)

// What a fuzzed program may take. Tensors and what kernels keep have fuzzMemory
// together; fuzzAllocated is for all that is allocated while kernels are compiled,
// whether it is freed at once or not. Deadlines are for a busy machine and the
// fuzzer's instrumentation.
const (
	fuzzMemory    = 4 << 20
	fuzzAllocated = 256 << 20
	fuzzTime      = 100 * time.Millisecond
	fuzzSlack     = 3 * time.Second
)

// FuzzKernels executes programs with all kernels: mutated files, in which more
// bytes are changed in place, at offsets that edits has with the new values.
// Whatever they are, they neither panic nor hang nor allocate without bound.
func FuzzKernels(f *testing.F) {
	for _, file := range seeds(f) {
		f.Add(file, []byte{})
	}
	registry := portable.Registry()
	f.Fuzz(func(t *testing.T, file, edits []byte) {
		file = bytes.Clone(file)
		for ; len(edits) >= 3 && len(file) > 0; edits = edits[3:] {
			file[int(binary.LittleEndian.Uint16(edits))%len(file)] = edits[2]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := rt.Load(rt.Bytes(file), &rt.LoadOptions{Platform: &rt.SystemPlatform{}})
		if err != nil {
			return
		}
		for _, name := range p.MethodNames() {
			if err := fuzzMethod(t, p, name, registry); errors.Is(err, rt.ErrInternal) {
				t.Error(err)
			}
		}
		runtime.ReadMemStats(&after)
		if took, bound := after.TotalAlloc-before.TotalAlloc, fuzzAllocated+64*pte.ReadExpansion*len(
			file); took > uint64(bound) {
			t.Errorf("%d bytes for a file of %d", took, len(file))
		}
	})
}

// fuzzMethod executes a method twice, on zeros.
func fuzzMethod(t *testing.T, p *rt.Program, name string, registry *rt.Registry) error {
	m, err := p.LoadMethod(name, &rt.MethodOptions{Registry: registry,
		Memory: &rt.MemoryManager{Limit: fuzzMemory}, MaxInstructions: 200})
	if err != nil {
		return err
	}
	defer m.Close()
	for i, in := range m.Meta().Inputs {
		if in.Kind != rt.TensorKind || in.Bytes > fuzzMemory {
			continue
		}
		x, err := rt.NewTensor(in.DType, in.Sizes, in.DimOrder, nil)
		if err != nil {
			return err
		}
		if err := m.SetInput(i, x); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), fuzzTime)
	defer cancel()
	start := time.Now()
	if err = m.Execute(ctx); err == nil {
		err = m.Execute(ctx)
	}
	if took := time.Since(start); took > fuzzTime+fuzzSlack {
		t.Errorf("it took %v: %v", took, err)
	}
	return err
}

// seeds returns small programs that together call most kinds of kernels.
func seeds(t testing.TB) [][]byte {
	return emitted(t, "cond_nested", "dynamic_two", "cat_split_stack", "sort_stable",
		"index_several", "symbolic_int",
		"attention_mask", "avg_pool2d", "conv1d", "conv_dilated", "conv_grouped", "conv_transpose",
		"gather_scatter", "index_put",
		"layer_norm_gelu", "linear", "lstm", "matmul_kinds", "max_pool2d", "mutated_buffer",
		"resize", "softmax_middle", "while_loop", "zero_size")
}

// emitted returns the programs of cases.
func emitted(t testing.TB, names ...string) [][]byte {
	var all [][]byte
	for _, name := range names {
		p, closer, err := compile.Read(filepath.Join("..", "..", "golden", "cases", name,
			"model.pt2"))
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		out, err := compile.PTE(p, compile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := pte.Write(&file, out.Program); err != nil {
			t.Fatal(err)
		}
		all = append(all, file.Bytes())
	}
	return all
}
