package registry

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"regexp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
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
	// Kernels are custom operators. Of their kernels in Go the file has kernels for package rt; the
	// application adds those of the others.
	Kernels *custom.Kernels
	Dir     string // where the file goes
}

// Generate returns a Go file with the function Registry, and a file of data
// beside it if kernels need tables. The error joins what is wrong with all
// calls: it names the operators that etgen does not have, each once. Without
// programs the file has the kernels of custom operators alone.
func Generate(programs []Program, opt Options) (_ *codegen.Package, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf(
				"internal error: %v; this is a defect of etgen, please report it with the programs",
				r)
		}
	}()
	defer must.Catch(&err)
	if !token.IsIdentifier(opt.Package) || opt.Package == "_" {
		must.Fail("%q is no name for a Go package", opt.Package)
	}
	opt.File = cmp.Or(opt.File, "kernels_gen.go")
	if !fileName.MatchString(opt.File) {
		must.Fail("%q is no name for a Go file: take letters of ASCII, digits, hyphens and underscores",
			opt.File)
	}
	opt.Generator = cmp.Or(opt.Generator, "etgen")
	table := ops.Standard()
	c := &collector{table: table, byKey: map[foreign.Text]*call{}, names: map[string]bool{},
		custom: map[string]bool{}, left: map[string]bool{}}
	for _, s := range opt.Kernels.Declared() {
		c.custom[ops.OutForm(s).Name] = true
	}
	var sources []foreign.Text
	for _, p := range programs {
		must.In(pte.Verify(p.Program, table), "%s", foreign.Message(p.Name))
		c.program(p)
		sources = append(sources, foreign.Of(p.Name))
	}
	must.Check(unknown(table, c.calls))
	own := c.customPart(opt, len(programs) > 0)
	if len(programs) == 0 {
		if own.body.Len() == 0 {
			must.Fail("there are no programs, and no kernels in Go: the file would be empty")
		}
		return assemble(&codegen.Package{}, "", own, own.source(), opt), nil
	}
	np := build(table, c.calls)
	np.Source = foreign.Join(sources, ", ")
	parts := must.Get(golang.Generate(np, golang.Options{Name: "registry",
		Generator: opt.Generator, Internal: true}))
	return assemble(parts, door(c, np, own, len(programs) == 1), own,
		np.Source, opt), nil
}

// fileName are names that directives of Go can have.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][-.\w]*\.go$`)

// build makes a program of the calls, a method each, and its native form.
func build(table *ops.Table, calls []*call) *native.Program {
	p := &ir.Program{Source: "registry"}
	errs := seq.Map(calls, func(c *call) error {
		return must.Try(func() { p.Methods = append(p.Methods, c.method(table)) })
	})
	must.Check(errors.Join(errs...))
	must.Check(compile.Lower(p, compile.Options{Lang: tuned.Go.Name}))
	later := map[*ir.Value]bool{}
	for i, m := range p.Methods {
		for k, operand := range calls[i].inputs {
			later[m.Graph.Inputs[k]] = calls[i].operands[operand].constant
		}
	}
	np := must.Get(native.Build(p, native.Options{
		Table: table, Kernels: tuned.Standard(), Planner: plan.Best{},
		Target: tuned.Running(),
		Later:  func(v *ir.Value) bool { return later[v] },
	}))
	for i, m := range np.Methods {
		calls[i].bindNumbers(m)
	}
	return np
}
