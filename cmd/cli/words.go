package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
)

// word is the value of a flag that takes one of some words.
type word struct {
	to    *string
	words []string
}

// oneOf adds a flag that takes one of the words, which complete it too.
func oneOf(cmd *cobra.Command, to *string, flag, usual string, words []string, about string) {
	*to = usual
	cmd.Flags().Var(&word{to, words}, flag, about)
	fixed(cmd, flag, words...)
}

// fixed completes a flag with fixed words.
func fixed(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words,
		cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is not defined: a defect of the command
	}
}

// String implements pflag.Value.
func (w *word) String() string { return *w.to }

// Type implements pflag.Value.
func (*word) Type() string { return "string" }

// Set implements pflag.Value. That a value is empty is told of all flags alike.
func (w *word) Set(text string) error {
	*w.to = text
	if text != "" && !slices.Contains(w.words, text) {
		return &unknownWord{w.words}
	}
	return nil
}

// unknownWord says that the value of a flag is none of its words.
type unknownWord struct{ words []string }

func (e *unknownWord) Error() string {
	return fmt.Sprintf("is unknown: take %s", compile.ListOf(e.words))
}
