package compile

import (
	"os"
	"testing"
)

// The arena is as large as the program's memory, and what has a name in the
// program's plan lies where that has it.
func TestAsIsKeepsPlaces(t *testing.T) {
	const shared = "../../../shared/pte/"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the shared cases are not here")
	}
	for name, atLeast := range map[string]int{"lenet": 5, "mlperf_kws_dscnn": 8, "nanogpt_sdpa": 10,
		"scan": 0, "dynamic_batch": 1} {
		path := shared + name + "/model.pte"
		p, closer, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		defer closer.Close()
		_, memories, open, err := openProgram(path, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		np, err := Native(p, Options{Lang: "c", Planner: asIs(memories)})
		if err != nil {
			t.Fatal(err)
		}
		m := np.Methods[0]
		kept, moved := 0, 0
		for i, b := range m.Problem.Buffers {
			at, known := memories[0].Places[b.Name]
			switch {
			case !known || b.Alias != nil:
			case m.Plan.Offsets[i] == at.Offset:
				kept++
			default:
				moved++
			}
		}
		t.Logf("%s: %d bytes, %d buffers where they were, %d moved, of %d", name, m.Plan.Size(),
			kept, moved, len(m.Problem.Buffers))
		if kept < atLeast || moved > kept || m.Plan.Size() < memories[0].Size {
			t.Errorf("%s: %d kept, %d moved; %d bytes, the program has %d", name, kept, moved,
				m.Plan.Size(), memories[0].Size)
		}
	}
}
