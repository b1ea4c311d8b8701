package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/rt/etdump"
)

func newRun(a *app) *cobra.Command {
	var inputs []string
	var dir, via, method, dump, buffer string
	var test int
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run MODEL -i FILE... -o DIR",
		Short: "Compile a model, or load an ExecuTorch program, and run it once",
		Long: `Run compiles a model, runs it once on the given inputs and writes its outputs. An
ExecuTorch program (.pte, .bpte) runs as it is in etgen's Go runtime, unless --via
says otherwise.

--via=eval runs the model in the reference interpreter: operator by operator, as each
is defined, without fusion, tuned kernels or a memory plan. That tells an error in
those from one in a definition. It is a hundred times slower.

Inputs come in the order of the model's signature, which etgen inspect shows. They
are .npy files, or raw little-endian .bin files of the model's dtype. A raw input may
have one dynamic size: it follows from the file's length. Numbers are given as they
are: -i 3 -i 0.5 -i true. Inputs that are constants of the model are left out.
A bundle without any -i runs on its own test case --test, and its outputs are held
against those expected.

Outputs are output_K.npy if an input is .npy and NumPy has their dtype, else
output_K.bin. A number is printed. Inputs that the model changes are written as
mutated_input_K.

` + limitHelp,
		Example: `  etgen run model.pt2 -i x.npy -o out/
  etgen run model.pt2 -i tokens.bin -i 3 -o out/ --via=go
  etgen run model.pte --method=encode -i x.bin -o out/
  etgen run model.pte -i x.bin -o out/ --etdump=run.etdp
  etgen run model.bpte --test=2 -o out/`,
		Args: exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			model := args[0]
			must.Check(checkFolder(dir))
			if via == "" {
				if via = "c"; record.IsProgram(model) {
					via = "rt"
				}
			}
			if flags.trace && (via == "eval" || via == "rt-optimize") {
				return usageError("--trace is for --via=c, go and rt")
			}
			w := flags.ways([]string{via}, model)[0]
			if cmd.Flags().Changed("test") && (len(inputs) > 0 || !record.IsBundle(model)) {
				return usageError("--test has no effect with -i or without a bundle: leave it out")
			}
			if buffer != "" && (dump == "" || via != "rt") {
				return usageError("--debug-buffer is for --etdump with --via=rt")
			}
			recorder := etdump.New(nil)
			if buffer != "" {
				recorder.KeepValues(cmp.Or(int64(flags.memory), math.MaxInt64))
			}
			if dump != "" {
				runtime, ok := w.(way.RT)
				if !ok || flags.trace {
					return usageError("--etdump is for --via=rt and rt-optimize, without --trace")
				}
				runtime.Recorder = recorder
				w = runtime
			}
			var given *record.Given
			var expected []tensor.Value
			switch _, runtime := w.(way.RT); {
			case len(inputs) == 0 && record.IsBundle(model):
				call := ofModel(record.TestCase(model, method, test))
				given, expected = &record.Given{Values: call.Inputs}, call.Outputs
			case runtime && record.IsProgram(model):
				given, err = record.FileInputs(model, method, inputs, int64(flags.memory))
			default:
				given, err = record.Inputs(record.File(model, flags.declared...), method, inputs,
					int64(flags.memory))
			}
			must.Check(modelError(err))
			out, steps, err := record.Trace(cmd.Context(), w, model, method, given.Values)
			must.Check(modelError(err))
			if flags.trace {
				a.trace(steps, out.Steps)
			}
			if dump != "" {
				must.Check(writeFile(cmd, dump, func(to io.Writer) error {
					_, err := recorder.WriteTo(to)
					return err
				}, model))
			}
			if buffer != "" {
				must.Check(writeFile(cmd, buffer, recorder.WriteBuffer, model))
			}
			pkg, lines := must.Get2(record.Outputs(dir, out, given.NPY))
			must.Check(pkg.Write(cmd.Context(), dir, append([]string{model}, inputs...)...))
			for _, line := range lines {
				fmt.Fprintln(a.out, line)
			}
			if expected == nil {
				return nil
			}
			return a.expect(test, out.Outputs, expected)
		},
	}
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil,
		"an input: a .npy or .bin file, or a number; once for each, in order")
	cmd.Flags().StringVarP(&dir, "output", "o", "", "the folder to write to")
	oneOf(cmd, &via, "via", "", wayNames(),
		"how to run it: c, go, rt (as a .pte), rt-optimize (likewise, compiled when loaded), "+
			"eval (the reference interpreter); default: rt for ExecuTorch programs, else c")
	cmd.Flags().StringVar(&method, "method", "", "the method to run (default: the first)")
	cmd.Flags().IntVar(&test, "test", 0, "the test case of a bundle to take inputs from")
	cmd.Flags().BoolVar(&flags.trace, "trace", false,
		"show each instruction or kernel in order: how often it ran, how long, and the Python line it "+
			"comes from; of a .pte by its NAME.debug.json or its stack traces")
	cmd.Flags().StringVar(&dump, "etdump", "",
		"with --via=rt: a file to note instructions and times in, as ExecuTorch's runtime does, "+
			"for etgen profile and its Inspector")
	cmd.Flags().StringVar(&buffer, "debug-buffer", "",
		"with --etdump and --via=rt: a file for what each kernel gave, which ExecuTorch's Inspector "+
			"takes as debug_buffer_path")
	flags.add(cmd, a)
	return cmd
}

// trace shows how the steps of a call ran.
func (a *app) trace(steps []way.Step, runs []way.StepRun) {
	for i, s := range steps {
		var took time.Duration
		calls := 0.0
		if i < len(runs) {
			calls = runs[i].Calls
			for _, t := range runs[i].Times {
				took += t
			}
		}
		var from []string
		for _, o := range s.From {
			at := o.Loc.Module.Terminal()
			if !o.Loc.File.IsEmpty() {
				at = fmt.Sprintf("%s:%d %s", o.Loc.File.Terminal(), o.Loc.Line, at)
			}
			from = append(from, strings.TrimSpace(o.Node.Terminal()+" "+at))
		}
		fmt.Fprintf(a.out, "%4d %5g × %-10v %-32s %s\n", i, calls, took, s.Kernel,
			strings.Join(from, ", "))
	}
}

// expect holds outputs against those of a bundle's test case.
func (a *app) expect(test int, got, want []tensor.Value) error {
	if len(got) != len(want) {
		return &exitError{exitMiss, fmt.Errorf("test case %d: %d outputs, %d are expected", test,
			len(got), len(want))}
	}
	for i := range got {
		if miss := compare.Values(got[i], want[i], compare.Tolerance{}); miss != nil {
			return &exitError{exitMiss, fmt.Errorf("test case %d: output %d: %w", test, i, miss)}
		}
	}
	fmt.Fprintf(a.out, "test case %d: as expected\n", test)
	return nil
}
