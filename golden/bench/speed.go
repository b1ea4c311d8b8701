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

// runTable runs the first call of every case, each way.
func runTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	known, err := readMarks(marksText)
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
	for k, c := range cases {
		if _, ok := goals[filepath.ToSlash(nameOf(c.Dir))]; !ok {
			continue
		}
		runs, err := inTurns(ctx, s, c, ways[:cUntuned], peak) // definitions take seconds
		if err != nil {
			return nil, err
		}
		for i, m := range runs {
			all[i][k] = m
		}
	}
	most, err := peak.Measure(ctx)
	if err != nil {
		return nil, err
	}
	t := &table{
		title: "Generated code",
		legend: fmt.Sprintf(
			`of the calls made in %v: the best and the median, in µs, ± the distance of the quartiles in %% of the median; models whose %%pk has
a goal run, but for their definitions, in %d turns of that, all ways and the peak by turns; GF/s, %%pk and all ratios are of best
times, as the peak is the best of its measurements: other programs only take away; GF/s counts a multiply-accumulate as two
operations; %%pk is of the float32 multiply-add peak of one core, here and now %.1f GF/s; C is -O3 -march=native; best known is
the least time another runtime took for the model, on the machine of marks.tsv whose peak, at GF/s, is nearest to the one here;
untuned:tuned compares with the operators' definitions only; ratios of times below %v would be the clock's; ! is less of the
peak, or in C more time than the best known, than is wanted`, s.span, turnsOfEach, most, shortest),
		head: []string{"model", "kMAC"},
	}
	for _, name := range []string{"C", "Go", "rt"} {
		t.head = append(t.head, name+" best", "median", "±%", "GF/s", "%pk")
	}
	t.head = append(t.head, "best known µs", "by", "at GF/s", "C:best", "Go:best", "Go:C",
		"C -O2:C", "C untuned:tuned", "Go untuned:tuned")
	best := bestMarks(known, most)
	for k, c := range cases {
		name := nameOf(c.Dir)
		runs := make([]measured, len(ways))
		for i, v := range ways {
			runs[i] = all[i][k]
			if err := runs[i].err; err != nil {
				t.notes = append(t.notes, fmt.Sprintf("%s, %s: %s", name, v.name,
					conform.Brief(err)))
			}
		}
		mark, ok := best[filepath.ToSlash(name)]
		t.row(append(append([]string{name}, speedCells(runs, most,
			goals[filepath.ToSlash(name)])...), ratioCells(runs, mark, ok)...)...)
	}
	return t, ctx.Err()
}

// speedCells are the work of a model, and how fast it is in C, in Go and in the
// runtime; goals are the percents of the peak that are wanted of the first two.
func speedCells(runs []measured, peak float64, goals [2]float64) []string {
	cells := []string{none}
	if work := runs[cNative].macs; work > 0 {
		cells[0] = fmt.Sprintf("%.4g", float64(work)/1e3)
	}
	return slices.Concat(cells, runs[cNative].cells(peak, goals[0]), runs[goTuned].cells(peak,
		goals[1]), runs[interpreted].cells(peak, 0))
}

// ratioCells hold a model's times against its mark, if it has one, and against
// one another.
func ratioCells(runs []measured, mark mark, ok bool) []string {
	cells := []string{none, none, none}
	if ok {
		cells = []string{fmt.Sprintf("%.1f", float64(mark.time)/1e3), mark.by,
			fmt.Sprintf("%.0f", mark.peak)}
	}
	least := func(i int) time.Duration { return runs[i].times.Least() }
	return append(cells,
		atMost(1, least(cNative), mark.time), timeRatio(least(goTuned), mark.time),
		timeRatio(least(goTuned), least(cNative)), timeRatio(least(cGeneric), least(cNative)),
		timeRatio(least(cUntuned), least(cNative)), timeRatio(least(goUntuned), least(goTuned)))
}

// cells are a model's times and their spread, the speed of the best call and the
// part of the peak that is, of which goal percents are wanted.
func (m *measured) cells(peak, goal float64) []string {
	least := m.times.Least()
	if m.err != nil || len(m.times) == 0 {
		return []string{"failed", none, none, none, none}
	}
	speed, part := none, none
	if m.macs > 0 && least > 0 {
		gflops := 2 * float64(m.macs) / float64(least.Nanoseconds())
		speed, part = fmt.Sprintf("%.2f", gflops), missed(100*gflops/peak < goal,
			fmt.Sprintf("%.1f", 100*gflops/peak))
	}
	us := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Nanoseconds())/1e3) }
	return []string{us(least), us(m.times.Median()), fmt.Sprintf("%.0f", 100*m.times.Spread()),
		speed, part}
}

// batch is how many models are built into one program.
const batch = 48

// runAll runs the first call of every case for the span.
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

// newMeasured gathers the calls of a job.
func newMeasured(r *way.Result) measured {
	if r.Err != nil {
		return measured{err: r.Err}
	}
	if len(r.Calls) == 0 {
		return measured{err: context.Canceled}
	}
	var times []time.Duration
	for _, call := range r.Calls {
		if call.Err != nil {
			return measured{err: call.Err}
		}
		times = append(times, call.Times...)
	}
	return measured{times: measure.NewSample(times), macs: r.Calls[0].MACs}
}
