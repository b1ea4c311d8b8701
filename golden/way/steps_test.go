package way

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

// Instrumented programs compute the same and tell of every step how often it
// ran, whatever else travels with the call: state, dynamic sizes, results that
// are numbers.
func TestSteps(t *testing.T) {
	jobs := []Job{caseJob(t, "lenet"), caseJob(t, "mutated_buffer"), caseJob(t, "dynamic_batch"),
		caseJob(t, "while_loop"), caseJob(t, "symbolic_int"), caseJob(t, "lstm_bidirectional")}
	for i := range jobs {
		jobs[i].Calls[0].Repeat = 3
	}
	probes := Settings{Options: compile.Options{Profile: true}}
	for _, c := range []struct{ plain, probed Way }{{C{}, C{Settings: probes}},
		{Go{}, Go{Settings: probes}}, {RT{}, RT{Settings: probes}}} {
		t.Run(c.plain.Name(), func(t *testing.T) {
			plain, probed := all(t, c.plain, jobs...), all(t, c.probed, jobs...)
			for i, j := range jobs {
				want, got, loops := plain[i], probed[i], false
				if want.Err != nil || got.Err != nil {
					t.Fatal(want.Err, got.Err)
				}
				if want.Steps != nil || want.Calls[0].Steps != nil {
					t.Errorf("%s: steps are counted unasked", j.Name)
				}
				for k, call := range got.Calls {
					sameCall(t, want.Calls[k], call)
					loops = checkSteps(t, j.Name, got, &call) || loops
				}
				if j.Name == "while_loop" && !loops {
					t.Error("nothing runs more than once")
				}
				if got.Calls[0].MACs != want.Calls[0].MACs || got.Arena <= 0 && j.Name == "lenet" {
					t.Errorf("%s: %d MACs and %d instrumented, %d bytes of arena", j.Name,
						want.Calls[0].MACs, got.Calls[0].MACs, got.Arena)
				}
			}
			if plain[3].Calls[0].Times == nil {
				t.Error("no times")
			}
		})
	}
}

// What a delegate runs of its own is part of its one instruction.
func TestStepsOfDelegates(t *testing.T) {
	probed := RT{Settings: Settings{Options: compile.Options{Profile: true,
		Backends: []*partition.Use{{Backend: xnn.Backend{}}}}}}
	r := all(t, probed, caseJob(t, "lenet"))[0]
	if r.Err != nil || r.Calls[0].Err != nil {
		t.Fatal(r.Err, r.Calls)
	}
	for i, s := range r.Calls[0].Steps {
		if s.Calls != 1 {
			t.Errorf("%s runs %g times in a call", r.Steps[0][i].Kernel, s.Calls)
		}
	}
}

func checkSteps(t *testing.T, name string, r *Result, call *CallResult) (loops bool) {
	t.Helper()
	steps := r.Steps[0]
	if len(steps) == 0 || len(call.Steps) != len(steps) {
		t.Fatalf("%s: %d steps, %d ran", name, len(steps), len(call.Steps))
	}
	sum, ran := 0.0, 0
	for i, s := range call.Steps {
		sum += s.Calls * float64(s.MACs)
		if s.Calls > 0 {
			ran++
		}
		loops = loops || s.Calls > 1
		if rows := min(len(call.Times), StepRows); s.Calls > 0 && len(s.Times) < rows {
			t.Errorf("%s: step %d has %d times, want %d", name, i, len(s.Times), rows)
		}
		if steps[i].Kernel == "" {
			t.Errorf("%s: step %d has no name", name, i)
		}
	}
	if ran == 0 || call.MACs > 0 && sum != float64(call.MACs) {
		t.Errorf("%s: %d steps ran, of %g multiply-accumulates; the call has %d", name, ran,
			sum, call.MACs)
	}
	return loops
}

// Whose work a step does is told with the Python line.
func TestStepOrigin(t *testing.T) {
	j := caseJob(t, "lenet")
	for _, w := range []Way{C{Settings: Settings{Options: compile.Options{Profile: true}}},
		RT{Settings: Settings{Options: compile.Options{Profile: true}}}} {
		r := all(t, w, j)[0]
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		found := 0
		for i, s := range r.Steps[0] {
			if r.Calls[0].Steps[i].MACs > 0 && len(s.From) > 0 && s.From[0].Loc.Line > 0 &&
				strings.Contains(s.Type, "float32 [") {
				found++
			}
		}
		if found < 4 {
			t.Errorf("%s: %d steps of %d have work, a line and a type: %+v", w.Name(), found,
				len(r.Steps[0]), r.Steps[0])
		}
	}
}
