package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/etgen/etgen/ir/irtest"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// The cases of Build, planned and poisoned.
func TestTextOfCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, opt := range []native.Options{{Planner: plan.Best{}, Kernels: tuned.Standard()},
			{Planner: plan.Disjoint{}, Poison: true}} {
			opt.Table, opt.Target = ops.Standard(), tuned.Target{Lang: "c", Name: "generic"}
			p, err := native.Build(irtest.Parse(t, file, string(ar.Files[0].Data)), opt)
			if err != nil {
				continue // the case is about this
			}
			comparePlans(t, p, roundTrip(t, p))
		}
	}
}

// everything has a statement of each kind, and what ports can be.
const everything = `program "all.pt2"

const w "lin.weight": f32[8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
const n: i64[1] = [7]
state n: i64[1] = n

method forward {
  symbol s0 in [1, 64]
  symbol u0 in [0, inf]
  input x: f32[s0, 4][1, s0] "args[0]" mutated
  input k: int(s0) binds s0
  input a: float binds a: f64
  input mode: str = "mean"
  output out0: f32[s0, 4]
  output out1: int(u0)
  output out2: float reads v
  output out3: none = [1, -2.5, none]
  arena 1040 align 16
  buffer t: f32[s0, 4] at 0
  buffer p: b8[] at 1024
  weight w: f32[2, 4]
  weight w_2: f32[8] = w
  view half: f32[4] = t[2]

  t = scale(x, n0=4*s0, a*2.0, -0.5)  # net.py:12 in lin mul=aten.mul.Tensor "a b"="c d" net.py:13 x=y - z=z
  () = touch(state.n)
  let v: f64 = f64(x[0]) using (t, x)  # item=aten.item.default
  let u0 = state.n[0]
  let u1 in [0, 9] = index(s0) + 1
  view late: f32[4] = t[u1]
  assert v > a & index(u0) == 3, "must hold: \"now\""  # net.py:14 in "my module" check=aten._assert_scalar.default
  do {
    p = less(w)
  } while p {
    if p {  # c=cond
      poison t
    } else {
      out0 = scale(half, n0=4, 1.0, v)
    }
  }
  for i < u1 reverse {
    view row: f32[4] = x[4*i]
    for j < 4 in [0, 15] {
      out0 = scale(row, n0=j, a, inf)
    }
  }
  out0 = linear(t, w_2, w, half, k=s0)
}

method other {
  input x: f32[2]
}

# mul.Tensor, add.Tensor
kernel scale(n0 in [4, 256], out y: f32[?], x: f32[?], c0: f64, c1: f64) {
  for i < n0 strip {
    y[i] = x[i]*f32(c0) + f32(c1)
  }
}

kernel touch(inout n: i64[1] from n) {
  n[0] = n[0] + 1
}

kernel less(out p: b8[1], w: f32[8]) {
  p[0] = w[0] < 2.0
}

# linear.default
kernel linear(k in [1, 64]) = linear_f32 {
  symbol s0 in [1, 64]
  params m=k, n=4, k=2
  operands 0
  packed w = w from 1
  packed bias = f32 [0.0, 8.0] from 1, 2
  channels 1, 4
  scratch 0*k + 64
  tile 6, 16 vector
  macs 8*s0
  cost 1.5
  epilogue f32(acc: f32, o in [0, 4*s0 - 1], c in [0, 3], x0: f32) = exp_f32(acc)*x0[c]
}
`

func sources() native.Sources { return native.Sources{Tuned: tuned.Standard()} }

func TestParse(t *testing.T) {
	want := strings.Replace(everything, "0*k + 64", "64", 1)
	p, err := native.Parse("test", everything, sources())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrors(t *testing.T) {
	if _, err := native.Parse("test", everything, native.Sources{}); err == nil ||
		!strings.Contains(err.Error(), "there is no tuned kernel linear_f32") {
		t.Errorf("without tuned kernels: %v", err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"all.pt2"`, `all`, "test:1: want the quoted file name"},
		{"f32[8] = [0.0,", "f32[8] = [", "w has 28 bytes, not 8 elements"},
		{"f32[8] = [0.0,", "f32[8] = data(0011, 32)\nconst v: f32[1] = [",
			"test:3: data 0011: it is not at hand"},
		{"state n: i64", "state n: i32", "n and its initial value differ in type"},
		{"i64[1] = n\n", "i64[1] = m\n", "there is no constant m"},
		{"symbol u0 in", "symbol s0 in", "test:9: s0 is declared twice"},
		{"binds s0", "binds s1", "there is no symbol s1"},
		{"reads v", "reads vv", "there is no variable vv"},
		{"f32[s0, 4] at 0", "f32[u0, 4] at 0", "the size of t has no bound"},
		{"at 1024", "", "want “at”"},
		{"w: f32[2, 4]", "w: f32[2, 3]", "w and its constant differ in type"},
		{"= t[2]", "= z[2]", "there is no buffer z here"},
		{"= t[u1]", "= half[u1]", "late is a view of a view"},
		{"t = scale", "t = frob", "there is no kernel frob"},
		{"t = scale(x, ", "t = scale(x, x, ", "x is not known here"},
		{"t = scale(x, ", "t = scale(", "there is no buffer a here"},
		{"t = scale(x, ", "t, t = scale(x, ", "too few or too many"},
		{"t = scale(x, ", "() = scale(x, ", "scale has more results"},
		{"n0=4*s0", "n1=4*s0", "scale has no parameter n1 here"},
		{"n0=4*s0", "n0=4*s2", "unknown symbol"},
		{"n0=4*s0, ", "", "too few or too many"},
		{"a*2.0", "a*f64(x[0])", "an argument reads memory"},
		{"-0.5)", "-0.5, 1.0)", "scale takes fewer arguments"},
		{"a*2.0, ", "", "too few or too many"},
		{"touch(state.n)", "touch(t)", "t is float32, touch wants int64"},
		{"using (t, x)", "using (t)", "x is missing in the list"},
		{"let u0 =", "let u7 =", "there is no symbol u7"},
		{"= state.n[0]", "= x[0]", "symbol u0 gets a value of type float32"},
		{"let v: f64 = f64(x[0])", "let v: f64 = x[0]", "float32 where float64 is wanted"},
		{"while p {", "while t {", "a condition of type float32"},
		{"poison t", "poison z", "there is no buffer z here"},
		{"poison t", "frob t", "want a statement, have “frob”"},
		{"out0 = scale(half", "out0 = scale(row", "there is no buffer row here"},
		{"for i < u1", "for u0 < u1", "u0 is declared twice"},
		{"kernel less(", "kernel scale(", "kernel scale is declared twice"},
		{"kernel less(", "copy kernel less(", "less is no copy"},
		{"kernel touch(", "copy kernel touch(", "touch is no copy"},
		{"operands 0", "operands 0, 1", "linear_f32 reads 1 operands, not 2"},
		{"operands 0", "operand 0", "want a property of a tuned kernel"},
		{"packed w = w", "packed w = z", "there is no constant z"},
		{"cost 1.5", "cost x", "want a number"},
		{"tile 6", "tile -6", "-6 is too much or too little"},
		{"c in [0, 3], ", "", "want an epilogue of the result, its position and its channel"},
		{"x0[c]", "x1[c]", "x1 is no buffer"},
		{"x0: f32)", "x0: f33)", "f33 is no type"},
		{"poison t", strings.Repeat("if p {\n", 10000), "nested deeper than 500"},
	} {
		src := strings.Replace(everything, c.old, c.new, 1)
		if src == everything {
			t.Errorf("%s is not in the text", c.old)
		}
		if _, err := native.Parse("test", src, sources()); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.new[:min(len(c.new), 80)], c.old, err, c.want)
		}
	}
}

// Whatever parses prints to what parses to the same, and nothing panics.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if ar := txtar.Parse(data); len(ar.Files) == 2 && ar.Files[1].Name == "output" {
			f.Add(string(ar.Files[1].Data))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := native.Parse("fuzz", src, sources())
		if err != nil {
			return
		}
		once := p.String()
		q, err := native.Parse("fuzz", once, sources())
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		if twice := q.String(); twice != once {
			t.Fatalf("first\n%s\nthen\n%s", once, twice)
		}
	})
}
