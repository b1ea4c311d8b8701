package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/measure"
	"github.com/etgen/etgen/golden/size"
	"github.com/etgen/etgen/ir/must"
)

func newBench(a *app) *cobra.Command {
	var opt measure.Options
	var text measure.TextOptions
	var asJSON bool
	var svg, cflags, baseline string
	var growth float64
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "bench MODEL",
		Short: "Measure how fast a compiled model runs, and its kernels",
		Long: `Bench compiles a model and calls it again and again on one core. It shows the best
and the median time of a call, and the range from the tenth to the ninetieth
percentile. It shows the speed of a model that multiplies and adds, and which part
that is of what the core can do at most, which is measured along with it. The speed
is that of the best call, as the core's is the best of its measurements: other
programs only ever take away. A multiply-accumulate is two operations.

A table for each way shows the kernels: the best and the median time that all calls
of each take within a call of the model, its share of the medians, and the operators
and the Python line it came from. The times are those of an instrumented copy of the
code, which reads the clock after each kernel, or of the runtime with a tracer. An
ExecuTorch program (.pte, .bpte) runs in the runtime as it is. Its Python lines come
from its NAME.debug.json or its stack traces.

What --json wrote before is a --baseline: then bench shows what has grown since, and
fails if a figure has by more than --max-growth. Of times that is the best of a call,
scaled by how fast the core is now and was then. What is too slow is measured up to
three times, and the least counts: another program may have run beside it.

MODEL is a model file or the folder of a case, whose first inputs are taken. Inputs
are random if there are none, and no -i.

` + limitHelp,
		Example: `  etgen bench model.pt2
  etgen bench model.pt2 -i x.npy --via=c,go,rt --svg kernels.svg
  etgen bench model.pt2 --via=c --cc=clang --cflags='-O2 -mavx2 -mfma' --for=5s
  etgen bench model.pt2 --via=c --json > time.json
  etgen bench model.pt2 --via=c --baseline=time.json --max-growth=15
  etgen bench model.pt2 --json | jq '.ways[0].of_peak'`,
		Args: exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			if len(opt.Via) == 0 {
				return usageError("--via is empty: take c, go, rt, rt-optimize")
			}
			if opt.For < 0 {
				return usageError("--for=%v is negative", opt.For)
			}
			opt.Compile = flags.options(args[0])
			opt.Step, opt.Compile.Step = a.progress.step, nil
			opt.Memory, opt.Limit = int64(flags.memory), flags.time
			flags.unheard(args[0], opt.Via...)
			if !slices.Contains(opt.Via, "c") {
				flags.ignored("without --via=c", "cc", "cflags")
			}
			if cmd.Flags().Changed("cflags") {
				opt.CFlags = append([]string{}, strings.Fields(cflags)...)
			}
			var before *measure.Report
			if baseline != "" {
				if before, err = measure.ReadBaseline(baseline); err != nil {
					return &exitError{exitUsage, err}
				}
			} else {
				flags.ignored("without --baseline", "max-growth")
			}
			r, err := measure.Model(cmd.Context(), args[0], opt)
			if unknown, ok := errors.AsType[*measure.UnknownWayError](err); ok {
				return usageError("--via: %v", unknown)
			}
			if model, ok := errors.AsType[*measure.ModelError](err); ok {
				return modelError(model)
			}
			must.Check(err)
			if before != nil {
				return compareTime(cmd.Context(), a, baseline, before, growth, r, args[0], opt)
			}
			if svg != "" {
				must.Check(writeMarkup(cmd, svg, args[0], r.SVG))
			}
			if asJSON {
				return a.json(r)
			}
			to, color := colored(a.out)
			text.Color = color
			r.Text(to, text)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&opt.Via, "via", []string{"c", "go", "rt"},
		"the ways to run the model: c, go, rt (as a .pte), rt-optimize (as a .pte that is optimized "+
			"when it is loaded)")
	cmd.Flags().StringArrayVarP(&opt.Inputs, "input", "i", nil,
		"an input: a .npy or .bin file, or a number; once for each, in order")
	cmd.Flags().StringVar(&opt.Method, "method", "", "the method to call (default: the first)")
	cmd.Flags().DurationVar(&opt.For, "for", time.Second,
		"how long to call the model each way, and again for its kernels")
	cmd.Flags().StringVar(&opt.CC, "cc", "gcc", "the C compiler")
	cmd.Flags().StringVar(&cflags, "cflags", "-O3 -march=native", "what the C compiler is given")
	cmd.Flags().StringVar(&svg, "svg", "", "draw the kernels into this file")
	cmd.Flags().BoolVar(&text.All, "all", false,
		"show kernels of less than half a percent of the time too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	baselineFlags(cmd, &baseline, &growth, 10)
	flags.add(cmd, a)
	fixed(cmd, "via", "c", "go", "rt", "rt-optimize", "c,go,rt")
	return cmd
}

// compareTime shows how figures of r have grown since a baseline, and measures again what has by
// more than most percent. It returns an error if that remains.
func compareTime(ctx context.Context, a *app, name string, baseline *measure.Report, most float64,
	r *measure.Report, model string, opt measure.Options) error {
	var list []size.Growth
	for try := 0; ; try++ {
		now, err := r.Growth(baseline)
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("%s: %w", name, err)}
		}
		if list == nil {
			list = now
		}
		over := false
		for i := range list {
			list[i].Now = min(list[i].Now, now[i].Now)
			over = over || list[i].Percent() > most
		}
		if !over || try == 2 {
			break
		}
		if r, err = measure.Model(ctx, model, opt); err != nil {
			return err
		}
	}
	return grown(a, list, most)
}
