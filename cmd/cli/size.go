package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	codereport "github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/golden/size"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/tuned"
)

// sizeFlags say with which compiler C is measured.
type sizeFlags struct{ cc, cflags string }

func (f *sizeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cc, "cc", "",
		"the C compiler that is measured with (default: the target's GNU compiler)")
	cmd.Flags().StringVar(&f.cflags, "cflags", "",
		"what it is given behind the machine's flags (default: -Os for code made for size, else -O3)")
}

// options are how a package is measured.
func (f *sizeFlags) options(cmd *cobra.Command) size.Options {
	opt := size.Options{CC: f.cc}
	if cmd.Flags().Changed("cflags") {
		opt.CFlags = append([]string{}, strings.Fields(f.cflags)...)
	}
	return opt
}

func newSize(a *app) *cobra.Command {
	var flags compileFlags
	var firmware firmwareFlags
	var compiler sizeFlags
	var several methodFlags
	var name string
	var asJSON, all bool
	var baseline string
	var growth float64
	cmd := &cobra.Command{
		Use:   "size MODEL...|FOLDER",
		Short: "Measure flash, RAM and stack of generated C",
		Long: `Size compiles C for a target and links it with what it calls and nothing else. It shows
what the ELF takes, its largest symbols, and of a model what each layer takes:

  flash  .text, .rodata and .data: code, weights and tables, and functions of the
         compiler's library
  RAM    the arena, the state, .data and .bss; not the caller's inputs and outputs
  stack  of the deepest call, from -fstack-usage and the calls in the object files;
         functions of the compiler's library, which are named, come on top

It takes models, and compiles them as etgen MODEL... --lang=c does, or a folder with a C
package, for the target that this was generated for. Nothing is estimated: without a
compiler for the target this is an error, which names the package to install.

What --json wrote before is a --baseline: then size shows what has grown since.`,
		Example: `  etgen size model.pt2 --target=cortex-m4
  etgen model.pt2 --lang=c --target=cortex-m4 -o out/ && etgen size out/ --json | jq .flash
  etgen size kws.pt2 vww.pt2 --separate --target=cortex-m4
  etgen size kws.pt2 --target=cortex-m4 --quantize=recipe.json --optimize=speed --cflags=-O2`,
		Args: several.args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			how := compiler.options(cmd)
			how.Name = name
			var layers *codereport.Report // of a model
			var dir string
			if len(args) == 1 && len(several.named) == 0 && size.IsPackage(args[0]) {
				dir = args[0]
				flags.ignored("with a folder", append(slices.Clone(firmwareNames), "memory", "dialect",
					"backend", "optimize", "plan", "requantize", "threads", "strict", "checked", "bound",
					"quantize", "calibrate", "io", "kernels", "custom-op", "stream", "stream-padding",
					"separate", "share-mutable-buffers")...)
				if cmd.Flags().Changed("target") {
					how.Machine = must.Get(tuned.MachineNamed(flags.target))
				}
			} else {
				files := several.files(args)
				opt := flags.options(paths(files)...)
				l := flags.language("c")
				opt.Name = name
				firmware.set(&opt)
				several.setSeparate(l, files, &opt)
				several.declared = opt.Custom.Declared()
				p, closer := several.read(files)
				defer closer.Close()
				opt = several.options(files, opt)
				var pkg *codegen.Package
				pkg, layers, err = compile.Reported(p, opt)
				must.Check(modelError(err))
				var remove func()
				dir, remove, err = interrupt.TempDir("etgen-size-")
				must.Check(err)
				defer remove()
				must.Check(pkg.Write(cmd.Context(), dir))
				how.Name = pkg.Name
			}
			s, err := size.Folder(cmd.Context(), dir, how)
			must.Check(modelError(err))
			if layers != nil {
				s.Layers(layers)
			}
			if baseline != "" {
				return compareSize(a, baseline, growth, s, layers)
			}
			if asJSON {
				return a.json(struct {
					*size.Size
					Layers *codereport.Report `json:"report,omitempty"`
				}{s, layers})
			}
			must.Check(s.Print(a.out, all))
			if layers == nil {
				return nil
			}
			fmt.Fprintln(a.out)
			return layers.Text(a.out)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the package's name, if the folder has several")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVar(&all, "all", false, "show all symbols")
	baselineFlags(cmd, &baseline, &growth, 0)
	several.add(cmd)
	several.addSeparate(cmd)
	compiler.add(cmd)
	firmware.add(cmd)
	flags.add(cmd, a)
	return cmd
}

// compareSize shows how figures have grown since a baseline. It returns an error if one has grown
// by more than most percent.
func compareSize(a *app, baseline string, most float64, s *size.Size,
	layers *codereport.Report) error {
	b, err := size.ReadBaseline(baseline)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	list, err := b.Growth(s, layers)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("%s: %w", baseline, err)}
	}
	return grown(a, list, most)
}

// grown shows figures. It returns an error if one has grown by more than most percent.
func grown(a *app, list []size.Growth, most float64) error {
	if over := size.PrintGrowth(a.out, list, most); over > 0 {
		return &exitError{exitOver, fmt.Errorf("%d figures have grown by more than %g %%", over, most)}
	}
	return nil
}

// baselineFlags adds the flags that compare figures with earlier ones.
func baselineFlags(cmd *cobra.Command, baseline *string, growth *float64, most float64) {
	cmd.Flags().StringVar(baseline, "baseline", "",
		"a file that --json wrote before: show what has grown since, and exit with code 5 if a figure "+
			"has by more than --max-growth")
	cmd.Flags().Float64Var(growth, "max-growth", most,
		"with --baseline: by how many percent a figure may grow")
}
