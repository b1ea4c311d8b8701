package main

import "github.com/spf13/cobra"

func newCompile(*app) *cobra.Command {
	return &cobra.Command{
		Use:   "etgen",
		Short: "Compile PyTorch programs to C and Go",
		Long:  exitHelp,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}
