package boards

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/plan"
)

// The folders of cases: ours, and those of the whole collection, which need not
// be there.
const (
	ours   = "../cases"
	shared = "../../../shared/models"
	// sharedPTE are ExecuTorch's programs.
	sharedPTE = "../../../shared/pte"
)

// generated is a case compiled to C for a target.
type generated struct {
	kase     *testcase.Case
	name     string
	optimize string // "" is the target's own choice
	recipe   *quantize.Recipe
	form     string // of weights
	sections map[codegen.SectionKind]string
	profile  bool // with events
	rows     bool // the input comes by rows
	stream   *lower.StreamOptions
	banks    []plan.Bank
	library  string
	requant  string   // --requantize
	sources  []string // files to compile
	entry    string   // the function
	model    baremetal.Model
	arena    plan.Report
	weights  int64
	state    int64 // bytes
	terms    int64 // longest reduction
	fixed    bool  // all that the function takes and gives are tensors of fixed sizes
}

// readCase reads a case; the test is skipped if it is one of ../shared, which is not there.
func readCase(t *testing.T, dir string) *testcase.Case {
	t.Helper()
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && strings.Contains(dir, "/shared/") {
		t.Skipf("%s is not here", dir)
	}
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// generate compiles a case's model for a target into a folder of its own.
func generate(t *testing.T, c *testcase.Case, target toolchain.Target) *generated {
	t.Helper()
	return generateFor(t, c, target, "", nil)
}

// generateFor is generate with --optimize.
func generateFor(t *testing.T, c *testcase.Case, target toolchain.Target,
	optimize string, recipe *quantize.Recipe) *generated {
	t.Helper()
	g := &generated{kase: c, name: compile.NameOf(filepath.Base(c.Dir)), optimize: optimize,
		recipe: recipe}
	g.generate(t, target)
	return g
}

// generate compiles the model as g says.
func (g *generated) generate(t *testing.T, target toolchain.Target) {
	t.Helper()
	np, err := g.lower(target)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := compile.Print(np, g.options(target))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range pkg.Files {
		if ext := filepath.Ext(f.Name); ext == ".c" || ext == ".S" {
			g.sources = append(g.sources, filepath.Join(dir, f.Name))
		}
	}
	report, err := plan.NewReport(np.Methods[0].Problem, np.Methods[0].Plan)
	if err != nil {
		t.Fatal(err)
	}
	g.arena = *report
	g.weights = codegen.LayOut(np).Size
	for _, b := range np.State {
		g.state += b.MaxLen * int64(b.DType.Size())
	}
	g.describe(np, string(pkg.File(g.name+".h")))
}

func (g *generated) options(target toolchain.Target) compile.Options {
	return compile.Options{Name: g.name, Lang: "c", Target: target.Name,
		Optimize: g.optimize, Recipe: g.recipe, Weights: g.form, Sections: g.sections,
		Profile: g.profile, Rows: g.rows, Stream: g.stream, Banks: g.banks,
		Library: g.library, Requantize: g.requant}
}

// lower builds the native form of the case's first model file.
func (g *generated) lower(target toolchain.Target) (*native.Program, error) {
	p, closer, err := conform.Job(g.kase, g.kase.Models[0]).Open()
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	opt := g.options(target)
	last := string(lower.Backend.To)
	opt.After = func(pass lower.Pass, p *ir.Program) error {
		if pass.Name == last {
			g.terms = way.Terms(ops.Standard(), p)[0]
		}
		return nil
	}
	return compile.Native(p, opt)
}

// describe says what the harness passes to the model's first method, whose
// inputs and outputs are tensors of fixed sizes if it is to run.
func (g *generated) describe(np *native.Program, header string) {
	m := np.Methods[0]
	g.entry = g.name + "_" + m.Name.Raw()
	g.model = baremetal.Model{Header: g.name + ".h", Prefix: g.name, Method: m.Name.Raw()}
	g.fixed = len(np.Methods) == 1 && !strings.Contains(header, g.name+"_forward_sizes") &&
		!slices.ContainsFunc(
			slices.Concat(m.Inputs, m.Outputs), func(p native.Port) bool { return p.Buf == nil })
	add := func(role baremetal.Role, bytes int64) {
		g.model.Args = append(g.model.Args, baremetal.Arg{Role: role, Bytes: int(bytes)})
	}
	size := func(b *native.Buffer) int64 { return b.MaxLen * int64(b.DType.Size()) }
	if r := m.Rows; r != nil {
		g.model.Method += "_rows"
		g.entry += "_rows"
		g.model.Rows = int(r.Height)
	}
	for i, p := range m.Inputs {
		switch {
		case m.Rows != nil && m.Rows.Port == i:
			add(baremetal.Row, size(p.Buf)/m.Rows.Height)
		case p.Buf != nil && p.Mutated:
			add(baremetal.InOut, size(p.Buf))
		case p.Buf != nil:
			add(baremetal.Input, 0)
		}
	}
	for _, p := range m.Outputs {
		if p.Buf != nil {
			add(baremetal.Output, size(p.Buf))
		}
	}
	if strings.Contains(header, g.name+"_state *state") {
		add(baremetal.State, 0)
	}
	if strings.Contains(header, "void *arena") || strings.Contains(header, "_arenas *arenas") {
		add(baremetal.Arena, 0)
	}
	for k, n := range codegen.BankBytes(np) {
		if n > 0 && np.Banks != nil {
			bank := baremetal.Bank{Name: np.Banks[k].Name}
			if bank.Name == "dtcm" {
				bank.Section = ".dtcm"
			}
			g.model.Banks = append(g.model.Banks, bank)
		}
	}
}

// runs writes the inputs of the case's calls to files.
func (g *generated) runs(dir string) ([]baremetal.RunInput, error) {
	var runs []baremetal.RunInput
	for i, call := range g.kase.Calls {
		run := baremetal.RunInput{Reset: !g.kase.Stateful}
		for k, v := range call.Inputs {
			if v.Tensor == nil {
				continue
			}
			path := filepath.Join(dir, fmt.Sprintf("call%d_input%d.bin", i, k))
			data := v.Tensor.Data
			if g.rows {
				data = v.Tensor.ChannelsLast()
			}
			if err := os.WriteFile(path, data, 0o666); err != nil {
				return nil, err
			}
			run.Inputs = append(run.Inputs, path)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// skipWithout skips the test if a command is not installed; the message says
// which package has it.
func skipWithout(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if _, err := toolchain.Find(c); err != nil {
			t.Skip(err)
		}
	}
}

// execute runs the case's calls on the board.
func (g *generated) execute(ctx context.Context, target toolchain.Target,
	dir string) (*baremetal.Report, error) {
	runs, err := g.runs(dir)
	if err != nil {
		return nil, err
	}
	return g.model.Execute(ctx, target, dir, g.sources, runs, timeLimit)
}
