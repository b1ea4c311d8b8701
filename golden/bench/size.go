package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/plan"
)

// sizes are the bytes of a package.
type sizes struct {
	source       int64         // text, weights left out
	text         int64         // C: machine code
	gcc          time.Duration // C: that gcc -O3 takes
	weights      int64
	arena, bound int64
	kernels      int
	pkg          *codegen.Package
}

// sizeTable compiles every case and looks at what came out.
func sizeTable(ctx context.Context, _ *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title: "Packages",
		legend: fmt.Sprintf(
			`bytes; source is without weights; code is .text of gcc -O2 for this machine; gcc s is the processor's time that gcc -O3
-march=native takes, ! is above %v; arena:bound is 1 where no plan can be smaller`, gccGoal),
		head: []string{"model", "C source", "C code", "gcc s", "Go source", "Go:C source",
			"functions", "weights", "arena", "arena:bound"},
	}
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := nameOf(c.Dir)
		inC, err := packageSizes(c, tuned.C)
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s, C: %s", name, conform.Brief(err)))
			continue
		}
		if inC.text, inC.gcc, err = compiledC(ctx, inC.pkg); err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s, C: %s", name, conform.Brief(err)))
			continue
		}
		inGo, err := packageSizes(c, tuned.Go)
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s, Go: %s", name, conform.Brief(err)))
			continue
		}
		t.row(name, fmt.Sprint(inC.source), fmt.Sprint(inC.text),
			missed(inC.gcc > gccGoal, fmt.Sprintf("%.1f", inC.gcc.Seconds())),
			fmt.Sprint(inGo.source), ratio(float64(inGo.source), float64(inC.source)),
			fmt.Sprint(inC.kernels), fmt.Sprint(inC.weights), fmt.Sprint(inC.arena),
			ratio(float64(inC.arena), float64(inC.bound)))
	}
	return t, nil
}

func packageSizes(c *testcase.Case, l *tuned.Language) (*sizes, error) {
	p, closer, err := conform.Job(c, c.Models[0]).Open()
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	opt := compile.Options{Name: "model", Lang: l.Name}
	np, err := compile.Native(p, opt)
	if err != nil {
		return nil, err
	}
	pkg, err := compile.Print(np, opt)
	if err != nil {
		return nil, err
	}
	s := &sizes{pkg: pkg, weights: codegen.LayOut(np).Size, kernels: len(np.Kernels)}
	for _, f := range pkg.Files {
		if ext := filepath.Ext(f.Name); ext != ".bin" && !strings.HasSuffix(f.Name, "_weights.c") {
			s.source += int64(len(f.Data))
		}
	}
	for _, m := range np.Methods {
		r, err := plan.NewReport(m.Problem, m.Plan)
		if err != nil {
			return nil, err
		}
		s.arena, s.bound = max(s.arena, r.Size), max(s.bound, r.LowerBound)
	}
	return s, nil
}

// compiledC compiles a C package and returns the bytes of its code, and the time
// that gcc takes of the processor with all optimizations.
func compiledC(ctx context.Context,
	pkg *codegen.Package) (text int64, took time.Duration, err error) {
	dir, remove, err := interrupt.TempDir("bench-")
	if err != nil {
		return 0, 0, err
	}
	defer remove()
	if err := pkg.Write(ctx, dir); err != nil {
		return 0, 0, err
	}
	source := filepath.Join(dir, pkg.Name+".c")
	fast := toolchain.GCC().With("-O3", "-march=native", "-c", "-o", filepath.Join(dir, "fast.o"),
		source)
	gcc := exec.CommandContext(ctx, fast.Compiler, fast.Flags...)
	if text, err := gcc.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("gcc -O3: %w: %s", err, text)
	}
	took = gcc.ProcessState.UserTime() + gcc.ProcessState.SystemTime()
	objects, err := toolchain.GCC().Compile(ctx, dir, source)
	if err != nil {
		return 0, 0, err
	}
	image, err := toolchain.ReadELF(objects[0])
	if err != nil {
		return 0, 0, err
	}
	return int64(image.Sizes(".eh_frame").Text), took, nil
}
