package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
)

// limitHelp is part of the help of the commands that run models.
const limitHelp = `A call may take --memory-limit of memory and --time-limit: a file can ask for more
than the machine has. What takes more is an error of the model (exit code 3). No
more of an input is read than the model takes.`

// runFlags are the flags of commands that run models. They bound what a call takes: a file
// can ask for more than a machine has.
type runFlags struct {
	compileFlags
	memory bytesFlag
	time   time.Duration
	trace  bool // of run: what ran is shown
}

func (f *runFlags) add(cmd *cobra.Command, a *app) {
	f.compileFlags.add(cmd, a)
	f.memory, f.time = way.DefaultMemory, way.DefaultTime
	cmd.Flags().Var(&f.memory, "memory-limit",
		"the memory that a call of the model may take: inputs, outputs, working memory and state")
	cmd.Flags().DurationVar(&f.time, "time-limit", f.time,
		"how long one call of the model may take")
}

// options are those of compileFlags; it fails if a limit is none.
func (f *runFlags) options(model ...string) compile.Options {
	if f.time <= 0 {
		failUsage("--time-limit=%v: take more than nothing", f.time)
	}
	opt := f.compileFlags.options(model...)
	opt.Profile = f.trace
	return opt
}

// ways turns words of --via into ways. Model is what they run, none if it is several.
func (f *runFlags) ways(vias []string, model ...string) (ways []way.Way) {
	opt := f.options(model...)
	f.unheard(strings.Join(model, ""), vias...)
	for _, via := range vias {
		w := wayNamed(via)
		if w == nil {
			failUsage("--via=%s is unknown: take %s", via, compile.ListOf(wayNames()))
		}
		ways = append(ways, w.make(way.Settings{Options: opt, Memory: int64(f.memory),
			Limit: f.time}))
	}
	if len(ways) == 0 {
		failUsage("--via is empty: take %s", compile.ListOf(wayNames()))
	}
	return ways
}

// bytesFlag is a number of bytes on the command line.
type bytesFlag int64

// String implements pflag.Value.
func (b *bytesFlag) String() string {
	if *b > 0 && *b%(1<<30) == 0 {
		return fmt.Sprintf("%dGiB", *b>>30)
	}
	return fmt.Sprint(int64(*b))
}

// Set implements pflag.Value.
func (b *bytesFlag) Set(text string) error {
	n, err := tensor.ParseBytes(text)
	*b = bytesFlag(n)
	return err
}

// Type implements pflag.Value.
func (*bytesFlag) Type() string { return "bytes" }
