package conform

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// Products with weights that have a scale for each group give the same bits everywhere: with
// vectors or without, whether or not the compiler may contract.
func TestGroups(t *testing.T) {
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewPCG(5, 6))
	var jobs []way.Job
	for i := range tier.Of(0, 16, 80) {
		jobs = append(jobs, groupsJob(t, r, i))
	}
	want := resultsOf(t, way.Reference{}, jobs)
	gcc := func(flags ...string) way.Way {
		return way.C{Target: toolchain.GCC().With(append(flags, "-std=gnu99", "-O3")...)}
	}
	size := way.C{Settings: way.Settings{Options: compile.Options{Target: "scalar", Optimize: "size"}}}
	ways := []way.Way{gcc("-march=native"), gcc(), size, way.Go{},
		way.C{Target: toolchain.Clang().With("-O3", "-march=native")}}
	if processorHas("avx2") {
		ways = append(ways, gcc("-mavx2", "-mfma"))
	}
	for _, w := range ways {
		for i, got := range resultsOf(t, w, jobs) {
			if got.Err != nil || want[i].Err != nil {
				t.Fatalf("%s via %s: %v, %v", jobs[i].Name, w.Name(), got.Err, want[i].Err)
			}
			for k, c := range got.Calls {
				for j, o := range c.Outputs {
					if c.Err != nil || string(o.Tensor.Data) != string(want[i].Calls[k].Outputs[j].Tensor.Data) {
						t.Errorf("%s via %s: output %d differs: %v", jobs[i].Name, w.Name(), j, c.Err)
					}
				}
			}
		}
	}
}

// groupsJob is a product with random weights in groups, of activations that the call quantizes by
// rows, or of int8 or uint8 that have a constant scale.
func groupsJob(t *testing.T, r *rand.Rand, i int) way.Job {
	t.Helper()
	m, n, groups := 1+r.Int64N(15), 1+r.Int64N(70), 1+r.Int64N(5)
	size := []int64{32, 16, 128, 4, 64, 5, 2, 20}[i%8]
	k, bits := groups*size, 4+i/8%2*4
	lo, hi := -(1 << (bits - 1)), 1<<(bits-1)-1
	ints := func(count int64, lo, hi int) string {
		var list []string
		for range count {
			list = append(list, fmt.Sprint(lo+r.IntN(hi-lo+1)))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	var scales []string
	for range n * groups {
		scales = append(scales, fmt.Sprint(float32(0.001+r.Float64())))
	}
	d := []string{"i8", "u8", "f32"}[r.IntN(3)]
	zeros, zeroed, text := "none", "", "  input %%x: %s[%d, %d]\n"
	if r.IntN(2) == 0 {
		zeros = "%z"
		zeroed = fmt.Sprintf("  const %%z: i8[%d, %d] = %s\n", n, groups, ints(n*groups, lo, hi))
	}
	text = fmt.Sprintf("program \"m.pt2\"\n\nmethod forward {\n"+text, d, m, k) +
		fmt.Sprintf("  const %%w: i8[%d, %d] = %s\n  const %%s: f32[%[1]d, %[4]d] = [%[5]s]\n", n, k,
			ints(n*k, lo, hi), groups, strings.Join(scales, ", ")) + zeroed
	switch d {
	case "f32":
		text += fmt.Sprintf(`
  %%sx: f64[%[1]d, 1], %%zx: i64[%[1]d, 1] = choose: quantized_decomposed.choose_qparams_per_token_asymmetric.default(input=%%x, dtype=i8)
  %%q: i8[%[1]d, %[2]d] = quantized_decomposed.quantize_per_token.default(input=%%x, scales=%%sx, zero_points=%%zx, quant_min=-128, quant_max=127, dtype=i8)
  %%a: f32[%[1]d, %[2]d] = quantized_decomposed.dequantize_per_token.default(input=%%q, scales=%%sx, zero_points=%%zx, quant_min=-128, quant_max=127, dtype=i8, output_dtype=f32)
`, m, k)
	default:
		least, most := -128, 127
		if d == "u8" {
			least, most = 0, 255
		}
		text += fmt.Sprintf(`
  %%a: f32[%d, %d] = quantized_decomposed.dequantize_per_tensor.default(input=%%x, scale=0.0123, zero_point=%d, quant_min=%d, quant_max=%d, dtype=%s)
`, m, k, least+r.IntN(256), least, most, d)
	}
	text += fmt.Sprintf(`  %%v: f32[%[1]d, %[2]d] = quantized_decomposed.dequantize_per_channel_group.default(input=%%w, scales=%%s, zero_points=%[3]s, quant_min=%[4]d, quant_max=%[5]d, dtype=i8, group_size=%[6]d, output_dtype=f32)
  %%y: f32[%[7]d, %[1]d] = aten.linear.default(input=%%a, weight=%%v, bias=none)
  return (%%y)
}
`, n, k, zeros, lo, hi, size, m)
	job := way.Job{Name: fmt.Sprintf("%s[%d, %d] with %d columns, groups of %d, %d bits, zeros %s", d,
		m, k,
		n, size, bits, zeros), Open: func() (*ir.Program, io.Closer, error) {
		p, err := ir.Parse("m", text)
		return p, io.NopCloser(nil), err
	}}
	dtype, _ := ir.ParseDType(d)
	for range 2 {
		x, err := tensor.New(dtype, m, k)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Data {
			x.Data[i] = byte(r.Uint32())
		}
		for i := 0; d == "f32" && i < len(x.Data); i += 4 {
			binary.LittleEndian.PutUint32(x.Data[i:], math.Float32bits(float32(r.NormFloat64()-0.5)))
		}
		job.Calls = append(job.Calls, way.Call{Inputs: []tensor.Value{{Tensor: x}}})
	}
	return job
}
