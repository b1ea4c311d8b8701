package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/profile"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
)

func newProfile(a *app) *cobra.Command {
	var program, record, method, by, chrome, pprof string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "profile RUN.etdp",
		Short: "Show where the time of a run went, by an ETDump file or a board's console",
		Long: `Profile reads what ExecuTorch's runtime, or etgen run --etdump, noted of the calls of a
program, and sums the time up by operator, by instruction, or by node or line of the
model's Python source. Nodes and lines are known with --etrecord, which names the
program's ETRecord. They are also known with --program, which names the .pte, if stack
traces are in it or if NAME.debug.json (etgen --debug-map) is beside it.

It also reads the text that code of etgen --profile writes, among other lines of a
console; the last profile counts. Times are ticks if the code does not know its clock.`,
		Example: `  etgen profile run.etdp
  etgen profile run.etdp --program=model.pte --by=line
  etgen profile run.etdp --chrome=trace.json --pprof=run.pb.gz`,
		Args: exactly("RUN.etdp"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			data := must.Get(os.ReadFile(args[0]))
			var p *profile.Profile
			lines, dump := profile.IsLines(data), etdump.Is(data)
			if !lines && !dump {
				return usageError("%s is no ETDump, nor is the profile of generated code in it", args[0])
			}
			if !dump {
				if program != "" || record != "" || method != "" {
					return usageError(
						"--program, --etrecord and --method have no effect on a profile of generated code")
				}
				p, err = profile.ReadLines(data)
			} else {
				var d *etdump.Dump
				if d, err = etdump.Read(data); err == nil {
					kernels := profile.New(d, nil).Kernels
					var origin profile.Origin
					switch {
					case program != "":
						origin = ofModel(a.originsOf(program, method, kernels))
					case record != "":
						origin = ofModel(a.originsIn(record, method, kernels))
					}
					p = profile.New(d, origin)
				}
			}
			if err != nil {
				return &exitError{exitUsage, fmt.Errorf("%s: %w", args[0], err)}
			}
			for _, out := range []struct {
				path  string
				write func(io.Writer) error
			}{{chrome, p.Chrome}, {pprof, p.PProf}} {
				if out.path != "" {
					must.Check(writeFile(cmd, out.path, out.write, args[0]))
				}
			}
			if asJSON {
				return a.json(p)
			}
			return p.Text(a.out, profile.By(by))
		},
	}
	cmd.Flags().StringVar(&program, "program", "", "the .pte that ran")
	cmd.Flags().StringVar(&record, "etrecord", "", "the ETRecord of the .pte that ran")
	cmd.Flags().StringVar(&method, "method", "", "the method of it that ran (default: the first)")
	cmd.MarkFlagsMutuallyExclusive("program", "etrecord")
	oneOf(cmd, &by, "by", string(profile.Operator), profile.Keys, "what time is summed up by")
	cmd.Flags().StringVar(&chrome, "chrome", "", "a file for chrome://tracing and Perfetto")
	cmd.Flags().StringVar(&pprof, "pprof", "", "a file for go tool pprof")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// originsOf tells where instructions of a program's method come from that called kernels when it
// ran; "" is the first method.
func (a *app) originsOf(path, method string, kernels map[int]string) (profile.Origin, error) {
	p, closer, err := pte.Open(path)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	all, err := codepte.OriginsBeside(p, path, a.warn)
	if err != nil {
		return nil, err
	}
	for i, plan := range p.Plans {
		if method != "" && plan.Name != method {
			continue
		}
		expected := plan.Kernels()
		for _, k := range slices.Sorted(maps.Keys(expected)) {
			if ran, ok := kernels[k]; ok && ran != expected[k] {
				a.warn(fmt.Errorf("%s is of another build than the program that ran: "+
					"instruction %d is %s, not %s", path, k, foreign.Message(expected[k]),
					foreign.Message(ran)))
				break
			}
		}
		return func(chain, instruction int, event string) []ir.Origin {
			at := instruction
			for c := 0; c < chain && c < len(plan.Chains); c++ {
				at += len(plan.Chains[c].Instructions)
			}
			if at < 0 || at >= len(all[i]) {
				return nil
			}
			return all[i][at].Nodes(event)
		}, nil
	}
	return nil, usageError("%s has no method %s", path, method)
}

// originsIn tells what instructions of a method that called kernels stand for by an ETRecord; "" is
// the only method, or forward.
func (a *app) originsIn(path, method string, kernels map[int]string) (profile.Origin, error) {
	record, err := pt2.ReadRecord(path)
	if err != nil {
		return nil, err
	}
	m := record.Method(method)
	if m == nil {
		return nil, usageError("%s has no method %s: it has %q", path, cmp.Or(method, "forward"),
			slices.Sorted(maps.Keys(record)))
	}
	if why := m.Unlike(kernels); why != nil {
		a.warn(fmt.Errorf("%s is of another build than the program that ran: %w", path, why))
	}
	return func(chain, instruction int, event string) []ir.Origin {
		if chain > 0 {
			return nil // ExecuTorch's programs have one, and records know of no other
		}
		return m.Origins(instruction, event)
	}, nil
}

// writeFile writes what write gives over the file at path, whoever wrote that.
func writeFile(cmd *cobra.Command, path string, write func(io.Writer) error,
	inputs ...string) error {
	pkg, err := codegen.FileOf(filepath.Base(path), write)
	if err != nil {
		return err
	}
	pkg.Replaces = true
	return pkg.Write(cmd.Context(), filepath.Dir(path), inputs...)
}
