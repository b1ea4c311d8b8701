package conform

import (
	"os"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// Every model that etgen has to carry agrees with PyTorch, through C, Go and an
// ExecuTorch program.
func TestCarried(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const shared = "../../../shared"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the models are not beside the repository: ", err)
	}
	dirs := Carried(shared)
	report, err := Check(t.Context(), dirs, []way.Way{way.C{}, way.Go{}, way.RT{}}, missed(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if report.Passed+report.Failed < 3*len(dirs) {
		t.Errorf("%v of %d folders", report, len(dirs))
	}
}

// The checked-in cases, each a mechanism, through C, Go and an ExecuTorch program.
func TestCases(t *testing.T) {
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		way  way.Way
		dirs []string
	}{
		{way.C{}, tier.Some(dirs, 6, -1)},
		{way.Go{}, tier.Some(dirs, 6, -1)},
		{way.RT{}, tier.Some(dirs, 24, -1)},
	} {
		report, err := Check(t.Context(), of.dirs, []way.Way{of.way}, missed(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(of.way.Name(), report)
	}
}
