package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/must"
)

func newGoldenRecord(a *app) *cobra.Command {
	var inputs []string
	var dir, via string
	var seed uint64
	var update bool
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "record MODEL -o DIR | --update DIR...",
		Short: "Make a case of your own model",
		Long: `Record runs a model once and writes a case that golden check takes: the model, the
inputs, and what it computed. Without -i the inputs are random, dynamic sizes at
their smallest. The outputs are etgen's own: the case watches over changes, it
does not prove that etgen agrees with PyTorch. For that, replace the output files
by PyTorch's.

With --update, each case at or below the folders that etgen recorded is computed
anew, with the inputs that it has, and its outputs are replaced: after a change of
the model or of etgen that is meant. The names of the files that differ are printed.

` + limitHelp,
		Example: `  etgen golden record model.pt2 -o testdata/model
  etgen golden record model.pt2 -i x.npy -o testdata/model --via=go
  etgen golden record model.pte -o testdata/model --via=rt
  etgen golden record --update testdata/own
  etgen golden check testdata --via=c,go,rt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if update && len(args) == 0 {
				return usageError("DIR is missing: a folder with cases")
			}
			if update {
				return nil
			}
			return exactly("MODEL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			if update {
				flags.ignored("with --update", "input", "output", "seed")
				return updateCases(cmd.Context(), a, flags.ways([]string{via})[0], args)
			}
			must.Check(checkFolder(dir))
			w := flags.ways([]string{via}, args[0])[0]
			var in *record.Given
			open := record.File(args[0], flags.declared...)
			if len(inputs) > 0 {
				in, err = record.Inputs(open, "", inputs, int64(flags.memory))
			} else {
				in, err = record.Random(open, "", seed, int64(flags.memory))
			}
			must.Check(modelError(err))
			out := ofModel(record.Run(cmd.Context(), w, args[0], in.Values))
			must.Check(record.Case(cmd.Context(), dir, args[0], in.Values, out,
				w.Name()))
			if a.tty {
				fmt.Fprintf(a.err, "%s: %d inputs, %d outputs\n", dir, len(in.Values),
					len(out.Outputs))
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil,
		"an input: a .npy or .bin file, or a number; once for each, in order")
	cmd.Flags().StringVarP(&dir, "output", "o", "", "the folder to write to")
	oneOf(cmd, &via, "via", "c", wayNames(),
		"how to run it: c, go, rt (as a .pte), eval (the reference interpreter)")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "the seed of random inputs")
	cmd.Flags().BoolVar(&update, "update", false, "replace the outputs of recorded cases")
	flags.add(cmd, a)
	return cmd
}

// updateCases computes the cases at or below dirs anew.
func updateCases(ctx context.Context, a *app, w way.Way, dirs []string) error {
	cases := must.Get(testcase.Find(dirs...))
	if len(cases) == 0 {
		return usageError("no case at or below %s", strings.Join(dirs, ", "))
	}
	for _, dir := range cases {
		c, err := testcase.Read(dir)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		for _, name := range ofModel(record.Update(ctx, w, c, conform.Job(c, c.Models[0]))) {
			fmt.Fprintln(a.out, filepath.Join(dir, name))
		}
	}
	return nil
}
