package conform

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

// Models of which parts go to XNNPACK give what was recorded: the payloads are read as those of
// ExecuTorch's exporter are.
func TestWrittenForXNNPACK(t *testing.T) {
	dirs := []string{"../cases/lenet", "../cases/conv_transpose", "../cases/kws_trained",
		"../cases/resize_given_scale", "../cases/q_dynamic_layers",
		"../cases/q_scales_apart", "../cases/q_attention", "../cases/q_moved_apart",
		"../cases/q_transposed", "../cases/q_static_half", "../cases/q_sequence", "testdata/xnnpack",
		"../cases/lstm_bidirectional", "../cases/gru", "../cases/cond_nested", "../cases/cache_in_scan",
		"../cases/while_loop_swap", "../cases/vmapped"}
	for _, pattern := range tier.Of(nil, []string{"mlperf_*", "tv_mobilenet_v3_small", "dynamic_*",
		"transformer_encoder", "conv1d_net"}, []string{"*"}) {
		found, err := filepath.Glob(filepath.Join("../../../shared/models", pattern))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, slices.DeleteFunc(found, func(dir string) bool {
			name := filepath.Base(dir) // XNNPACK has a scale for each row, PyTorch one for all; see below
			return strings.HasPrefix(name, "q_mlperf_") || name == "q_mlp3_dynamic"
		})...)
	}
	options := compile.Options{Backends: []*partition.Use{{Backend: xnn.Backend{}}}}
	for _, optimize := range []bool{false, true} {
		w := way.RT{Settings: way.Settings{Options: options}, Optimize: optimize}
		t.Run(w.Name(), func(t *testing.T) {
			report, err := Check(t.Context(), dirs, []way.Way{w}, func(m Miss) { t.Error(m) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
		})
	}
}

// XNNPACK has biases of integers, so that quantized networks give other results than PyTorch: what
// etgen writes gives those of what ExecuTorch's exporter writes of the same model, to the bit.
func TestWrittenInIntegers(t *testing.T) {
	tier.Needs(t, tier.Normal)
	w := way.RT{Optimize: true}
	written := way.RT{Optimize: true, Settings: way.Settings{Options: compile.Options{
		Backends: []*partition.Use{{Backend: xnn.Backend{}}}}}}
	for ours, theirs := range map[string]string{
		"q_lenet_static":            "xnn_int8_lenet_static",
		"q_linear_static":           "xnn_int8_linear_static",
		"q_linear_dynamic":          "xnn_int8_linear_dynamic",
		"q_mlperf_kws_dscnn_static": "xnn_int8_mlperf_kws_dscnn_static",
	} {
		var outputs []way.CallResult
		for _, run := range []struct {
			way way.Way
			dir string
		}{{w, filepath.Join(allDelegated, theirs)},
			{written, filepath.Join("../../../shared/models", ours)}} {
			k, err := testcase.Read(run.dir)
			if err != nil {
				t.Skip(err)
			}
			run.way.Run(t.Context(), []way.Job{Job(k, k.Models[0])}, func(_ int, r *way.Result) {
				if r.Err != nil || r.Calls[0].Err != nil {
					t.Fatalf("%s: %v %v", run.dir, r.Err, r.Calls)
				}
				outputs = append(outputs, r.Calls[0])
			})
		}
		for i, want := range outputs[0].Outputs {
			if miss := compare.Values(outputs[1].Outputs[i], want,
				compare.Tolerance{Exact: true}); miss != nil {
				t.Errorf("%s: %v", ours, miss)
			}
		}
	}
}
