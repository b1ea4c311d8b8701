package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/etgen/etgen/golden/testcase"
)

// etgenTable runs the command on every model file, for each language.
func etgenTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	command := filepath.Join(dir, "etgen")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", command, "github.com/etgen/etgen/cmd/etgen")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	t := &table{
		title:  "etgen itself",
		legend: fmt.Sprintf("least time of %d runs of the command, and its peak memory; ! is above %v", s.compile, etgenGoal),
		head:   []string{"model", "C ms", "C MB", "Go ms", "Go MB", "Go:C"},
	}
	slow, files := 0, 0
	for _, c := range cases {
		for _, model := range c.Models {
			row := []string{nameOf(c.Dir) + "/" + model}
			var took [2]time.Duration
			for i, lang := range []string{"c", "go"} {
				files++
				least, peak, err := timed(ctx, s.compile, command, filepath.Join(c.Dir, model), "--lang="+lang, "--name=model", "-o", filepath.Join(dir, lang))
				if err != nil {
					row = append(row, "failed", none)
					t.notes = append(t.notes, fmt.Sprintf("%s, %s: %v", row[0], lang, err))
					continue
				}
				if least > etgenGoal {
					slow++
				}
				took[i] = least
				row = append(row, missed(least > etgenGoal, fmt.Sprintf("%.0f", least.Seconds()*1e3)), megabytes(peak))
			}
			t.row(append(row, ratio(took[1].Seconds(), took[0].Seconds()))...)
		}
	}
	t.notes = append(t.notes, fmt.Sprintf("%d of %d above %v", slow, files, etgenGoal))
	return t, ctx.Err()
}

// timed runs a command some times and returns the least time, as other programs
// only ever add to it; the memory is the most of all runs, in
// bytes, 0 if the system does not tell.
func timed(ctx context.Context, runs int, command string, args ...string) (least time.Duration, peak int64, err error) {
	var times []time.Duration
	for range max(runs, 1) {
		cmd := exec.CommandContext(ctx, command, args...)
		start := time.Now()
		text, err := cmd.CombinedOutput()
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %s", err, text)
		}
		times = append(times, time.Since(start))
		peak = max(peak, peakMemory(cmd.ProcessState))
	}
	return slices.Min(times), peak, nil
}

func megabytes(n int64) string {
	if n == 0 {
		return none
	}
	return fmt.Sprintf("%.0f", float64(n)/1e6)
}
