package boards

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/toolchain"
)

var update = flag.Bool("update", false, "write sizes.txt")

const sizesFile = "sizes.txt"

// sizesHead explains the columns of sizes.txt.
const sizesHead = `# What models compiled with --optimize=size take on a Cortex-M4, in bytes. Made by: go test ./golden/boards -update
# arena, bound   working memory, and what no plan of the same buffers can be below
# weights        constants, among .rodata
# .text, .rodata code and constants in flash, functions of libgcc among them
# stack          the deepest of all recorded calls
# RAM            arena, stack, state and variables
# .text, .rodata, stack and RAM hold for this compiler; another is not compared in them:
`

// row is a line of sizes.txt.
type row struct {
	model                 string
	arena, bound, weights int64
	text, rodata          uint64
	stack                 int
	ram                   int64
}

func newRow(model string, g *generated, report *baremetal.Report) row {
	return row{
		model: model, arena: g.arena.Size, bound: g.arena.LowerBound, weights: g.weights,
		text: report.Sizes.Text, rodata: report.Sizes.ROData, stack: report.Stack,
		ram: int64(report.Sizes.RAM()) + g.arena.Size + g.state + int64(report.Stack),
	}
}

const (
	modelWidth = 30 // of the first column, which is aligned to the left

	// compilerColumns is the number of columns, the last ones, that depend on
	// the compiler.
	compilerColumns = 4
)

// checkSizes compares rows with sizes.txt, or writes it if asked to. Models
// that are not here keep their line.
func checkSizes(t *testing.T, target toolchain.Target, rows []row) {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), target.Compiler, "-dumpfullversion").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := "# " + target.Compiler + " " + strings.TrimSpace(string(version))
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%-*s\tarena\tbound\tweights\t.text\t.rodata\tstack\tRAM\t\n",
		modelWidth, "# model")
	for _, r := range rows {
		fmt.Fprintf(table, "%-*s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", modelWidth, r.model, r.arena,
			r.bound, r.weights, r.text, r.rodata, r.stack, r.ram)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if *update {
		if t.Failed() || len(rows) != len(onBoard) {
			t.Fatalf("%s is not written: %d of %d models ran", sizesFile, len(rows), len(onBoard))
		}
		if err := os.WriteFile(sizesFile, []byte(sizesHead+compiler+"\n"+text.String()),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile(sizesFile)
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Contains(string(file), compiler+"\n")
	want := lines(string(file))
	for model, got := range lines(text.String()) {
		w := want[model]
		if !same && len(w) == len(got) {
			w, got = w[:len(w)-compilerColumns], got[:len(got)-compilerColumns]
		}
		if strings.Join(got, " ") != strings.Join(w, " ") {
			t.Errorf("%s: %v, %s says %v; if that is right run go test ./golden/boards -update",
				model, got, sizesFile, w)
		}
	}
}

// lines are the fields of the lines that are no comments, by the first.
func lines(text string) map[string][]string {
	byModel := map[string][]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			byModel[fields[0]] = fields[1:]
		}
	}
	return byModel
}
