package safety

import (
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// A size with a bound from the command line gets memory for that bound, and a call
// with more is refused: nothing is written beyond it.
func TestBoundIsChecked(t *testing.T) {
	tier.Needs(t, tier.Normal)
	c, err := testcase.Read("../cases/late_sizes")
	if err != nil {
		t.Fatal(err)
	}
	job := conform.Job(c, "model.pt2")
	many := job.Calls[0] // three elements are not zero
	many.Anyway = true
	none := many
	x := *many.Inputs[0].Tensor
	x.Data = make([]byte, len(x.Data))
	none.Inputs = append([]tensor.Value{{Tensor: &x}}, many.Inputs[1:]...)
	job.Calls = []way.Call{many, none, many}
	set := way.Settings{Options: compile.Options{Bounds: map[string]int64{"u1": 2}}}
	for _, w := range []way.Way{
		way.C{Settings: set, Target: toolchain.GCC().With(toolchain.Sanitizers()...),
			Env: []string{"ASAN_OPTIONS=detect_leaks=0"}},
		way.Go{Settings: set}, way.RT{Settings: set}, way.Reference{Options: set.Options},
	} {
		w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
			if r.Err != nil || len(r.Calls) != len(job.Calls) {
				t.Errorf("%s: %d calls, %v", w.Name(), len(r.Calls), r.Err)
				return
			}
			for i, call := range r.Calls {
				if wrong := i != 1; (call.Err != nil) != wrong {
					t.Errorf("%s call %d: %v", w.Name(), i, call.Err)
				}
			}
		})
	}
}
