package boards

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/lower/quantize"
)

// How far estimates may be from what is counted: of nine in ten nets on boards, and of most,
// as docs/microcontrollers.md says.
const (
	estimatesWithin = 0.50
	estimatesMedian = 0.15
	// Cases of one kind of layer, most of which loops compute, are estimated to be this much of
	// what is counted.
	kindsLeast, kindsGreatest = 0.3, 6.0
)

// countedLines are the fields of counts.txt behind the model and the board.
func countedLines(t *testing.T) map[string][]int64 {
	t.Helper()
	text, err := os.ReadFile(countsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][]int64{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "#" {
			continue
		}
		for _, word := range f[2:] {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			lines[f[0]+" "+f[1]] = append(lines[f[0]+" "+f[1]], n)
		}
	}
	return lines
}

// Estimates of instructions in reports are near what is counted in the emulator.
func TestEstimates(t *testing.T) {
	tier.Needs(t, tier.Normal)
	lines := countedLines(t)
	var far []float64
	least, greatest := 1.0, 1.0 // of cases of one kind of layer
	for _, m := range counted {
		c, err := testcase.Read(m.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var recipe *quantize.Recipe
		name := modelName(m.dir)
		if m.quantize {
			name, recipe = name+"-int8", recipeOf(t, c)
		}
		for _, on := range countedOn {
			line := lines[name+" "+on.name]
			if line == nil {
				continue
			}
			p, closer, err := conform.Job(c, c.Models[0]).Open()
			if err != nil {
				t.Fatal(err)
			}
			_, r, err := compile.Reported(p, compile.Options{Name: "net", Lang: "c",
				Target: on.target.Name, Optimize: on.optimize, Recipe: recipe})
			closer.Close()
			if err != nil {
				t.Fatal(err)
			}
			ratio := float64(r.Methods[0].Instructions) / float64(line[0])
			t.Logf("%-36s %-14s %10d of %10d: %.2f; code %.2f", name, on.name, r.Methods[0].Instructions,
				line[0], ratio, float64(r.Code)/float64(line[1]+line[2]))
			if m.kind {
				least, greatest = min(least, ratio), max(greatest, ratio)
				continue
			}
			far = append(far, math.Abs(ratio-1))
		}
	}
	if least < kindsLeast || greatest > kindsGreatest {
		t.Errorf("estimates of cases of one kind of layer are %.2f to %.2f of what is counted; wanted "+
			"are %.2f to %.0f", least, greatest, kindsLeast, kindsGreatest)
	}
	if len(far) < 10 {
		t.Skip("most models are not here")
	}
	slices.Sort(far)
	median, most := far[len(far)/2], far[len(far)*9/10]
	t.Logf("of %d estimates half are within %.2f, nine in ten within %.2f, all within %.2f", len(far),
		median, most, far[len(far)-1])
	if median > estimatesMedian || most > estimatesWithin {
		t.Errorf("half of the estimates are within %.2f, nine in ten within %.2f; wanted are %.2f and "+
			"%.2f: set the rates of kernels/tuned anew", median, most, estimatesMedian, estimatesWithin)
	}
}
