package rows

// finish is what happens to results: operand add, laid out as they are, is
// added if not nil, and they are bounded. Then an epilogue, if not nil, is called
// on runs of them. It is no field: what f has goes to tiles, which for the
// compiler is anywhere, and a function that went there would be allocated.
type finish struct {
	y, add    []float32
	low, high float32
}

// epilogue is called on runs of results: o is the position of run[0] in y and c
// its channel, that of run[i] is c+i.
type epilogue = func(run []float32, o, c int)

// product carries out t, a product whose first result is number o of y and of
// channel c. Only the first columns of its width ones are results.
func (f *finish) product(t *tile, o, c, columns int, e epilogue) {
	t.columns = columns
	f.aim(t, o)
	product(t)
	if e != nil {
		f.call(t, o, c, columns, e)
	}
}

// aim lets t store its results in y from o on.
func (f *finish) aim(t *tile, o int) {
	t.y, t.add, t.low, t.high = f.y[o:], nil, f.low, f.high
	if f.add != nil {
		t.add = f.add[o:]
	}
}

// call calls the epilogue on the runs of t's results.
func (f *finish) call(t *tile, o, c, columns int, e epilogue) {
	for r := range t.rows {
		e(f.y[o+r*t.step:][:columns], o+r*t.step, c)
	}
}
