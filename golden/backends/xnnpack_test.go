package backends

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
)

var update = flag.Bool("update", false, "record counts that got better")

// countsFile says of each model of the collection how many nodes stay outside of payloads for
// XNNPACK, how many are inside, and how many payloads there are.
const countsFile = "xnnpack_counts.txt"

// counts is a line of countsFile.
type counts struct {
	model                     string
	outside, inside, payloads int
	theirs                    [2]string // ExecuTorch's nodes outside and payloads, "-" if not known
}

// better reports whether c leaves less to etgen than other, or as much in less payloads.
func (c counts) better(other counts) bool {
	return c.outside < other.outside || c.outside == other.outside && c.payloads <= other.payloads
}

func (c counts) String() string {
	return fmt.Sprintf("%-32s %7d %6d %8d %18s %8s", c.model, c.outside, c.inside, c.payloads,
		c.theirs[0], c.theirs[1])
}

// What XNNPACK gets of the models only gets more, and etgen leaves no more nodes outside of
// payloads than ExecuTorch does.
func TestXNNPACKCounts(t *testing.T) {
	text, err := os.ReadFile(countsFile)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("../../docs/backends.md")
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	for line := range strings.Lines(string(text)) {
		old, ok := parseCounts(line)
		if !ok {
			written.WriteString(line)
			continue
		}
		now := old
		t.Run(old.model, func(t *testing.T) {
			now = countXNNPACK(t, old)
			switch {
			case !now.better(old):
				t.Errorf("worse than recorded:\n%s\n%s", now, old)
				now = old
			case now != old && !*update:
				t.Errorf("not as recorded, go test -update records it:\n%s\n%s", now, old)
			}
			if most, err := strconv.Atoi(old.theirs[0]); err == nil && now.outside > most {
				t.Errorf("%d nodes outside of payloads, ExecuTorch leaves %d", now.outside, most)
			}
			documented(t, string(table), now)
		})
		fmt.Fprintln(&written, now)
	}
	if *update {
		if err := os.WriteFile(countsFile, written.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// parseCounts reads a line; ok is false for a comment.
func parseCounts(line string) (c counts, ok bool) {
	n, _ := fmt.Sscan(line, &c.model, &c.outside, &c.inside, &c.payloads, &c.theirs[0], &c.theirs[1])
	return c, n == 6
}

// countXNNPACK counts what --backend=xnnpack makes of the model of a line.
func countXNNPACK(t *testing.T, c counts) counts {
	file := filepath.Join("../../../shared/models", c.model, "model.pt2")
	if info, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not here", file)
	} else if info.Size() > tier.Of[int64](1<<18, 1<<62, 1<<62) {
		t.Skip("make test tries large models")
	}
	p, closer, err := compile.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var report partition.Report
	err = compile.Lower(p, compile.Options{Lang: "pte", Delegation: &report,
		Backends: []*partition.Use{{Backend: xnn.Backend{}}},
		After: func(lower.Pass, *ir.Program) error {
			if len(report.Nodes) > 0 {
				return lower.Stop
			}
			return nil
		}})
	if err != nil && !errors.Is(err, lower.Stop) {
		t.Fatal(err)
	}
	payloads := map[[2]string]bool{}
	c.outside, c.inside = 0, 0
	for _, n := range report.Nodes {
		if n.Delegate == "" {
			c.outside++
		} else {
			c.inside++
			payloads[[2]string{n.Method, n.Delegate}] = true
		}
	}
	c.payloads = len(payloads)
	return c
}

// documented checks a model's line in the table of the document, if it has one.
func documented(t *testing.T, table string, c counts) {
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 7 || strings.Trim(cells[0], "| *") != c.model {
			continue
		}
		for k, want := range []int{c.outside, c.inside, c.payloads} {
			if got := strings.Trim(cells[2+2*k], "| \n"); got != strconv.Itoa(want) {
				t.Errorf("docs/backends.md says %s, not %d: %s", got, want, line)
			}
		}
	}
}
