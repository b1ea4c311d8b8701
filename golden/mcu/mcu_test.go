package mcu

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

var update = flag.Bool("update", false, "rewrite sizes.txt")

// models are what runs on the board, and the largest arena each may take.
var models = []struct {
	name, dir string
	arena     int64 // bytes
}{
	{"digits", "../cases/digits", 12 << 10},
	{"kws_trained", "../../../shared/models/kws_trained", 64000},
	{"lenet", "../../../shared/models/lenet", 18816},
	{"mlperf_kws_dscnn", "../../../shared/models/mlperf_kws_dscnn", 64000},
}

// maxFrame is the stack in bytes that any one generated function may take, and
// maxStack what a whole call may: scratch belongs in the arena.
const (
	maxFrame = 512
	maxStack = 1024
)

// generated is a model's package on disk.
type generated struct {
	dir     string
	sources []string
	arena   int64
	weights int64
	terms   int64
}

func generate(t *testing.T, model, name, target string) *generated {
	t.Helper()
	p, closer, err := compile.Read(model)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	g := &generated{dir: t.TempDir(), terms: 1}
	opt := compile.Options{Name: name, Lang: "c", Target: target, After: func(_ lower.Pass, p *ir.Program) error {
		g.terms = way.Terms(ops.Standard(), p)[0]
		return nil
	}}
	np, err := compile.Native(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := compile.Print(np, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(g.dir); err != nil {
		t.Fatal(err)
	}
	for _, f := range pkg.Files {
		if ext := filepath.Ext(f.Name); ext == ".c" || ext == ".S" {
			g.sources = append(g.sources, filepath.Join(g.dir, f.Name))
		}
	}
	g.arena, g.weights = codegen.ArenaSize(np.Methods[0]), codegen.LayOut(np).Size
	return g
}

// openCase reads a case; one beside the repository may be absent.
func openCase(t *testing.T, dir string) *testcase.Case {
	t.Helper()
	if _, err := os.Stat(dir); err != nil && strings.Contains(dir, "shared") {
		t.Skip("the model is not beside the repository: ", err)
	}
	c, err := testcase.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every recording runs on the board and agrees with PyTorch, the label comes
// out, and no double-precision function is linked. The sizes are written down.
func TestCortexM4(t *testing.T) {
	var rows []string
	for _, m := range models {
		ok := t.Run(m.name, func(t *testing.T) {
			c := openCase(t, m.dir)
			g := generate(t, filepath.Join(m.dir, c.Models[0]), m.name, "cortex-m4")
			if g.arena > m.arena {
				t.Errorf("the arena takes %d bytes, want at most %d", g.arena, m.arena)
			}
			r := execute(t, c, m.name, g)
			rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d", m.name, g.arena, g.weights, r.Sizes.Flash(), r.Sizes.RAM(), r.Stack))
		})
		if !ok {
			return
		}
	}
	if len(rows) == len(models) {
		checkSizes(t, rows)
	}
}

func execute(t *testing.T, c *testcase.Case, name string, g *generated) *baremetal.Report {
	t.Helper()
	model := baremetal.Model{Header: name + ".h", Prefix: name, Method: "forward"}
	first := c.Calls[0]
	for range first.Inputs {
		model.Args = append(model.Args, baremetal.Arg{Role: baremetal.Input})
	}
	for _, out := range first.Outputs {
		model.Args = append(model.Args, baremetal.Arg{Role: baremetal.Output, Bytes: len(out.Tensor.Data)})
	}
	model.Args = append(model.Args, baremetal.Arg{Role: baremetal.Arena})
	var runs []baremetal.RunInput
	for i, call := range c.Calls {
		var run baremetal.RunInput
		for k, in := range call.Inputs {
			path := filepath.Join(g.dir, fmt.Sprintf("call%d_input%d.bin", i, k))
			if err := os.WriteFile(path, in.Tensor.Data, 0o666); err != nil {
				t.Fatal(err)
			}
			run.Inputs = append(run.Inputs, path)
		}
		runs = append(runs, run)
	}
	report, err := model.Execute(t.Context(), toolchain.CortexM4(), g.dir, g.sources, runs, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Doubles) > 0 {
		t.Errorf("double-precision functions are linked: %v", report.Doubles)
	}
	if report.Stack > maxStack {
		t.Errorf("a call takes %d bytes of stack, want at most %d", report.Stack, maxStack)
	}
	right := 0
	for i, run := range report.Runs {
		if run.Status != 0 {
			t.Errorf("call %d returns %d", i, run.Status)
			continue
		}
		for k, want := range c.Calls[i].Outputs {
			got := tensor.Value{Tensor: &tensor.Tensor{DType: want.Tensor.DType, Shape: want.Tensor.Shape, Data: run.Outputs[k]}}
			if miss := compare.Values(got, want, compare.Tolerance{Terms: g.terms, Slack: c.Slack}); miss != nil {
				t.Errorf("call %d output %d: %v", i, k, miss)
			}
			if recognised(c, i, got.Tensor) {
				right++
			}
		}
	}
	if len(c.Labels) > 0 && right != len(c.Calls) {
		t.Errorf("%d of %d are recognised", right, len(c.Calls))
	}
	return report
}

// recognised reports whether the largest element of an output is at the label
// of the call.
func recognised(c *testcase.Case, call int, out *tensor.Tensor) bool {
	xs := compare.Floats(out)
	best := 0
	for i, x := range xs {
		if x > xs[best] {
			best = i
		}
	}
	return best < len(c.Labels) && c.Labels[best] == c.Calls[call].Label
}

// checkSizes compares the memory that models take on the board with what is
// written down.
func checkSizes(t *testing.T, rows []string) {
	t.Helper()
	slices.Sort(rows)
	var b bytes.Buffer
	b.WriteString("Bytes on a Cortex-M4, -O2. Flash and RAM are of the package and the library functions it\n" +
		"needs; the arena, the caller's, is not in RAM; stack is that of a call.\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "model\tarena\tweights\tflash\tRAM\tstack")
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	w.Flush()
	const file = "../sizes.txt"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s is out of date; go test ./golden/mcu -update writes it (-want +got):\n%s", file, diff)
	}
}

// The same models build for machines without an FPU, and no function's frame is
// large or of unknown size.
func TestBuild(t *testing.T) {
	for _, m := range models {
		t.Run(m.name, func(t *testing.T) {
			c := openCase(t, m.dir)
			for _, target := range []toolchain.Target{toolchain.CortexM0(), toolchain.CortexM4(), toolchain.RISCV32()} {
				g := generate(t, filepath.Join(m.dir, c.Models[0]), m.name, target.Name)
				if _, err := baremetal.Link(t.Context(), target, g.dir, g.sources, m.name+"_forward"); err != nil {
					t.Error(err)
					continue
				}
				var objects []string
				for _, source := range g.sources {
					base := filepath.Base(source)
					objects = append(objects, filepath.Join(g.dir, strings.TrimSuffix(base, filepath.Ext(base))+".o"))
				}
				checkFrames(t, target.Name, objects)
			}
		})
	}
}

func checkFrames(t *testing.T, target string, objects []string) {
	t.Helper()
	frames, err := toolchain.StackFrames(objects...)
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) == 0 {
		t.Error("no frames are known")
	}
	for _, f := range frames {
		if f.Bytes > maxFrame || !f.Bounded {
			t.Errorf("%s: %s takes %d bytes of stack (bounded: %t), want at most %d", target, f.Function, f.Bytes, f.Bounded, maxFrame)
		}
	}
}
