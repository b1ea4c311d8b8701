package conform

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// The checked-in cases through C on machines with wider and narrower vectors
// than gcc assumes: kernels choose vectors and tiles by what the compiler tells
// them.
func TestMachines(t *testing.T) {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	for _, target := range toolchain.Hosts() {
		switch target.Name {
		case "native", "neon":
		case "x86-64-v3":
			if !slices.Contains(strings.Fields(string(cpu)), "avx2") {
				continue
			}
		default:
			continue
		}
		t.Run(target.Name, func(t *testing.T) {
			report, err := Check(t.Context(), []string{"../cases"}, []way.Way{way.C{Target: target}}, func(m Miss) { t.Error(m) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
		})
	}
}
