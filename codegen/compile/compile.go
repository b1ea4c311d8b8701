// Package compile is the whole way from a model file to a generated package:
// read, lower, build the native form or an ExecuTorch program, print.
package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/plan"
)

// Options steer a compilation.
type Options struct {
	Name string // package name and prefix; "" derives it from the model's file name
	Lang string // one of Languages; "" is "c"
	// GoPackage, of Go, is the package that the files become part of; "" makes a
	// package of its own.
	GoPackage string
	Target    string // one of tuned.MachineNames; "" is "generic"
	// Generator is named in the head of every file, so that a reader can make
	// them again; "" is "etgen". No absolute paths: the same input gives the
	// same bytes everywhere.
	Generator string
	Optimize  string // "speed" or "size"; "" is size for MCU targets, else speed
	Planner   plan.Planner
	// Banks, if not nil, are the memories that the arena of C, or the planned memory of an
	// ExecuTorch program, is divided into, the fastest first.
	Banks []plan.Bank
	// Requantize is the arithmetic with which C and Go bring sums of quantized networks to a
	// scale: "float" or "fixed"; "" is fixed for targets without floats in hardware.
	Requantize string
	// Library, of C, is LibraryCMSISNN or "": whose kernels are called where it has them.
	Library string
	// Dialect of an ExecuTorch program of a quantized network is "" or DialectCortexM.
	Dialect string
	Poison  bool // tests: overwrite dead buffers; with plan.Disjoint only
	// Stream, if not nil, makes the program take frames one by one.
	Stream         *lower.StreamOptions
	Rows           bool // of C and Go: the input comes by rows, as native.Options says
	Patches        int  // tests: make convolutions in patches of so many rows wherever they can
	FunctionWeight int  // tests: divide functions of the text that weigh more; 0: codegen.MaxWeight
	Untuned        bool // tests: definitions only
	// Threads, if over 1, divides kernels of C and Go into that many parts that may
	// run at the same time: see the printers' options.
	Threads int
	// Checked makes an index out of range an error.
	Checked bool
	// Bounds are upper bounds of sizes by their names: see lower.BoundSizes.
	Bounds map[string]int64
	// DivideAll divides small kernels too: for tests.
	DivideAll bool
	// Profile, of C and Go, makes code that tells when kernels begin and end: see the printers'
	// options.
	Profile bool
	// Of C: see the printer's options.
	Weights       string
	Separate, CPP bool
	Sections      map[codegen.SectionKind]string
	// Of an ExecuTorch program: weights in a file of their own, and the model's
	// Python lines with the instructions.
	ExternalWeights, StackTraces bool
	// DebugMap writes beside an ExecuTorch program what its instructions stand for.
	DebugMap bool
	// ETRecord writes beside an ExecuTorch program an ETRecord of it, for ExecuTorch's Inspector.
	ETRecord bool
	// Warn, if not nil, is shown the program's warnings when it has been lowered;
	// with Strict they are errors instead.
	Warn   func(error)
	Strict bool
	// Step, if not nil, is told what a compilation does next: the names of passes, and of what
	// comes behind them.
	Step func(name string)
	// Context, if not nil, ends a compilation when it is done, with its cause.
	Context context.Context
	// Custom are the custom operators that the program may call, and their kernels; may be nil.
	Custom *custom.Kernels
	// Recipe, if not nil, says how the program is quantized before anything else is done to it.
	Recipe *quantize.Recipe
	// Backends compile the parts of the program that they take, asked in order.
	Backends []*partition.Use
	// Delegation, if not nil, becomes what they took and why not more.
	Delegation *partition.Report
	// MaxFallbacks, if not nil, is how many operators may stay with etgen; there are Backends then.
	MaxFallbacks *int
	// To is the dialect that Lower brings a program into; "" is the one that the output
	// language is made from.
	To ir.Dialect
	// After, if not nil, sees the program after every pass and may return
	// lower.Stop.
	After func(lower.Pass, *ir.Program) error
}

// Lower brings p, in place, into a dialect: opt.To.
func Lower(p *ir.Program, opt Options) (err error) {
	defer opt.ended(&err)
	defer internal(p, &err)
	defer must.Catch(&err)
	must.Check(ir.Verify(p))
	must.Check(ops.Declare(p, opt.Custom.Declared()...))
	l := must.Get(LanguageNamed(opt.Lang))
	ctx := &lower.Context{Table: must.Get(ops.Of(p)), Checked: opt.Checked, Bounds: opt.Bounds,
		Done: opt.done(), Step: opt.Step}
	if opt.Custom != nil && len(opt.Custom.Go) > 0 {
		f := &folding{kernels: opt.Custom, ctx: cmp.Or(opt.Context, context.Background())}
		defer f.close()
		ctx.Custom = f
	}
	if l.Kernels != nil {
		target := opt.target(l)
		ctx.Speed = target.Speed && !target.Machine.Microcontroller && opt.Library == ""
		ctx.Floats = ctx.Speed && target.Language.FindsVectors
		ctx.Vectors = target.Machine.Vectors > 0
		ctx.Fixed, ctx.CortexM = opt.fixed(target.Machine), opt.cmsisNN()
		ctx.Sides = !ctx.Speed
		if !opt.Untuned {
			ctx.KeepsIntegers = func(m sym.Expr, n, k int64) bool {
				return tuned.KeepsIntegers(target, m, n, k)
			}
			ctx.Legal = tuned.Legal(tuned.Standard(), target)
			ctx.Bytes = tuned.MultipliesBytes(tuned.Standard(), target)
		}
	}
	if opt.Dialect != "" {
		opt.checkDialect(p, l)
		ctx.CortexM = true
	}
	pipeline := l.pipeline
	if opt.To != "" {
		pipeline, _ = lower.To(opt.To)
	}
	if len(opt.Backends) > 0 {
		if opt.Delegation == nil {
			opt.Delegation = &partition.Report{}
		}
		pipeline = partition.Pipeline(opt.Backends, opt.Delegation, pipeline)
	}
	if opt.Stream != nil {
		pipeline = lower.Streaming(pipeline, *opt.Stream)
	}
	if opt.Recipe != nil {
		pipeline = must.Get(quantize.Pipeline(p, opt.Recipe, pipeline))
	}
	must.Check(pipeline.Run(ctx, p, opt.After))
	if opt.MaxFallbacks != nil {
		if err := opt.Delegation.Check(*opt.MaxFallbacks); err != nil {
			return lower.InFile(p.Source, err)
		}
	}
	return opt.Warnings(p)
}

// Warnings shows the warnings of p, or with Strict returns them as an error.
func (opt Options) Warnings(p *ir.Program) error {
	if opt.Strict {
		return errors.Join(p.Warnings...)
	}
	for _, w := range p.Warnings {
		opt.Show(w)
	}
	return nil
}

// Show shows a warning, if somebody looks.
func (opt Options) Show(warning error) {
	if opt.Warn != nil {
		opt.Warn(warning)
	}
}

// Native lowers p and builds its native form.
func Native(p *ir.Program, opt Options) (_ *native.Program, err error) {
	defer opt.ended(&err)
	defer internal(p, &err)
	defer must.Catch(&err)
	l := opt.native()
	target := opt.target(l)
	if opt.Banks != nil && !l.Placed {
		must.Fail("an arena divided into banks is for C, not for %s", l.Name)
	}
	opt.checkLibrary(p)
	arithmetic := opt.arithmetic(p, target.Machine)
	must.Check(Lower(p, opt))
	nopt := native.Options{Table: must.Get(ops.Of(p)), Planner: opt.planner(), Banks: opt.Banks,
		Poison:  opt.Poison,
		Patches: opt.Patches, Rows: opt.Rows, Checked: opt.Checked, Done: opt.done(), Target: target}
	if !opt.Untuned {
		nopt.Kernels = append(opt.library(), tuned.Standard()...)
	}
	opt.Tell("kernels and memory")
	np, err := native.Build(p, nopt)
	if err != nil {
		return nil, lower.InFile(p.Source, err)
	}
	np.Arithmetic = arithmetic
	return np, nil
}

// Package lowers p and writes it as files.
func Package(p *ir.Program, opt Options) (_ *codegen.Package, err error) {
	defer internal(p, &err)
	defer must.Catch(&err)
	if must.Get(LanguageNamed(opt.Lang)).print == nil {
		return printPTE(must.Get(PTE(p, opt)), opt.name(p.Source), opt.DebugMap), nil
	}
	return Print(must.Get(Native(p, opt)), opt)
}

// Print prints a native program as source files.
func Print(np *native.Program, opt Options) (_ *codegen.Package, err error) {
	defer opt.ended(&err)
	source := np.Source.Raw()
	defer internal(&ir.Program{Source: source}, &err)
	defer must.Catch(&err)
	name := opt.name(source)
	if opt.Threads > 1 && !slices.ContainsFunc(np.Kernels, (*native.Kernel).Divided) {
		opt.Show(fmt.Errorf("%s: %d threads have no effect: no kernel of it is worth dividing",
			source, opt.Threads))
	}
	l := opt.native()
	opt.Tell("print")
	return l.print(np, codegen.Options{Name: name, Package: opt.GoPackage,
		Generator: opt.Generator, Profile: opt.Profile, Threads: opt.Threads,
		Weights: opt.Weights, Sections: opt.Sections, Separate: opt.Separate,
		CPP:            opt.CPP,
		Machine:        must.Get(tuned.MachineNamed(opt.Target)),
		Custom:         opt.Custom,
		FunctionWeight: opt.FunctionWeight, Done: opt.done()})
}

// Tell tells Step what is done next.
func (opt Options) Tell(name string) {
	if opt.Step != nil {
		opt.Step(name)
	}
}

// native is the output language, which has a native form.
func (opt Options) native() *Language {
	l := must.Get(LanguageNamed(opt.Lang))
	if l.Kernels == nil {
		must.Fail("output language %q has no native form", l.Name)
	}
	return l
}

// done is closed when a compilation is to end; nil is never.
func (opt Options) done() <-chan struct{} {
	if opt.Context == nil {
		return nil
	}
	return opt.Context.Done()
}

// ended makes an error of a compilation that was told to end say so. What the
// stages say of being stopped is nobody's business.
func (opt Options) ended(err *error) {
	if *err != nil && opt.Context != nil && opt.Context.Err() != nil {
		*err = context.Cause(opt.Context)
	}
}

// planner is the one asked for, which stops when a compilation is to end.
func (opt Options) planner() plan.Planner {
	switch p := opt.Planner.(type) {
	case nil:
		return plan.Best{Done: opt.done()}
	case plan.Best:
		p.Done = opt.done()
		return p
	}
	return opt.Planner
}

// name returns the package's name.
func (opt Options) name(source string) string {
	if opt.Name != "" {
		return opt.Name
	}
	return NameOf(source)
}

// internal turns a panic, which is a defect of ours, into an error: no panic
// reaches a user.
func internal(p *ir.Program, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf(
			"%s: internal error: %v; this is a defect of etgen, please report it with the model",
			foreign.Message(p.Source), r)
	}
}

// NameOf derives a package name from a model's file name: "My-Net.pt2" gives
// "my_net".
func NameOf(file string) string {
	base := filepath.Base(file)
	stem := strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base)))
	stem = strings.TrimLeftFunc(stem, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' ||
			r > '9')
	})
	if stem == "" || stem[0] <= '9' {
		stem = "model" + stem
	}
	return codegen.Identifier(stem)
}
