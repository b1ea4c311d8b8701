package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// runtimeTable measures programs in the runtime, interpreted and optimised at
// load, against generated Go.
func runtimeTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title: "The runtime for .pte files",
		legend: fmt.Sprintf(
			`best of the calls made in %v, in µs; rt interprets, rt/optimize compiles at load; first is the time from the file to the
first result, in ms, best of up to %d loads; ratios of times below %v would be the clock's; ! is above %.1f times
generated Go for rt, %.1f times for rt/optimize`, s.span, max(s.compile, 1), shortest, interpretedGoal, optimizedGoal),
		head: []string{"model", "Go µs", "rt µs", "rt:Go", "rt/optimize µs", "rt/optimize:Go",
			"rt first ms", "rt/optimize first ms"},
	}
	generated := runAll(ctx, s, way.Go{}, cases)
	dir, remove, err := interrupt.TempDir("bench-")
	if err != nil {
		return nil, err
	}
	defer remove()
	for k, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := nameOf(c.Dir)
		fail := func(what string, err error) {
			t.notes = append(t.notes, fmt.Sprintf("%s, %s: %s", name, what, conform.Brief(err)))
		}
		if err := generated[k].err; err != nil {
			fail("Go", err)
		}
		file, err := programOf(c, dir)
		if err != nil {
			fail("rt", err)
			continue
		}
		interpreted := runProgram(ctx, s, c, file, nil)
		optimized := runProgram(ctx, s, c, file, optimize.With(optimize.Options{Strict: true}))
		base := generated[k].times.Least()
		row := []string{name, micros(base)}
		for _, m := range []struct {
			what string
			*runtimeRun
			goal float64
		}{{"rt", interpreted, interpretedGoal}, {"rt/optimize", optimized, optimizedGoal}} {
			if m.err != nil {
				fail(m.what, m.err)
			}
			took := m.times.Least()
			row = append(row, micros(took), atMost(m.goal, took, base))
		}
		t.row(append(row, millis(interpreted.first), millis(optimized.first))...)
	}
	return t, nil
}

func micros(d time.Duration) string {
	if d == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", d.Seconds()*1e6)
}

func millis(d time.Duration) string {
	if d == 0 {
		return none
	}
	return fmt.Sprintf("%.1f", d.Seconds()*1e3)
}

// programOf returns the path of the case's .pte, which is written to dir if the
// model is no .pte.
func programOf(c *testcase.Case, dir string) (string, error) {
	model := filepath.Join(c.Dir, c.Models[0])
	if filepath.Ext(model) == ".pte" {
		return model, nil
	}
	p, closer, err := conform.Job(c, c.Models[0]).Open()
	if err != nil {
		return "", err
	}
	defer closer.Close()
	out, err := compile.PTE(p, compile.Options{})
	if err != nil {
		return "", err
	}
	var file bytes.Buffer
	if err := pte.Write(&file, out.Program); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "model.pte")
	return path, os.WriteFile(path, file.Bytes(), 0o644)
}

// runtimeRun is what was measured of one program.
type runtimeRun struct {
	first time.Duration // from the file to the first result, at best
	times measure.Sample
	err   error
}

// runProgram loads a program some times and runs the first call of its case for
// the span.
func runProgram(ctx context.Context, s *settings, c *testcase.Case, file string,
	with rt.Optimizer) *runtimeRun {
	r := &runtimeRun{}
	load := func(span time.Duration) error {
		start := time.Now()
		p, err := rt.Open(file, nil)
		if err != nil {
			return err
		}
		defer p.Close()
		data, err := dataOf(c)
		if err != nil {
			return err
		}
		m, err := p.LoadMethod(p.MethodNames()[0], &rt.MethodOptions{Registry: portable.Registry(),
			Data: data, Optimize: with})
		if err != nil {
			return err
		}
		defer m.Close()
		times, err := runMethod(ctx, m, c.Calls[0].Inputs, span, func() {
			if took := time.Since(start); r.first == 0 || took < r.first {
				r.first = took
			}
		})
		r.times = measure.NewSample(times)
		return err
	}
	for n, began := 1, time.Now(); n < s.compile && time.Since(began) < s.span &&
		r.err == nil; n++ {
		r.err = load(0)
	}
	if r.err == nil {
		r.err = load(s.span)
	}
	return r
}

// runMethod executes a method for the span, at least once, and calls first after
// the first time.
func runMethod(ctx context.Context, m *rt.Method, inputs []tensor.Value, span time.Duration,
	first func()) ([]time.Duration, error) {
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || time.Since(began) < span ||
		span > 0 && len(times) < 3; {
		for i, v := range inputs {
			x, err := way.InputOf(v, &m.Meta().Inputs[i])
			if err != nil {
				return nil, err
			}
			if err := m.SetInput(i, x); err != nil {
				return nil, err
			}
		}
		before := time.Now()
		if err := m.Execute(ctx); err != nil {
			return nil, err
		}
		took := time.Since(before)
		if len(times) == 0 {
			first()
		}
		times = append(times, took)
	}
	return times, nil
}

// dataOf opens the files with external data that lie beside a case's model.
func dataOf(c *testcase.Case) ([]*rt.DataFile, error) {
	paths, err := filepath.Glob(filepath.Join(c.Dir, "*.ptd"))
	if err != nil {
		return nil, err
	}
	var data []*rt.DataFile
	for _, path := range paths {
		d, err := rt.OpenData(path)
		if err != nil {
			return nil, err
		}
		data = append(data, d)
	}
	return data, nil
}
