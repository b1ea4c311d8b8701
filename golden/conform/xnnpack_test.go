package conform

import (
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

// Models of which parts go to XNNPACK give what was recorded: the payloads are read as those of
// ExecuTorch's exporter are.
func TestWrittenForXNNPACK(t *testing.T) {
	dirs := []string{"../cases/lenet", "../cases/conv_transpose", "../cases/kws_trained"}
	for _, pattern := range tier.Of(nil, []string{"mlperf_*", "tv_mobilenet_v3_small", "dynamic_*",
		"transformer_encoder", "conv1d_net"}, []string{"*"}) {
		found, err := filepath.Glob(filepath.Join("../../../shared/models", pattern))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
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
