package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// threadTurns is how often one thread and two take turns.
const threadTurns = 25

// threadsTable runs code for two threads against code for one.
func threadsTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title: "Two threads",
		legend: fmt.Sprintf(`of the calls made in %d turns of %v each, in µs, one thread and two by turns: the best and the median; the ratio of best times is
the code's if there was a moment that left both processors alone, and less if not; C is -O3 -march=native with a pool of pthreads;
! is below the %.1f times as fast that are wanted of %s; ratios of times below %v would be the clock's`,
			threadTurns, s.span, threadsGoal, threadsModel, shortest),
		head: []string{"model"},
	}
	for _, lang := range []string{"C", "Go"} {
		t.head = append(t.head, lang+" 1 best", "median", lang+" 2 best", "median", lang+" best 1:2", "median 1:2")
	}
	if i := slices.IndexFunc(cases, func(c *testcase.Case) bool { return nameOf(c.Dir) == threadsModel }); i >= 0 {
		cases = cases[i : i+1]
	}
	fast := toolchain.GCC().With("-O3", "-march=native")
	for _, c := range cases {
		row := []string{nameOf(c.Dir)}
		for _, lang := range []struct {
			name string
			way  func(way.Settings) way.Way
		}{
			{"C", func(s way.Settings) way.Way { return way.C{Settings: s, Target: fast} }},
			{"Go", func(s way.Settings) way.Way { return way.Go{Settings: s} }},
		} {
			times, err := inTurns(ctx, s, c, lang.way)
			if err != nil {
				t.notes = append(t.notes, fmt.Sprintf("%s, %s: %s", row[0], lang.name, conform.FirstLine(err)))
			}
			goal := 0.0
			if filepath.ToSlash(row[0]) == threadsModel {
				goal = threadsGoal
			}
			one, two := times[0], times[1]
			row = append(row, micros(one.Least()), micros(one.Median()), micros(two.Least()), micros(two.Median()),
				atLeast(goal, one.Least(), two.Least()), timeRatio(one.Median(), two.Median()))
		}
		t.row(row...)
	}
	return t, ctx.Err()
}

// inTurns runs a case with one thread and with two by turns, and returns the times
// of either's calls.
func inTurns(ctx context.Context, s *settings, c *testcase.Case, of func(way.Settings) way.Way) (times [2]measure.Sample, err error) {
	both := newTurns(ctx)
	var results [2]*way.Result
	var wait sync.WaitGroup
	for k := range results {
		wait.Go(func() {
			mine := &turn{turns: both, k: k}
			defer mine.end()
			j := conform.Job(c, c.Models[0])
			call := j.Calls[0]
			call.For, call.Turn = s.span, mine
			j.Calls = slices.Repeat([]way.Call{call}, threadTurns)
			of(way.Settings{Options: compile.Options{Threads: k + 1}}).Run(ctx, []way.Job{j}, func(_ int, r *way.Result) { results[k] = r })
		})
	}
	wait.Wait()
	for k, r := range results {
		if r == nil {
			return times, context.Cause(ctx)
		}
		if r.Err != nil {
			return times, r.Err
		}
		var all []time.Duration
		for _, call := range r.Calls {
			if call.Err != nil {
				return times, call.Err
			}
			all = append(all, call.Times...)
		}
		times[k] = measure.NewSample(all)
	}
	return times, ctx.Err()
}
