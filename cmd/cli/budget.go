package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	codereport "github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/size"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/plan"
	"github.com/etgen/etgen/rt/portable"
)

// budgetFlags say what code may take, and where what it takes is told.
type budgetFlags struct {
	ram, flash, stack bytesFlag
	report            string
	compiler          sizeFlags
}

// budgetNames are the flags of budgetFlags that are for C alone.
var budgetNames = []string{"max-ram", "max-flash", "max-stack", "cc", "cflags"}

func (f *budgetFlags) add(cmd *cobra.Command) {
	for _, x := range []struct {
		to    *bytesFlag
		name  string
		about string
	}{
		{&f.ram, "max-ram", "arena, state and variables, without the caller's tensors and the stack"},
		{&f.flash, "max-flash", "code, weights and tables"},
		{&f.stack, "max-stack", "the stack of a call, as far as the compiler knows"},
	} {
		cmd.Flags().Var(x.to, x.name, "with --lang=c: fail, with exit code 5, if more is taken of "+
			x.about+
			": bytes, or with k, K, KiB (1024), M, MiB; measured if there is a compiler for the target, "+
			"else estimated")
	}
	cmd.Flags().StringVar(&f.report, "report", "",
		"a file to write to what each layer takes: JSON if it is called .json, else Markdown")
	f.compiler.add(cmd)
}

// budget is what the flags allow.
func (f *budgetFlags) budget() size.Budget {
	return size.Budget{RAM: int64(f.ram), Flash: int64(f.flash), Stack: int64(f.stack)}
}

// compile compiles models within the budget. The report is nil if nobody asked for one.
func (f *budgetFlags) compile(a *app, flags *compileFlags, several *methodFlags,
	files []compile.MethodFile, opt compile.Options,
	check bool) (*codegen.Package, *codereport.Report) {
	b := f.budget()
	if !b.Given() {
		flags.ignored("without --max-ram, --max-flash or --max-stack", "cc", "cflags")
		if f.report == "" {
			return several.compile(files, opt), nil
		}
	}
	opt, several.declared = several.options(files, opt), opt.Custom.Declared()
	open := func() (*ir.Program, io.Closer, error) { return several.open(files) }
	var pkg *codegen.Package
	var r *codereport.Report
	var err error
	if b.Given() {
		pkg, r, err = size.Check(flags.cmd.Context(), open, opt, f.compiler.options(flags.cmd), b,
			flags.alternatives(opt, open))
	} else {
		p, closer := must.Get2(open())
		defer closer.Close()
		pkg, r, err = compile.Reported(p, opt)
	}
	if over, ok := errors.AsType[*size.OverError](err); ok {
		must.Check(over.Print(a.err))
		must.Check(f.write(flags.cmd, over.Report, check, paths(files)...))
		fmt.Fprintln(a.err)
	}
	must.Check(modelError(err))
	return pkg, r
}

// write writes the report, if one is asked for.
func (f *budgetFlags) write(cmd *cobra.Command, r *codereport.Report, check bool,
	inputs ...string) error {
	if f.report == "" || check {
		return nil
	}
	if filepath.Ext(f.report) != ".json" {
		return writeMarkup(cmd, f.report, inputs[0], r.Markdown)
	}
	text, err := foreign.JSON(r)
	if err != nil {
		return err
	}
	pkg := codegen.Package{Files: []codegen.File{{Name: filepath.Base(f.report), Data: text}}}
	return pkg.Write(cmd.Context(), filepath.Dir(f.report), inputs...)
}

// quick is up to how many multiply-accumulates a model is quantized to see what that would help.
const quick = 100_000_000

// alternatives are other ways to compile what open reads.
func (f *compileFlags) alternatives(opt compile.Options,
	open func() (*ir.Program, io.Closer, error)) (list []size.Alternative) {
	machine, err := tuned.MachineNamed(opt.Target)
	must.Check(err)
	add := func(words string, change func(*compile.Options) error) {
		list = append(list, size.Alternative{Words: words, Options: func() (compile.Options, error) {
			o := opt
			err := change(&o)
			return o, err
		}})
	}
	with := func(change func(*compile.Options)) func(*compile.Options) error {
		return func(o *compile.Options) error { change(o); return nil }
	}
	optimize := opt.Optimize
	if optimize == "" {
		optimize = machine.DefaultOptimize()
	}
	other := map[string]string{"speed": "size", "size": "speed"}[optimize]
	if f.plan != "best" {
		add("--plan=best", with(func(o *compile.Options) { o.Planner = plan.Best{} }))
	}
	if opt.Threads > 1 {
		add("--threads=1", with(func(o *compile.Options) { o.Threads = 1 }))
	}
	if opt.Checked {
		add("no --checked", with(func(o *compile.Options) { o.Checked = false }))
	}
	if !machine.Microcontroller {
		const small = "cortex-m4"
		add("--target="+small+", or another microcontroller: images are made in patches of rows",
			with(func(o *compile.Options) { o.Target = small }))
	}
	if !opt.Rows {
		add("--rows: the input, which is the caller's, comes by rows",
			with(func(o *compile.Options) { o.Rows = true }))
	}
	add("--optimize="+other, with(func(o *compile.Options) { o.Optimize = other }))
	if opt.Recipe != nil {
		return list
	}
	recipes := map[string]*quantize.Recipe{}
	recipe := func(scheme string, outside bool) func(*compile.Options) error {
		return func(o *compile.Options) (err error) {
			key := fmt.Sprint(scheme, outside)
			if recipes[key] == nil {
				if recipes[key], err = f.quickRecipe(open, scheme, outside); err != nil {
					return err
				}
			}
			o.Recipe = recipes[key]
			return nil
		}
	}
	whole := "etgen quantize --calibrate=SAMPLES, and --quantize=RECIPE"
	bytes := strings.Replace(whole, "quantize ", "quantize --io=int8 ", 1)
	add(whole, recipe("int8", false))
	add(bytes, recipe("int8", true))
	if other == "size" {
		both := recipe("int8", true)
		add(bytes+" --optimize=size", func(o *compile.Options) error {
			o.Optimize = "size"
			return both(o)
		})
	}
	for _, s := range []string{"int8-weights", "int4-weights"} {
		add("--quantize="+s, recipe(s, false))
	}
	return list
}

// quickRecipe quantizes what open reads by one sample of random numbers: sizes do not depend on
// ranges.
func (f *compileFlags) quickRecipe(open func() (*ir.Program, io.Closer, error), scheme string,
	outside bool) (*quantize.Recipe, error) {
	p, closer, err := open()
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	if len(p.Methods) != 1 {
		return nil, errors.New("several methods are not quantized")
	}
	if n, err := compile.MACs(p); err != nil || n > quick {
		return nil, errors.Join(err, fmt.Errorf("%d multiply-accumulates take too long", n))
	}
	s, err := quantize.SchemeNamed(scheme)
	if err != nil {
		return nil, err
	}
	m := p.Methods[0]
	samples := map[string]quantize.Samples{}
	if s.Static() {
		samples[m.Name] = record.RandomSample(m, 1)
	}
	done := f.cmd.Context().Done()
	r, err := quantize.New(&lower.Context{Table: ops.Standard(), Bounds: f.bounds, Done: done}, p,
		samples, quantize.Options{Scheme: s, Kernel: portable.Kernels(), Outside: outside, Done: done})
	if err != nil {
		return nil, err
	}
	return r.Recipe, nil
}
