package boards

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
)

const countsFile = "counts.txt"

// countsHead explains the columns of counts.txt.
const countsHead = `# What one call of a model takes on emulated boards, compiled with gcc -O3. Made by: go test ./golden/boards -run Counts -update
# instructions   executed, all of them, counted exactly
# .text          bytes of code, functions of libgcc among them
# const          bytes of constants that are not the model's
# arena, bound   bytes of working memory, and what no plan of the same buffers can be below
# stack          bytes
# All but arena and bound hold for these compilers; others are not compared in them:
`

// A number may be so far from that of the file: a share of it, or so much.
const (
	countLimit = 0.02
	countSlack = 16
)

// counted are the models of counts.txt. One that PyTorch did not
// quantize is counted on the Cortex-M4 only.
var counted = []struct {
	dir   string
	bytes bool // it computes with int8
	// quantize makes an int8 model of a float one, with the case's inputs as samples; its inputs
	// and outputs are int8, as those that TFLM is measured with.
	quantize bool
	// kind says that it is no network, but a case of one kind of layer.
	kind bool
}{
	{ours + "/q_lenet_static", true, false, false},
	{ours + "/q_int16", true, false, true},
	{ours + "/q_int4", true, false, true},
	{ours + "/q_attention", true, false, true},
	{ours + "/q_ao_dynamic_groups", true, false, true},
	{ours + "/q_residual", true, false, true},
	{ours + "/q_weights_int8", false, false, true},
	{ours + "/q_weights_int4", false, false, true},
	{ours + "/conv_grouped", true, true, true},
	{ours + "/conv_transpose", true, true, true},
	{ours + "/kws_trained", false, false, false},
	{shared + "/q_mlperf_kws_dscnn_static", true, false, false},
	{shared + "/q_mlperf_ic_resnet8_static", true, false, false},
	{shared + "/q_mlp3_dynamic", true, false, false},
	{shared + "/lenet_tanh_avgpool", true, true, false},
	{sharedPTE + "/kws_cortex_m_int8", true, false, false},
	{shared + "/trained_kws01", false, false, false},
	{shared + "/trained_vww01", false, false, false},
	{shared + "/trained_ic01", false, false, false},
	{shared + "/trained_ad01", false, false, false},
	{shared + "/trained_kws01", true, true, false},
	{shared + "/trained_vww01", true, true, false},
	{shared + "/trained_ic01", true, true, false},
	{shared + "/trained_ad01", true, true, false},
}

// countedOn are the boards, and what code for them is optimized for.
var countedOn = []struct {
	name     string
	board    baremetal.Board
	target   toolchain.Target
	optimize string
	floats   bool // float models are counted too
}{
	{"m4-size", baremetal.CortexM4, toolchain.CortexM4(), "size", true},
	{"m4-speed", baremetal.CortexM4, toolchain.CortexM4(), "speed", true},
	{"m7-speed", baremetal.CortexM7, toolchain.CortexM7(), "speed", true},
	{"m33-speed", baremetal.CortexM33, toolchain.CortexM33(), "speed", true},
	{"m55-speed", baremetal.CortexM55, toolchain.CortexM55(), "speed", true},
	// a Cortex-M3 and a Cortex-M0+, whose instructions the other core has too
	{"m3-size", baremetal.CortexM4, toolchain.CortexM3(), "size", false},
	{"m0plus-size", baremetal.CortexM4, toolchain.CortexM0Plus(), "size", false},
	{"rv32imac-size", baremetal.RISCV32, toolchain.RISCV32(), "size", false},
}

// count is a line of counts.txt.
type count struct {
	model, on string
	numbers   []int64 // in the order of the columns
}

// countsByCompiler is how many numbers of a line, the first ones, depend on the compiler.
const countsByCompiler = 4

// The work that a call takes does not grow unseen: instructions, code, memory.
func TestCounts(t *testing.T) {
	tier.Needs(t, tier.Normal)
	var got []count
	compilers := map[string]bool{}
	complete := true
	for _, m := range counted {
		c, err := testcase.Read(m.dir)
		if errors.Is(err, fs.ErrNotExist) {
			complete = false
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var recipe *quantize.Recipe
		meant := map[bool]*testcase.Case{} // the case that is held against, by machine.Floats
		for _, on := range countedOn {
			if !on.floats && (!m.bytes || m.quantize && on.optimize != "size") {
				continue
			}
			name := modelName(m.dir)
			if m.quantize {
				name += "-int8"
			}
			t.Run(name+"/"+on.name, func(t *testing.T) {
				skipWithout(t, on.target.Compiler, on.board.Emulator, "gcc")
				compilers[compilerOf(t, on.target)] = true
				if m.quantize && recipe == nil {
					recipe = recipeOf(t, c)
					c = inIntegers(t, c, recipe)
				}
				machine, err := tuned.MachineNamed(on.target.Name)
				if err != nil {
					t.Fatal(err)
				}
				if meant[machine.Floats] == nil {
					meant[machine.Floats] = meaningOf(t, c, machine, recipe)
				}
				got = append(got, countOf(t, meant[machine.Floats], name, recipe, on.name, on.board,
					on.target.With("-O3"), on.optimize))
			})
		}
	}
	checkCounts(t, got, compilers, complete)
}

// countOf counts the case's first call.
func countOf(t *testing.T, c *testcase.Case, name string, recipe *quantize.Recipe, on string,
	board baremetal.Board, target toolchain.Target, optimize string) count {
	t.Helper()
	g := generateFor(t, c, target, optimize, recipe)
	work := t.TempDir()
	runs, err := g.runs(work)
	if err != nil {
		t.Fatal(err)
	}
	report, err := g.model.ExecuteOn(t.Context(), board, true, target, work, g.sources,
		runs[:1], 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	checkOutputs(t, g, report, false)
	return count{name, on, []int64{report.Instructions, int64(report.Sizes.Text),
		max(0, int64(report.Sizes.ROData)-g.weights), int64(report.Stack), g.arena.Size,
		g.arena.LowerBound}}
}

// meaningOf is the case that a machine's results are held against.
func meaningOf(t *testing.T, c *testcase.Case, machine *tuned.Machine,
	recipe *quantize.Recipe) *testcase.Case {
	t.Helper()
	switch {
	case !machine.Floats:
		return interpreted(t, c, compile.Options{Requantize: "fixed", Recipe: recipe})
	case recipe != nil:
		return interpreted(t, c, compile.Options{Recipe: recipe})
	}
	return c
}

// interpreted is the first call of c with the outputs that the interpreter has, where PyTorch's
// are those of another arithmetic.
func interpreted(t *testing.T, c *testcase.Case, opt compile.Options) *testcase.Case {
	t.Helper()
	other := *c
	other.Calls = slices.Clone(c.Calls[:1])
	w := way.Reference{Options: opt}
	w.Run(t.Context(), []way.Job{conform.Job(&other, c.Models[0])}, func(_ int, r *way.Result) {
		if r.Err != nil || r.Calls[0].Err != nil {
			t.Fatal(r.Err, r.Calls)
		}
		other.Calls[0].Outputs = r.Calls[0].Outputs
	})
	return &other
}

// recipeOf makes an int8 model of a case's.
func recipeOf(t *testing.T, c *testcase.Case) *quantize.Recipe {
	t.Helper()
	p, closer, err := conform.Job(c, c.Models[0]).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	m := p.Methods[0]
	samples, err := record.Samples(m, []string{c.Dir}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := quantize.New(&lower.Context{Table: ops.Standard()}, p,
		map[string]quantize.Samples{m.Name: samples}, quantize.Options{Scheme: quantize.Schemes[0],
			Outside: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Recipe
}

// inIntegers is the first call of a case with its input, of which there is one, as integers.
func inIntegers(t *testing.T, c *testcase.Case, r *quantize.Recipe) *testcase.Case {
	t.Helper()
	x := c.Calls[0].Inputs[0].Tensor
	a := r.Methods[0].Activations[0] // inputs come first
	q, err := tensor.New(ir.Int8, x.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range q.Data {
		y := math.RoundToEven(eval.Get(x.DType, x.Data, int64(i)).F/float64(a.Scale)) +
			float64(a.ZeroPoint)
		q.Data[i] = byte(int8(min(max(y, math.MinInt8), math.MaxInt8)))
	}
	other := *c
	other.Calls = slices.Clone(c.Calls[:1])
	other.Calls[0].Inputs = []tensor.Value{{Tensor: q}}
	return &other
}

func compilerOf(t *testing.T, target toolchain.Target) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), target.Compiler, "-dumpfullversion").Output()
	if err != nil {
		t.Fatal(err)
	}
	return "# " + target.Compiler + " " + strings.TrimSpace(string(version))
}

// checkCounts compares lines with counts.txt, or writes it if asked to. Models that are
// not here keep their lines.
func checkCounts(t *testing.T, got []count, compilers map[string]bool, complete bool) {
	t.Helper()
	if *update {
		if t.Failed() || !complete {
			t.Fatalf("%s is not written: not all models ran", countsFile)
		}
		if err := os.WriteFile(countsFile, countsText(t, got, compilers), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(countsFile)
	if err != nil {
		t.Fatal(err)
	}
	same := true
	for c := range compilers {
		same = same && strings.Contains(string(file), c+"\n")
	}
	want := countedLines(t)
	for _, g := range got {
		w := want[g.model+" "+g.on]
		if len(w) != len(g.numbers) {
			t.Errorf("%s %s: %s has no line of %v; go test ./golden/boards -run Counts -update",
				g.model, g.on, countsFile, g.numbers)
			continue
		}
		for i, n := range g.numbers {
			if i < countsByCompiler && !same {
				continue
			}
			was := w[i]
			if far := max(n-was, was-n); far > countSlack && float64(far) > countLimit*float64(was) {
				t.Errorf("%s %s: %s: %d, %s says %d; if that is right: go test ./golden/boards "+
					"-run Counts -update", g.model, g.on, countColumns[i], n, countsFile, was)
			}
		}
	}
}

var countColumns = []string{"instructions", ".text", "const", "stack", "arena", "bound"}

// countsText is the text of counts.txt.
func countsText(t *testing.T, got []count, compilers map[string]bool) []byte {
	t.Helper()
	var text bytes.Buffer
	text.WriteString(countsHead)
	var names []string
	for c := range compilers {
		names = append(names, c)
	}
	slices.Sort(names)
	text.WriteString(strings.Join(names, "\n") + "\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%-*s%-*s\t%s\t\n", countWidth, "# model", onWidth, "on",
		strings.Join(countColumns, "\t"))
	for _, g := range got {
		fmt.Fprintf(table, "%-*s%-*s\t", countWidth, g.model, onWidth, g.on)
		for _, n := range g.numbers {
			fmt.Fprintf(table, "%d\t", n)
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Widths of the first columns, which are aligned to the left.
const (
	countWidth = 36
	onWidth    = 14
)
