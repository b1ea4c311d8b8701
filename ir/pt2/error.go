package pt2

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

// Error says what is wrong with a model file and where. Every error the
// package returns is one.
type Error struct {
	File    string      // base name of the model file
	Member  string      // the file inside it, "" if that does not matter
	Node    string      // name of the node or value, if known
	Op      string      // its operator
	Loc     ir.Location // its Python line
	Problem string
	Hint    string // what to do about it, may be empty
	Err     error  // cause, may be nil
}

// Error names the file, the node with its operator, the Python line, the
// problem and the hint, leaving out what is not known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(foreign.Message(e.File))
	if e.Member != "" && e.Member != e.File {
		fmt.Fprintf(&b, " (%s)", foreign.Message(e.Member))
	}
	switch {
	case e.Node != "" && e.Op != "":
		fmt.Fprintf(&b, ": node %q (%s)", e.Node, foreign.Message(e.Op))
	case e.Node != "":
		fmt.Fprintf(&b, ": %q", e.Node)
	}
	switch {
	case e.Loc.File != "":
		fmt.Fprintf(&b, " at %s", e.Loc)
	case e.Loc.Module != "":
		fmt.Fprintf(&b, " %s", e.Loc)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// problem makes an Error that has no place yet; callers up the stack fill in
// the file, node and location they know.
func problem(format string, args ...any) *Error {
	return &Error{Problem: fmt.Sprintf(format, args...)}
}

// hint adds what to do about it.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// asError returns err as an *Error, wrapping it if it is none.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Problem: "cannot read it", Err: err}
}

// within says in err's problem what it is about.
func within(err error, format string, args ...any) error {
	e := asError(err)
	e.Problem = fmt.Sprintf(format, args...) + ": " + e.Problem
	return e
}
