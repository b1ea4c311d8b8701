package ir

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
)

// Error is a problem with a node of a program.
type Error struct {
	File string // base name of the model file
	Node string
	Op   string
	Loc  Location
	Err  error
}

// ErrorAt says that err happened at n of a program read from file. An error
// that already names a node is returned as it is.
func ErrorAt(file string, n *Node, err error) error {
	if _, ok := errors.AsType[*Error](err); ok || err == nil {
		return err
	}
	return &Error{File: file, Node: n.Name, Op: n.Op, Loc: n.Loc, Err: err}
}

// Error names file, node, operator, Python line and problem.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s: ", foreign.Message(e.File))
	}
	op := e.Op
	if op != "" {
		op = foreign.Message(op)
	}
	fmt.Fprintf(&b, "node %s (%s)", foreign.Message(e.Node), op)
	switch {
	case e.Loc.File != "":
		fmt.Fprintf(&b, " at %s:%d", foreign.Message(e.Loc.File), e.Loc.Line)
	case e.Loc.Module != "":
		fmt.Fprintf(&b, " in module %s", foreign.Message(e.Loc.Module))
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WantBound says how a size gets the upper bound that it lacks: a size of an input by an
// argument of the export, a size that the model computes by a check in the model.
func WantBound(size sym.Expr) string {
	var words []string
	for _, s := range size.Symbols() {
		if _, hi := s.Expr().Bounds(); hi != math.MaxInt64 {
			continue
		}
		// as torch.export calls numbers that it finds in tensors
		if strings.HasPrefix(s.Name, "u") {
			words = append(words,
				fmt.Sprintf("say in the model torch._check(%s <= …) of the number that %[1]s is, "+
					"or give --bound=%[1]s=N", s.Name))
		} else {
			words = append(words, fmt.Sprintf("export it with torch.export.Dim(%q, max=…), "+
				"or give --bound=%[1]s=N", s.Name))
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("with the bounds of %v it is beyond 64 bits: make them smaller, "+
			"or give --bound=%[1]v=N", size.Symbols()[0].Name)
	}
	return strings.Join(words, ", ")
}
