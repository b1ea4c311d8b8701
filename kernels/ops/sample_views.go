package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
)

// times returns n samples of f.
func times(n int, f func(r *Rand) Sample) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		out := make([]Sample, n)
		for i := range out {
			out[i] = f(r)
		}
		return out
	}
}

// f32 is a Float32 operand with values of all kinds.
func f32(shape ...int64) Input { return Tensor(ir.Float32, Values{}, shape...) }

// selfSamples give self alone.
func selfSamples(rank int) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample { return NewSample("self", f32(r.Shape(rank)...)) })
}

// likeSamples give a self of shape [n, 1] or [n] and an other of sizes.
func likeSamples(n int64, sizes ...int64) func(*Rand) []Sample {
	return times(1, func(*Rand) Sample {
		return NewSample("self", f32(n, 1), "other", f32(sizes...))
	})
}

func reshapeSamples(name string) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		a, b, c := r.Dim(), r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", f32(a, b, c), name, []int64{c, a, b}),
			NewSample("self", f32(a*b, c), name, []int64{a, -1, c}),
			NewSample("self", f32(a, 1, b), name, []int64{-1}),
			NewSample("self", f32(1, 1), name, []int64{}),
			NewSample("self", Tensor(ir.Int64, Values{}, 4, a, 6), name, []int64{2, -1, 3}),
		}
	}
}

func flattenSamples(r *Rand) []Sample {
	x := func() Input { return f32(r.Shape(4)...) }
	return []Sample{
		NewSample("self", x()),
		NewSample("self", x(), "start_dim", 1),
		NewSample("self", x(), "start_dim", 1, "end_dim", -2),
		NewSample("self", f32()),
	}
}

func unflattenSamples(r *Rand) []Sample {
	a := r.Dim()
	return []Sample{
		NewSample("self", f32(2, 6*a, 3), "dim", 1, "sizes", []int64{3, -1, 2}),
		NewSample("self", f32(4), "dim", -1, "sizes", []int64{2, 2}),
	}
}

var permuteSamples = times(3, func(r *Rand) Sample {
	n := 1 + r.IntN(4)
	dims := r.Perm(n)
	if n > 1 {
		dims[0] -= n
	}
	return NewSample("self", f32(r.Shape(n)...), "dims", dims)
})

func transposeSamples(a, b string) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		return NewSample("self", f32(r.Shape(3)...), a, r.IntN(3), b, r.IntN(3)-3)
	})
}

func movedimSamples(list bool) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		if !list {
			return NewSample("self", f32(r.Shape(3)...), "source", r.IntN(3), "destination",
				r.IntN(3)-3)
		}
		return NewSample("self", f32(r.Shape(4)...), "source", r.Perm(4)[:2], "destination",
			r.Perm(4)[:2])
	})
}

func expandSamples(r *Rand) []Sample {
	a, b := r.Dim(), r.Dim()
	return []Sample{
		NewSample("self", f32(a, 1), "size", []int64{-1, b}),
		NewSample("self", f32(1, b), "size", []int64{3, a, -1}),
		NewSample("self", f32(), "size", []int64{a, b}),
	}
}

// squeezeSamples give dim as kind says: not at all, an int, or a list.
func squeezeSamples(kind string) func(*Rand) []Sample {
	return times(3, func(r *Rand) Sample {
		shape := []int64{1, r.Dim(), 1, r.Dim()}
		d := r.IntN(4)
		switch kind {
		case "int":
			return NewSample("self", f32(shape...), "dim", d)
		case "list":
			return NewSample("self", f32(shape...), "dim", []int{d, (d+1)%4 - 4})
		}
		return NewSample("self", f32(shape...))
	})
}

var unsqueezeSamples = times(3, func(r *Rand) Sample {
	n := r.IntN(3)
	return NewSample("self", f32(r.Shape(n)...), "dim", r.IntN(2*n+2)-n-1)
})

var selectSamples = times(3, func(r *Rand) Sample {
	shape := r.Shape(3)
	d := r.IntN(3)
	return NewSample("self", f32(shape...), "dim", d, "index", r.Int64N(2*shape[d])-shape[d])
})

var sliceSamples = times(4, func(r *Rand) Sample {
	shape := r.Shape(2)
	return NewSample("self", f32(shape...), "dim", r.IntN(2), "start", r.Int64N(5)-2, "end",
		r.Int64N(8)-1, "step", 1+r.IntN(3))
})

var narrowSamples = times(2, func(r *Rand) Sample {
	shape := r.Shape(3)
	d := r.IntN(3)
	start := r.Int64N(shape[d])
	return NewSample("self", f32(shape...), "dim", d, "start", start, "length",
		r.Int64N(shape[d]-start+1))
})

var diagonalSamples = times(4, func(r *Rand) Sample {
	p := r.Perm(3)
	return NewSample("self", f32(r.Shape(3)...), "offset", r.IntN(5)-2, "dim1", p[0],
		"dim2", p[1]-3)
})

var unfoldSamples = times(3, func(r *Rand) Sample {
	size := 1 + r.Int64N(3)
	return NewSample("self", f32(r.Dim(), size+r.Int64N(5), 2), "dimension", 1, "size", size,
		"step", 1+r.IntN(3))
})

func stridedSamples(offset bool) func(*Rand) []Sample {
	return func(*Rand) []Sample {
		samples := []Sample{
			NewSample("self", f32(4, 6), "size", []int{3, 2}, "stride", []int{5, 2}),
			NewSample("self", f32(24), "size", []int{2, 3, 4}, "stride", []int{12, 1, 3}),
		}
		if offset {
			samples = append(samples, NewSample("self", f32(2, 3, 4), "size", []int{3, 5}, "stride",
				[]int{2, 0}, "storage_offset", 7))
		}
		return samples
	}
}

var unbindSamples = times(2, func(r *Rand) Sample {
	return NewSample("self", f32(r.Shape(3)...), "dim", r.IntN(6)-3)
})

var splitSamples = times(3, func(r *Rand) Sample {
	return NewSample("self", f32(r.Shape(3)...), "split_size", 1+r.IntN(4), "dim", r.IntN(6)-3)
})

func splitSizesSamples(name string) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		runs := []int64{r.Int64N(3), r.Dim(), r.Dim()}
		return NewSample("self", f32(2, runs[0]+runs[1]+runs[2]), name, runs, "dim", 1)
	})
}

var chunkSamples = times(3, func(r *Rand) Sample {
	return NewSample("self", f32(r.Shape(2)...), "chunks", 1+r.IntN(4), "dim", r.IntN(2))
})

var sectionsSamples = times(3, func(r *Rand) Sample {
	return NewSample("self", f32(r.Shape(2)...), "sections", 1+r.IntN(4), "dim", r.IntN(2))
})

var indicesSamples = times(3, func(r *Rand) Sample {
	at := []int{r.IntN(4), r.IntN(8) - 1}
	slices.Sort(at)
	return NewSample("self", f32(r.Shape(2)...), "indices", at, "dim", r.IntN(2))
})

// evenSamples split a tensor of so many dimensions in two.
func evenSamples(rank int) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		shape := r.Shape(rank)
		for i := range shape {
			shape[i] *= 2
		}
		return NewSample("self", f32(shape...), "sections", 2)
	})
}

// cutSamples split a tensor of so many dimensions at two places.
func cutSamples(rank int) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		return NewSample("self", f32(r.Shape(rank)...), "indices", []int{1, 3})
	})
}
