package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/testcase"
)

// etgenTable runs the command on every model file, for each language.
func etgenTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	dir, remove, err := interrupt.TempDir("bench-")
	if err != nil {
		return nil, err
	}
	defer remove()
	command := filepath.Join(dir, "etgen")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", command,
		"github.com/etgen/etgen/cmd/etgen")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	t := &table{
		title: "etgen itself",
		legend: fmt.Sprintf(
			"least time of %d runs of the command, of all models one after the other each time, "+
				"and its peak memory; ! is above %v", s.compile, etgenGoal),
		head: []string{"model", "C ms", "C MB", "Go ms", "Go MB", "Go:C"},
	}
	runs := make(map[string]*compiling)
	for range max(s.compile, 1) { // in rounds: what other programs take comes in phases
		for _, c := range cases {
			for _, model := range c.Models {
				for _, lang := range languages {
					file := filepath.Join(c.Dir, model)
					r := runs[lang+file]
					if r == nil {
						r = &compiling{}
						runs[lang+file] = r
					}
					r.run(ctx, command, file, "--lang="+lang, "--name=model", "-o",
						filepath.Join(dir, lang))
				}
			}
		}
	}
	slow := 0
	for _, c := range cases {
		for _, model := range c.Models {
			row := []string{nameOf(c.Dir) + "/" + model}
			var took []time.Duration
			for _, lang := range languages {
				r := runs[lang+filepath.Join(c.Dir, model)]
				took = append(took, r.least)
				if r.err != nil {
					row = append(row, "failed", none)
					t.notes = append(t.notes, fmt.Sprintf("%s, %s: %v", row[0], lang, r.err))
					continue
				}
				if r.least > etgenGoal {
					slow++
				}
				row = append(row, missed(r.least > etgenGoal,
					fmt.Sprintf("%.0f", r.least.Seconds()*1e3)), megabytes(r.peak))
			}
			t.row(append(row, ratio(took[1].Seconds(), took[0].Seconds()))...)
		}
	}
	t.notes = append(t.notes, fmt.Sprintf("%d of %d above %v", slow, len(runs), etgenGoal))
	return t, ctx.Err()
}

// languages are what etgenTable compiles to.
var languages = []string{"c", "go"}

// compiling is what runs of one command took: the least time, as other programs
// only ever add to it, and the most memory, in bytes, 0 if the system does not tell.
type compiling struct {
	least time.Duration
	peak  int64
	err   error // of the first run that failed; there are none behind it
}

// run runs the command once more.
func (c *compiling) run(ctx context.Context, command string, args ...string) {
	if c.err != nil {
		return
	}
	cmd := exec.CommandContext(ctx, command, args...)
	start := time.Now()
	text, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		*c = compiling{err: fmt.Errorf("%w: %s", err, text)}
		return
	}
	if c.least == 0 || took < c.least {
		c.least = took
	}
	c.peak = max(c.peak, peakMemory(cmd.ProcessState))
}

func megabytes(n int64) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", float64(n)/1e6)
}
