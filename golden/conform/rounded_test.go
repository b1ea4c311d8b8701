package conform

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// Floats become the same bytes by vectors of every size as in the interpreter: halves, those out of
// range, infinities and NaN, of any number, limits and zero point.
func TestRounded(t *testing.T) {
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewPCG(7, 8))
	var jobs []way.Job
	for range tier.Of(0, 16, 64) {
		jobs = append(jobs, roundedJob(t, r))
	}
	want := resultsOf(t, way.Reference{}, jobs)
	gcc := func(flags ...string) way.Way {
		return way.C{Target: toolchain.GCC().With(append(flags, "-std=gnu99", "-O3")...)}
	}
	ways := []way.Way{gcc("-march=native"), gcc(), way.C{Target: toolchain.GCC().With("-O0")},
		way.C{Target: toolchain.Clang().With("-O3", "-march=native")}}
	if processorHas("avx2") {
		ways = append(ways, gcc("-mavx2", "-mfma"))
	}
	if processorHas("avx512f") {
		ways = append(ways, gcc("-mavx512f"))
	}
	if processorHas("avx512vl") {
		ways = append(ways, way.C{Target: toolchain.Clang().With("-O2", "-march=x86-64-v4")})
	}
	for _, w := range ways {
		for i, got := range resultsOf(t, w, jobs) {
			if got.Err != nil || want[i].Err != nil {
				t.Fatalf("%s via %s: %v, %v", jobs[i].Name, w.Name(), got.Err, want[i].Err)
			}
			for k, c := range got.Calls {
				if c.Err != nil {
					t.Fatalf("%s via %s: %v", jobs[i].Name, w.Name(), c.Err)
				}
				x := jobs[i].Calls[k].Inputs[0].Tensor.Data
				for j, o := range want[i].Calls[k].Outputs[0].Tensor.Data {
					if g := c.Outputs[0].Tensor.Data[j]; g != o {
						t.Errorf("%s via %s: %g is %d, not %d", jobs[i].Name, w.Name(),
							math.Float32frombits(binary.LittleEndian.Uint32(x[4*j:])), int8(g), int8(o))
						break
					}
				}
			}
		}
	}
}

// roundedJob quantizes floats: a few more than vectors of any size have, or of a rectified sum.
func roundedJob(t *testing.T, r *rand.Rand) way.Job {
	t.Helper()
	n, lo, scale := 128+r.Int64N(300), -128, math.Ldexp(1+float64(r.IntN(2)), -3-r.IntN(4))
	hi, zero := 127, []int{-128, 0, 127, r.IntN(256) - 128, 32640, -32640, 32641, 40000,
		-70000}[r.IntN(9)]
	if r.IntN(4) == 0 {
		lo, hi = -127, 1+r.IntN(127)
		zero = min(max(zero, lo), hi)
	}
	name, text := "x", ""
	if r.IntN(3) == 0 {
		name, text = "b",
			fmt.Sprintf("  %%a: f32[%[1]d] = aten.add.Tensor(self=%%x, other=%%x, alpha=1)\n"+
				"  %%b: f32[%[1]d] = aten.relu.default(self=%%a)\n", n)
	}
	text = fmt.Sprintf("program \"m.pt2\"\n\nmethod forward {\n  input %%x: f32[%d]\n%s", n, text) +
		fmt.Sprintf(
			"  %%q: i8[%d] = quantized_decomposed.quantize_per_tensor.default(input=%%%s, scale=%g, "+
				"zero_point=%d, quant_min=%d, quant_max=%d, dtype=i8)\n  return (%%q)\n}\n", n, name, scale,
			zero,
			lo, hi)
	job := way.Job{Name: fmt.Sprintf("%d, %s, scale %g, zero %d of %d to %d", n, name, scale, zero, lo,
		hi),
		Open: func() (*ir.Program, io.Closer, error) {
			p, err := ir.Parse("m", text)
			return p, io.NopCloser(nil), err
		}}
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 3e38, -3e38, 1e10, -1e10,
		math.Copysign(0, -1), 1 << 31 * scale, -1 << 31 * scale, 1 << 30 * scale, 40000 * scale}
	for range 3 {
		x, err := tensor.New(ir.Float32, n)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			v := scale * float64(r.IntN(600)-300) / 2 // halves, too
			if r.IntN(2) == 0 {
				v -= scale * float64(zero)
			}
			switch r.IntN(4) {
			case 0:
				v = odd[r.IntN(len(odd))]
			case 1:
				v = scale * 90 * r.NormFloat64()
			}
			binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(v)))
		}
		job.Calls = append(job.Calls, way.Call{Inputs: []tensor.Value{{Tensor: x}}})
	}
	return job
}
