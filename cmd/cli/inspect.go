package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/inspect"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/rt/portable"
)

func newInspect(a *app) *cobra.Command {
	var asJSON, all bool
	var lang, svg string
	var flags compileFlags
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show what is in a model: signature, operators, constants, memory",
		Long: `Inspect is for looking before compiling, or at what came out: whether etgen can
compile a model, in which order it takes inputs, how much memory it needs and what
for, whether a runtime will take a .pte. It runs nothing.

Inspect shows what goes in and out of a model, which operators it calls, its
constants, and how its memory is planned: when which tensor lies where, and how
small a plan could be at best.

It says of an exported program whether etgen has the operators, and what memory
compiled code needs. It says of an ExecuTorch program (.pte, or a .bpte bundle) what
the bytes of the file are for, what instructions and delegates it has, whether etgen's
runtime has the kernels, and what is wrong with it; with --lang, what code compiled
from it needs. It shows the Python lines of instructions if NAME.debug.json is beside
the file, or stack traces are in it. It shows the tensors of a .ptd file.`,
		Example: `  etgen inspect model.pt2
  etgen inspect model.pte --svg memory.svg
  etgen inspect model.pt2 --json | jq '.methods[0].memory.bytes'`,
		Args: exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			opt := flags.options(args[0])
			opt.Lang = flags.language(lang).Name
			registry := portable.Registry()
			how := inspect.Options{Compile: opt, Compiled: lang != "",
				HasKernel: func(name string) bool {
					_, ok := registry.Lookup(name)
					return ok
				}}
			info := ofModel(inspect.File(args[0], how))
			if asJSON {
				must.Check(a.json(info))
			} else {
				to, color := colored(a.out)
				must.Check(info.Text(to, inspect.Style{Color: color, All: all}))
			}
			if svg == "" {
				return nil
			}
			draw := func(to io.Writer) error { return modelError(info.SVG(to)) }
			return writeMarkup(cmd, svg, args[0], draw)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVar(&all, "all", false, "show long lists whole")
	cmd.Flags().StringVar(&svg, "svg", "", "draw the memory plan to this file")
	oneOf(cmd, &lang, "lang", "", []string{"c", "go"},
		"the output language that memory is told for: c or go (default: c, and of an ExecuTorch "+
			"program the file itself)")
	flags.add(cmd, a)
	return cmd
}
