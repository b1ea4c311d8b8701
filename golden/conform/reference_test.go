package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// The interpreter on the lowered graphs of the small cases: what is wrong here
// is wrong in the table or in a pass, not behind them.
func TestReference(t *testing.T) {
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Check(t.Context(), tier.Some(dirs, 40, -1), []way.Way{way.Reference{}},
		func(m Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}

func TestCheckErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Check(t.Context(), []string{dir}, nil, nil, nil); err == nil {
		t.Error("no error for a folder without cases")
	}
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.pt2"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), []string{dir}, nil, nil, nil); err == nil {
		t.Error("no error for a broken meta.json")
	}
}
