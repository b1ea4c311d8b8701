package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
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
	cGeneric
	goTuned
	cUntuned
	goUntuned
)

func variants() []variant {
	fast := toolchain.GCC().With("-O3", "-march=native")
	untuned := way.Settings{Options: compile.Options{Untuned: true}}
	return []variant{
		cNative:   {"C, -O3 -march=native", way.C{Target: fast}},
		cGeneric:  {"C, -O2", way.C{Target: toolchain.GCC()}},
		goTuned:   {"Go", way.Go{}},
		cUntuned:  {"C, definitions only", way.C{Target: fast, Settings: untuned}},
		goUntuned: {"Go, definitions only", way.Go{Settings: untuned}},
	}
}

// measured is how one model ran one way.
type measured struct {
	times sample
	err   error
}

// shortest is the time from which on the clock tells times apart.
const shortest = 200 * time.Nanosecond

// runTable runs the first call of every case, each way.
func runTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ways := variants()
	all := make([][]measured, len(ways))
	for i, v := range ways {
		all[i] = runAll(ctx, s, v.way, cases)
	}
	t := &table{
		title: "Generated code",
		legend: fmt.Sprintf(`median of the calls made in %v, in µs, ± the distance of the quartiles in %%; GF/s counts a multiply-accumulate as two
operations; -O3 is with -march=native; untuned:tuned compares with the operators' definitions only;
ratios of times below %v would be the clock's`, s.span, shortest),
		head: []string{"model", "kMAC", "C -O3 µs", "±%", "GF/s", "C -O2 µs", "±%", "GF/s", "Go µs", "±%", "GF/s",
			"Go:C -O3", "Go:C -O2", "C untuned:tuned", "Go untuned:tuned"},
	}
	for k, c := range cases {
		row := []string{nameOf(c.Dir), none}
		work := macs(c)
		if work > 0 {
			row[1] = fmt.Sprintf("%.4g", float64(work)/1e3)
		}
		for i, v := range ways {
			m := all[i][k]
			if m.err != nil {
				t.notes = append(t.notes, fmt.Sprintf("%s, %s: %s", row[0], v.name, conform.FirstLine(m.err)))
			}
			if i <= goTuned {
				row = append(row, m.cells(work)...)
			}
		}
		median := func(i int) float64 {
			if t := all[i][k].times.median(); t >= shortest {
				return t.Seconds()
			}
			return 0
		}
		t.row(append(row, ratio(median(goTuned), median(cNative)), ratio(median(goTuned), median(cGeneric)),
			ratio(median(cUntuned), median(cNative)), ratio(median(goUntuned), median(goTuned)))...)
	}
	return t, ctx.Err()
}

// cells are a model's time, its spread, and its speed at so many
// multiply-accumulates, 0 if that is not known.
func (m *measured) cells(macs int64) []string {
	median := m.times.median()
	if m.err != nil || median == 0 {
		return []string{"failed", none, none}
	}
	speed := none
	if macs > 0 {
		speed = fmt.Sprintf("%.2f", 2*float64(macs)/float64(median.Nanoseconds()))
	}
	return []string{fmt.Sprintf("%.2f", float64(median.Nanoseconds())/1e3), fmt.Sprintf("%.0f", 100*m.times.spread()), speed}
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
	return measured{times: newSample(r.Calls[0].Times)}
}
