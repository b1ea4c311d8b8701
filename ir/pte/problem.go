package pte

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
)

// Problem is a rule that a program breaks. Indices are -1 where the problem is
// not about one.
type Problem struct {
	Method      string // "" for the program as a whole
	Chain       int
	Instruction int
	Operator    string // of the instruction, if it calls one
	Value       int
	Reason      string
}

func (p Problem) String() string {
	var parts []string
	if p.Method != "" {
		parts = append(parts, "method "+foreign.Message(p.Method))
	}
	if p.Chain > 0 {
		parts = append(parts, fmt.Sprintf("chain %d", p.Chain))
	}
	if p.Instruction >= 0 {
		s := fmt.Sprintf("instruction %d", p.Instruction)
		if p.Operator != "" {
			s += " " + foreign.Message(p.Operator)
		}
		parts = append(parts, s)
	}
	if p.Value >= 0 {
		parts = append(parts, fmt.Sprintf("value %d", p.Value))
	}
	if len(parts) == 0 {
		return p.Reason
	}
	return strings.Join(parts, ", ") + ": " + p.Reason
}

// VerifyError are all the problems of a program, in its order.
type VerifyError struct {
	Problems []Problem
	More     int // problems found beyond those that are listed
}

func (e *VerifyError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return "pte: " + strings.Join(lines, "\n     ")
}

// maxProblems bounds what a broken program can make us say.
const maxProblems = 100

func (e *VerifyError) add(p Problem) {
	if len(e.Problems) == maxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, p)
}
