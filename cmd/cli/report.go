package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	reportpage "github.com/etgen/etgen/codegen/report/page"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

func newReport(a *app) *cobra.Command {
	var lang, out string
	var asJSON bool
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
whose form docs/report.md describes.`,
		Example: `  etgen report model.pt2 -o report.html
  etgen report model.pt2 --target=cortex-m4 --quantize=int8 --calibrate=x.npy -o report.html
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
			opt.Lang = flags.language(lang).Name
			firmware.set(&opt)
			several.declared = opt.Custom.Declared()
			p, closer := several.read(files)
			defer closer.Close()
			opt = several.options(files, opt)
			d := ofModel(reportpage.New(p, opt))
			if flags.quantized != nil {
				d.Errors(flags.quantized)
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
	oneOf(cmd, &lang, "lang", "c", []string{"c", "go"}, "the output language: c or go")
	several.add(cmd)
	firmware.add(cmd)
	flags.add(cmd, a)
	return cmd
}
