package boards

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/kernels/tuned"
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

// counted are the models of counts.txt. A float model is counted on the Cortex-M4 only.
var counted = []struct {
	dir   string
	bytes bool // it computes with int8
}{
	{ours + "/q_lenet_static", true},
	{ours + "/kws_trained", false},
	{shared + "/q_mlperf_kws_dscnn_static", true},
	{shared + "/q_mlperf_ic_resnet8_static", true},
	{shared + "/q_mlp3_dynamic", true},
	{sharedPTE + "/kws_cortex_m_int8", true},
	{shared + "/trained_kws01", false},
	{shared + "/trained_vww01", false},
	{shared + "/trained_ic01", false},
	{shared + "/trained_ad01", false},
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
	{"m7-speed", baremetal.CortexM7, toolchain.CortexM7(), "speed", false},
	{"m33-speed", baremetal.CortexM33, toolchain.CortexM33(), "speed", false},
	// a Cortex-M0+, whose instructions the other core has too
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
		for _, on := range countedOn {
			if !m.bytes && !on.floats {
				continue
			}
			t.Run(modelName(m.dir)+"/"+on.name, func(t *testing.T) {
				skipWithout(t, on.target.Compiler, on.board.Emulator, "gcc")
				compilers[compilerOf(t, on.target)] = true
				got = append(got, countOf(t, c, m.dir, on.name, on.board, on.target.With("-O3"),
					on.optimize))
			})
		}
	}
	checkCounts(t, got, compilers, complete)
}

// countOf counts the case's first call.
func countOf(t *testing.T, c *testcase.Case, dir, on string, board baremetal.Board,
	target toolchain.Target, optimize string) count {
	t.Helper()
	machine, err := tuned.MachineNamed(target.Name)
	if err != nil {
		t.Fatal(err)
	}
	if !machine.Floats {
		c = inFixedPoint(t, c)
	}
	g := generateFor(t, c, target, optimize)
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
	return count{modelName(dir), on, []int64{report.Instructions, int64(report.Sizes.Text),
		max(0, int64(report.Sizes.ROData)-g.weights), int64(report.Stack), g.arena.Size,
		g.arena.LowerBound}}
}

// inFixedPoint is the first call of c with the outputs that the interpreter has in fixed point,
// which is not PyTorch's arithmetic.
func inFixedPoint(t *testing.T, c *testcase.Case) *testcase.Case {
	t.Helper()
	fixed := *c
	fixed.Calls = slices.Clone(c.Calls[:1])
	w := way.Reference{Options: compile.Options{Requantize: "fixed"}}
	w.Run(t.Context(), []way.Job{conform.Job(&fixed, c.Models[0])}, func(_ int, r *way.Result) {
		if r.Err != nil || r.Calls[0].Err != nil {
			t.Fatal(r.Err, r.Calls)
		}
		fixed.Calls[0].Outputs = r.Calls[0].Outputs
	})
	return &fixed
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
	want := map[string][]string{}
	for line := range strings.Lines(string(file)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] != "#" {
			want[f[0]+" "+f[1]] = f[2:]
		}
	}
	for _, g := range got {
		w := want[g.model+" "+g.on]
		if len(w) != len(g.numbers) {
			t.Errorf("%s %s: %s has no line of it; go test ./golden/boards -run Counts -update",
				g.model, g.on, countsFile)
			continue
		}
		for i, n := range g.numbers {
			if i < countsByCompiler && !same {
				continue
			}
			was, err := strconv.ParseInt(w[i], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
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
