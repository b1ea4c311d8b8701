package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/plan"
)

// planners are those of --plan, but for asIs, which is of a model.
var planners = map[string]plan.Planner{"best": plan.Best{}, "greedy": plan.Greedy{},
	"disjoint": plan.Disjoint{}}

const asIs = "as-is"

// compileFlags are the flags of every command that compiles.
type compileFlags struct {
	target, optimize, plan string
	requantize, dialect    string
	threads                int
	strict                 bool
	warn                   func(error)
	step                   func(string)
	checked                bool
	bounds                 map[string]int64
	quantize, io           string
	calibrate              []string
	kernels, customOps     []string
	declared               []*aten.Schema // custom operators
	stream, streamPadding  string
	backend                backendFlags
	// compare is with how many samples the errors of layers are measured when calibrated
	// samples quantize, and quantized becomes the result.
	compare   int
	quantized *quantize.Result
	cmd       *cobra.Command
}

func (f *compileFlags) add(cmd *cobra.Command, a *app) {
	f.warn, f.step = a.warn, a.progress.step
	f.backend.add(cmd, a)
	flags := cmd.Flags()
	f.cmd = cmd
	oneOf(cmd, &f.plan, "plan", "best", []string{"best", "greedy", "disjoint", asIs},
		"how the arena is planned: best, greedy, disjoint (nothing shares memory), or, of a .pte, "+
			"as-is: its tensors stay where its own plan has them, unless fusion is in the way")
	oneOf(cmd, &f.optimize, "optimize", "", []string{"size", "speed"},
		"size or speed (default: size for microcontrollers, else speed)")
	oneOf(cmd, &f.requantize, "requantize", "", compile.Requantizations,
		"how quantized networks bring sums to a scale: in float, in fixed point or in that of CMSIS-NN "+
			"(default: fixed for targets without floats in hardware, else float)")
	oneOf(cmd, &f.dialect, "dialect", "", compile.Dialects,
		"with --lang=pte: cortex_m makes a quantized model one of ExecuTorch's operators for "+
			"microcontrollers, which compute as C does with --requantize=cmsis-nn")
	flags.StringVar(&f.target, "target", "generic",
		"the machine: generic or native (whoever compiles the package decides), "+
			"scalar (no vectors), neon, x86-64-v3, x86-64-v4, or a microcontroller: "+
			"cortex-m4, …; etgen targets lists them")
	flags.IntVar(&f.threads, "threads", 1,
		"the parts that kernels are divided into: in C, NAME_pal.h says what runs them; in Go, "+
			"goroutines, see NewThreads")
	flags.BoolVar(&f.strict, "strict", false, "warnings are errors")
	flags.BoolVar(&f.checked, "checked", false,
		"an index out of range is an error, as in PyTorch; without, the nearest element is taken")
	flags.StringToInt64Var(&f.bounds, "bound", nil,
		"NAME=N: the dynamic size NAME, as etgen lower prints it, is at most N; "+
			"memory is planned for N, and a call with more is refused")
	flags.StringVar(&f.quantize, "quantize", "",
		"quantize the model: the recipe that etgen quantize wrote, or a scheme: "+
			strings.Join(schemeNames(), ", "))
	flags.StringArrayVar(&f.calibrate, "calibrate", nil,
		"with --quantize=int8 or int16x8: samples to take ranges from, as of etgen quantize")
	oneOf(cmd, &f.io, "io", "float", outsides,
		"with --quantize=int8: what inputs and outputs are, as of etgen quantize")
	flags.StringSliceVar(&f.kernels, "kernels", nil,
		"kernels of custom operators: files in C, or Go packages, whose comments say //etgen:kernel "+
			"and the operator's schema")
	flags.StringArrayVar(&f.customOps, "custom-op", nil,
		"the schema of a custom operator, as in 'my::scale(Tensor x, float by) -> Tensor'; Tensor(a!) "+
			"is an argument that it writes to")
	flags.StringVar(&f.stream, "stream", "",
		"DIM or INPUT:DIM: the model takes the next frames along that dimension of its input alone, "+
			"and keeps as state what it needs of those before")
	oneOf(cmd, &f.streamPadding, "stream-padding", "zeros", []string{"zeros", "frames"},
		"with --stream: what stands where the window pads its ends: zeros, which is for padding of the "+
			"beginning alone, or the frames that are there")
	fixed(cmd, "target", tuned.MachineNames()...)
}

// generator is the command as generated files name it: with the flags that make
// a difference, without paths.
func (f *compileFlags) generator() string {
	text := "etgen"
	for _, flag := range []struct{ name, value, usual string }{
		{"target", f.target, "generic"}, {"optimize", f.optimize, ""}, {"requantize", f.requantize, ""},
		{"plan", f.plan, "best"},
		{"threads", strconv.Itoa(f.threads), "1"},
	} {
		if flag.value != flag.usual {
			text += " --" + flag.name + "=" + flag.value
		}
	}
	if f.checked {
		text += " --checked"
	}
	if f.stream != "" {
		text += " --stream=" + f.stream
		if f.streamPadding != "zeros" {
			text += " --stream-padding=" + f.streamPadding
		}
	}
	if f.quantize != "" {
		text += " --quantize=" + filepath.Base(f.quantize)
		if f.io != "float" {
			text += " --io=" + f.io
		}
	}
	for _, name := range f.kernels {
		text += " --kernels=" + filepath.Base(name)
	}
	text += f.backend.generator()
	for _, name := range slices.Sorted(maps.Keys(f.bounds)) {
		text += fmt.Sprintf(" --bound=%s=%d", name, f.bounds[name])
	}
	return text
}

// ignored fails if the user set one of the flags, which have no effect where the words
// say.
func (f *compileFlags) ignored(where string, names ...string) {
	for _, name := range names {
		if f.cmd.Flags().Changed(name) {
			failUsage("--%s has no effect %s: leave it out", name, where)
		}
	}
}

// language looks an output language up that the command is given. It fails if the user
// set a flag that makes no difference to it.
func (f *compileFlags) language(name string) *compile.Language {
	l := must.Get(compile.LanguageNamed(name))
	if !l.Placed {
		f.backend.ignored(f, "with --lang="+name)
		f.ignored("with --lang="+name, firmwareNames...)
		f.ignored("with --lang="+name, budgetNames...)
		if l.Kernels != nil {
			f.ignored("with --lang="+name, "memory")
		}
	}
	if l.Kernels == nil {
		f.ignored("with --lang="+name, "target", "optimize", "requantize", "threads")
	} else {
		f.ignored("with --lang="+name, "dialect")
		must.Check(f.targetOf(l, "--lang="+name))
	}
	return l
}

// targetOf returns an error if the target is none of those that a language is for, which
// the flag where asks for.
func (f *compileFlags) targetOf(l *compile.Language, where string) error {
	var names []string
	for _, m := range tuned.Machines() {
		if m.For(l.Kernels) {
			names = append(names, m.Name)
		}
	}
	_, unknown := tuned.MachineNamed(f.target) // which options tells
	if unknown == nil && !slices.Contains(names, f.target) {
		return usageError("--target=%s has no effect with %s: take %s", f.target, where,
			strings.Join(names, ", "))
	}
	return nil
}

// options returns what the flags say of the compilation of one model, or of any
// number of them.
func (f *compileFlags) options(model ...string) compile.Options {
	opt := compile.Options{Context: f.cmd.Context(), Target: f.target, Optimize: f.optimize,
		Requantize: f.requantize, Dialect: f.dialect,
		Generator: f.generator(), Threads: f.threads,
		Checked: f.checked, Bounds: f.bounds, Warn: f.warn, Strict: f.strict, Step: f.step}
	if _, err := tuned.MachineNamed(f.target); err != nil {
		failUsage("--target: %v", err)
	}
	if f.threads < 1 || f.threads > 64 {
		failUsage("--threads=%d: take 1 to 64", f.threads)
	}
	if opt.Planner = planners[f.plan]; f.plan == asIs {
		if len(model) != 1 {
			failUsage("--plan=as-is is for commands that take one model")
		}
		opt.Planner = ofModel(compile.AsIs(model[0]))
	}
	opt.Custom = must.Get(custom.Load(f.cmd.Context(), f.kernels...))
	must.Check(opt.Custom.Declare(f.customOps...))
	f.declared = opt.Custom.Declared()
	opt.Recipe, opt.Stream = f.recipe(model), f.streaming()
	f.backend.set(f.cmd, &opt)
	return opt
}

// streaming reads --stream.
func (f *compileFlags) streaming() *lower.StreamOptions {
	if f.stream == "" {
		if f.cmd.Flags().Changed("stream-padding") {
			failUsage("--stream-padding is for --stream=DIM")
		}
		return nil
	}
	input, dim, named := strings.Cut(f.stream, ":")
	if !named {
		input, dim = "", f.stream
	}
	n, err := strconv.Atoi(dim)
	if err != nil || n < 0 || named && input == "" {
		failUsage("--stream=%s: take the number of a dimension, or INPUT:DIM", f.stream)
	}
	return &lower.StreamOptions{Input: input, Dim: n, Frames: f.streamPadding == "frames"}
}

// displaced warns of other models' Go packages in dir that pkg takes the place of.
func (f *compileFlags) displaced(ctx context.Context, pkg *codegen.Package, dir string,
	inputs []string) {
	names := must.Get(pkg.Displaces(ctx, dir, inputs...))
	if len(names) == 0 {
		return
	}
	warning := fmt.Errorf(
		"%s: the model %s takes the place of %s: a folder has one Go package of etgen's: give each "+
			"model a folder with -o, or name all in one run, as methods",
		dir, pkg.Name, strings.Join(names, ", "))
	if f.strict {
		must.Check(warning)
	}
	f.warn(warning)
}

func newCompile(a *app) *cobra.Command {
	var lang, dir, name string
	var external, traces, debug, record, rows, profiled, cpp bool
	var several methodFlags
	var flags compileFlags
	var firmware firmwareFlags
	var budget budgetFlags
	var out writeFlags
	cmd := &cobra.Command{
		Use:   "etgen MODEL... --lang=c|go|pte -o DIR",
		Short: "Compile PyTorch programs ahead of time to C, Go and ExecuTorch programs",
		Long: `Etgen compiles what torch.export.save writes to a freestanding C99 package, to a
Go package that imports the standard library only, or to a .pte file that the
ExecuTorch runtime executes with its portable kernels.

MODEL is a .pt2 file, the folder it was unpacked to, or the model.json in it; or
an ExecuTorch program, .pte or .bpte. Several make one program of several
methods, which are called like the files, or as --method says; weights that are
equal are there once. With --separate they are models of their own that share
kernels and an arena.

` + writeHelp + "\n\n" + exitHelp,
		Example: `  etgen model.pt2 --lang=c -o out/
  etgen model.pt2 --lang=c --target=cortex-m4 -o out/
  etgen model.pt2 --lang=c --weights=asm --section=weights:.qspi,code:.itcm -o out/
  etgen model.pt2 --lang=go --name=lenet -o lenet/
  etgen model.pt2 --lang=pte --external-weights -o out/
  etgen model.pt2 --lang=pte --backend=xnnpack --show-backends -o out/
  etgen prefill.pt2 decode.pt2 --lang=pte --name=llm --share-mutable-buffers -o out/
  etgen model.pt2 --lang=c --cpp -o out/
  etgen kws.pt2 vww.pt2 --separate --lang=c --name=models -o out/
  etgen --method encode=a.pt2 --method decode=b.pt2 --lang=c --name=codec -o out/
  //go:generate go tool etgen model.pt2 --lang=go -o .
  //go:generate go tool etgen model.pt2 --lang=go`,
		Args: several.args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			if cmd.Flags().NFlag() == 0 && !looksLikeModel(args[0]) {
				return usageError("%q is neither a command nor a model", args[0])
			}
			files := several.files(args)
			opt := flags.options(paths(files)...)
			if lang == "" {
				return usageError("--lang is missing: c, go or pte")
			}
			l := flags.language(lang)
			if l.Kernels != nil && (external || traces || debug || record) {
				return usageError(
					"--external-weights, --stack-traces, --debug-map and --etrecord are for --lang=pte only")
			}
			firmware.set(&opt)
			if opt.Rows = rows; rows {
				opt.Generator += " --rows"
			}
			if rows && l.Kernels == nil {
				return usageError("--rows is for --lang=c and --lang=go only")
			}
			if opt.Profile = profiled; profiled {
				opt.Generator += " --profile"
			}
			if profiled && l.Kernels == nil {
				return usageError("--profile is for --lang=c and --lang=go only: a .pte is profiled by " +
					"what runs it, as etgen run --etdump")
			}
			several.setSeparate(l, files, &opt)
			if opt.CPP = cpp; cpp {
				if !l.Placed {
					return usageError("--cpp is for --lang=c only")
				}
				opt.Generator += " --cpp"
			}
			opt.Lang, opt.ExternalWeights, opt.StackTraces, opt.DebugMap = lang, external,
				traces, debug
			opt.ETRecord = record
			if dir != "" || !l.InFolder {
				must.Check(checkFolder(dir))
			}
			if name != "" && compile.NameOf(name) != name {
				return usageError(
					"--name=%s is no name for a package: take lower-case letters and digits, "+
						"a letter first, and single underscores between them", name)
			}
			opt.Name = name
			if l.InFolder {
				if err := golang.CheckName(name); err != nil {
					return usageError("--name=%s: %v", name, err)
				}
				dir, opt.GoPackage = must.Get2(goFolder(dir, cmp.Or(name, defaultName(files))))
			}
			if budget.report != "" && l.Kernels == nil {
				flags.ignored("with --lang="+lang, "report")
			}
			pkg, takes := budget.compile(a, &flags, &several, files, opt, out.check)
			if l.InFolder {
				must.Check(golang.Join(dir, pkg))
				if !out.check {
					flags.displaced(cmd.Context(), pkg, dir, paths(files))
				}
			}
			must.Check(out.write(cmd.Context(), a, pkg, dir, paths(files)...))
			flags.backend.written(&opt)
			return budget.write(cmd, takes, out.check, paths(files)...)
		},
		// A model is no misspelt command, and files complete.
		DisableSuggestions: true,
		ValidArgsFunction: cobra.FixedCompletions([]string{"pt2", "json", "pte", "bpte"},
			cobra.ShellCompDirectiveFilterFileExt),
	}
	oneOf(cmd, &lang, "lang", "", compile.Languages(), "the output language: c, go or pte")
	cmd.Flags().StringVarP(&dir, "output", "o", "",
		"the folder to write to (default with --lang=go, in a folder with Go files: that folder, "+
			"and of package main its sub-folder with the package's name)")
	cmd.Flags().StringVar(&name, "name", "",
		"the package's name (default: the model file's); Go files become part of the package that a "+
			"folder has")
	cmd.Flags().BoolVar(&external, "external-weights", false,
		"with --lang=pte: weights in a .ptd file of their own")
	cmd.Flags().BoolVar(&traces, "stack-traces", false,
		"with --lang=pte: the model's Python lines in the program")
	cmd.Flags().BoolVar(&debug, "debug-map", false,
		"with --lang=pte: NAME.debug.json, what each instruction stands for")
	cmd.Flags().BoolVar(&record, "etrecord", false,
		"with --lang=pte: NAME.etrecord, which ExecuTorch's Inspector and etgen profile join with a run")
	firmware.add(cmd)
	cmd.Flags().BoolVar(&rows, "rows", false,
		"the input, an image, comes some rows at a time, and never exists as a whole: the header "+
			"says how")
	cmd.Flags().BoolVar(&profiled, "profile", false,
		"with --lang=c and --lang=go: the code tells when each kernel begins and ends, "+
			"and what sums the times up comes with it, for etgen profile")
	several.addSeparate(cmd)
	cmd.Flags().BoolVar(&cpp, "cpp", false,
		"with --lang=c: NAME.hpp too, a class for C++11 without exceptions or library")
	budget.add(cmd)
	several.add(cmd)
	out.add(cmd)
	flags.add(cmd, a)
	return cmd
}

func looksLikeModel(arg string) bool { return strings.ContainsAny(arg, "./\\") }
