package way

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/rt"
)

// DefaultMemory is what a call may take unless told otherwise, in bytes, and
// DefaultTime how long.
const (
	DefaultMemory = rt.DefaultMemoryLimit
	DefaultTime   = time.Minute
)

// InputError is an error of the inputs that were given, not of the model.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

func (e *InputError) Unwrap() error { return e.Err }

// inputs marks err, if it is one, as an error of the inputs.
func inputs(err error) error {
	if err == nil {
		return nil
	}
	return &InputError{err}
}

// MemoryError says that a call takes more memory than it may.
type MemoryError struct {
	What        string // "the input x"
	Need, Limit int64  // bytes; Need is 0 if it is not known
}

func (e *MemoryError) Error() string {
	need := "more memory"
	if e.Need > 0 {
		need = tensor.FormatBytes(e.Need) + " of memory, more"
	}
	return fmt.Sprintf(
		"%s takes %s than the limit of %s: if the model is to be trusted, raise it with --memory-limit",
		e.What, need, tensor.FormatBytes(e.Limit))
}

// CheckMemory returns a [*MemoryError] if need is more than limit, DefaultMemory
// if that is 0.
func CheckMemory(what string, need, limit int64) error {
	if limit == 0 {
		limit = DefaultMemory
	}
	if need > limit {
		return &MemoryError{What: what, Need: need, Limit: limit}
	}
	return nil
}

// errTime is why a call's context is done.
var errTime = errors.New("time is over")

// within is ctx for a call that may take limit, DefaultTime if that is 0.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		limit = DefaultTime
	}
	return context.WithTimeoutCause(ctx, limit, errTime)
}

// overtime returns err, that of a call with a context of within, in the words of
// all ways if time is over.
func overtime(ctx context.Context, limit time.Duration, err error) error {
	if err == nil || context.Cause(ctx) != errTime {
		return err
	}
	if limit == 0 {
		limit = DefaultTime
	}
	return fmt.Errorf(
		"the call does not come back within %v: if it is known to, raise --time-limit", limit)
}
