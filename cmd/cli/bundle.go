package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

func newBundle(a *app) *cobra.Command {
	var inputs []string
	var kase, method, out string
	cmd := &cobra.Command{
		Use:   "bundle MODEL.pte -i FILE... -o FILE.bpte",
		Short: "Put an ExecuTorch program and test cases for it into one file",
		Long: `Bundle writes ExecuTorch's bundled program: the .pte as it is, and calls of a method with
the outputs that are expected. ExecuTorch's runners check a program on a device by it.

The calls are the method's in a case (--case), with the outputs that were recorded there,
or one of the inputs given, whose outputs are what etgen's runtime gives. Of calls that
share state only the case's first is taken: a runner gives each its first state.`,
		Example: `  etgen bundle model.pte -i x.bin -o model.bpte
  etgen bundle model.pte --case=cases/lenet -o model.bpte`,
		Args: exactly("MODEL.pte"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			path := args[0]
			switch {
			case out == "":
				return usageError("-o is missing: a file to write to")
			case compile.FormatOf(path) != compile.ProgramFile:
				return usageError("%s is no ExecuTorch program: write one with --lang=pte", path)
			case (kase == "") == (len(inputs) == 0):
				return usageError("take either -i or --case")
			}
			var of *testcase.Case
			if kase != "" {
				of = ofModel(testcase.Read(kase))
			} else {
				given := ofModel(record.FileInputs(path, method, inputs, way.DefaultMemory))
				of = &testcase.Case{Calls: []testcase.Call{{Inputs: given.Values}}}
			}
			suite := ofModel(record.Suite(cmd.Context(), way.RT{}, path, method, of))
			program := must.Get(os.ReadFile(path))
			return writeFile(cmd, out, func(w io.Writer) error {
				return pte.WriteBundle(w, ir.Bytes(program), []pte.TestSuite{*suite})
			}, path)
		},
	}
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil,
		"an input: a .npy or .bin file, or a number; once for each, in order")
	cmd.Flags().StringVar(&kase, "case", "", "the folder of a case, whose calls are taken")
	cmd.Flags().StringVar(&method, "method", "", "the method (default: the first)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write")
	return cmd
}
