package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// threadsTable runs code for two threads against code for one.
func threadsTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title: "Two threads",
		legend: fmt.Sprintf(
			`of the calls made in %d turns of %v each, in µs, all four by turns: the best and the median; the ratio of best times is
the code's if there was a moment that left both processors alone, and less if not; C is -O3 -march=native with a pool of pthreads;
! is below the %.1f times as fast that are wanted of %s; ratios of times below %v would be the clock's`,
			turnsOfEach, s.span, threadsGoal, threadsModel, shortest),
		head: []string{"model"},
	}
	for _, lang := range []string{"C", "Go"} {
		t.head = append(t.head, lang+" 1 best", "median", lang+" 2 best", "median",
			lang+" best 1:2", "median 1:2")
	}
	if i := slices.IndexFunc(cases, func(c *testcase.Case) bool {
		return nameOf(c.Dir) == threadsModel
	}); i >= 0 {
		cases = cases[i : i+1]
	}
	fast := toolchain.GCC().With("-O3", "-march=native")
	var ways []variant
	for threads, name := range []string{"one thread", "two threads"} {
		set := way.Settings{Options: compile.Options{Threads: threads + 1}}
		ways = append(ways, variant{"C, " + name, way.C{Settings: set, Target: fast}},
			variant{"Go, " + name, way.Go{Settings: set}})
	}
	for _, c := range cases {
		row := []string{nameOf(c.Dir)}
		goal := 0.0
		if filepath.ToSlash(row[0]) == threadsModel {
			goal = threadsGoal
		}
		runs, err := inTurns(ctx, s, c, ways, nil)
		if err != nil {
			return nil, err
		}
		for i, m := range runs {
			if m.err != nil {
				t.notes = append(t.notes, fmt.Sprintf("%s, %s: %s", row[0], ways[i].name,
					conform.Brief(m.err)))
			}
		}
		for lang := range 2 {
			one, two := runs[lang].times, runs[lang+2].times
			row = append(row, micros(one.Least()), micros(one.Median()), micros(two.Least()),
				micros(two.Median()),
				atLeast(goal, one.Least(), two.Least()), timeRatio(one.Median(), two.Median()))
		}
		t.row(row...)
	}
	return t, ctx.Err()
}
