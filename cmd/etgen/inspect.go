package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
)

func newInspect(a *app) *cobra.Command {
	var asJSON bool
	var lang string
	var flags compileFlags
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show a model's signature, operators, parameters and memory",
		Long: `Inspect shows what goes in and out of a model, which operators it uses and
whether etgen has them, its parameters, and the memory that compiled code needs:
the arena, and how small it could be at best, and the weights.`,
		Example: `  etgen inspect model.pt2
  etgen inspect model.pt2 --json | jq '.methods[0].arena'`,
		Args: exactly("MODEL"),
		RunE: func(_ *cobra.Command, args []string) error {
			opt, err := flags.options(args[0])
			if err != nil {
				return err
			}
			opt.Lang = lang
			p, closer, err := compile.Read(args[0])
			if err != nil {
				return modelError(err)
			}
			defer closer.Close()
			info, err := compile.Inspect(p, opt)
			if err != nil {
				return modelError(err)
			}
			if asJSON {
				text, err := json.MarshalIndent(info, "", "  ")
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s\n", text)
				return nil
			}
			printInfo(a.out, info)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().StringVar(&lang, "lang", "c", "the output language that memory is told for: c or go")
	flags.add(cmd)
	fixed(cmd, "lang", "c", "go")
	return cmd
}

func printInfo(to io.Writer, info *compile.Info) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "%s\n", info.File)
	for _, m := range info.Methods {
		fmt.Fprintf(w, "\nmethod %s\n", m.Name)
		for _, p := range m.Inputs {
			fmt.Fprintf(w, "  in\t%s\t%s\n", p.Name, portText(p))
		}
		for _, p := range m.Outputs {
			fmt.Fprintf(w, "  out\t%s\t%s\n", p.Name, portText(p))
		}
		for _, s := range m.Symbols {
			bound := "no bound"
			if s.Max != nil {
				bound = fmt.Sprint(*s.Max)
			}
			fmt.Fprintf(w, "  size\t%s\t%d … %s\n", s.Name, s.Min, bound)
		}
		printTensors(w, "parameters", m.Parameters)
		printTensors(w, "buffers", m.Buffers)
		printTensors(w, "state", m.State)
		if m.Arena != nil {
			fmt.Fprintf(w, "  arena\t%d bytes\taligned to %d, at best %d\n", m.Arena.Bytes, m.Arena.Align, m.Arena.LowerBound)
		}
		fmt.Fprintf(w, "\n  operators\n")
		for _, o := range m.Operators {
			missing := ""
			if !o.Supported {
				missing = "\tnot supported"
			}
			fmt.Fprintf(w, "  %6d\t%s\t%s%s\n", o.Count, o.Name, strings.Join(o.DTypes, " "), missing)
		}
	}
	if len(info.Problems) > 0 {
		fmt.Fprintf(w, "\nit cannot be compiled:\n")
		for _, p := range info.Problems {
			fmt.Fprintf(w, "  %s\n", p)
		}
		return
	}
	fmt.Fprintf(w, "\nweights  %d bytes\nkernels  %d\n", info.Weights, info.Kernels)
}

func portText(p compile.PortInfo) string {
	text := p.Type
	if p.Value != "" {
		text = "= " + p.Value
	}
	if p.Mutated {
		text += " (changed by the call)"
	}
	return text
}

func printTensors(w io.Writer, what string, t compile.TensorsInfo) {
	if t.Count > 0 {
		fmt.Fprintf(w, "  %s\t%d\t%d elements, %d bytes\n", what, t.Count, t.Elements, t.Bytes)
	}
}
