package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// variant is one way to compile a model.
type variant struct {
	name string
	way  way.Way
}

// The variants, by position.
const (
	cNative = iota
	goTuned
	interpreted
	cGeneric
	cUntuned
	goUntuned
)

func variants() []variant {
	fast := toolchain.GCC().With("-O3", "-march=native")
	untuned := way.Settings{Options: compile.Options{Untuned: true}}
	return []variant{
		cNative:     {"C, -O3 -march=native", way.C{Target: fast}},
		goTuned:     {"Go", way.Go{}},
		interpreted: {"rt", way.RT{}},
		cGeneric:    {"C, -O2", way.C{Target: toolchain.GCC()}},
		cUntuned:    {"C, definitions only", way.C{Target: fast, Settings: untuned}},
		goUntuned:   {"Go, definitions only", way.Go{Settings: untuned}},
	}
}

// measured is how one model ran one way.
type measured struct {
	times measure.Sample
	macs  int64 // of a call; 0: none, or not known
	err   error
}

// shortest is the time from which on the clock tells times apart.
const shortest = 200 * time.Nanosecond

// runTable runs the first call of every case, each way.
func runTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	best, err := marks()
	if err != nil {
		return nil, err
	}
	peak, err := measure.NewPeak(ctx)
	if err != nil {
		return nil, err
	}
	defer peak.Close()
	ways, goals := variants(), peakGoals()
	all := make([][]measured, len(ways))
	for i, v := range ways {
		if _, err := peak.Measure(ctx); err != nil {
			return nil, err
		}
		all[i] = runAll(ctx, s, v.way, cases)
	}
	most, err := peak.Measure(ctx)
	if err != nil {
		return nil, err
	}
	t := &table{
		title: "Generated code",
		legend: fmt.Sprintf(`median of the calls made in %v, in µs, ± the distance of the quartiles in %%; GF/s counts a multiply-accumulate as two
operations; %%pk is of the float32 multiply-add peak of one core, here and now %.1f GF/s; C is -O3 -march=native;
best known is what another runtime took for the model on another machine: marks.tsv; untuned:tuned compares with the
operators' definitions only; ratios of times below %v would be the clock's; ! is less of the peak, or in C more time
than the best known, than is wanted`, s.span, most, shortest),
		head: []string{"model", "kMAC", "C µs", "±%", "GF/s", "%pk", "Go µs", "±%", "GF/s", "%pk", "rt µs", "±%", "GF/s", "%pk",
			"best known µs", "by", "C:best", "Go:best", "Go:C", "C -O2:C", "C untuned:tuned", "Go untuned:tuned"},
	}
	for k, c := range cases {
		row := []string{nameOf(c.Dir), none}
		if work := all[cNative][k].macs; work > 0 {
			row[1] = fmt.Sprintf("%.4g", float64(work)/1e3)
		}
		for i, v := range ways {
			m := all[i][k]
			if m.err != nil {
				t.notes = append(t.notes, fmt.Sprintf("%s, %s: %s", row[0], v.name, conform.FirstLine(m.err)))
			}
			goal := 0.0
			if i <= goTuned {
				goal = goals[filepath.ToSlash(row[0])][i]
			}
			if i <= interpreted {
				row = append(row, m.cells(most, goal)...)
			}
		}
		median := func(i int) float64 {
			if t := all[i][k].times.Median(); t >= shortest {
				return t.Seconds()
			}
			return 0
		}
		known, by := none, none
		mark, ok := best[filepath.ToSlash(row[0])]
		if ok {
			known, by = fmt.Sprintf("%.1f", float64(mark.time)/1e3), mark.by
		}
		inC := missed(ok && median(cNative) > mark.time.Seconds(), ratio(median(cNative), mark.time.Seconds()))
		t.row(append(row, known, by, inC, ratio(median(goTuned), mark.time.Seconds()),
			ratio(median(goTuned), median(cNative)), ratio(median(cGeneric), median(cNative)),
			ratio(median(cUntuned), median(cNative)), ratio(median(goUntuned), median(goTuned)))...)
	}
	return t, ctx.Err()
}

// cells are a model's time, its spread, its speed and the part of the peak that
// is, of which goal percents are wanted.
func (m *measured) cells(peak, goal float64) []string {
	median := m.times.Median()
	if m.err != nil || median == 0 {
		return []string{"failed", none, none, none}
	}
	speed, part := none, none
	if m.macs > 0 {
		gflops := 2 * float64(m.macs) / float64(median.Nanoseconds())
		speed, part = fmt.Sprintf("%.2f", gflops), missed(100*gflops/peak < goal, fmt.Sprintf("%.1f", 100*gflops/peak))
	}
	return []string{fmt.Sprintf("%.2f", float64(median.Nanoseconds())/1e3), fmt.Sprintf("%.0f", 100*m.times.Spread()), speed, part}
}

// batch is how many models are built into one program.
const batch = 48

func runAll(ctx context.Context, s *settings, w way.Way, cases []*testcase.Case) []measured {
	out := make([]measured, len(cases))
	at := 0
	for part := range slices.Chunk(cases, batch) {
		var jobs []way.Job
		for _, c := range part {
			j := conform.Job(c, c.Models[0])
			j.Calls = j.Calls[:1]
			j.Calls[0].For = s.span
			jobs = append(jobs, j)
		}
		w.Run(ctx, jobs, func(i int, r *way.Result) { out[at+i] = newMeasured(r) })
		at += len(part)
	}
	return out
}

func newMeasured(r *way.Result) measured {
	switch {
	case r.Err != nil:
		return measured{err: r.Err}
	case len(r.Calls) == 0:
		return measured{err: context.Canceled}
	case r.Calls[0].Err != nil:
		return measured{err: r.Calls[0].Err}
	}
	return measured{times: measure.NewSample(r.Calls[0].Times), macs: r.Calls[0].MACs}
}
