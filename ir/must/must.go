// Package must ends work that many functions share with the first error: what fails
// panics with the error, and the door of the work, which the caller knows, returns it.
// It is for code that reads or builds something step by step, where nothing else becomes
// of an error. Panics of the Go runtime are no failures, they go on.
package must

import (
	"fmt"
	"runtime"
)

// Catch is deferred by the door: it sets err to what ended the work.
func Catch(err *error) {
	if e := failure(recover()); e != nil {
		*err = e
	}
}

// failure returns the error that r is, and panics with what is none.
func failure(r any) error {
	if r == nil {
		return nil
	}
	err, ok := r.(error)
	if _, fault := r.(runtime.Error); !ok || fault {
		panic(r)
	}
	return err
}

// Check fails if err is not nil.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Fail fails with an error of that text.
func Fail(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// In fails if err is not nil, with an error that says what it is about.
func In(err error, format string, args ...any) {
	if err != nil {
		panic(fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err))
	}
}

// Get returns x, or fails.
func Get[T any](x T, err error) T {
	Check(err)
	return x
}

// Get2 is Get of two values.
func Get2[T, U any](x T, y U, err error) (T, U) {
	Check(err)
	return x, y
}

// Try runs f and returns what it fails with.
func Try(f func()) (err error) {
	defer Catch(&err)
	f()
	return nil
}

// Do runs f; what fails in it says what it is about.
func Do(f func(), format string, args ...any) { In(Try(f), format, args...) }

// At is Do of a function that returns something.
func At[T any](f func() T, format string, args ...any) (x T) {
	Do(func() { x = f() }, format, args...)
	return x
}
