package rows

import "math"

// Epilogue is what becomes of sums before they are results. What add has, which is laid out
// as the results, is added to them if it is not nil; they are bounded by low and high,
// those that are no numbers staying so; then the epilogue, if it is not nil, is called
// on runs of them.
type Epilogue struct {
	add       []float32
	low, high float32
	apply     EpilogueFunc
	// With a scale, sums of an integer network, whose channels lie innermost, become
	//
	//	plus + min(most, max(least, round((sum + shift[c])·scale[c])))
	//
	// where a kernel can do so. Else the rest is as if there were none, and it says so.
	shift, scale      []float32
	least, most, plus float32
}

// EpilogueFunc is called on runs of results: o is the position of run[0] in y and c its
// channel. The channel of run[i] is c+i where channels lie innermost, else c.
type EpilogueFunc = func(run []float32, o, c int)

// NewEpilogue returns an Epilogue for packages that run programs.
func NewEpilogue(add []float32, low, high float32, epilogue EpilogueFunc) Epilogue {
	return Epilogue{add: add, low: low, high: high, apply: epilogue}
}

// Rescale makes f rescale, for packages that run programs; without a scale it does not.
func (f *Epilogue) Rescale(shift, scale []float32, least, most, plus float32) {
	f.shift, f.scale, f.least, f.most, f.plus = shift, scale, least, most, plus
}

// unbounded leaves sums as they are, but for the epilogue.
func unbounded(e EpilogueFunc) Epilogue {
	return Epilogue{low: float32(math.Inf(-1)), high: float32(math.Inf(1)), apply: e}
}

// aim returns where results from number o on are stored, and what is added to them. A
// tile is given them as a variable, not by way of a pointer: what is stored so counts as
// being anywhere for the compiler, and it would allocate epilogues.
func (f *Epilogue) aim(y []float32, o int) (results, add []float32) {
	if f.add != nil {
		add = f.add[o:]
	}
	return y[o:], add
}

// call calls the epilogue on the results of t, a product whose first one is number o of
// y and of channel c.
func (f *Epilogue) call(y []float32, t *tile, o, c int) {
	for r := range t.rows {
		f.apply(y[o+r*t.step:][:t.columns], o+r*t.step, c)
	}
}
