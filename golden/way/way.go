// Package way runs models in batches: compiled to C, compiled to Go, or by the
// reference interpreter. All ways take the same jobs and give the same results,
// so that a test can hold one against another.
package way

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// Job is a model with the calls to make of it.
type Job struct {
	Name string // for package names; need not be unique
	File string // where the model is; "" if it is in no file
	// Open reads the model anew; compiling changes it. The closer, which may be
	// nil, holds its weights.
	Open  func() (*ir.Program, io.Closer, error)
	Calls []Call
}

// Call is one call of a model.
type Call struct {
	Method int // index among the program's methods
	Inputs []tensor.Value
	Keep   bool // the state is what the call before left; else it is reset
	Anyway bool // with Keep: the call before may have failed
	// Repeat makes the call that often (0 is once), and For goes on for so long
	// but not over 65536 calls.
	Repeat int
	For    time.Duration
	// Turn, if not nil, is held while the call runs: calls of ways that run at the
	// same time may take turns. The reference does not look at it.
	Turn sync.Locker
}

// Result is what came of a [Job].
type Result struct {
	Err   error        // the model could not be compiled or built
	Terms []int64      // of each method: its longest reduction, at least 1
	Calls []CallResult // parallel to Job.Calls if Err is nil
	// Native is the native form, nil for the reference.
	Native *native.Program
	// Code and Weights are the bytes of generated source, weights left out, and
	// of constants.
	Code, Weights int64
	// Arena is the bytes that a method needs while it runs, the most of all.
	Arena int64
	// Steps are of each method the calls of kernels, if Settings ask for
	// instrumented code.
	Steps [][]Step
}

// CallResult is what came of a [Call].
type CallResult struct {
	Err     error
	Outputs []tensor.Value
	Mutated []*tensor.Tensor // parallel to Call.Inputs; nil where the program does not write
	Times   []time.Duration  // of each repetition; nil for the reference
	// MACs is the multiply-accumulates of one repetition, 0 if there are none,
	// they are not known, or for the reference.
	MACs  int64
	Steps []StepRun // parallel to the steps of the call's method
}

// Way is a way to run models. Done is called once per job with its index, in
// any order but never at the same time.
type Way interface {
	Name() string
	Run(ctx context.Context, jobs []Job, done func(int, *Result))
}

// guard runs f and turns a panic into an error: one model must not lose the
// others.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: %v", r)
		}
	}()
	return f()
}

// ErrShape is what the error of a call is (errors.Is) if the model refused the
// sizes or numbers it was given.
var ErrShape = errors.New("the model refuses its inputs")

// shapeError is an error that is ErrShape, with its own text.
type shapeError struct{ error }

// Is reports whether target is ErrShape.
func (shapeError) Is(target error) bool { return target == ErrShape }

// Unwrap returns the error itself.
func (e shapeError) Unwrap() error { return e.error }

// notRun says of a call that the one before it failed and left no state.
var errNotRun = fmt.Errorf("not run: the call before it failed")
