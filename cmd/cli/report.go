package cli

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	reportpage "github.com/etgen/etgen/codegen/report/page"
	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/size"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

func newReport(a *app) *cobra.Command {
	var lang, out string
	var asJSON, measured bool
	var several methodFlags
	var flags compileFlags
	var firmware firmwareFlags
	cmd := &cobra.Command{
		Use:   "report MODEL... -o FILE.html",
		Short: "Make a page to look at a model: graph, kernels, memory, flash, code",
		Long: `Report compiles a model and writes one file of HTML that shows what came of it: the
graph as it was read and after lowering, operators, weights, kernels, memory over
time, flash by layer, the code beside the layer that it came from, how it is
quantized, what backends took. Views are linked: what is chosen in one is marked in
all. The page loads nothing, and needs no server.

It takes the flags of the commands that compile. --json writes the same data as JSON,
whose schema is codegen/report/page/schema.json.`,
		Example: `  etgen report model.pt2 -o report.html
  etgen report model.pt2 --target=cortex-m4 --quantize=int8 --calibrate=x.npy -o report.html
  etgen report model.pt2 --measure -o report.html
  etgen report kws.pt2 vww.pt2 --separate --target=cortex-m4 -o report.html
  etgen report model.pte --json | jq '.takes.arena'`,
		Args: several.args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			if out == "" && !asJSON {
				return usageError("-o is missing: the file to write, or --json")
			}
			files := several.files(args)
			flags.compare = 16
			opt := flags.options(paths(files)...)
			l := flags.language(lang)
			opt.Lang = l.Name
			firmware.set(&opt)
			several.setSeparate(l, files, &opt)
			several.declared = opt.Custom.Declared()
			p, closer := several.read(files)
			defer closer.Close()
			opt = several.options(files, opt)
			methods := seq.Map(p.Methods, func(m *ir.Method) string { return m.Name })
			d := ofModel(reportpage.New(p, opt))
			if flags.quantized != nil {
				d.Errors(flags.quantized)
			}
			if measured {
				measureReport(cmd.Context(), d, opt, func() (*ir.Program, io.Closer, error) {
					return several.open(files)
				}, files[0].Path, methods)
			}
			if asJSON && out == "" {
				return a.json(d)
			}
			if asJSON {
				pkg := codegen.Package{Files: []codegen.File{{Name: filepath.Base(out),
					Data: must.Get(foreign.JSON(d))}}}
				return pkg.Write(cmd.Context(), filepath.Dir(out), paths(files)...)
			}
			return writeMarkup(cmd, out, files[0].Path, d.HTML)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVar(&measured, "measure", false,
		"measure: code of C with the target's compiler, as etgen size does, and "+
			"the time of each layer on this machine, as etgen bench does, unless the target is a "+
			"microcontroller")
	oneOf(cmd, &lang, "lang", "c", []string{"c", "go"}, "the output language: c or go")
	several.add(cmd)
	several.addSeparate(cmd)
	firmware.add(cmd)
	flags.add(cmd, a)
	return cmd
}

// measureReport measures what the report of a program estimates, or does not know. File is the
// program's, or its first method's.
func measureReport(ctx context.Context, d *reportpage.Data, opt compile.Options,
	open record.Opener, file string, methods []string) {
	machine := d.Takes.Of.Target.Machine
	if must.Get(compile.LanguageNamed(opt.Lang)).Placed {
		dir, remove := must.Get2(interrupt.TempDir("etgen-report-"))
		defer remove()
		pkg := d.Takes.Of.Package
		must.Check(pkg.Write(ctx, dir))
		ofModel(size.Folder(ctx, dir, size.Options{Name: pkg.Name})).Layers(d.Takes)
	}
	if machine.Microcontroller {
		return
	}
	opt.Separate = false // the kernels are the same
	var ways []*measure.Way
	var totals []float64
	for _, method := range methods {
		r := ofModel(measure.Model(ctx, file, measure.Options{Via: []string{opt.Lang},
			For: time.Second, Compile: opt, Open: open, Method: method}))
		ways, totals = append(ways, r.Ways[0]), append(totals, r.Ways[0].Median)
	}
	d.Time(ways[0].How, totals, func(method int, kernel string, nodes []foreign.Text) float64 {
		for _, k := range ways[method].Kernels {
			if k.Name == kernel && slices.EqualFunc(k.Nodes, nodes,
				func(a string, b foreign.Text) bool { return foreign.Of(a) == b }) {
				return k.Time
			}
		}
		return 0
	})
}
