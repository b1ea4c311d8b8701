package loop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
)

func funcs(name string) *expr.Func {
	return math.Func(strings.TrimSuffix(name, "_f32"), ir.Float32)
}

// everything has a statement of each kind.
const everything = `func f(n in [1, 8], out y: f32[8*n], inout z: f32[?] from x, x: f32[8*n], idx: i64[n], scratch t: u8[64], c0: f32) {
  for i < n strip {
    index p in [0, 7] = idx[i]
    var m: f32 = -inf
    var part: f32[4]
    for j < 4 unroll {
      part[j] = x[8*i + j]*c0
      m = max(m, part[j])
    }
    for k < 2*n in [0, 15] {
      if x[k] > m & p2(m) {
        break
      } else {
        z[p] = exp_f32(x[k] - m)
      }
    }
    let late: f32
    while t[0] < 3 {
      t[0] = t[0] + 1
    }
    y[i] = m + 0.5
  }
}
`

func TestParse(t *testing.T) {
	src := strings.Replace(everything, " & p2(m)", "", 1)
	f, err := loop.Parse("test", src, funcs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(src, f.String()); diff != "" {
		t.Error(diff)
	}
	if r := reference.Verify(f); len(r.Errors) > 0 {
		t.Error(r.Errors)
	}
}

// Names that meet in one place are told apart.
func TestNames(t *testing.T) {
	f32, four := ir.Float32, sym.Int(4)
	i, j := sym.NewVar("i", four), sym.NewVar("i", four)
	a, b := &expr.Var{Name: "x", DType: f32}, &expr.Var{Name: "x", DType: f32}
	at := sym.Add(sym.Mul(four, i.Expr()), j.Expr())
	load := expr.At(1, f32, at)
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "x", DType: f32, Role: loop.Out,
		Len: sym.Int(16)}, {Name: "x", DType: f32, Len: sym.Int(16)}}, Body: []loop.Stmt{
		&loop.For{Var: i, Extent: four, Body: []loop.Stmt{
			&loop.Let{Var: a, Value: expr.At(1, f32, i.Expr())},
			&loop.For{Var: j, Extent: four, Body: []loop.Stmt{
				&loop.Let{Var: b, Value: load},
				&loop.Store{Buf: 0, At: at, Value: expr.Add(expr.Get(a), expr.Get(b))},
			}},
		}},
	}}
	want := `func f(out x: f32[16], x_2: f32[16]) {
  for i < 4 {
    let x: f32 = x_2[i]
    for i_2 < 4 {
      let x_2: f32 = x_2[4*i + i_2]
      x[4*i + i_2] = x + x_2
    }
  }
}
`
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Error(diff)
	}
	g, err := loop.Parse("test", want, funcs)
	if err != nil || g.String() != want {
		t.Errorf("%v\n%s", err, g)
	}
}

// What schedules make parses to the same text.
func TestParseSchedules(t *testing.T) {
	files, err := filepath.Glob("../schedule/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := loop.Parse(file, string(src), funcs)
		if err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(string(src), f.String()); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	head := "func f(n in [1, 8], out y: f32[8], x: f32[8], c: f32) {\n"
	for src, want := range map[string]string{
		"":                                        "test:1: want “func”, have end of text",
		"func f":                                  "want “(”",
		"func f(x: f33[2]) {}":                    "f33 is no type",
		"func f(x: f32[m]) {}":                    "unknown symbol",
		"func f(big x: f32[2]) {}":                "want in, out, inout or scratch",
		"func f(out x: f32) {}":                   "want “[”",
		"func f(x: f32[2], x: f32[2]) {}":         "x is declared twice",
		"func f(inout x: f32[2] from z) {}":       "there is no buffer z",
		"func f() {} }":                           "want nothing more",
		head + "y[0] = 1":                         "test:2: want a statement, have end of text",
		head + "x[0] = 1\n}":                      "store to input x",
		head + "c = 1\n}":                         "c is no local variable",
		head + "let t: f32 = 1\nt = 2\n}":         "test:3: t is assigned but declared by let",
		head + "y[0] = t\n}":                      "t is not known here",
		head + "y[0] = index(n)\n}":               "int64 where float32 is wanted",
		head + "break\n}":                         "break outside of a loop",
		head + "for n < 3 {\n}\n}":                "n is declared twice",
		head + "for i < i {\n}\n}":                "unknown symbol",
		head + "for i < 3 {\n}\ny[i] = 1\n}":      "test:4: sym: unknown symbol",
		head + "index p in [0, 3] = c\n}":         "an index cannot be float32",
		head + "var a: f32[0]\n}":                 "0 is no length",
		head + "if c {\n}\n}":                     "float32 where bool is wanted",
		head + "frob\n}":                          "want a statement, have “frob”",
		head + strings.Repeat("if true {", 10000): "nested deeper than 500",
		everything:                                "there is no function p2",
	} {
		if _, err := loop.Parse("test", src, funcs); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %s", src, err, want)
		}
	}
}

// Whatever parses prints to what parses to the same, and verifies but for
// accesses.
func FuzzParse(f *testing.F) {
	f.Add(strings.Replace(everything, " & p2(m)", "", 1))
	files, _ := filepath.Glob("../schedule/testdata/*.txt")
	for _, file := range files {
		if src, err := os.ReadFile(file); err == nil {
			f.Add(string(src))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		fn, err := loop.Parse("fuzz", src, funcs)
		if err != nil {
			return
		}
		once := fn.String()
		again, err := loop.Parse("fuzz", once, funcs)
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		if twice := again.String(); twice != once {
			t.Fatalf("first\n%s\nthen\n%s", once, twice)
		}
	})
}
