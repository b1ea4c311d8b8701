package samples

import (
	"slices"

	"github.com/etgen/etgen/ir"
)

// viewSamples are those of views, of their copies, and of writes to views.
var viewSamples = byName{
	"aten.unsafe_split.Tensor":             splitSamples,
	"aten.unsafe_split_with_sizes.default": splitSizesSamples("split_sizes"),
	"aten.unsafe_chunk.default":            chunkSamples,
	"aten.reshape.default":                 reshapeSamples("shape"),
	"aten.reshape_as.default":              likeSamples(6, 2, 3),
	"aten.flatten.using_ints":              flattenSamples,
	"aten.ravel.default":                   selfSamples(2),
	"aten.view.default":                    reshapeSamples("size"),
	"aten._unsafe_view.default":            reshapeSamples("size"),
	"aten.view_copy.default":               reshapeSamples("size"),
	"aten.view_as.default":                 likeSamples(6, 2, 3),
	"aten._reshape_alias.default":          stridedSamples(false),
	"aten._reshape_alias_copy.default":     stridedSamples(false),
	"aten.unflatten.int":                   unflattenSamples,
	"aten.permute.default":                 permuteSamples,
	"aten.permute_copy.default":            permuteSamples,
	"aten.transpose.int":                   transposeSamples("dim0", "dim1"),
	"aten.transpose_copy.int":              transposeSamples("dim0", "dim1"),
	"aten.swapdims.default":                transposeSamples("dim0", "dim1"),
	"aten.swapaxes.default":                transposeSamples("axis0", "axis1"),
	"aten.t.default":                       selfSamples(2),
	"aten.t_copy.default":                  selfSamples(2),
	"aten.numpy_T.default":                 selfSamples(3),
	"aten.mT.default":                      selfSamples(3),
	"aten.movedim.intlist":                 movedimSamples(true),
	"aten.movedim.int":                     movedimSamples(false),
	"aten.moveaxis.intlist":                movedimSamples(true),
	"aten.moveaxis.int":                    movedimSamples(false),
	"aten.expand.default":                  expandSamples,
	"aten.expand_copy.default":             expandSamples,
	"aten.broadcast_to.default":            expandSamples,
	"aten.expand_as.default":               likeSamples(1, 4, 3),
	"aten.squeeze.default":                 squeezeSamples(""),
	"aten.squeeze_copy.default":            squeezeSamples(""),
	"aten.squeeze.dim":                     squeezeSamples("int"),
	"aten.squeeze_copy.dim":                squeezeSamples("int"),
	"aten.squeeze.dims":                    squeezeSamples("list"),
	"aten.squeeze_copy.dims":               squeezeSamples("list"),
	"aten.unsqueeze.default":               unsqueezeSamples,
	"aten.unsqueeze_copy.default":          unsqueezeSamples,
	"aten.select.int":                      selectSamples,
	"aten.select_copy.int":                 selectSamples,
	"aten.slice.Tensor":                    sliceSamples,
	"aten.slice_copy.Tensor":               sliceSamples,
	"aten.narrow.default":                  narrowSamples,
	"aten.narrow_copy.default":             narrowSamples,
	"aten.diagonal.default":                diagonalSamples,
	"aten.diagonal_copy.default":           diagonalSamples,
	"aten.unfold.default":                  unfoldSamples,
	"aten.unfold_copy.default":             unfoldSamples,
	"aten.as_strided.default":              stridedSamples(true),
	"aten.as_strided_copy.default":         stridedSamples(true),
	"aten.unbind.int":                      unbindSamples,
	"aten.unbind_copy.int":                 unbindSamples,
	"aten.split.Tensor":                    splitSamples,
	"aten.split_copy.Tensor":               splitSamples,
	"aten.split.sizes":                     splitSizesSamples("split_size"),
	"aten.split_with_sizes.default":        splitSizesSamples("split_sizes"),
	"aten.split_with_sizes_copy.default":   splitSizesSamples("split_sizes"),
	"aten.chunk.default":                   chunkSamples,
	"aten.tensor_split.sections":           sectionsSamples,
	"aten.hsplit.int":                      evenSamples(2),
	"aten.vsplit.int":                      evenSamples(2),
	"aten.dsplit.int":                      evenSamples(3),
	"aten.tensor_split.indices":            indicesSamples,
	"aten.hsplit.array":                    cutSamples(1),
	"aten.vsplit.array":                    cutSamples(2),
	"aten.dsplit.array":                    cutSamples(3),
	"aten.slice_scatter.default": func(r *Rand) []Sample {
		n, m := 4+r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", f32(n, m), "src", f32(2, m), "start", 1, "end", 3),
			NewSample("self", f32(m, n), "src", f32(m, (n-1)/2), "dim", 1, "start", 1, "end",
				-1, "step", 2),
			NewSample("self", f32(n, m), "src", f32(n, m)),
		}
	},
	"aten.select_scatter.default": times(2, func(r *Rand) Sample {
		n, m := r.Dim(), r.Dim()
		return NewSample("self", f32(n, m), "src", f32(n), "dim", 1, "index", r.Int64N(2*m)-m)
	}),
	"aten.diagonal_scatter.default": times(2, func(r *Rand) Sample {
		n, b := 1+r.Dim(), r.Dim()
		return NewSample("self", f32(n, b, n), "src", f32(b, n-1), "offset", 1-2*r.IntN(2),
			"dim1", 0, "dim2", 2)
	}),
	"aten.as_strided_scatter.default": times(1, func(*Rand) Sample {
		return NewSample("self", f32(5, 6), "src", f32(3, 2), "size", []int{3, 2}, "stride",
			[]int{7, 2}, "storage_offset", 1)
	}),
	"aten.view.dtype": func(r *Rand) []Sample {
		var out []Sample
		for _, s := range []struct {
			from, to ir.DType
			last     int64
		}{
			{ir.Float32, ir.Int32, 3}, {ir.Int64, ir.Float64, 2}, {ir.BFloat16, ir.Int16, 4},
			{ir.Bool, ir.Uint8, 3},
			{ir.Float32, ir.Int8, 2}, {ir.Float64, ir.Float16, 1}, {ir.Int16, ir.Uint8, 3},
			{ir.Uint8, ir.Int64, 16}, {ir.Int8, ir.Int16, 4}, {ir.Float16, ir.Float32, 4},
			{ir.Float32, ir.Int64, 2},
		} {
			out = append(out, NewSample("self", Tensor(s.from, Values{}, 2, s.last),
				"dtype", s.to))
		}
		return append(out, NewSample("self", Tensor(ir.Float32, Values{}), "dtype", ir.Int32))
	},
	"aten.atleast_1d.default":  ranksSamples,
	"aten.atleast_2d.default":  ranksSamples,
	"aten.atleast_3d.default":  ranksSamples,
	"aten.atleast_1d.Sequence": rankListSamples,
	"aten.atleast_2d.Sequence": rankListSamples,
	"aten.atleast_3d.Sequence": rankListSamples,
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

func ranksSamples(r *Rand) []Sample {
	return []Sample{NewSample("self", f32()), NewSample("self", f32(r.Shape(1)...)),
		NewSample("self", f32(r.Shape(2)...)), NewSample("self", f32(r.Shape(4)...))}
}

func rankListSamples(r *Rand) []Sample {
	return []Sample{NewSample("tensors", []Input{f32(), f32(r.Shape(1)...),
		f32(r.Shape(2)...), f32(r.Shape(3)...)})}
}
