package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/plan"
)

// hardSets are memory-planning problems in the form of MiniMalloc's.
const hardSets = "../shared/minimalloc/*.csv"

// planTable plans the hard sets.
func planTable(ctx context.Context, _ *settings, _ []*testcase.Case) (*table, error) {
	t := &table{
		title: "Memory plans",
		legend: `problems of ` + hardSets + `: the most that is alive at once, what plan.Greedy and plan.Best need, as bytes
and as multiples of the bound, and how long Best takes`,
		head: []string{"set", "buffers", "bound", "greedy", "best", "greedy:bound", "best:bound", "ms"},
	}
	files, err := filepath.Glob(hardSets)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		t.notes = append(t.notes, "no "+hardSets)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := readSet(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		peaks, err := plan.LowerBound(p)
		if err != nil {
			return nil, err
		}
		greedy, err := plan.Greedy{}.Plan(p)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		best, err := plan.Best{Done: ctx.Done()}.Plan(p)
		if err != nil {
			return nil, err
		}
		took := time.Since(start)
		if err := plan.Check(p, best); err != nil {
			return nil, err
		}
		ratio := func(pl *plan.Plan) string {
			return fmt.Sprintf("%.3f", float64(pl.Size())/float64(peaks[0].Bytes))
		}
		t.row(filepath.Base(file), fmt.Sprint(len(p.Buffers)), fmt.Sprint(peaks[0].Bytes),
			fmt.Sprint(greedy.Size()), fmt.Sprint(best.Size()), ratio(greedy), ratio(best),
			fmt.Sprint(took.Milliseconds()))
	}
	return t, nil
}

// readSet reads lines of id, first step, step behind the last, bytes.
func readSet(path string) (*plan.Problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	p := &plan.Problem{}
	for i, row := range rows {
		if i == 0 {
			continue // the head
		}
		var n [4]int
		for k := range n {
			if k < len(row) {
				n[k], err = strconv.Atoi(row[k])
			}
			if k >= len(row) || err != nil {
				return nil, fmt.Errorf("line %d is not four numbers", i+1)
			}
		}
		p.Buffers = append(p.Buffers, plan.Buffer{Name: row[0], Size: int64(n[3]),
			Writes: []int{n[1]}, Reads: []int{n[2] - 1}})
	}
	return p, nil
}
