package cli

import (
	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/inspect"
	"github.com/etgen/etgen/ir/must"
)

func newDiff(a *app) *cobra.Command {
	var asJSON bool
	var flags compileFlags
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show how two models differ: operators, shapes, weights, sizes",
		Long: `Diff compares two model files, for example of one network before and after a change
of its source, of its training, or of PyTorch. It shows what differs of the inputs and
outputs, how often operators are called, the constants, the nodes of the graph, the
multiply-accumulates, and the weights and the arena of C that is compiled of them.

Exported programs are compared as they are. If one file is an ExecuTorch program, both
are brought to ExecuTorch's Edge dialect before. Names of nodes make no difference, and
a constant that only has another name is none.

The exit code is 1 if there is a difference. Nothing is printed if there is none.`,
		Example: `  etgen diff a.pt2 b.pt2
  etgen diff a.pt2 a.pte
  etgen diff a.pt2 b.pt2 --json | jq '.methods[0].constants'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("diff takes two models, A and B, not %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			d := ofModel(inspect.Diff(args[0], args[1], flags.options(args[0])))
			if asJSON {
				must.Check(a.json(d))
			} else {
				to, color := colored(a.out)
				must.Check(d.Text(to, inspect.Style{Color: color}))
			}
			if !d.None() {
				return &exitError{code: exitMiss}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	flags.add(cmd, a)
	return cmd
}
