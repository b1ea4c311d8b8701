package optimize

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// twice is a program of two methods that each multiply by the same matrix.
func twice() *pte.Program {
	weights := make([]byte, 4*8*8)
	for i := range weights {
		weights[i] = byte(i % 61)
	}
	file := &pte.Program{Constants: []ir.Blob{nil, ir.Bytes(weights)}, Mutable: [][]ir.Blob{{nil}}}
	for _, name := range []string{"one", "two"} {
		matrix := func(rows int32) *pte.Tensor {
			return &pte.Tensor{ScalarType: 6, Sizes: []int32{rows, 8}, DimOrder: []uint8{0, 1}}
		}
		x, w, y := matrix(1), matrix(8), matrix(1)
		w.DataIndex = 1
		x.Allocation, y.Allocation = &pte.Allocation{MemoryID: 1}, &pte.Allocation{MemoryID: 1,
			Offset: 32}
		file.Plans = append(file.Plans, &pte.ExecutionPlan{
			Name: name, Values: []pte.EValue{x, w, y}, Inputs: []int32{0}, Outputs: []int32{2},
			BufferSizes: []int64{0, 64},
			Operators:   []pte.Operator{{Name: "aten::mm", Overload: "out"}},
			Chains: []*pte.Chain{{Instructions: []pte.Instruction{pte.KernelCall{Op: 0,
				Args: []int32{0, 1, 2, 2}}}}},
		})
	}
	return file
}

// Methods of one plan share their code, those of one program their packed
// weights; none shares the memory it works in.
func TestSharing(t *testing.T) {
	p, err := rt.NewProgram(twice(), nil)
	if err != nil {
		t.Fatal(err)
	}
	load := func(name string) (m *interpreter) {
		_, err := p.LoadMethod(name,
			&rt.MethodOptions{Optimize: func(b *rt.Boundary) (rt.Executor, error) {
				m, err = load(b, Options{})
				return m, err
			}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, b, other := load("one"), load("one"), load("two")
	if a == b || a.code != b.code {
		t.Error("a method that is loaded again is compiled again")
	}
	if a.code == other.code || len(a.consts) == 0 {
		t.Fatalf("code of two methods, %d constants", len(a.consts))
	}
	seen := map[*byte]bool{}
	for _, data := range a.consts {
		seen[&data[0]] = true
	}
	for k, data := range other.consts {
		if !seen[&data[0]] {
			t.Errorf("constant %s is packed for each method", k.Name)
		}
	}
}
