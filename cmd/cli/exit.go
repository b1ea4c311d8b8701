package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/size"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower"
)

// The exit codes.
const (
	exitOK    = 0
	exitMiss  = 1 // golden check, a bundle's test case, diff or --check found a difference
	exitUsage = 2 // the command line is wrong, or an input that it names
	exitModel = 3 // the model cannot be read, or not be compiled, or its call fails
	exitOther = 4 // a file cannot be written, a compiler is missing or does not work, …
	exitOver  = 5 // what was compiled takes more than --max-ram, … allow, or --baseline had
)

const exitHelp = `Exit codes:
  0  all went well
  1  golden check found a miss, run one in a bundle's test case, diff a difference,
     compare a node out of tolerance, or --check found files that are not what would be written
  2  the command line is wrong, or an input does not fit the model
  3  the model cannot be read or compiled, or its call fails
  4  anything else: a file cannot be written, a compiler is missing or does not work, …
  5  the code takes more than --max-ram, --max-flash or --max-stack allow: nothing is
     written but the file of --report; or, of etgen size, more than --baseline had
  130, 143, 129  stopped by SIGINT (Ctrl-C), SIGTERM, SIGHUP: nothing is written,
     temporary files are removed; a second one stops etgen without that`

// exitError is an error that decides the exit code. Err may be nil: then all
// has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// failUsage fails with a usageError.
func failUsage(format string, args ...any) { must.Check(usageError(format, args...)) }

// modelError marks err, if it is one, as the model's fault, unless it tells that
// it is of the inputs, of the name or of what is installed.
func modelError(err error) error {
	if err == nil {
		return nil
	}
	code := exitModel
	if isA[*way.InputError](err) || isA[*codegen.NameError](err) || isA[*lower.BoundError](err) ||
		isA[*compile.MethodError](err) || isA[*compile.PlanError](err) || isA[*size.FolderError](err) {
		code = exitUsage
	} else if isA[*toolchain.MissingError](err) {
		code = exitOther
	} else if isA[*size.OverError](err) {
		code = exitOver
	}
	return &exitError{code, err}
}

// ofModel returns x, or fails as must.Get does, by the model's fault if there is an error.
func ofModel[T any](x T, err error) T {
	must.Check(modelError(err))
	return x
}

// isA reports whether err is, or wraps, an error of the type.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// fullTemp reports whether an error's text tells of a temporary file that has no room.
func fullTemp(text string) bool {
	if !strings.Contains(text, filepath.Join(os.TempDir(), "etgen-")) {
		return false
	}
	text = strings.ToLower(text) // compilers say it too
	return strings.Contains(text, "no space left") || strings.Contains(text, "quota exceeded") ||
		strings.Contains(text, "read-only file system")
}

// longest is from how many bytes a line of an error is shortened: what a model says
// of itself, such as an expression, can be megabytes. A node, its place and what is
// wrong take less.
const longest = 1000

// shortened is line, or of a long one its beginning and its end.
func shortened(line string) string {
	if len(line) <= longest {
		return line
	}
	const kept = 200
	head, tail := strings.ToValidUTF8(line[:kept], ""),
		strings.ToValidUTF8(line[len(line)-kept:], "")
	return fmt.Sprintf("%s … (%d bytes more) … %s", head, len(line)-len(head)-len(tail), tail)
}

// report writes err of a command, a line for each thing that is wrong, and returns
// the exit code.
func report(err error, command string, to *foreign.Terminal, color bool) int {
	if err == nil {
		return exitOK
	}
	code := exitOther
	if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
	}
	if isA[*interrupt.Error](err) {
		return code // main says it, and has a code of its own
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	prefix := "etgen: "
	if color {
		prefix = "\x1b[31m" + prefix + "\x1b[0m"
	}
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			fmt.Fprint(to.Harmless(), prefix)
			fmt.Fprintln(to, shortened(line))
		}
	}
	if fullTemp(err.Error()) {
		fmt.Fprintln(to, "TMPDIR names the folder for temporary files: set it to one with room")
	}
	if code == exitUsage && !isA[*way.InputError](err) && !isA[*testcase.Error](err) {
		fmt.Fprintln(to, command+" --help tells more")
	}
	return code
}
