package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// threadRounds is how often one thread and two take turns.
const threadRounds = 3

// threadsTable runs code for two threads against code for one.
func threadsTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title: "Two threads",
		legend: fmt.Sprintf(`best of the calls made in %v, in µs, one thread and two by turns; C is -O3 -march=native with a pool of pthreads;
! is below the %.1f times as fast that are wanted of %s; ratios of times below %v would be the clock's`,
			longer*s.span, threadsGoal, threadsModel, shortest),
		head: []string{"model", "C 1 µs", "C 2 µs", "C 1:2", "Go 1 µs", "Go 2 µs", "Go 1:2"},
	}
	if i := slices.IndexFunc(cases, func(c *testcase.Case) bool { return nameOf(c.Dir) == threadsModel }); i >= 0 {
		cases = cases[i : i+1]
	}
	rows := make([][]string, len(cases))
	for k, c := range cases {
		rows[k] = []string{nameOf(c.Dir)}
	}
	fast := toolchain.GCC().With("-O3", "-march=native")
	for _, lang := range []struct {
		name string
		way  func(way.Settings) way.Way
	}{
		{"C", func(s way.Settings) way.Way { return way.C{Settings: s, Target: fast} }},
		{"Go", func(s way.Settings) way.Way { return way.Go{Settings: s} }},
	} {
		var best [2][]time.Duration
		for i := range best {
			best[i] = make([]time.Duration, len(cases))
		}
		for range threadRounds {
			for i := range best {
				w := lang.way(way.Settings{Options: compile.Options{Threads: i + 1}})
				turn := *s
				turn.span /= threadRounds
				for k, m := range runAll(ctx, &turn, w, cases) {
					if m.err != nil {
						note := fmt.Sprintf("%s, %s, %d threads: %s", nameOf(cases[k].Dir), lang.name, i+1, conform.FirstLine(m.err))
						if !slices.Contains(t.notes, note) {
							t.notes = append(t.notes, note)
						}
						continue
					}
					if least := m.times.Least(); best[i][k] == 0 || least < best[i][k] {
						best[i][k] = least
					}
				}
			}
		}
		for k := range cases {
			one, two := best[0][k], best[1][k]
			goal := 0.0
			if filepath.ToSlash(rows[k][0]) == threadsModel {
				goal = threadsGoal
			}
			rows[k] = append(rows[k], micros(one), micros(two), atLeast(goal, one, two))
		}
	}
	for _, r := range rows {
		t.row(r...)
	}
	return t, ctx.Err()
}
