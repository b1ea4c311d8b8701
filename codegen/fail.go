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
