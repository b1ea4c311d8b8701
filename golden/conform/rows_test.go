package conform

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/lower/quantize"
)

// A model whose input comes by rows computes what it does with the whole input: the same
// bits with integers, and with floats what rounding leaves, for sums may have another order.
func TestRows(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dirs := []string{"../cases/lenet", "../cases/digits", "../cases/kws_trained"}
	for _, name := range []string{"trained_vww01", "trained_ic01", "conv_transpose_unet",
		"channels_last", "lenet_tanh_avgpool"} {
		found, err := filepath.Glob("../../../shared/models/" + name)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	int8s, err := quantize.SchemeNamed("int8")
	if err != nil {
		t.Fatal(err)
	}
	var floats, quantized []way.Job
	for _, dir := range dirs {
		floats = append(floats, floatJob(t, dir))
		if name := filepath.Base(dir); name != "channels_last" && name != "conv_transpose_unet" {
			quantized = append(quantized, quantizedJob(t, dir, int8s))
		}
	}
	for _, tt := range []struct {
		name  string
		opt   compile.Options
		jobs  []way.Job
		exact bool
		via   func(way.Settings) way.Way
	}{
		{"c", compile.Options{}, floats, false, viaC},
		{"c for size", compile.Options{Target: "scalar", Optimize: "size"}, floats, false, viaC},
		{"c, int8", compile.Options{Target: "scalar", Optimize: "size"}, quantized, true, viaC},
		{"go", compile.Options{}, floats, false, viaGo},
		{"go, int8", compile.Options{}, quantized, true, viaGo},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := resultsOf(t, tt.via(way.Settings{Options: tt.opt}), tt.jobs)
			tt.opt.Rows = true
			for i, r := range resultsOf(t, tt.via(way.Settings{Options: tt.opt}), tt.jobs) {
				if r.Err != nil || want[i].Err != nil {
					t.Errorf("%s: %v, %v", tt.jobs[i].Name, r.Err, want[i].Err)
					continue
				}
				for c := range r.Calls {
					sameRows(t, tt.jobs[i].Name, tt.exact, &r.Calls[c], &want[i].Calls[c])
				}
			}
		})
	}
}

func viaC(s way.Settings) way.Way  { return way.C{Settings: s} }
func viaGo(s way.Settings) way.Way { return way.Go{Settings: s} }

// floatJob is a job of a case's model as it is.
func floatJob(t *testing.T, dir string) way.Job {
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
	job := way.Job{Name: filepath.Base(dir), Open: func() (*ir.Program, io.Closer, error) {
		return ir.Clone(p), nil, nil
	}}
	for _, call := range c.Calls[:min(len(c.Calls), 3)] {
		job.Calls = append(job.Calls, way.Call{Inputs: call.Inputs})
	}
	return job
}

// sameRows compares the outputs of two calls.
func sameRows(t *testing.T, name string, exact bool, got, want *way.CallResult) {
	t.Helper()
	if got.Err != nil || want.Err != nil {
		t.Errorf("%s: %v, %v", name, got.Err, want.Err)
		return
	}
	for k := range want.Outputs {
		g, w := got.Outputs[k].Tensor, want.Outputs[k].Tensor
		if bytes.Equal(g.Data, w.Data) {
			continue
		}
		most, largest := 0.0, 0.0
		for i := range w.Len() {
			x, y := eval.Get(w.DType, g.Data, i).F, eval.Get(w.DType, w.Data, i).F
			most, largest = max(most, max(x-y, y-x)), max(largest, max(y, -y))
		}
		if exact || !(most <= 1e-5*largest+1e-6) {
			t.Errorf("%s: output %d differs by up to %v of %v", name, k, most, largest)
		}
	}
}
