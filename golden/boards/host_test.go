package boards

import (
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/plan"
)

// TestHostArena holds what models may take of the arena when they are compiled
// for hosts, without a target: kernels that are fast have no copies of images, but
// for those of few channels, which set a padded one in phases of columns.
func TestHostArena(t *testing.T) {
	for dir, most := range map[string]int64{
		ours + "/lenet":                   1728,
		shared + "/lenet":                 23424,
		shared + "/kws_trained":           64000,
		shared + "/mlperf_kws_dscnn":      64000,
		shared + "/conv_transpose_unet":   32768,
		shared + "/conv1d_net":            6144,
		shared + "/mlperf_ad_autoencoder": 1024,
	} {
		t.Run(modelName(dir), func(t *testing.T) {
			g := &generated{kase: readCase(t, dir), name: compile.NameOf(filepath.Base(dir))}
			np, err := g.lower(toolchain.Target{})
			if err != nil {
				t.Fatal(err)
			}
			report, err := plan.NewReport(np.Methods[0].Problem, np.Methods[0].Plan)
			if err != nil {
				t.Fatal(err)
			}
			if report.Size > most {
				t.Errorf("the arena has %d bytes, at most %d are wanted", report.Size, most)
			}
		})
	}
}
