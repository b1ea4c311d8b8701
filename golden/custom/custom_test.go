// Package custom tests models with custom operators, whose kernels are in the folders fir and c.
package custom

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// run runs the cases at dir with kernels, every way, and returns what is missed and how many
// passed.
func run(t *testing.T, dir string, names ...string) (problems []string, passed int) {
	t.Helper()
	k, err := custom.Load(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	s := way.Settings{Options: compile.Options{Custom: k}}
	for _, w := range []way.Way{way.C{Settings: s}, way.Go{Settings: s}, way.RT{Settings: s}} {
		n, err := conform.Check(t.Context(), []string{dir}, []way.Way{w}, func(m conform.Miss) {
			problems = append(problems, m.String())
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		passed += n.Passed
	}
	return problems, passed
}

// Each case computes what PyTorch recorded, in C, in Go and by rt.
func TestCases(t *testing.T) {
	tier.Needs(t, tier.Normal)
	problems, passed := run(t, "cases", "fir", "c/fir.c")
	if len(problems) > 0 || passed != 36 { // six cases of two files, three ways
		t.Errorf("%d passed; missed:\n%s", passed, strings.Join(problems, "\n"))
	}
}

// So do the cases of the collection beside this repository, by rt/optimize too.
func TestShared(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dirs, err := filepath.Glob("../../../shared/models*/custom_op*")
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) == 0 {
		t.Skip("the collection is not here")
	}
	k, err := custom.Load(t.Context(), "scale", "c/scale.c")
	if err != nil {
		t.Fatal(err)
	}
	s := way.Settings{Options: compile.Options{Custom: k}}
	for _, w := range []way.Way{way.C{Settings: s}, way.Go{Settings: s}, way.RT{Settings: s},
		way.RT{Settings: s, Optimize: true}} {
		n, err := conform.Check(t.Context(), dirs, []way.Way{w}, func(m conform.Miss) {
			t.Errorf("%s: %s", w.Name(), m)
		}, nil)
		if err != nil || n.Passed == 0 {
			t.Errorf("%s: %d passed, %v", w.Name(), n.Passed, err)
		}
	}
}

// An ExecuTorch program that calls custom operators compiles to C and Go when they are declared,
// and computes what PyTorch recorded.
func TestExecuTorchPrograms(t *testing.T) {
	tier.Needs(t, tier.Normal)
	k, err := custom.Load(t.Context(), "fir", "c/fir.c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"filter", "part", "range", "custom_op_mutating"} {
		from, to := filepath.Join("cases", name), filepath.Join(dir, name)
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		p, closer, err := compile.Read(filepath.Join(from, "model.pt2"))
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := compile.Package(p, compile.Options{Lang: "pte", Name: "model", Custom: k})
		if err != nil {
			t.Fatal(err)
		}
		closer.Close()
		if err := pkg.Write(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		for _, old := range []string{"model.pt2", "model.core.pt2", "graph.core.txt"} {
			if err := os.Remove(filepath.Join(to, old)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := way.Settings{Options: compile.Options{Custom: k}}
	for _, w := range []way.Way{way.C{Settings: s}, way.Go{Settings: s}, way.RT{Settings: s},
		way.RT{Settings: s, Optimize: true}} {
		n, err := conform.Check(t.Context(), []string{dir}, []way.Way{w}, func(m conform.Miss) {
			t.Errorf("%s: %s", w.Name(), m)
		}, nil)
		if err != nil || n.Passed != 4 {
			t.Errorf("%s: %d passed, %v", w.Name(), n.Passed, err)
		}
	}
}

// write makes a module of one file with kernels.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/bad\n\ngo 1.24\n",
		"bad.go": "package bad\n\n" + text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What a kernel does wrong is an error of the call that names the operator.
func TestFaults(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const mark = "//etgen:kernel fir::square(Tensor x) -> Tensor\nfunc Square(x, out []float32) "
	for _, test := range []struct{ name, text, want string }{
		{"panic", mark + "{ panic(\"no\") }", "its kernel panicked: no"},
		{"outside", mark + "{ out[len(out):len(out)+1][0] = 1 }", "its kernel panicked: runtime error"},
		{"error", "import \"errors\"\n\n" + mark + "error { return errors.New(\"not today\") }",
			"not today"},
		{"none", strings.Replace(mark, "square(", "other(", 1) + "{}", "has no kernel in Go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			problems, _ := run(t, "cases/sizes", write(t, test.text))
			found := 0
			for _, p := range problems {
				if strings.Contains(p, test.want) && strings.Contains(p, "fir.square") {
					found++
				}
			}
			if found == 0 {
				t.Errorf("no %q in:\n%s", test.want, strings.Join(problems, "\n"))
			}
		})
	}
}

// A kernel in C that writes outside of its result, and one that fails, are errors of the call.
func TestFaultsInC(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, test := range []struct{ body, want string }{
		{"((float *)out->data)[out->sizes[0] * out->sizes[1]] = 1; return true;",
			"the kernel fir_square writes outside of out"},
		{"return out == NULL;", "(ERR_OPERATOR, a kernel of a custom operator returns false)"},
	} {
		file := filepath.Join(t.TempDir(), "square.c")
		text := "#include \"net_ops.h\"\n/* etgen:kernel fir::square(Tensor x) -> Tensor */\n" +
			"bool fir_square(const etgen_tensor *x, const etgen_out *out)\n{\n    (void)x;\n    " +
			test.body + "\n}\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		kernels, err := custom.Load(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		var missed []string
		_, err = conform.Check(t.Context(), []string{"cases/sizes"},
			[]way.Way{way.C{Settings: way.Settings{
				Options: compile.Options{Custom: kernels}}}}, func(m conform.Miss) {
				missed = append(missed, m.String())
			}, nil)
		if err != nil || len(missed) == 0 || !strings.Contains(missed[0], test.want) {
			t.Errorf("%v, %q, want %q", err, missed, test.want)
		}
	}
}

// Kernels that do not fit their schemas are refused with the place in their source.
func TestRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"//etgen:kernel my::f(Tensor x) -> Tensor\nfunc F(x []float32) {}",
			"bad.go:4:1: kernel F of my::f(Tensor x) -> Tensor: it has 1 parameters; the schema asks for 2"},
		{"//etgen:kernel my::f(Tensor x, float k) -> Tensor\nfunc F(x []float32, k int, " +
			"out []float32) {}", "parameter k is int; for float k it can be float64"},
		{"//etgen:kernel my::f(Tensor x) -> Tensor\nfunc F(x []string, out []float32) {}",
			"parameter x is []string; for Tensor x it can be a slice of elements"},
		{"type S []float32\n\n//etgen:kernel my::f(Tensor[] x) -> Tensor\n" +
			"func F(x []S, out S) {}", "parameter x is []S; for Tensor[] x it can be a slice of"},
		{"//etgen:kernel my::f(Tensor x) -> Tensor\nfunc f(x, out []float32) {}", "it is not exported"},
		{"//etgen:kernel my::f(Tensor x) -> Tensor\nfunc F(x, out []float32) int { return 0 }",
			"it can return nothing or an error"},
		{"//etgen:kernel my::f(Tensor x\nfunc F(x, out []float32) {}", "bad.go:4:1: "},
		{"//etgen:kernel my::f(Tensor x) -> Tensor\nfunc F(x, out []float32) {}\n\n" +
			"//etgen:shape my::f\nfunc S(x []int) int { return 1 }", "it returns int; sizes are []int"},
		{"//etgen:kernel my::f(int(a!)[] x) -> ()\nfunc F(x []int64) {}",
			"bad.go:4:1: my::f(int(a!)[] x) -> () writes to x; only tensors can be written"},
		{"func F() {}", "no function has a comment //etgen:kernel"},
		{"func F() { return 1 }", "bad.go:3:"},
	} {
		_, err := custom.Load(context.Background(), write(t, test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\ngives %v, want %q", test.text, err, test.want)
		}
	}
	if _, err := custom.Load(context.Background(), filepath.Join(t.TempDir(), "no.c")); err == nil {
		t.Error("a file that is not there is taken")
	}
}

// A call whose operands are constants is computed when the program is compiled, by the kernel
// in Go.
func TestFolded(t *testing.T) {
	tier.Needs(t, tier.Normal)
	k, err := custom.Load(t.Context(), "fir")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ir.Parse("fold", folded)
	if err != nil {
		t.Fatal(err)
	}
	if err := compile.Lower(p, compile.Options{Lang: "c", Custom: k,
		Context: t.Context()}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := ir.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"= [1.0, 4.0, 9.0]", "= [2.0]"} {
		if !strings.Contains(text, want) || strings.Contains(text, "= fir.") {
			t.Errorf("no constant %s in\n%s", want, text)
		}
	}
}

const folded = `program "fold"
dialect functional
custom "fir::square(Tensor x) -> Tensor"
custom "fir::range(Tensor x, int[] ends, float scale, str name, bool both=True, Tensor? bias=None) -> (Tensor, Tensor)"

method forward {
  takes builtins.tuple(builtins.tuple(*), builtins.dict())
  returns *
  parameter %w: f32[3] "w" = [1.0, -2.0, 3.0]
  input %x: f32[3]

  %square: f32[3] = square: fir.square.default(x=%w)
  %least: f32[], %most: f32[] = range: fir.range.default(x=%square, ends=[0, 2], scale=0.5, name="ab", both=true, bias=%w)
  %add: f32[3] = aten.add.Tensor(self=%square, other=%x)
  %mul: f32[3] = aten.mul.Tensor(self=%add, other=%most)
  return (%mul)
}
`
