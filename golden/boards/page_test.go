package boards

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
)

const page = "../../docs/microcontrollers.md"

// pageNets are the networks of the page's table, as counts.txt has them.
var pageNets = []struct{ name, dir string }{
	{"keyword spotting", "trained_kws01"}, {"visual wake words", "trained_vww01"},
	{"image classification", "trained_ic01"}, {"anomaly detection", "trained_ad01"},
}

var pageBoards = []struct{ on, core, optimize string }{
	{"m4-speed", "Cortex-M4", "speed"}, {"m4-size", "Cortex-M4", "size"},
	{"m55-speed", "Cortex-M55", "speed"}, {"m0plus-size", "Cortex-M0+", "size"},
	{"rv32imac-size", "RV32IMAC", "size"},
}

// The table of docs/microcontrollers.md has the figures of counts.txt, and says of estimates
// what TestEstimates holds.
func TestPage(t *testing.T) {
	tier.Needs(t, tier.Normal)
	file, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	says := fmt.Sprintf("half of the estimates are within %.0f %% of what an emulator counts,\n  "+
		"and nine in ten within %.0f %%", 100*estimatesMedian, 100*estimatesWithin)
	if !strings.Contains(text, says) {
		t.Errorf("%s does not say that %s", page, says)
	}
	begin, rest, ok1 := strings.Cut(text, "-update -->\n")
	now, end, ok2 := strings.Cut(rest, "<!-- end of counts -->")
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	table := pageTable(t)
	if table == now {
		return
	}
	if !*update {
		t.Fatalf("%s has other figures than %s:\n%swant\n%s", page, countsFile, now, table)
	}
	text = begin + "-update -->\n" + table + "<!-- end of counts -->" + end
	if err := os.WriteFile(page, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// pageTable is the page's table.
func pageTable(t *testing.T) string {
	t.Helper()
	lines := countedLines(t)
	var b strings.Builder
	b.WriteString("| network | core | optimized for | instructions | flash | RAM | stack |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, net := range pageNets {
		for _, board := range pageBoards {
			n := lines["models/"+net.dir+"-int8 "+board.on]
			if len(n) != len(countColumns) {
				t.Fatalf("%s has no line of %s on %s", countsFile, net.dir, board.on)
			}
			machine := ""
			for _, on := range countedOn {
				if on.name == board.on {
					machine = on.target.Name
				}
			}
			weights := weightsOf(t, net.dir, machine, board.optimize)
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", net.name, board.core, board.optimize,
				grouped(n[0]), grouped(n[1]+n[2]+weights), grouped(n[4]), grouped(n[3]))
		}
	}
	return b.String()
}

// weightsOf is the bytes of a quantized net's weights.
func weightsOf(t *testing.T, dir, target, optimize string) int64 {
	t.Helper()
	c, err := testcase.Read(shared + "/" + dir)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, closer, err := conform.Job(c, c.Models[0]).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	_, r, err := compile.Reported(p, compile.Options{Name: "net", Lang: "c", Target: target,
		Optimize: optimize, Recipe: recipeOf(t, c)})
	if err != nil {
		t.Fatal(err)
	}
	return r.Weights
}

// grouped writes a number with commas between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
