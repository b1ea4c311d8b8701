package rows

import "math"

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
	if columns == t.width {
		f.aim(t, o)
		product(t)
	} else {
		var sums [maxRows * panel]float32
		part := *t
		part.y, part.step, part.add, part.low, part.high = sums[:], panel, nil, float32(math.Inf(-1)), float32(math.Inf(1))
		product(&part)
		f.take(t, &sums, 0, o, columns)
	}
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

// take finishes columns skip..skip+columns-1 of sums.
func (f *finish) take(t *tile, sums *[maxRows * panel]float32, skip, o, columns int) {
	for r := range t.rows {
		at := o + r*t.step
		row := sums[r*panel+skip:][:columns]
		if f.add != nil {
			for i, v := range f.add[at:][:columns] {
				row[i] += v
			}
		}
		run := f.y[at:][:columns]
		for i, v := range row {
			run[i] = bounded(v, f.low, f.high)
		}
	}
}
