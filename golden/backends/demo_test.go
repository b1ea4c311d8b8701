package backends

import (
	"bytes"
	"encoding/binary"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/backends/demo"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/payload"
	"github.com/etgen/etgen/rt/portable"
)

var keep = flag.String("keep", "", "a folder that gets the program for ExecuTorch's own runtime")

// Two products and two sines, of which none may be in a part with another; one sum's product has
// the same factor twice.
const demoProgram = `program "demo.pt2"

method forward {
  input %a: f32[2, 2]
  input %x: f32[2, 2]
  parameter %b: f32[2, 2] "b" = [1.0, 2.0, 3.0, 4.0]
  %mm: f32[2, 2] = aten.mm.default(self=%a, mat2=%x)
  %add: f32[2, 2] = aten.add.Tensor(self=%mm, other=%b)
  %sin: f32[2, 2] = aten.sin.default(self=%a)
  %sin_1: f32[2, 2] = aten.sin.default(self=%x)
  %mm_1: f32[2, 2] = aten.mm.default(self=%sin, mat2=%sin)
  %add_1: f32[2, 2] = aten.add.Tensor(self=%mm_1, other=%sin_1)
  return (%add, %add_1)
}
`

// ExecuTorch's demonstration backend gets its payloads, and etgen reads them.
func TestDemo(t *testing.T) {
	p, err := ir.Parse("demo", demoProgram)
	if err != nil {
		t.Fatal(err)
	}
	report := &partition.Report{}
	out, err := compile.PTE(p, compile.Options{Delegation: report,
		Backends: []*partition.Use{{Backend: demo.Backend{}}}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, d := range out.Program.Plans[0].Delegates {
		text, err := io.ReadAll(io.NewSectionReader(d.Processed, 0, d.Processed.Size()))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	const sine = "1version:0#op:demo::aten.sin.default, numel:4, dtype:torch.float32<debug_handle>1#"
	want := []string{
		"2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32<debug_handle>1#" +
			"op:demo::aten.add.Tensor, numel:4, dtype:torch.float32<debug_handle>2#", sine, sine}
	for i := range max(len(texts), len(want)) {
		if i >= len(texts) || i >= len(want) || texts[i] != want[i] {
			t.Fatalf("delegate %d: have %q, want %q", i, texts, want)
		}
	}
	if left := report.Fallbacks(); len(left) != 2 {
		t.Errorf("etgen has %v", left)
	}
	var file bytes.Buffer
	if err := pte.Write(&file, out.Program); err != nil {
		t.Fatal(err)
	}
	a := []float32{0.5, -0.25, 0.125, 1}
	x := []float32{0.75, -1, 0.25, 0}
	if *keep != "" {
		for name, data := range map[string][]byte{"demo.pte": file.Bytes(), "input_0.bin": bytesOf(a),
			"input_1.bin": bytesOf(x)} {
			if err := os.WriteFile(filepath.Join(*keep, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	loaded, err := rt.Load(bytes.NewReader(file.Bytes()), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := loaded.LoadMethod("forward", &rt.MethodOptions{Registry: portable.Registry(),
		Backends: payload.Backends()})
	if err != nil {
		t.Fatal(err)
	}
	var inputs []any
	for _, data := range [][]float32{a, x} {
		in, err := rt.NewTensor(ir.Float32, []int64{2, 2}, nil, bytesOf(data))
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, in)
	}
	outs, err := m.Forward(t.Context(), inputs...)
	if err != nil {
		t.Fatal(err)
	}
	sum := matrixOf(a, x, []float32{1, 2, 3, 4}, func(v float64) float64 { return v })
	sines := matrixOf(a, a, nil, math.Sin)
	for i := range sines {
		sines[i] += math.Sin(float64(x[i]))
	}
	for k, want := range [][]float64{sum, sines} {
		for i, w := range want {
			got := math.Float32frombits(binary.LittleEndian.Uint32(outs[k].Tensor.Data[4*i:]))
			if math.Abs(float64(got)-w) > 1e-5 {
				t.Errorf("output %d, element %d: %v, want %v", k, i, got, w)
			}
		}
	}
}

func bytesOf(x []float32) (out []byte) {
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// matrixOf multiplies matrices of 2x2 of what f makes of elements, and adds b.
func matrixOf(x, y, b []float32, f func(float64) float64) (out []float64) {
	for i := range 2 {
		for j := range 2 {
			sum := f(float64(x[2*i]))*f(float64(y[j])) + f(float64(x[2*i+1]))*f(float64(y[2+j]))
			if b != nil {
				sum += float64(b[2*i+j])
			}
			out = append(out, sum)
		}
	}
	return out
}
