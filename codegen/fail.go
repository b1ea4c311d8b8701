package codegen

import "fmt"

// failure is what printers panic with.
type failure struct{ err error }

// Fail ends a printer that meets something its language has no text for. It does not
// return: who has deferred [Catch] returns an error.
func Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Check is Fail if there is an error.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns x, or fails if there is an error.
func Must[T any](x T, err error) T {
	Check(err)
	return x
}

// Catch makes what a printer failed with *err, with what was printed before it.
func Catch(err *error, what string) {
	switch r := recover().(type) {
	case nil:
	case failure:
		if *err = r.err; what != "" {
			*err = fmt.Errorf("%s: %w", what, r.err)
		}
	default:
		panic(r)
	}
}

// In does print, the errors of which tell what it prints: a kernel or a method.
func In(what string, print func()) {
	Check(func() (err error) {
		defer Catch(&err, what)
		print()
		return nil
	}())
}
