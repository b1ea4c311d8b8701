package conform

import (
	"io"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/rt/portable"
)

// Float models that a quantizer made integer ones of give the same in C, in Go and in the
// interpreter: integers are the same, what is float behind them differs by rounding. ExecuTorch
// programs compute the quantize and dequantize nodes in float32, where an integer may be another
// one, and so may those that follow.
func TestQuantized(t *testing.T) {
	tier.Needs(t, tier.Normal)
	own := []string{"../cases/digits", "../cases/lenet", "../cases/kws_trained", "../cases/lstm",
		"../cases/gru", "../cases/residual_activation", "../cases/conv_transpose"}
	dirs := own
	for _, name := range tier.Of(nil, []string{"trained_*", "mlperf_kws_dscnn", "nanogpt_*",
		"transformer_encoder", "hf_*", "lstm", "gru", "tv_mobilenet_v3_small"},
		[]string{"trained_*", "mlperf_*", "nanogpt_*", "transformer_encoder", "hf_*", "lstm", "gru",
			"lenet", "tv_*"}) {
		found, err := filepath.Glob("../../../shared/models/" + name)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	size := way.C{Settings: way.Settings{Options: compile.Options{Target: "scalar",
		Optimize: "size"}}}
	rt := way.RT{Settings: way.Settings{Limit: time.Hour}}
	for _, tt := range []struct {
		scheme string
		dirs   []string
		ways   []way.Way
	}{
		{"int8", dirs, []way.Way{way.C{}, way.Go{}, rt, size}},
		{"int16x8", own, []way.Way{way.C{}, way.Go{}}},
		{"int8-dynamic", own, []way.Way{way.C{}, way.Go{}, rt}},
		{"int8-weights", own, []way.Way{size, rt}},
		{"int4-weights", own, []way.Way{size, way.Go{}, rt}},
	} {
		scheme, err := quantize.SchemeNamed(tt.scheme)
		if err != nil {
			t.Fatal(err)
		}
		var jobs []way.Job
		for _, dir := range tt.dirs {
			jobs = append(jobs, quantizedJob(t, dir, scheme))
		}
		want := resultsOf(t, way.Reference{Limit: time.Hour}, jobs)
		for _, w := range tt.ways {
			for i, r := range resultsOf(t, w, jobs) {
				what := jobs[i].Name + " " + tt.scheme + " via " + w.Name()
				if r.Err != nil || want[i].Err != nil {
					t.Errorf("%s: %v, %v", what, r.Err, want[i].Err)
					continue
				}
				for c := range r.Calls {
					_, steps := w.(way.RT)
					sameQuantized(t, what, steps, &r.Calls[c], &want[i].Calls[c])
				}
			}
		}
	}
}

// quantizedJob is a job of a case's model, quantized by what the case records.
func quantizedJob(t *testing.T, dir string, scheme quantize.Scheme) way.Job {
	t.Helper()
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, closer, err := compile.Read(filepath.Join(dir, "model.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	samples, err := record.Samples(p.Methods[0], []string{dir}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := quantize.New(&lower.Context{Table: ops.Standard()}, p,
		map[string]quantize.Samples{p.Methods[0].Name: samples},
		quantize.Options{Scheme: scheme, Kernel: portable.Kernels()})
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	job := way.Job{Name: filepath.Base(dir), Open: func() (*ir.Program, io.Closer, error) {
		return ir.Clone(r.Quantized), nil, nil
	}}
	for _, call := range c.Calls[:min(len(c.Calls), 3)] {
		job.Calls = append(job.Calls, way.Call{Inputs: call.Inputs})
	}
	return job
}

func resultsOf(t *testing.T, w way.Way, jobs []way.Job) []*way.Result {
	t.Helper()
	results := make([]*way.Result, len(jobs))
	w.Run(t.Context(), jobs, func(i int, r *way.Result) { results[i] = r })
	return results
}

// sameQuantized compares floats: all have five digits in common or, where integers may differ,
// none is further away than an eighth of the largest, as 52 layers of random weights make of a
// step.
func sameQuantized(t *testing.T, what string, steps bool, got, want *way.CallResult) {
	t.Helper()
	if got.Err != nil || want.Err != nil {
		t.Errorf("%s: %v, %v", what, got.Err, want.Err)
		return
	}
	for k := range want.Outputs {
		g, w := got.Outputs[k].Tensor, want.Outputs[k].Tensor
		if w == nil || w.DType != ir.Float32 {
			continue
		}
		n, far, most, largest := len(w.Data)/4, 0, 0.0, 0.0
		for i := range n {
			x, y := eval.Get(w.DType, g.Data, int64(i)).F, eval.Get(w.DType, w.Data, int64(i)).F
			largest, most = max(largest, math.Abs(y)), max(most, math.Abs(x-y))
			if !(math.Abs(x-y) <= 1e-5*math.Abs(y)+1e-5) {
				far++
			}
		}
		if far > 0 && !steps || most > largest/8 {
			t.Errorf("%s: output %d: %d of %d elements differ, by up to %v of %v", what, k, far, n,
				most, largest)
		} else if far > 0 {
			t.Logf("%s: output %d: %d of %d elements differ, by up to %v of %v", what, k, far, n,
				most, largest)
		}
	}
}
