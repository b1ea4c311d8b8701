package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
)

// limitHelp is part of the help of the commands that run models.
const limitHelp = `A call may take --memory-limit of memory and --time-limit: a file can ask for more
than the machine has. What takes more is an error of the model (exit code 3). No
more of an input is read than the model takes.`

// limitFlags bound what a call of a model takes: a file can ask for more than a
// machine has.
type limitFlags struct {
	memory bytesFlag
	time   time.Duration
}

func (f *limitFlags) add(cmd *cobra.Command) {
	f.memory, f.time = way.DefaultMemory, way.DefaultTime
	cmd.Flags().Var(&f.memory, "memory-limit",
		"the memory that a call of the model may take: inputs, outputs, working memory and state")
	cmd.Flags().DurationVar(&f.time, "time-limit", f.time,
		"how long one call of the model may take")
}

// check returns an error if a limit is none.
func (f *limitFlags) check() error {
	if f.time <= 0 {
		return usageError("--time-limit=%v: take more than nothing", f.time)
	}
	return nil
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
