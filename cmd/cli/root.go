package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/partition"
)

// app is what the commands share.
type app struct {
	// Writers of text: what files say passes them, escaped.
	out, err *foreign.Terminal
	// tty and color tell of err: whether a person watches, and wants colour.
	tty, color bool
	progress   progress

	backends []partition.Backend

	warning sync.Mutex      // of warned
	warned  map[string]bool // the warnings that were written
}

// warn writes a warning, once: a command may compile a model several times.
func (a *app) warn(err error) {
	a.warning.Lock()
	defer a.warning.Unlock()
	text := err.Error()
	if a.warned[text] {
		return
	}
	if a.warned == nil {
		a.warned = map[string]bool{}
	}
	a.warned[text] = true
	fmt.Fprintln(a.err, "etgen: warning: "+text)
}

// json writes a report as JSON.
func (a *app) json(report any) error {
	text, err := foreign.JSON(report)
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

// run runs the command line args and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer,
	backends ...partition.Backend) int {
	out, errs := foreign.NewTerminal(stdout), foreign.NewTerminal(stderr)
	defer errs.Close()
	a := &app{out: out, err: errs, backends: backends}
	a.tty = terminal(stderr)
	a.color = a.tty && wantsColor()
	if a.tty {
		a.progress.to, a.progress.color = stderr, a.color
	}
	out.Before, errs.Before = a.progress.clear, a.progress.clear
	defer a.progress.clear()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever was not done because of it
	}
	if lost := out.Close(); lost != nil && !errors.Is(err, lost) {
		err = errors.Join(err, lost)
	}
	return report(err, cmd.CommandPath(), a.err, a.color)
}

// terminal reports whether a person reads what is written to w.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// colored returns where text goes that has colours of its own, and whether it may
// have them: then all else in it is escaped already.
func colored(t *foreign.Terminal) (io.Writer, bool) {
	if terminal(t.Unwrap()) && wantsColor() {
		return t.Harmless(), true
	}
	return t, false
}

// wantsColor reports whether nobody said that they want no colour.
func wantsColor() bool { return os.Getenv("NO_COLOR") == "" }

func newRoot(a *app) *cobra.Command {
	cmd := newCompile(a)
	cmd.AddCommand(newRun(a), newBench(a), newSize(a), newInspect(a), newReport(a), newDiff(a),
		newCompare(a), newProfile(a), newBundle(a), newLower(a), newQuantize(a), newTargets(a),
		newBackends(a), newRegistry(a), newGolden(a), newInit(a), newDoctor(a), newMan(a), newVersion(a))
	// Cobra's own words about a failure would say everything twice.
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.Version = version()
	quiet := cmd.PersistentFlags().BoolP("quiet", "q", false,
		"on a terminal, show no progress and do not list the files that a compile wrote")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if *quiet {
			a.tty, a.progress.to = false, nil
		}
		return emptyFlag(cmd)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &exitError{exitUsage, flagError(err)}
	})
	return cmd
}

// emptyFlag returns an error if a flag is given without a value, as by a variable of the
// shell that is not set: it would count as not given. A compiler may be given nothing.
func emptyFlag(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		// Of "-o=" the library makes the value "=".
		empty := value == "" || value == "=" && f.Shorthand != ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.ContainsFunc(list.GetSlice(), func(word string) bool {
				return word == "" || word == "=" && f.Shorthand != ""
			})
		}
		if empty && f.Name != "cflags" && err == nil {
			err = usageError("--%s is empty: give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// flagError says an error of a flag's value in words for a user: those of the packages
// that parse numbers name their functions.
func flagError(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	take := wrong.Unwrap().Error()
	if isA[*unknownWord](wrong) {
		return fmt.Errorf("--%s=%s %s", wrong.GetFlag().Name, wrong.GetValue(), take)
	}
	switch wrong.GetFlag().Value.Type() {
	case "int":
		take = "take a whole number"
	case "uint64":
		take = "take a whole number, 0 or more"
	case "stringToInt64":
		take = "take NAME=N, N a whole number"
	case "duration":
		take = "take a time with its unit, such as 500ms, 5s or 1m30s"
	case "bool":
		take = "take true or false"
	}
	return fmt.Errorf("--%s=%s: %s", wrong.GetFlag().Name, wrong.GetValue(), take)
}

// none is cobra.NoArgs with words for a user.
func none(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError("%q is too much: %s takes nothing", args[0], name)
		}
		return nil
	}
}

// exactly is cobra.ExactArgs with words for a user.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usageError("%s is missing", names[len(args)])
		case len(args) > len(names):
			return usageError("%q is too much: one %s at a time", args[len(names)],
				names[len(names)-1])
		}
		return nil
	}
}
