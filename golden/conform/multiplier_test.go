package conform

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// Quantized convolutions that make several channels of each one give the same bytes in C, in Go and
// in the interpreter, of images of any size.
func TestMultiplier(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var jobs []way.Job
	for _, size := range [][2]int64{{1, 1}, {1, 10}, {1, 40}, {3, 5}} {
		for _, channels := range []int64{1, 2, 64} {
			jobs = append(jobs, multiplierJob(t, r, channels, size[0], size[1]))
		}
	}
	want := resultsOf(t, way.Reference{}, jobs)
	for _, w := range []way.Way{way.C{}, way.Go{}} {
		for i, got := range resultsOf(t, w, jobs) {
			what := jobs[i].Name + " via " + w.Name()
			if got.Err != nil || want[i].Err != nil {
				t.Errorf("%s: %v, %v", what, got.Err, want[i].Err)
				continue
			}
			for k, c := range got.Calls {
				if c.Err != nil || want[i].Calls[k].Err != nil {
					t.Errorf("%s: %v, %v", what, c.Err, want[i].Calls[k].Err)
				} else if !bytes.Equal(c.Outputs[0].Tensor.Data, want[i].Calls[k].Outputs[0].Tensor.Data) {
					t.Errorf("%s: other bytes", what)
				}
			}
		}
	}
}

// multiplierJob is a convolution that makes two channels of each one.
func multiplierJob(t *testing.T, r *rand.Rand, channels, height, width int64) way.Job {
	t.Helper()
	list := func(of func() string) string {
		out := make([]string, 2*channels)
		for i := range out {
			out[i] = of()
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	const limits = "quant_min=-128, quant_max=127, dtype=i8)\n"
	image, result := fmt.Sprintf("[1, %d, %d, %d]", channels, height, width),
		fmt.Sprintf("[1, %d, %d, %d]", 2*channels, height, width)
	text := "program \"m.pt2\"\n\nmethod forward {\n  input %x: f32" + image + "\n" +
		fmt.Sprintf("  const %%w: i8[%d, 1, 1, 1] = %s\n", 2*channels,
			list(func() string { return fmt.Sprint(r.IntN(255) - 127) })) +
		fmt.Sprintf("  const %%s: f32[%d] = %s\n", 2*channels,
			list(func() string { return fmt.Sprintf("%.6f", 0.001+0.01*r.Float64()) })) +
		fmt.Sprintf("  const %%z: i64[%d] = %s\n", 2*channels, list(func() string { return "0" })) +
		fmt.Sprintf("  const %%b: f32[%d] = %s\n", 2*channels,
			list(func() string { return fmt.Sprintf("%.6f", r.NormFloat64()) })) +
		"  %q: i8" + image + " = quantized_decomposed.quantize_per_tensor.default(input=%x, " +
		"scale=0.05, zero_point=127, " + limits +
		"  %d: f32" + image + " = quantized_decomposed.dequantize_per_tensor.default(input=%q, " +
		"scale=0.05, zero_point=127, " + limits +
		fmt.Sprintf("  %%v: f32[%d, 1, 1, 1] = quantized_decomposed.dequantize_per_channel.default("+
			"input=%%w, scales=%%s, zero_points=%%z, axis=0, quant_min=-127, quant_max=127, dtype=i8)\n",
			2*channels) +
		"  %c: f32" + result + " = aten.convolution.default(input=%d, weight=%v, bias=%b, " +
		"stride=[1, 1], padding=[0, 0], dilation=[1, 1], transposed=false, output_padding=[0, 0], " +
		fmt.Sprintf("groups=%d)\n", channels) +
		"  %r: f32" + result + " = aten.hardtanh.default(self=%c, min_val=0.0, max_val=6.0)\n" +
		"  %o: i8" + result + " = quantized_decomposed.quantize_per_tensor.default(input=%r, " +
		"scale=0.028, zero_point=-128, " + limits + "  return (%o)\n}\n"
	x, err := tensor.New(ir.Float32, 1, channels, height, width)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(x.Data) / 4 {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(5*r.NormFloat64())))
	}
	return way.Job{Name: fmt.Sprintf("%d channels of %d by %d", channels, height, width),
		Open: func() (*ir.Program, io.Closer, error) {
			p, err := ir.Parse("m", text)
			return p, io.NopCloser(nil), err
		}, Calls: []way.Call{{Inputs: []tensor.Value{{Tensor: x}}}}}
}
