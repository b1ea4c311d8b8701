package cli

import "github.com/spf13/cobra"

func newGolden(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "golden",
		Short: "Check recorded cases, or record one",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("golden has no command %s: take check or record", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGoldenCheck(a), newGoldenRecord(a))
	return cmd
}
