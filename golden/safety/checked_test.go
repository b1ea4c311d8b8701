package safety

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// indexTests are inputs of cases that are indices, and what PyTorch raises an
// error for: what is below low or above high.
var indexTests = []struct {
	dir, op   string
	input     int
	low, high int64
}{
	{"index_read_range", "gather", 1, 0, 3},
	{"index_read_range", "embedding", 2, 0, 2},
	{"index_read_range", "index_select", 3, 0, 2},
	{"index_read_range", "index", 4, -3, 2},
	{"index_read_range", "index", 5, -12, 11},
	{"index_write_range", "index_put", 1, -3, 2},
	{"index_write_range", "index_copy", 2, 0, 2},
	{"index_write_range", "index_add", 3, 0, 2},
	{"index_write_range", "scatter", 4, 0, 3},
}

// withIndex returns inputs in which the first element of one is n.
func withIndex(inputs []tensor.Value, k int, n int64) []tensor.Value {
	inputs = slices.Clone(inputs)
	t := *inputs[k].Tensor
	t.Data = slices.Clone(t.Data)
	binary.LittleEndian.PutUint64(t.Data, uint64(n))
	inputs[k] = tensor.Value{Tensor: &t}
	return inputs
}

// indexJobs are the jobs of the cases with indices.
func indexJobs(t *testing.T) map[string]way.Job {
	t.Helper()
	jobs := map[string]way.Job{}
	for _, x := range indexTests {
		c, err := testcase.Read("../cases/" + x.dir)
		if err != nil {
			t.Fatal(err)
		}
		jobs[x.dir] = conform.Job(c, "model.pt2")
	}
	return jobs
}

// indexCalls are calls of a case, each after calls with an index out of range,
// for each of its tests. op is the operator that finds it, "" where all is well;
// nearest is the call that stands for a wrong one where indices are clamped.
func indexCalls(dir string, good []way.Call) (calls []way.Call, ops []string, nearest []way.Call) {
	for _, x := range indexTests {
		if x.dir != dir {
			continue
		}
		for _, c := range good {
			c.Anyway = true
			for _, n := range []int64{x.low - 1, x.high + 1, math.MinInt64, math.MaxInt64} {
				bad, near := c, c
				bad.Inputs = withIndex(c.Inputs, x.input, n)
				// Without wrapping the lowest is 0, and so it is with it.
				near.Inputs = withIndex(c.Inputs, x.input, max(0, min(n, x.high)))
				calls, ops, nearest = append(calls, bad), append(ops, x.op), append(nearest, near)
			}
			calls, ops, nearest = append(calls, c), append(ops, ""), append(nearest, c)
		}
	}
	return calls, ops, nearest
}

// With --checked an index out of range is an error that names the operator and
// its line, after which the state is what it was.
func TestCheckedIndices(t *testing.T) {
	tier.Needs(t, tier.Normal)
	settings := way.Settings{Options: compile.Options{Checked: true}}
	words := map[string]string{
		"c":    "status 4 (ERR_INDEX)",
		"go":   "index out of range: OP at indexing.py:",
		"eval": "assertion failed: OP at indexing.py:",
		"rt":   "(aten::full.out): a guard or an assertion of the model does not hold",
		// the assertion of the program, which knows no more
		"rt-optimize": "assertion failed",
	}
	for _, w := range []way.Way{way.C{Settings: settings}, way.Go{Settings: settings},
		way.Reference{Options: compile.Options{Checked: true}}, way.RT{Settings: settings},
		way.RT{Settings: settings, Optimize: true}} {
		for dir, job := range indexJobs(t) {
			plain := job
			var ops []string
			job.Calls, ops, _ = indexCalls(dir, plain.Calls)
			results := runAll(t.Context(), w, []way.Job{plain, job})
			if results[0].Err != nil || results[1].Err != nil {
				t.Fatal(results[0].Err, results[1].Err)
			}
			right := 0
			for i, r := range results[1].Calls {
				if ops[i] == "" {
					equalCalls(t, w.Name()+" "+dir, r, results[0].Calls[right%len(plain.Calls)])
					right++
				} else if want := strings.ReplaceAll(words[w.Name()], "OP", ops[i]); r.Err == nil ||
					!strings.Contains(r.Err.Error(), want) {
					t.Errorf("%s: %s: call %d: %v, want %q", w.Name(), dir, i, r.Err, want)
				}
			}
			if right == 0 || right == len(ops) {
				t.Errorf("%s: %s: %d of %d calls are right", w.Name(), dir, right, len(ops))
			}
		}
	}
}

// Without --checked it counts as the nearest index that is in range.
func TestClampedIndices(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, w := range []way.Way{way.C{}, way.Go{}, way.RT{}, way.Reference{}} {
		for dir, job := range indexJobs(t) {
			clamped := job
			job.Calls, _, clamped.Calls = indexCalls(dir, job.Calls)
			results := runAll(t.Context(), w, []way.Job{job, clamped})
			if results[0].Err != nil || results[1].Err != nil {
				t.Fatal(results[0].Err, results[1].Err)
			}
			for i, r := range results[0].Calls {
				equalCalls(t, w.Name()+" "+dir, r, results[1].Calls[i])
			}
		}
	}
}

// The samples of all operators have indices that PyTorch takes: no check may find
// fault with them, whatever an operator is made of.
func TestCheckedSamples(t *testing.T) {
	tier.Needs(t, tier.Normal)
	jobs := sampleJobs(t)
	plain := runSamples(t.Context(), way.Reference{}, jobs)
	for i, r := range runSamples(t.Context(),
		way.Reference{Options: compile.Options{Checked: true}}, jobs) {
		for _, problem := range agree(jobs[i], plain[i], r, true) {
			t.Error(problem)
		}
	}
}

// equalCalls fails unless two calls gave the same bytes.
func equalCalls(t *testing.T, where string, got, want way.CallResult) {
	t.Helper()
	if got.Err != nil || want.Err != nil {
		t.Errorf("%s: %v, %v", where, got.Err, want.Err)
		return
	}
	for k, v := range got.Outputs {
		if !bytes.Equal(v.Tensor.Data, want.Outputs[k].Tensor.Data) {
			t.Errorf("%s: output %d differs", where, k)
		}
	}
}
