package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/kernels/tuned"
)

func newTargets(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "targets",
		Short: "List what --target may be",
		Long: `Targets lists the machines that code can be written for: the languages that a
machine means something for, what code for it is optimized for without --optimize,
the bits of vectors that kernels use, registers for floats or vectors, what the
processor has in hardware, the results that C's kernels have in registers, and
what the C compiler needs to know the processor.

A question mark is for the compiler of the package to decide.`,
		Example: `  etgen targets
  etgen targets --json | jq -r '.[] | select(.microcontroller) | .name'`,
		Args: none("targets"),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.json(tuned.Machines())
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			head, rows := tuned.MachineTable()
			for _, row := range append([][]string{head}, rows...) {
				fmt.Fprintln(w, strings.Join(row, "\t"))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
