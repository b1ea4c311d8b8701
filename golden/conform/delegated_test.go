package conform

import (
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// delegated are programs with delegates that ExecuTorch's exporter wrote.
const delegated = "../../../shared/pte-delegated"

// Programs with delegates whose payloads are known compile as others do, and give what was
// recorded. What XNNPACK's own integer kernels round otherwise has slack, see testcase.
func TestDelegatedPrograms(t *testing.T) {
	for _, tt := range []struct {
		way   way.Way
		cases []string
	}{
		{way.Reference{}, tier.Of([]string{"xnn_add", "xnn_channels_last", "xnnop_*"},
			[]string{"xnn*"}, []string{"xnn*"})},
		{way.C{}, tier.Of(nil, []string{"xnn*"}, []string{"xnn*"})},
		{way.Go{}, tier.Of(nil, []string{"xnn*"}, []string{"xnn*"})},
	} {
		t.Run(tt.way.Name(), func(t *testing.T) {
			var dirs []string
			for _, pattern := range tt.cases {
				found, err := filepath.Glob(filepath.Join(delegated, pattern))
				if err != nil {
					t.Fatal(err)
				}
				dirs = append(dirs, found...)
			}
			if len(dirs) == 0 {
				t.Skip("no cases of this tier are here")
			}
			report, err := Check(t.Context(), dirs, []way.Way{tt.way}, func(m Miss) { t.Error(m) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
		})
	}
}
