package conform

import (
	"os"
	"testing"

	"github.com/etgen/etgen/golden/way"
)

// Programs that ExecuTorch's exporters wrote, raised and interpreted.
func TestReferencePrograms(t *testing.T) {
	const shared = "../../../shared/pte"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the shared cases are not here")
	}
	report, err := Check(t.Context(), []string{shared}, []way.Way{way.Reference{}}, func(m Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
