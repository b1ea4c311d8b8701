package registry

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"regexp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// Program is an ExecuTorch program to make kernels for.
type Program struct {
	Name string // of its file, for messages
	*pte.Program
}

// Options steer Generate.
type Options struct {
	Package   string // the Go package's name
	File      string // the Go file's name; "" is kernels_gen.go
	Generator string // the command, named in the head of the file; "" is "etgen"
}

// Generate returns a Go file with the function Registry, and a file of data
// beside it if kernels need tables. The error joins what is wrong with all
// calls: it names the operators that etgen does not have, each once.
func Generate(programs []Program, opt Options) (_ *codegen.Package, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf(
				"internal error: %v; this is a defect of etgen, please report it with the programs",
				r)
		}
	}()
	if !token.IsIdentifier(opt.Package) || opt.Package == "_" {
		return nil, fmt.Errorf("%q is no name for a Go package", opt.Package)
	}
	opt.File = cmp.Or(opt.File, "kernels_gen.go")
	if !fileName.MatchString(opt.File) {
		return nil, fmt.Errorf(
			"%q is no name for a Go file: take letters of ASCII, digits, hyphens and underscores",
			opt.File)
	}
	opt.Generator = cmp.Or(opt.Generator, "etgen")
	table := ops.Standard()
	c := &collector{table: table, byKey: map[foreign.Text]*call{}, names: map[string]bool{}}
	var sources []foreign.Text
	for _, p := range programs {
		if err := pte.Verify(p.Program, table); err != nil {
			return nil, fmt.Errorf("%s: %w", foreign.Message(p.Name), err)
		}
		if err := c.program(p); err != nil {
			return nil, err
		}
		sources = append(sources, foreign.Of(p.Name))
	}
	if err := unknown(table, c.calls); err != nil {
		return nil, err
	}
	np, err := build(table, c.calls)
	if err != nil {
		return nil, err
	}
	np.Source = foreign.Join(sources, ", ")
	parts, err := golang.Generate(np, golang.Options{Name: "registry", Generator: opt.Generator,
		Internal: true})
	if err != nil {
		return nil, err
	}
	return assemble(parts, door(c.calls, np, len(programs) == 1), np.Source, opt)
}

// fileName are names that directives of Go can have.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][-.\w]*\.go$`)

// build makes a program of the calls, a method each, and its native form.
func build(table *ops.Table, calls []*call) (*native.Program, error) {
	p := &ir.Program{Source: "registry"}
	var errs []error
	for _, c := range calls {
		m, err := c.method(table)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.Methods = append(p.Methods, m)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := compile.Lower(p, compile.Options{Lang: tuned.Go.Name}); err != nil {
		return nil, err
	}
	later := map[*ir.Value]bool{}
	for i, m := range p.Methods {
		for k, operand := range calls[i].inputs {
			later[m.Graph.Inputs[k]] = calls[i].operands[operand].constant
		}
	}
	np, err := native.Build(p, native.Options{
		Table: table, Kernels: tuned.Standard(), Planner: plan.Best{},
		Target: tuned.Running(),
		Later:  func(v *ir.Value) bool { return later[v] },
	})
	if err != nil {
		return nil, err
	}
	for i, m := range np.Methods {
		calls[i].bindNumbers(m)
	}
	return np, nil
}
