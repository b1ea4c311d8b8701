package cli

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/layers"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/must"
)

func newCompare(a *app) *cobra.Command {
	var inputs, via []string
	var method, dumpRecord, buffer string
	var least float64
	var asJSON bool
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "compare A B -i FILE...",
		Short: "Show where two programs first and most differ, node by node",
		Long: `Compare runs two programs on the same inputs and compares what each node gives. A and B
are model files, folders with a NODE.npy for each node, as PyTorch recorded them, or
ETDumps (.etdp) of a run of ExecuTorch's runtime or of etgen run --debug-buffer. Of an
ETDump, --etrecord says which nodes its instructions stand for. A and B may be the same
file, run in two ways, for example --via=eval,c: in the reference interpreter and
compiled to C. --quantize is for B: float against integers.

Each node's result is made an output of the program, so that it is kept; nothing is
fused across nodes then. Of a program that quantizes and dequantizes, only the values
that are quantized are compared; of one without dequantize nodes, all are. Nodes are
matched by name. A .pte has its own names: there a node matches one whose values agree,
if possible of the same name or operator. What is left is matched by name, operator and
type, then by operator and type in order, but not where the floats that both sides
compute of it agree: there each came to the same by steps of its own. SQNR is signal
over noise in decibels. What is out of the tolerance of etgen golden check is a
difference, or with --min-sqnr what has less.

The exit code is 1 if there is a difference.

` + limitHelp,
		Example: `  etgen compare model.pt2 model.pt2 -i x.npy --via=eval,c
  etgen compare model.pt2 model.pte -i x.npy
  etgen compare kws.pt2 kws.pt2 -i x.npy --quantize=recipe.json --via=eval,go --min-sqnr=10
  etgen compare run.etdp model.pt2 -i x.npy --etrecord=model.etrecord
  etgen compare model.pt2 model.pt2 -i x.npy --via=c,go --json | jq '.nodes[0].sqnr_db'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("compare takes two programs, A and B, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			if len(via) > 2 {
				return usageError("--via takes a way for both, or one for each")
			}
			var sides [2]layers.Side
			for i, path := range args {
				sides[i].Path = path
				if info, err := os.Stat(path); err == nil && info.IsDir() && !looksExported(path) {
					if i == 1 {
						flags.ignored("if B is a folder", "quantize", "calibrate", "io")
					}
					continue
				}
				if strings.HasSuffix(path, ".etdp") {
					if dumpRecord == "" {
						return usageError("%s has instructions only: --etrecord=FILE says what they stand for", path)
					}
					sides[i].Dump = &layers.Dump{Buffer: cmp.Or(buffer, path+".debug"), Record: dumpRecord,
						Method: method}
					continue
				}
				word := "eval"
				if len(via) > 0 {
					word = via[min(i, len(via)-1)]
				}
				sides[i].Way, sides[i].Options = flags.side(word, path, i == 1)
			}
			if sides[0].Way == nil && sides[1].Way == nil {
				return usageError("%s and %s are both recorded: one has to run", args[0], args[1])
			}
			r, err := layers.Compare(cmd.Context(), sides[0], sides[1], method,
				func(model string) ([]tensor.Value, error) {
					given, err := record.Inputs(record.File(model, flags.declared...), method,
						inputs, int64(flags.memory))
					if err != nil {
						return nil, err
					}
					return given.Values, nil
				})
			must.Check(modelError(err))
			given := cmd.Flags().Changed("min-sqnr")
			if asJSON {
				must.Check(a.json(r))
			} else {
				must.Check(r.Text(a.out, least, given))
			}
			if r.Differs(least, given) {
				return &exitError{code: exitMiss}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil,
		"an input: a .npy or .bin file, or a number; once for each, in order")
	cmd.Flags().StringSliceVar(&via, "via", nil,
		"how both run, or how A and how B does: eval (default), c, go, rt, rt-optimize")
	cmd.Flags().StringVar(&method, "method", "", "the method to run (default: the first)")
	cmd.Flags().StringVar(&dumpRecord, "etrecord", "",
		"the ETRecord of the program that an ETDump is of")
	cmd.Flags().StringVar(&buffer, "debug-buffer", "",
		"the file with the tensors of an ETDump (default: its name and .debug)")
	cmd.Flags().Float64Var(&least, "min-sqnr", 0,
		"a difference is what has a lower signal over noise, in decibels")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	flags.add(cmd, a)
	return cmd
}

// looksExported reports whether a folder is a .pt2 that was unpacked.
func looksExported(path string) bool {
	for _, name := range []string{"archive_format", "models", "model.json"} {
		if _, err := os.Stat(path + "/" + name); err == nil {
			return true
		}
	}
	return false
}

// side is the way of a word, and how the model at path is lowered; only of B are models quantized.
func (f *runFlags) side(word, path string, b bool) (way.Way, compile.Options) {
	row := wayNamed(word)
	if row == nil {
		failUsage("--via=%s is unknown: take %v", word, wayNames())
	}
	own := *f
	if !b {
		own.quantize, own.calibrate, own.io = "", nil, "float"
	}
	opt := own.options(path)
	f.declared = own.declared
	run := opt
	run.Recipe = nil
	return row.make(way.Settings{Options: run, Memory: int64(f.memory), Limit: f.time}), opt
}
