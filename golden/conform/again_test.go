package conform

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// again is the way of the runtime for programs that are written anew: raised,
// lowered, planned, and only then run.
type again struct{ way.RT }

func (w again) Run(ctx context.Context, jobs []way.Job, done func(int, *way.Result)) {
	for i := range jobs {
		jobs[i].File = ""
	}
	w.RT.Run(ctx, jobs, done)
}

// notAgain are the programs that cannot be written in ExecuTorch's
// operators.
var notAgain = map[string]string{
	"kws_cortex_m_int8": "cortex_m operators are not among ExecuTorch's",
}

// A program of ExecuTorch's that etgen reads and writes anew gives the same.
func TestProgramsWrittenAnew(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const shared = "../../../shared/pte"
	dirs, err := testcase.Find(shared)
	if err != nil {
		t.Skip("the shared cases are not here")
	}
	var roots []string
	for _, dir := range dirs {
		if notAgain[filepath.Base(dir)] == "" {
			roots = append(roots, dir)
		}
	}
	report, err := Check(t.Context(), roots, []way.Way{again{}}, func(m Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if t.Log(report); report.Passed < 50 {
		t.Errorf("only %d programs", report.Passed)
	}
}

// asProgram writes a case with a model as an ExecuTorch program, made with the
// options, and returns its folder.
func asProgram(t *testing.T, dir string, opt compile.Options) string {
	t.Helper()
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, closer, err := Job(c, c.Models[0]).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	opt.Lang, opt.Name = "pte", "model"
	pkg, err := compile.Package(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := pkg.Write(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".bin" && ext != ".json" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(out, e.Name()), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// several returns the cases that ways of compiling are tried on: convolutions,
// state, what is dynamic; larger ones if they are there.
func several() []string {
	dirs := []string{"../cases/lenet", "../cases/mutated_buffer", "../cases/cache",
		"../cases/dynamic_batch", "../cases/lstm"}
	for _, name := range []string{"kws_trained", "lenet", "counter_buffer"} {
		if dir := filepath.Join("../../../shared/models", name); there(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A program with its weights in a file of their own runs, is written anew, and
// compiles.
func TestExternalWeights(t *testing.T) {
	tier.Needs(t, tier.Normal)
	outside := way.Settings{Options: compile.Options{ExternalWeights: true}}
	ways := []way.Way{way.RT{}, again{way.RT{Settings: outside}}, way.C{}, way.Go{}}
	var roots []string
	for _, dir := range several() {
		made := asProgram(t, dir, compile.Options{ExternalWeights: true})
		if !there(filepath.Join(made, "model.ptd")) {
			t.Errorf("%s: there is no model.ptd", dir)
		}
		roots = append(roots, made)
	}
	report, err := Check(t.Context(), roots, ways, func(m Miss) { t.Error(m) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(roots) * len(ways); report.Passed != want {
		t.Errorf("%v, want %d passed", report, want)
	}
}

// Programs compile with the plan they have, and compute the same.
func TestPlanAsIs(t *testing.T) {
	tier.Needs(t, tier.Normal)
	roots := []string{}
	for _, dir := range several() {
		roots = append(roots, asProgram(t, dir, compile.Options{}))
	}
	// and ExecuTorch's plans
	for _, name := range []string{"lenet", "kws_trained", "counter_buffer"} {
		if dir := filepath.Join("../../../shared/pte", name); there(dir) {
			roots = append(roots, dir)
		}
	}
	for _, dir := range roots {
		planner, err := compile.AsIs(filepath.Join(dir, "model.pte"))
		if err != nil {
			t.Fatal(err)
		}
		s := way.Settings{Options: compile.Options{Planner: planner}}
		_, err = Check(t.Context(), []string{dir}, []way.Way{way.C{Settings: s},
			way.Go{Settings: s}, again{way.RT{Settings: s}}}, func(m Miss) { t.Error(m) }, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A file with several methods, as etgen writes it, compiles to what its parts
// compile to: state is shared where they share it.
func TestMethodsInOneFile(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, name := range []string{"methods_shared", "methods_apart"} {
		dir := filepath.Join("../cases", name)
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, external := range []bool{false, true} {
			path := filepath.Join(asProgram(t, dir, compile.Options{ExternalWeights: external}),
				"model.pte")
			file, closer, err := pte.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			if err := oneOfEach(file, c); err != "" {
				t.Errorf("%s: %s", name, err)
			}
			job := Job(c, c.Models[0])
			job.File = path
			job.Open = func() (*ir.Program, io.Closer, error) { return compile.Read(path) }
			for _, w := range []way.Way{way.RT{}, again{}, way.C{}, way.Go{}, way.Reference{}} {
				w.Run(t.Context(), []way.Job{job}, func(_ int, r *way.Result) {
					if miss := check(t.Context(), c, job, r); miss != nil {
						t.Errorf("%s via %s, external weights %v: call %d: %s", name, w.Name(),
							external, miss.Call, miss.Problem)
					}
				})
			}
		}
	}
}

// oneOfEach tells what is wrong with the form of a program of several methods.
func oneOfEach(p *pte.Program, c *testcase.Case) string {
	var names []string
	for _, plan := range p.Plans {
		names = append(names, plan.Name)
		if shares := len(plan.BufferSizes) == 3; shares != c.Share {
			return plan.Name + " has not the planned buffers it should have"
		}
	}
	if have, want := strings.Join(names, " "), strings.Join(c.Methods, " "); have != want {
		return "the methods are " + have
	}
	seen := map[string]bool{}
	for _, b := range p.Constants[1:] {
		data := make([]byte, b.Size())
		if _, err := b.ReadAt(data, 0); err != nil && err != io.EOF {
			return err.Error()
		}
		if seen[string(data)] {
			return "equal constants are there twice"
		}
		seen[string(data)] = true
	}
	return ""
}
