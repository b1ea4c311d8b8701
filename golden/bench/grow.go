package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/etgen/etgen/codegen/heap"
	"github.com/etgen/etgen/golden/grow"
	"github.com/etgen/etgen/golden/testcase"
)

// Goals for programs of the largest size.
const (
	growTime = 3 * time.Second
	growPeak = 1e9
	growMost = 1.2 // exponent
)

// growOnly makes the command measure one program and print what it took: a process
// for each, so that it has its own peak of memory.
const growOnly = "ETGEN_GROW"

// shapes are those of programs that are to be measured.
func (s *settings) shapes() []grow.Shape {
	return slices.DeleteFunc(grow.Shapes(), func(shape grow.Shape) bool {
		return !s.pattern.MatchString("grow/" + shape.Name)
	})
}

// growTable measures etgen on programs of all shapes, from small to large, and
// draws them.
func growTable(ctx context.Context, s *settings, _ []*testcase.Case) (*table, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &table{
		title: "etgen, and compilers of what it makes, on programs that grow",
		legend: fmt.Sprintf(
			"time in ms and peak memory in MB for programs of %v nodes, of the largest the slowest stage, "+
				"and the exponent of time from %d to %d; ! is above %v, %d MB or %.1f",
			s.nodes, s.nodes[1], s.nodes[2], growTime, int(growPeak/1e6), growMost),
		head: []string{"shape", "way", "ms", "ms", "ms", "MB", "MB", "MB", "exponent", "slowest"},
	}
	var lines []grow.Line
	for _, shape := range s.shapes() {
		for _, way := range grow.Ways {
			line, err := s.growLine(ctx, t, shape, way, func(n int) (grow.Result, int64, error) {
				return growProcess(ctx, self, shape, way, n)
			})
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		for _, c := range growCompilers() {
			line, err := s.growLine(ctx, t, shape, c.name, func(n int) (grow.Result, int64, error) {
				return c.measure(ctx, shape, n)
			})
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
	}
	file := filepath.Join(os.TempDir(), "etgen-grow.svg")
	out, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := grow.SVG(out, lines); err != nil {
		return nil, err
	}
	t.notes = append(t.notes, "drawn in "+file)
	return t, out.Close()
}

// growLine adds a row to the table: what measure returns for programs of a shape.
func (s *settings) growLine(
	ctx context.Context, t *table, shape grow.Shape, way string,
	measure func(n int) (grow.Result, int64, error),
) (grow.Line, error) {
	row := []string{shape.Name, way}
	line := grow.Line{Name: shape.Name, Way: way}
	var last grow.Result
	var peaks []string
	for _, n := range s.nodes {
		result, peak, err := measure(n)
		if ctx.Err() != nil {
			return line, ctx.Err()
		}
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s, %s, %d nodes: %v", shape.Name, way, n, err))
			row, peaks = append(row, "failed"), append(peaks, none)
			continue
		}
		last = result
		line.Points = append(line.Points, grow.Point{Nodes: n, Time: last.Time, Peak: peak})
		row = append(row, missed(last.Time > growTime,
			fmt.Sprintf("%.0f", last.Time.Seconds()*1e3)))
		peaks = append(peaks, missed(float64(peak) > growPeak, megabytes(peak)))
	}
	exponent := none
	if x, ok := line.Exponent(); ok {
		exponent = missed(x > growMost, fmt.Sprintf("%.2f", x))
	}
	t.row(append(append(row, peaks...), exponent, cmp.Or(last.Slowest, none))...)
	return line, nil
}

// growProcess measures etgen on one program, in a process of its own.
func growProcess(ctx context.Context, self string, shape grow.Shape, way string,
	n int) (r grow.Result, peak int64, err error) {
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("%s=%s %s %d", growOnly, shape.Name, way, n))
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, 0, err
	}
	return r, peakMemory(cmd.ProcessState), nil
}

// growOne measures one program: "SHAPE WAY NODES".
func growOne(what string) error {
	var name, way string
	var n int
	if _, err := fmt.Sscan(what, &name, &way, &n); err != nil {
		return err
	}
	shape, err := grow.ByName(name)
	if err != nil {
		return err
	}
	heap.Grow() // as etgen has it
	m, err := grow.Run(shape, way, n)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m.Result(0))
}
