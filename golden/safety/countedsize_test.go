package safety

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
)

// A size that data decides, of which the file says that it is a number, is checked:
// the data of a call may decide otherwise.
func TestCountedSizeIsChecked(t *testing.T) {
	c, err := testcase.Read("testdata/late_size_constant")
	if err != nil {
		t.Fatal(err)
	}
	job := conform.Job(c, "model.pt2")
	good := job.Calls[0]
	good.Anyway = true
	zeros, ones := good, good
	for call, fill := range map[*way.Call][]byte{&zeros: {0, 0, 0, 0}, &ones: {0, 0, 0x80, 0x3f}} {
		x := *good.Inputs[0].Tensor
		x.Data = slices.Repeat(fill, len(x.Data)/4)
		call.Inputs = []tensor.Value{{Tensor: &x}}
	}
	job.Calls = []way.Call{good, zeros, ones, good}
	for _, w := range []way.Way{way.C{}, way.Go{}, way.Reference{}, way.RT{}} {
		w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
			if r.Err != nil || len(r.Calls) != len(job.Calls) {
				t.Errorf("%s: %d calls, %v", w.Name(), len(r.Calls), r.Err)
				return
			}
			for i, call := range r.Calls {
				if wrong := i == 1 || i == 2; (call.Err != nil) != wrong {
					t.Errorf("%s call %d: %v", w.Name(), i, call.Err)
				}
			}
		})
	}
}
