package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

func newGoldenCheck(a *app) *cobra.Command {
	var via []string
	var asJSON bool
	var junit string
	var cc ccFlags
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "check DIR...",
		Short: "Hold what compiled models compute against recorded outputs",
		Long: `Check runs every case at or below the folders, each model file in it, each way,
and compares the outputs with the recorded ones. A line tells of each miss, the
last line is "N passed, N failed".

A case is a folder with meta.json, raw inputs and outputs, and the model as
model.pt2, model.core.pt2, model.pte or model.bpte; etgen golden record makes one.
An output in meta.json may have atol and rtol: then |got - recorded| is at most
atol + rtol·|recorded|, and the usual tolerance has no effect.

Where GITHUB_ACTIONS is true, as in GitHub's workflows, misses are annotations too.

` + limitHelp,
		Example: `  etgen golden check golden/cases
  etgen golden check cases/lenet --via=c --json
  etgen golden check cases --junit=report.xml
  etgen golden check cases/lenet --machine=neon
  etgen golden check cases --via=c --cc=clang --cflags=-march=x86-64-v4
  etgen golden check cases --via=c --cflags=-fsanitize=address,undefined`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("DIR is missing: a folder with cases")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, dirs []string) (err error) {
			defer must.Catch(&err)
			ways := flags.ways(via)
			cc.apply(ways)
			report, err := conform.Check(cmd.Context(), dirs, ways, func(m conform.Miss) {
				if !asJSON {
					fmt.Fprintln(a.out, m)
				}
				if os.Getenv("GITHUB_ACTIONS") == "true" {
					fmt.Fprintln(a.err, m.Annotation())
				}
			}, a.progress.counter("check"))
			if isA[*testcase.Error](err) {
				return &exitError{exitUsage, err}
			}
			must.Check(err)
			if junit != "" {
				must.Check(writeMarkup(cmd, junit, dirs[0], report.JUnit))
			}
			if asJSON {
				text := must.Get(foreign.JSON(report))
				a.out.Write(text) // what is lost is told at the end, misses go first
			} else {
				fmt.Fprintln(a.out, report)
			}
			if report.Failed > 0 {
				return &exitError{code: exitMiss}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&via, "via", []string{"c", "go"},
		"the ways to run models: c, go, rt (as a .pte), rt-optimize (as a .pte that is optimized when "+
			"it is loaded), eval (the reference interpreter)")
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"write the report as JSON, of the form of golden/conform/schema.json")
	cmd.Flags().StringVar(&junit, "junit", "", "a file to write the report to as JUnit's XML")
	cc.add(cmd)
	flags.add(cmd, a)
	fixed(cmd, "via", "c", "go", "rt", "rt-optimize", "eval", "c,go")
	return cmd
}
