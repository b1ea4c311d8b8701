package safety

import (
	"errors"
	"testing"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// A symbol that a file records for two sizes, both of which data decides, is one
// size: a call the data of which decides otherwise is refused.
func TestSizeTwice(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, x := range []struct {
		file, like string
		refused    func(want testcase.Call) bool
	}{
		{"size_twice.pt2", "late_sizes_equal",
			func(want testcase.Call) bool { return want.Refused != "" }},
		// Within a branch, and not beyond.
		{"size_twice_apart.pt2", "late_sizes_apart",
			func(want testcase.Call) bool {
				return want.Inputs[0].Tensor.Data[0] == 1 && want.Inputs[1].Tensor.Data[3] == 0x3f
			}},
	} {
		c, err := testcase.Read("../cases/" + x.like)
		if err != nil {
			t.Fatal(err)
		}
		job := conform.Job(c, "../../mutate/testdata/"+x.file)
		for i := range job.Calls {
			job.Calls[i].Anyway = true
		}
		for _, w := range []way.Way{way.C{}, way.Go{}, way.Reference{}, way.RT{},
			way.RT{Optimize: true}} {
			w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
				if r.Err != nil || len(r.Calls) != len(job.Calls) {
					t.Errorf("%s %s: %d calls, %v", x.file, w.Name(), len(r.Calls), r.Err)
					return
				}
				for i, call := range r.Calls {
					var of *way.InputError
					if wrong := x.refused(c.Calls[i]); errors.As(call.Err, &of) != wrong {
						t.Errorf("%s %s call %d: %v", x.file, w.Name(), i, call.Err)
					}
				}
			})
		}
	}
}
