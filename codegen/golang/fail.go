package golang

import "fmt"

// failure is what the printer panics with when it meets something it has no Go
// for; Generate returns it as an error.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// catch turns a failure into *err.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}
