package ops

// What fails in a form of an entry ends the form: must and check raise the error, and
// the table, or Builder.Do, returns it.

// failure carries an error from must and check to catch.
type failure struct{ err error }

// check ends the form if err is not nil.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns x, unless err ends the form.
func must[T any](x T, err error) T {
	check(err)
	return x
}

// must2 is must of two values.
func must2[T, U any](x T, y U, err error) (T, U) {
	check(err)
	return x, y
}

// must3 is must of three values.
func must3[T, U, V any](x T, y U, z V, err error) (T, U, V) {
	check(err)
	return x, y, z
}

// catch, deferred, sets err to the error that ended a form. Other panics go on.
func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

// caught makes f, a form, return the error that ended it.
func caught[T any](f func(*Call) (T, error)) func(*Call) (T, error) {
	if f == nil {
		return nil
	}
	return func(c *Call) (out T, err error) {
		defer catch(&err)
		return f(c)
	}
}

// ending returns op with forms that return the errors that end them.
func (op Op) ending() *Op {
	op.Infer, op.View, op.Value = caught(op.Infer), caught(op.View), caught(op.Value)
	op.Compute, op.Loops = caught(onReals(op.Compute)), caught(onReals(op.Loops))
	op.ScalarOp = caught(onReals(op.ScalarOp))
	return &op
}
