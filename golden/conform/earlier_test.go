package conform

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/portable"
)

// pooling is a program with one call of cortex_m::quantized_avg_pool2d, 2x2 over
// a channels-last [1,1,2,4], with the arguments that a version of ExecuTorch has
// behind kernel size, stride and padding.
func pooling(behind ...pte.EValue) *pte.Program {
	image := func(offset uint64, h, w int32) *pte.Tensor {
		return &pte.Tensor{ScalarType: 1, Sizes: []int32{1, 1, h, w}, DimOrder: []uint8{0, 2, 3, 1},
			Allocation: &pte.Allocation{MemoryID: 1, Offset: offset}}
	}
	values := []pte.EValue{image(0, 2, 4), image(16, 1, 2), pte.Int(2), pte.Int(0),
		pte.IntList{2, 2}, pte.IntList{3, 3}}
	args := []int32{0, 4, 4, 5}
	for _, v := range behind {
		args = append(args, int32(len(values)))
		values = append(values, v)
	}
	return &pte.Program{Constants: []ir.Blob{nil}, Plans: []*pte.ExecutionPlan{{
		Name: "forward", Values: values, Inputs: []int32{0}, Outputs: []int32{1},
		BufferSizes: []int64{0, 64},
		Operators:   []pte.Operator{{Name: "cortex_m::quantized_avg_pool2d", Overload: "out"}},
		Chains: []*pte.Chain{{Instructions: []pte.Instruction{pte.KernelCall{Op: 0,
			Args: append(args, 1, 1)}}}},
	}}}
}

// Programs of earlier versions of ExecuTorch call cortex_m operators with fewer
// arguments; they are compiled and run all the same.
func TestEarlierArguments(t *testing.T) {
	zero, multiplier, shift := pte.Int(3), pte.Int(1<<30), pte.Int(-4)
	scratch := &pte.Tensor{ScalarType: 0, Sizes: []int32{8}, DimOrder: []uint8{0},
		Allocation: &pte.Allocation{MemoryID: 1, Offset: 32}}
	in, want := []byte{1, 2, 10, 20, 3, 6, 30, 41}, []byte{3, 25}
	for _, c := range []struct {
		version string
		behind  []pte.EValue
		fails   bool
	}{
		{"1.3", []pte.EValue{zero, multiplier, shift}, false},
		{"1.4", []pte.EValue{zero, multiplier, shift, scratch}, false},
		{"1.5", []pte.EValue{pte.Bool(false), zero, multiplier, shift, scratch}, false},
		{"none", []pte.EValue{zero, multiplier}, true},
	} {
		t.Run(c.version, func(t *testing.T) {
			var file bytes.Buffer
			if err := pte.Write(&file, pooling(c.behind...)); err != nil {
				t.Fatal(err)
			}
			got, err := run(file.Bytes(), in)
			if (err != nil) != c.fails || err == nil && !slices.Equal(got, want) {
				t.Errorf("rt: %v, error %v, want %v", got, err, want)
			}
			got, err = interpret(t, file.Bytes(), in)
			if (err != nil) != c.fails || err == nil && !slices.Equal(got, want) {
				t.Errorf("compiled: %v, error %v, want %v", got, err, want)
			}
		})
	}
}

func run(file, in []byte) ([]byte, error) {
	p, err := rt.Load(bytes.NewReader(file), nil)
	if err != nil {
		return nil, err
	}
	m, err := p.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry()})
	if err != nil {
		return nil, err
	}
	x, err := rt.NewTensor(ir.Int8, []int64{1, 1, 2, 4}, nil, slices.Clone(in))
	if err != nil {
		return nil, err
	}
	if err := m.SetInput(0, x); err != nil {
		return nil, err
	}
	if err := m.Execute(context.Background()); err != nil {
		return nil, err
	}
	out, err := m.OutputTensor(0)
	if err != nil {
		return nil, err
	}
	return out.Data, nil
}

func interpret(t *testing.T, file, in []byte) (out []byte, err error) {
	path := filepath.Join(t.TempDir(), "pooling.pte")
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	job := way.Job{
		Name: "pooling", Open: func() (*ir.Program, io.Closer, error) { return compile.Read(path) },
		Calls: []way.Call{
			{Inputs: []tensor.Value{{Tensor: &tensor.Tensor{DType: ir.Int8, Shape: []int64{1, 1, 2,
				4}, Data: in}}}}},
	}
	way.Reference{}.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
		if err = r.Err; err == nil {
			if err = r.Calls[0].Err; err == nil {
				out = r.Calls[0].Outputs[0].Tensor.Data
			}
		}
	})
	return out, err
}
