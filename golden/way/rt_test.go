package way

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
	"github.com/etgen/etgen/plan"
)

// A program computes the same in every call: loops begin anew, and nothing is
// left of the call before but state. With memory that nothing shares it computes
// the same bytes.
func TestRTRepeats(t *testing.T) {
	for _, name := range []string{"cond_nested", "while_loop", "while_loop_swap",
		"lstm_bidirectional", "gru", "channels_last_conv", "symbolic_int", "dynamic_two",
		"mutated_input"} {
		t.Run(name, func(t *testing.T) {
			once, twice := caseJob(t, name), caseJob(t, name)
			for i := range twice.Calls {
				twice.Calls[i].Repeat = 2
			}
			apart := RT{Settings: Settings{Options: compile.Options{Planner: plan.Disjoint{}}}}
			want := all(t, RT{}, once)[0]
			if want.Err != nil {
				t.Fatal(want.Err)
			}
			for _, r := range []*Result{all(t, RT{}, twice)[0], all(t, apart, once)[0]} {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				for i, c := range r.Calls {
					sameCall(t, want.Calls[i], c)
				}
			}
		})
	}
}

func sameCall(t *testing.T, want, got CallResult) {
	t.Helper()
	if want.Err != nil || got.Err != nil {
		t.Fatalf("calls fail: %v, %v", want.Err, got.Err)
	}
	if len(want.Outputs) == 0 || len(got.Outputs) != len(want.Outputs) {
		t.Fatalf("%d outputs, want %d", len(got.Outputs), len(want.Outputs))
	}
	for i, w := range want.Outputs {
		g := got.Outputs[i]
		if w.Scalar != g.Scalar || w.Tensor != nil && !slices.Equal(w.Tensor.Data, g.Tensor.Data) {
			t.Errorf("output %d differs: %v, want %v", i, g, w)
		}
	}
}

// State lives from call to call and is reset with a call that does not keep it.
func TestRTState(t *testing.T) {
	j := caseJob(t, "mutated_buffer")
	first := j.Calls[0]
	kept := first
	kept.Keep = true
	j.Calls = []Call{first, kept, first}
	r := all(t, RT{}, j)[0]
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if slices.Equal(r.Calls[0].Outputs[0].Tensor.Data, r.Calls[1].Outputs[0].Tensor.Data) {
		t.Error("a second call gives what the first gave: state was not kept")
	}
	sameCall(t, r.Calls[0], r.Calls[2])
}

func TestReorder(t *testing.T) {
	shape, order := []int64{1, 2, 2, 3}, []uint8{0, 2, 3, 1}
	data := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	last := reorder(data, shape, 1, order, true)
	if want := []byte{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}; !slices.Equal(last, want) {
		t.Errorf("got %v, want %v", last, want)
	}
	if back := reorder(last, shape, 1, order, false); !slices.Equal(back, data) {
		t.Errorf("back: %v", back)
	}
}

// Weights outside the program are the same weights, those of delegates too.
func TestRTExternalWeights(t *testing.T) {
	externalWeights(t, nil)
	externalWeights(t, []*partition.Use{{Backend: xnn.Backend{}}})
}

func externalWeights(t *testing.T, backends []*partition.Use) {
	j := caseJob(t, "lenet")
	way := func(outside bool) RT {
		return RT{Settings: Settings{Options: compile.Options{ExternalWeights: outside,
			Backends: backends}}}
	}
	inside, outside := all(t, way(false), j)[0], all(t, way(true), j)[0]
	if inside.Err != nil || outside.Err != nil {
		t.Fatal(inside.Err, outside.Err)
	}
	whole := inside.Code + inside.Weights // data of delegates are counted as code
	if outside.Weights == 0 || outside.Weights < inside.Weights ||
		outside.Code+outside.Weights/2 > whole {
		t.Errorf("%d bytes with weights; %d without, %d of weights", inside.Code, outside.Code,
			outside.Weights)
	}
	sameCall(t, inside.Calls[0], outside.Calls[0])
}

// Compiled when it is loaded, a program computes the same with its state carried
// on, repeated and with weights outside.
func TestRTOptimized(t *testing.T) {
	for _, name := range []string{"mutated_buffer", "while_loop", "channels_last_conv"} {
		j := caseJob(t, name)
		kept := j.Calls[0]
		kept.Keep = true
		j.Calls = []Call{j.Calls[0], kept, j.Calls[0]}
		outside := RT{Settings: Settings{Options: compile.Options{ExternalWeights: true}},
			Optimize: true}
		got, want := all(t, outside, j)[0], all(t, RT{}, j)[0]
		if got.Err != nil || want.Err != nil {
			t.Fatal(got.Err, want.Err)
		}
		for i := range want.Calls {
			for k, w := range want.Calls[i].Outputs { // hand-made kernels fuse: not the same bits
				if miss := compare.Values(got.Calls[i].Outputs[k], w,
					compare.Tolerance{Terms: 100}); miss != nil {
					t.Errorf("%s: output %d: %v", name, k, miss)
				}
			}
		}
	}
}
