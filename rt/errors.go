package rt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
)

// The kinds of errors, for errors.Is. Every error of the package is one of
// these, or of the loader or a backend, or that of a context.
var (
	// ErrInvalidProgram: the file breaks the rules of the format.
	ErrInvalidProgram = errors.New("invalid program")
	// ErrMissingOperator: the registry has no kernel for operators of the
	// method. The error is a *MissingOperatorsError.
	ErrMissingOperator = errors.New("missing operator")
	// ErrMissingBackend: a delegate's backend is not among the given ones.
	ErrMissingBackend = errors.New("missing backend")
	// ErrMissingData: external data that the method needs was not given, or is
	// of another type.
	ErrMissingData = errors.New("missing data")
	// ErrNotFound: there is no method of that name.
	ErrNotFound = errors.New("not found")
	// ErrInvalidArgument: the caller, or an instruction, gives a value that
	// does not fit.
	ErrInvalidArgument = errors.New("invalid argument")
	// ErrInvalidState: the call is not possible now, as executing before all
	// inputs are set, or a method that executes already.
	ErrInvalidState = errors.New("invalid state")
	// ErrNotSupported: the program is valid but this runtime or kernel cannot
	// do it; sizes beyond a tensor's bound too.
	ErrNotSupported = errors.New("not supported")
	// ErrOutOfMemory: the method needs more memory than the limit allows.
	ErrOutOfMemory = errors.New("out of memory")
	// ErrInstructionLimit: the method executed more instructions than allowed.
	ErrInstructionLimit = errors.New("instruction limit exceeded")
	// ErrInternal: a kernel, a backend or the runtime itself panicked. It is a
	// fault of theirs, not of the caller.
	ErrInternal = errors.New("internal error")
)

// Error is a problem with an instruction of a method.
type Error struct {
	Method             string
	Chain, Instruction int
	// "aten::add.out", or the kind of instruction: "MoveCall", "DelegateCall ID", …
	Op  string
	Err error
}

// Error names the method, the instruction, its operator and the problem.
func (e *Error) Error() string {
	at := fmt.Sprintf("instruction %d", e.Instruction)
	if e.Chain != 0 {
		at = fmt.Sprintf("chain %d, %s", e.Chain, at)
	}
	kind, id, delegate := strings.Cut(e.Op, " ")
	op := foreign.Message(kind)
	if delegate {
		op += " " + foreign.Message(id)
	}
	return fmt.Sprintf("method %q, %s (%s): %v", e.Method, at, op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MissingOperatorsError lists what a registry lacks for a method.
type MissingOperatorsError struct {
	Method    string
	Operators []string // "aten::add.out", sorted
}

// Error names all missing operators.
func (e *MissingOperatorsError) Error() string {
	return fmt.Sprintf(
		"method %q: %v: the registry has no kernel for %s; give a registry that has, "+
			"or write one for this program with etgen registry",
		e.Method, ErrMissingOperator, strings.Join(e.Operators, ", "))
}

// Is reports that e is an ErrMissingOperator.
func (e *MissingOperatorsError) Is(target error) bool { return target == ErrMissingOperator }
