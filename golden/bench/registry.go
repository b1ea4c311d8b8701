package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/ir/pte"
)

// registryTable builds apps that run a program with the kernels of all operators
// and with those that the program calls, and compares their sizes and times.
func registryTable(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error) {
	t := &table{
		title: "Registries",
		legend: "bytes of a Go binary, -trimpath -ldflags=\"-s -w\"; ratio is without the bytes of an " +
			"empty program; best time of an execution with zeros",
		head: []string{"program", "empty", "all operators", "its own", "ratio",
			"all operators µs", "its own µs"},
	}
	cases, err := withPrograms(cases)
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		a, err := newApps(ctx, c)
		if err == nil {
			err = a.row(ctx, t, s.span)
			a.remove()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			t.notes = append(t.notes, fmt.Sprintf("%s: %s", nameOf(c.Dir), conform.Brief(err)))
		}
	}
	return t, nil
}

// withPrograms returns the cases that have an ExecuTorch program, if there are
// none the keyword spotter's. Without it etgen writes programs.
func withPrograms(cases []*testcase.Case) ([]*testcase.Case, error) {
	var found []*testcase.Case
	for _, c := range cases {
		if slices.Contains(c.Models, "model.pte") {
			found = append(found, c)
		}
	}
	if found != nil {
		return found, nil
	}
	c, err := testcase.Read("../shared/pte/kws_trained")
	if errors.Is(err, fs.ErrNotExist) {
		return cases, nil
	}
	return []*testcase.Case{c}, err
}

// apps are the programs of one case, in a temporary folder.
type apps struct {
	name, dir, program string
	remove             func() // dir
}

// The apps, by the package that their kernels are from.
var kernelsOf = []struct{ app, pkg string }{
	{"empty", ""}, {"all", "github.com/etgen/etgen/rt/portable"}, {"own", "apps/kernels"},
}

const emptyMain = "package main\n\nfunc main() {}\n"

// appMain executes the program that its first argument names for as long as the
// second says and prints the least time in nanoseconds.
const appMain = `package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/etgen/etgen/rt"
	kernels %q
)

func main() {
	p, err := rt.Open(os.Args[1], nil)
	check(err)
	m, err := p.LoadMethod(p.MethodNames()[0], &rt.MethodOptions{Registry: kernels.Registry()})
	check(err)
	for i, in := range m.Meta().Inputs {
		if in.Kind == rt.TensorKind {
			x, err := rt.NewTensor(in.DType, in.Sizes, in.DimOrder, nil)
			check(err)
			check(m.SetInput(i, x))
		}
	}
	span, err := time.ParseDuration(os.Args[2])
	check(err)
	var times []time.Duration
	for start := time.Now(); len(times) < 3 || time.Since(start) < span; {
		before := time.Now()
		check(m.Execute(context.Background()))
		times = append(times, time.Since(before))
	}
	println(slices.Min(times).Nanoseconds())
}

func check(err error) {
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}
`

// newApps writes the sources of the apps of a case.
func newApps(ctx context.Context, c *testcase.Case) (_ *apps, err error) {
	list, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/etgen/etgen").Output()
	if err != nil {
		return nil, fmt.Errorf("where is the repository: %w", err)
	}
	repo := strings.TrimSpace(string(list))
	a := &apps{name: nameOf(c.Dir)}
	if a.dir, a.remove, err = interrupt.TempDir("bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.remove()
		}
	}()
	if a.program, err = programOf(c, a.dir); err != nil {
		return nil, err
	}
	if a.program, err = filepath.Abs(a.program); err != nil {
		return nil, err
	}
	p, closer, err := pte.Open(a.program)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	kernels, err := registry.Generate([]registry.Program{{Name: filepath.Base(a.program),
		Program: p}}, registry.Options{Package: "kernels"})
	if err != nil {
		return nil, err
	}
	if err := kernels.Write(ctx, filepath.Join(a.dir, "kernels")); err != nil {
		return nil, err
	}
	module := &codegen.Package{Files: []codegen.File{
		{Name: "go.mod", Data: []byte("module apps\n\ngo 1.26.0\n")},
		{Name: "go.work", Data: []byte("go 1.26.0\n\nuse (\n\t.\n\t" +
			strconv.Quote(repo) + "\n)\n")},
	}}
	if err := module.Write(ctx, a.dir); err != nil {
		return nil, err
	}
	for _, k := range kernelsOf {
		text := emptyMain
		if k.pkg != "" {
			text = fmt.Sprintf(appMain, k.pkg)
		}
		app := &codegen.Package{Files: []codegen.File{{Name: "main.go", Data: []byte(text)}}}
		if err := app.Write(ctx, filepath.Join(a.dir, k.app)); err != nil {
			return nil, err
		}
		if _, err := a.command(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o",
			k.app+".exe", "./"+k.app); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *apps) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = a.dir
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(a.dir, "go.work"), "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// row measures the apps.
func (a *apps) row(ctx context.Context, t *table, span time.Duration) error {
	var bytes []int64
	var times []string
	for _, k := range kernelsOf {
		exe := filepath.Join(a.dir, k.app+".exe")
		info, err := os.Stat(exe)
		if err != nil {
			return err
		}
		bytes = append(bytes, info.Size())
		if k.pkg == "" {
			continue
		}
		out, err := a.command(ctx, exe, a.program, span.String())
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(out, 10, 64)
		if err != nil {
			return err
		}
		times = append(times, micros(time.Duration(n)))
	}
	t.row(a.name, fmt.Sprint(bytes[0]), fmt.Sprint(bytes[1]), fmt.Sprint(bytes[2]),
		ratio(float64(bytes[2]-bytes[0]), float64(bytes[1]-bytes[0])), times[0], times[1])
	return nil
}
