package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// looping is a model whose loop carries a number and a sum, and whose body has a branch.
const looping = `program "loop.txt"
dialect functional

method forward {
  input %x: f32[2]

  %zero: i64[] = aten.full.default(size=[], fill_value=0, dtype=i64)
  %n: i64[], %sum: f32[2] = while_loop: higher_order.while_loop([%zero, %x])
    region (%k0: i64[], %s0: f32[2]) {
      %more: b8[] = aten.lt.Scalar(self=%k0, other=ROUNDS)
      return (%more)
    }
    region (%k: i64[], %s: f32[2]) {
      %next: i64[] = aten.add.Scalar(self=%k, other=1)
      %late: b8[] = aten.gt.Scalar(self=%k, other=1)
      %both: f32[2] = cond: higher_order.cond(%late)
        region () {
          %large: f32[2] = aten.mul.Tensor(self=%s, other=FACTOR)
          return (%large)
        }
        region () {
          %small: f32[2] = aten.neg.default(self=%s)
          return (%small)
        }
      return (%next, %both)
    }
  return (%sum)
}
`

func loopingModel(t *testing.T, rounds, factor string) Side {
	path := filepath.Join(t.TempDir(), "loop.txt")
	text := strings.NewReplacer("ROUNDS", rounds, "FACTOR", factor).Replace(looping)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return Side{Path: path, Way: way.Reference{}}
}

// pair is a file with the input of looping.
func pair(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "x.bin")
	if err := os.WriteFile(path, tensor.Append(tensor.Append(nil, ir.Float32, 1), ir.Float32, 2),
		0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// names are the nodes of rows.
func names(r *Report) string {
	var list []string
	for _, row := range r.Rows {
		list = append(list, row.Node.Raw())
	}
	return strings.Join(list, " ")
}

// What nodes in a loop and in the branch that runs compute is compared by iterations; the first
// that differs is told.
func TestLoops(t *testing.T) {
	a, b := loopingModel(t, "4", "2"), loopingModel(t, "4", "3")
	r, err := Compare(t.Context(), a, b, "", given(t, pair(t)))
	if err != nil {
		t.Fatal(err)
	}
	const want = "zero more[0] next[0] late[0] small[0] cond[0] more[1] " +
		"next[1] late[1] small[1] cond[1] more[2] next[2] late[2] large[2] cond[2] more[3] " +
		"next[3] late[3] large[3] cond[3] more[4] while_loop while_loop.1"
	if got := names(r); got != want || r.Rows[r.First].Node.Raw() != "large[2]" {
		t.Errorf("%s\nfirst %d", got, r.First)
	}
}

// choosing is a model with a loop whose condition has a branch and a loop.
const choosing = `program "loop.txt"
dialect functional

method forward {
  input %x: f32[2]

  %zero: i64[] = aten.full.default(size=[], fill_value=0, dtype=i64)
  %n: i64[], %sum: f32[2] = while_loop: higher_order.while_loop([%zero, %x])
    region (%k0: i64[], %s0: f32[2]) {
      %early: b8[] = aten.lt.Scalar(self=%k0, other=1)
      %most: i64[] = cond: higher_order.cond(%early)
        region () {
          %five: i64[] = aten.full.default(size=[], fill_value=5, dtype=i64)
          return (%five)
        }
        region () {
          %three: i64[] = aten.mul.Scalar(self=%k0, other=1)
          %two: i64[] = aten.clamp.default(self=%three, max=2)
          return (%two)
        }
      %up: i64[] = inner: higher_order.while_loop([%k0])
        region (%i0: i64[]) {
          %below: b8[] = aten.lt.Scalar(self=%i0, other=2)
          return (%below)
        }
        region (%i: i64[]) {
          %step: i64[] = aten.add.Scalar(self=%i, other=1)
          return (%step)
        }
      %reach: i64[] = aten.mul.Tensor(self=%up, other=%most)
      %more: b8[] = aten.gt.Tensor(self=%reach, other=%k0)
      %soon: b8[] = aten.lt.Scalar(self=%k0, other=3)
      %both: b8[] = aten.logical_and.default(self=%more, other=%soon)
      return (%both)
    }
    region (%k: i64[], %s: f32[2]) {
      %next: i64[] = aten.add.Scalar(self=%k, other=1)
      %twice: f32[2] = aten.mul.Tensor(self=%s, other=FACTOR)
      return (%next, %twice)
    }
  return (%sum)
}
`

// Branches and loops of a condition are compared by the number of the time that it is computed.
func TestConditions(t *testing.T) {
	model := func(factor string) Side {
		path := filepath.Join(t.TempDir(), "loop.txt")
		if err := os.WriteFile(path, []byte(strings.Replace(choosing, "FACTOR", factor, 1)),
			0o666); err != nil {
			t.Fatal(err)
		}
		return Side{Path: path, Way: way.Reference{}}
	}
	r, err := Compare(t.Context(), model("2"), model("2"), "", given(t, pair(t)))
	if err != nil {
		t.Fatal(err)
	}
	const want = "zero early[0] five[0] cond[0] below[0,0] step[0,0] below[0,1] step[0,1] " +
		"below[0,2] inner[0] " +
		"reach[0] more[0] soon[0] both[0] next[0] twice[0] early[1] three[1] two[1] cond[1] below[1,0] " +
		"step[1,0] " +
		"below[1,1] inner[1] reach[1] more[1] soon[1] both[1] next[1] twice[1] early[2] three[2] " +
		"two[2] " +
		"cond[2] " +
		"below[2,0] inner[2] reach[2] more[2] soon[2] both[2] next[2] twice[2] early[3] three[3] " +
		"two[3] " +
		"cond[3] " +
		"below[3,0] inner[3] reach[3] more[3] soon[3] both[3] while_loop while_loop.1"
	if got := names(r); got != want || r.First >= 0 {
		t.Errorf("%s\nfirst %d", got, r.First)
	}
}

// numbered is a model with a loop whose condition makes a number, which is a size.
const numbered = `program "loop.txt"
dialect functional

method forward {
  symbol u0 in [0, 4]
  input %x: f32[2]

  %zero: i64[] = aten.full.default(size=[], fill_value=0, dtype=i64)
  %count: i64[], %sum: f32[2] = while_loop: higher_order.while_loop([%zero, %x])
    region (%k0: i64[], %s0: f32[2]) {
      %number: int(u0) = aten._local_scalar_dense.default(self=%k0)
      %ones: i64[u0] = aten.full.default(size=[%number], fill_value=1, dtype=i64)
      %all: i64[] = aten.sum.dim_IntList(self=%ones, dim=[])
      %more: b8[] = aten.lt.Scalar(self=%all, other=2)
      return (%more)
    }
    region (%k: i64[], %s: f32[2]) {
      %next: i64[] = aten.add.Scalar(self=%k, other=1)
      %twice: f32[2] = aten.mul.Tensor(self=%s, other=2)
      return (%next, %twice)
    }
  return (%sum)
}
`

// A condition may compute numbers and tensors of sizes that these decide. These are compared before
// the loop alone, and what is made of them always.
func TestNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop.txt")
	if err := os.WriteFile(path, []byte(numbered), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Compare(t.Context(), Side{Path: path, Way: way.Reference{}},
		Side{Path: path, Way: way.RT{}}, "", given(t, pair(t)))
	if err != nil {
		t.Fatal(err)
	}
	const want = "zero ones[0] all[0] more[0] next[0] twice[0] all[1] more[1] next[1] twice[1] " +
		"all[2] more[2] while_loop while_loop.1"
	if got := names(r); got != want || r.First >= 0 {
		t.Errorf("%s\nfirst %d", got, r.First)
	}
}

// Of a long loop the first iterations are compared and the last.
func TestLongLoops(t *testing.T) {
	a, b := loopingModel(t, "20", "-1"), loopingModel(t, "20", "1")
	r, err := Compare(t.Context(), a, b, "", given(t, pair(t)))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(r); !strings.Contains(got,
		"cond[14] more[15] next[19] late[19] large[19] cond[19] more[20] while_loop") ||
		r.Rows[r.First].Node.Raw() != "large[2]" {
		t.Errorf("%s\nfirst %d", got, r.First)
	}
}

// All values are compared of a program that quantizes and dequantizes by no operator.
func TestNothingDequantized(t *testing.T) {
	model := "../cases/q_ao_dynamic/model.pt2"
	r, err := Compare(t.Context(), Side{Path: model, Way: way.Reference{}}, Side{Path: model,
		Way: way.RT{}}, "", given(t, "../cases/q_ao_dynamic/input_0.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if got := names(r); !strings.Contains(got, "_int_mm_2") {
		t.Error(got)
	}
}

// Every way keeps the values in the regions of branches, loops and scans.
func TestRegions(t *testing.T) {
	for _, c := range []struct{ name, has string }{{"while_loop", "tanh[2] add[2] gt[3]"},
		{"cond_nested", "add"},
		{"cache_in_scan", "cat[4]"}} {
		path := "../cases/" + c.name + "/model.pt2"
		inputs, err := filepath.Glob("../cases/" + c.name + "/input_*.bin")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []way.Way{way.RT{}, way.RT{Optimize: true}, way.Go{}} {
			r, err := Compare(t.Context(), Side{Path: path, Way: way.Reference{}}, Side{Path: path, Way: w},
				"", given(t, inputs...))
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else if r.First >= 0 || !strings.Contains(" "+names(r)+" ", " "+c.has+" ") {
				t.Errorf("%s: %s\n%+v", c.name, names(r), r)
			}
		}
	}
}
