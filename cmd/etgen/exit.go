package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/toolchain"
)

// The exit codes.
const (
	exitOK    = 0
	exitMiss  = 1 // golden check, a bundle's test case or --check found a difference
	exitUsage = 2 // the command line is wrong, or an input that it names
	exitModel = 3 // the model cannot be read, or not be compiled, or its call fails
	exitOther = 4 // a file cannot be written, a compiler is missing, …
)

const exitHelp = `Exit codes:
  0  all went well
  1  golden check found a miss, run one in a bundle's test case, or --check found
     files that are not what would be written
  2  the command line is wrong, or an input does not fit the model
  3  the model cannot be read or compiled, or its call fails
  4  anything else: a file cannot be written, a C compiler is missing, …`

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

// modelError marks err, if it is one, as the model's fault, unless it tells that
// it is of the inputs or of what is installed.
func modelError(err error) error {
	if err == nil {
		return nil
	}
	code := exitModel
	if isA[*record.InputError](err) {
		code = exitUsage
	} else if isA[*toolchain.MissingError](err) {
		code = exitOther
	}
	return &exitError{code, err}
}

// isA reports whether err is, or wraps, an error of the type.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// report writes err of a command, a line for each thing that is wrong, and returns
// the exit code.
func report(err error, command string, to io.Writer, color bool) int {
	if err == nil {
		return exitOK
	}
	code := exitOther
	if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
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
			fmt.Fprintln(to, prefix+line)
		}
	}
	if code == exitUsage && !isA[*record.InputError](err) {
		fmt.Fprintln(to, command+" --help tells more")
	}
	return code
}
