package samples

import (
	"github.com/etgen/etgen/ir"
)

// moveSamples are those of operators that move elements about.
var moveSamples = byName{
	"aten.flip.default":                   flipSamples,
	"aten.fft_fftshift.default":           selfSamples(2),
	"aten.fft_ifftshift.default":          selfSamples(3),
	"aten.fliplr.default":                 selfSamples(2),
	"aten.flipud.default":                 selfSamples(2),
	"aten.roll.default":                   rollSamples,
	"aten.repeat.default":                 repeatSamples("repeats"),
	"aten.tile.default":                   repeatSamples("dims"),
	"aten.rot90.default":                  rot90Samples,
	"aten.pixel_shuffle.default":          shuffleSamples(true),
	"aten.pixel_unshuffle.default":        shuffleSamples(false),
	"aten.channel_shuffle.default":        channelShuffleSamples,
	"aten.native_channel_shuffle.default": channelShuffleSamples,
	"aten.diag_embed.default": times(3, func(r *Rand) Sample {
		return NewSample("self", f32(r.Shape(2)...), "offset", r.IntN(5)-2, "dim1", 0,
			"dim2", -1)
	}),
	"aten.diag.default": times(4, func(r *Rand) Sample {
		return NewSample("self", f32(r.Shape(1+r.IntN(2))...), "diagonal", r.IntN(5)-2)
	}),
	"aten.diagflat.default": times(2, func(r *Rand) Sample {
		return NewSample("self", f32(r.Shape(2)...), "offset", r.IntN(3)-1)
	}),
	"aten.tril.default": triangleSamples,
	"aten.triu.default": triangleSamples,
	"aten.constant_pad_nd.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", f32(r.Shape(2)...), "pad", []int64{1, 2}),
			NewSample("self", f32(r.Shape(3)...), "pad", []int64{1, 0, 0, 2, 3, 1},
				"value", 2.5),
			NewSample("self", f32(4, 5), "pad", []int64{-1, 2, 3, -2}, "value", 1),
			NewSample("self", Tensor(ir.Int64, Values{}, 3), "pad", []int64{2, 2},
				"value", 7),
			NewSample("self", Tensor(ir.Bool, Values{}, 3), "pad", []int64{2, 2},
				"value", true),
		}
	},
	"aten.pad.default": func(r *Rand) []Sample {
		var out []Sample
		for _, mode := range []string{"constant", "reflect", "replicate", "circular"} {
			out = append(out,
				NewSample("self", f32(2, 3+r.Dim()), "pad", []int64{1, 2}, "mode", mode),
				NewSample("self", f32(1, 2, 4, 5), "pad", []int64{3, 0, 2, 1},
					"mode", mode))
		}
		return append(out, NewSample("self", f32(2, 3), "pad", []int64{1, 1},
			"value", -1.5))
	},
	"aten.reflection_pad1d.default":  fixedPadSamples(1),
	"aten.reflection_pad2d.default":  fixedPadSamples(2),
	"aten.reflection_pad3d.default":  fixedPadSamples(3),
	"aten.replication_pad1d.default": fixedPadSamples(1),
	"aten.replication_pad2d.default": fixedPadSamples(2),
	"aten.replication_pad3d.default": fixedPadSamples(3),
	"aten.cat.default":               catSamples,
	"aten.concat.default":            catSamples,
	"aten.concatenate.default":       catSamples,
	"aten._chunk_cat.default": oneSample("tensors", []Input{f32(5, 2), f32(3, 4)}, "dim", 0,
		"num_chunks", 2),
	"aten.resize.default": several(NewSample("self", f32(3, 4), "size", []int64{4, 3}),
		NewSample("self", f32(3, 4), "size", []int64{5}), NewSample("self", f32(2), "size",
			[]int64{2, 3})),
	"aten.stack.default":  stackSamples,
	"aten.hstack.default": stackSamples,
	"aten.vstack.default": stackSamples,
	"aten.dstack.default": stackSamples,
	"aten.block_diag.default": func(r *Rand) []Sample {
		return []Sample{NewSample("tensors", []Input{f32(r.Dim(), r.Dim()), f32(3), f32(),
			f32(2, 1)})}
	},
	"aten.broadcast_tensors.default": func(r *Rand) []Sample {
		n := r.Dim()
		return []Sample{NewSample("tensors", []Input{f32(n, 1), f32(3), f32()})}
	},
	"aten.kron.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", f32(r.Shape(2)...), "other", f32(r.Shape(2)...)),
			NewSample("self", f32(2, 3, 2), "other", f32(4)),
		}
	},
	"aten.trace.default": selfSamples(2),
	"aten.tensordot.default": func(r *Rand) []Sample {
		a, k, m := r.Dim(), r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", f32(a, k, m), "other", f32(m, 3, k), "dims_self", []int{1, 2},
				"dims_other", []int{2, 0}),
			NewSample("self", f32(a, k), "other", f32(m), "dims_self", []int{},
				"dims_other", []int{}),
		}
	},
	"aten.column_stack.default":   columnStackSamples,
	"aten.cartesian_prod.default": cartesianSamples,
	"etgen.fill_diagonal.default": func(r *Rand) []Sample {
		return []Sample{NewSample("self", f32(7, 1+r.Int64N(3)), "fill_value", 3, "wrap", true),
			NewSample("self", f32(3, 3, 3), "fill_value", 0.5)}
	},
	"aten.repeat_interleave.self_int": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", f32(r.Shape(2)...), "repeats", 3),
			NewSample("self", f32(r.Shape(3)...), "repeats", 2, "dim", 1),
		}
	},
	"aten.meshgrid.default":  meshgridSamples(),
	"aten.meshgrid.indexing": meshgridSamples("indexing", "xy"),
}

var flipSamples = times(3, func(r *Rand) Sample {
	return NewSample("self", f32(r.Shape(3)...), "dims", r.Perm(3)[:1+r.IntN(3)])
})

func rollSamples(r *Rand) []Sample {
	return []Sample{
		NewSample("self", f32(r.Shape(2)...), "shifts", []int{2}),
		NewSample("self", f32(r.Shape(3)...), "shifts", []int{-2, 7}, "dims", []int{0, -1}),
		NewSample("self", f32(r.Dim()), "shifts", 1, "dims", 0),
	}
}

func repeatSamples(name string) func(*Rand) []Sample {
	return times(3, func(r *Rand) Sample {
		n := r.IntN(3)
		return NewSample("self", f32(r.Shape(n)...), name, []int{1 + r.IntN(2), r.IntN(4),
			1 + r.IntN(2)})
	})
}

var rot90Samples = times(4, func(r *Rand) Sample {
	p := r.Perm(3)
	return NewSample("self", f32(r.Shape(3)...), "k", r.IntN(9)-4, "dims", p[:2])
})

func shuffleSamples(up bool) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		k, a, b := 1+r.Int64N(3), r.Dim(), r.Dim()
		if up {
			return NewSample("self", f32(r.Dim(), k*k*2, a, b), "upscale_factor", k)
		}
		return NewSample("self", f32(3, k*a, k*b), "downscale_factor", k)
	})
}

var channelShuffleSamples = times(2, func(r *Rand) Sample {
	g := 1 + r.Int64N(3)
	return NewSample("self", f32(2, g*r.Dim(), r.Dim(), 2), "groups", g)
})

var triangleSamples = times(4, func(r *Rand) Sample {
	d := dtypes[r.IntN(len(dtypes))]
	return NewSample("self", Tensor(d, Values{}, r.Shape(2+r.IntN(2))...), "diagonal",
		r.IntN(5)-2)
})

// fixedPadSamples pad exactly the last n dimensions.
func fixedPadSamples(n int) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		shape, pad := []int64{2}, []int64{}
		for range n {
			shape = append(shape, 4+r.Int64N(3))
			pad = append(pad, r.Int64N(4), r.Int64N(5)-1)
		}
		return NewSample("self", f32(shape...), "padding", pad)
	})
}

func catSamples(r *Rand) []Sample {
	a, b, n := r.Dim(), r.Dim(), r.Dim()
	return []Sample{
		NewSample("tensors", []Input{f32(a, n), f32(b, n)}),
		NewSample("tensors", []Input{f32(2, a, n), f32(2, b, n), f32(2, 1, n)}, "dim", 1),
		NewSample("tensors", []Input{f32(n, a), Tensor(ir.Int64, Values{}, n, b)},
			"dim", -1),
		NewSample("tensors", []Input{Tensor(ir.Float16, Values{}, a), f32(0),
			Tensor(ir.Float16, Values{}, b)}),
	}
}

var stackSamples = times(2, func(r *Rand) Sample {
	shape := r.Shape(1 + r.IntN(3))
	return NewSample("tensors", []Input{f32(shape...), f32(shape...), f32(shape...)})
})

func meshgridSamples(more ...any) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample {
		return NewSample(append([]any{"tensors", []Input{f32(1 + r.Dim()), f32(1 + r.Dim()),
			f32(1 + r.Dim())}}, more...)...)
	})
}

func columnStackSamples(r *Rand) []Sample {
	n := r.Dim()
	return []Sample{NewSample("tensors", []Input{f32(n, r.Dim()), f32(n), f32(n, 2)}),
		NewSample("tensors", []Input{f32(), f32()})}
}

func cartesianSamples(r *Rand) []Sample {
	return []Sample{NewSample("tensors", []Input{f32(r.Dim()), f32(r.Dim()), f32(2)}),
		NewSample("tensors", []Input{f32(r.Dim())})}
}
