package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/plan"
)

// sizes are the bytes of a package.
type sizes struct {
	source       int64 // text, weights left out
	text         int64 // C: machine code
	weights      int64
	arena, bound int64
	kernels      int
}

// sizeTable compiles every case and looks at what came out.
func sizeTable(ctx context.Context, _ *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title:  "Packages",
		legend: `bytes; source is without weights; code is .text of gcc -O2 for this machine; arena:bound is 1 where no plan can be smaller`,
		head:   []string{"model", "C source", "C code", "Go source", "Go:C source", "functions", "weights", "arena", "arena:bound"},
	}
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := nameOf(c.Dir)
		inC, err := packageSizes(ctx, c, "c")
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s, C: %s", name, conform.FirstLine(err)))
			continue
		}
		inGo, err := packageSizes(ctx, c, "go")
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s, Go: %s", name, conform.FirstLine(err)))
			continue
		}
		t.row(name, fmt.Sprint(inC.source), fmt.Sprint(inC.text), fmt.Sprint(inGo.source), ratio(float64(inGo.source), float64(inC.source)),
			fmt.Sprint(inC.kernels), fmt.Sprint(inC.weights), fmt.Sprint(inC.arena), ratio(float64(inC.arena), float64(inC.bound)))
	}
	return t, nil
}

func packageSizes(ctx context.Context, c *testcase.Case, lang string) (*sizes, error) {
	p, closer, err := conform.Job(c, c.Models[0]).Open()
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	opt := compile.Options{Name: "model", Lang: lang}
	np, err := compile.Native(p, opt)
	if err != nil {
		return nil, err
	}
	pkg, err := compile.Print(np, opt)
	if err != nil {
		return nil, err
	}
	s := &sizes{weights: codegen.LayOut(np).Size, kernels: len(np.Kernels)}
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
	if lang == "c" {
		s.text, err = textSize(ctx, pkg)
	}
	return s, err
}

// textSize compiles a C package and returns the bytes of its code.
func textSize(ctx context.Context, pkg *codegen.Package) (int64, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	if err := pkg.Write(dir); err != nil {
		return 0, err
	}
	objects, err := toolchain.GCC().Compile(ctx, dir, filepath.Join(dir, pkg.Name+".c"))
	if err != nil {
		return 0, err
	}
	image, err := toolchain.ReadELF(objects[0])
	if err != nil {
		return 0, err
	}
	return int64(image.Sizes(".eh_frame").Text), nil
}
