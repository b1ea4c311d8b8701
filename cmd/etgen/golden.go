package main

import "github.com/spf13/cobra"

func newGolden(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "golden",
		Short: "Check recorded cases, or record one",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGoldenCheck(a), newGoldenRecord(a))
	return cmd
}
