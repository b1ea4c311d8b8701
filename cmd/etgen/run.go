package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/record"
)

func newRun(a *app) *cobra.Command {
	var inputs []string
	var dir, via string
	var flags compileFlags
	cmd := &cobra.Command{
		Use:   "run MODEL -i FILE... -o DIR",
		Short: "Compile a model and run it once",
		Long: `Run compiles a model, runs it once on the given inputs and writes its outputs.

Inputs come in the order of the model's signature (etgen inspect shows it): .npy
files, or raw little-endian .bin files of the model's dtype. A dynamic size of a
raw input follows from the file's length if there is one. Numbers are given as
they are: -i 3 -i 0.5 -i true. Inputs that are constants of the model are left
out. Outputs are output_K.npy if an input is .npy, else output_K.bin; a number is
printed. Inputs that the model changes are written as mutated_input_K.`,
		Example: `  etgen run model.pt2 -i x.npy -o out/
  etgen run model.pt2 -i tokens.bin -i 3 -o out/ --via=go`,
		Args: exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return usageError("-o is missing: the folder to write to")
			}
			opt, err := flags.options(args[0])
			if err != nil {
				return err
			}
			w, err := wayOf(via, opt)
			if err != nil {
				return err
			}
			in, err := record.Inputs(args[0], inputs)
			if err != nil {
				return modelError(err)
			}
			out, err := record.Run(cmd.Context(), w, args[0], in.Values)
			if err != nil {
				return modelError(err)
			}
			written, err := record.WriteOutputs(dir, out, in.NPY)
			for _, line := range written {
				fmt.Fprintln(a.out, line)
			}
			return err
		},
	}
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil, "an input: a .npy or .bin file, or a number; once for each, in order")
	cmd.Flags().StringVarP(&dir, "output", "o", "", "the folder to write to")
	cmd.Flags().StringVar(&via, "via", "c", "how to run it: c, go, rt (as a .pte), eval (the reference interpreter)")
	flags.add(cmd)
	fixed(cmd, "via", "c", "go", "rt", "eval")
	return cmd
}
