package samples

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// indexSamples are those of operators that read or write at positions which tensors
// hold, and of those whose results are as large as the data says.
var indexSamples = byName{
	"aten.index.Tensor":         indexedSamples,
	"aten._unsafe_index.Tensor": indexedSamples,
	"aten.index_select.default": times(4, func(r *Rand) Sample {
		shape := r.Shape(3)
		d := r.IntN(3)
		return NewSample("self", f32(shape...), "dim", d-3, "index", indices(shape[d], r.Dim()))
	}),
	"aten.gather.default": times(4, func(r *Rand) Sample {
		shape := r.Shape(3)
		d := r.IntN(3)
		n := shape[d]
		idx := slices.Clone(shape)
		idx[d] = r.Dim()
		idx[(d+1)%3] = 1 + r.Int64N(idx[(d+1)%3])
		return NewSample("self", f32(shape...), "dim", d, "index", indices(n, idx...))
	}),
	"aten.embedding.default": func(r *Rand) []Sample {
		n, m := 1+r.Dim(), r.Dim()
		return []Sample{
			NewSample("weight", f32(n, m), "indices", indices(n, r.Shape(2)...)),
			NewSample("weight", Tensor(ir.Float16, Values{}, n, m), "indices",
				Tensor(ir.Int32, Values{Hi: float64(n - 1)}, 5), "padding_idx", 0),
			NewSample("weight", f32(n, m), "indices", indices(n)),
		}
	},
	"aten.take.default": times(2, func(r *Rand) Sample {
		shape := r.Shape(2)
		n := float64(shape[0] * shape[1])
		return NewSample("self", f32(shape...), "index",
			Tensor(ir.Int64, Values{Lo: -n, Hi: n - 1}, r.Shape(2)...))
	}),
	"aten.take_along_dim.default": func(r *Rand) []Sample {
		a, b := r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", f32(a, b), "indices", indices(b, a, 2), "dim", 1),
			NewSample("self", f32(a, b), "indices", indices(a, 3, 1), "dim", 0),
			NewSample("self", f32(a, b), "indices", Tensor(ir.Int64, Values{Lo: float64(-2 * b),
				Hi: float64(2 * b)}, a, 3), "dim", -1),
			NewSample("self", f32(a, b), "indices", indices(a*b, 2, 2)),
		}
	},
	"aten.one_hot.default": times(2, func(r *Rand) Sample {
		return NewSample("self", indices(5, r.Shape(r.IntN(3))...), "num_classes", 5)
	}),
	"aten.index_put.default":         indexPutSamples,
	"aten._unsafe_index_put.default": indexPutSamples,
	"aten._index_put_impl.default":   indexPutSamples,
	"aten.scatter.src":               scatterSamples(true),
	"aten.scatter.value":             scatterSamples(false),
	"aten.scatter.reduce":            scatterSamples(true, "reduce", "add"),
	"aten.scatter.value_reduce":      scatterSamples(false, "reduce", "multiply"),
	"aten.scatter_add.default":       scatterSamples(true),
	"aten.scatter_reduce.two": func(r *Rand) []Sample {
		var out []Sample
		for _, how := range []string{"sum", "prod", "mean", "amax", "amin"} {
			for _, self := range []bool{true, false} {
				out = append(out, scatterSamples(true, "reduce", how, "include_self",
					self)(r)[:2]...)
			}
		}
		return out
	},
	"aten.put.default": func(r *Rand) []Sample {
		a, b, n := r.Dim(), r.Dim(), r.Dim()
		idx := Tensor(ir.Int64, Values{Lo: float64(-a * b), Hi: float64(a*b - 1)}, n)
		return []Sample{
			NewSample("self", f32(a, b), "index", idx, "source", f32(n)),
			NewSample("self", f32(a, b), "index", indices(a*b, n, 2), "source", f32(n*2),
				"accumulate", true),
		}
	},
	"aten.masked_scatter.default": func(r *Rand) []Sample {
		a, b := r.Dim(), r.Dim()
		return []Sample{
			NewSample("self", f32(a, b), "mask", Tensor(ir.Bool, Values{}, a, b),
				"source", f32(a*b)),
			NewSample("self", f32(a, b), "mask", Tensor(ir.Bool, Values{}, b), "source",
				f32(b, a)),
		}
	},
	"aten.index_add.default":     indexUpdateSamples("source", "alpha", 2),
	"aten.index_copy.default":    indexUpdateSamples("source"),
	"aten.index_fill.int_Scalar": indexUpdateSamples("", "value", 3),
	"aten.index_fill.int_Tensor": indexUpdateSamples("", "value", Tensor(ir.Float32, Values{})),
	"aten.index_reduce.default":  indexReduceSamples,
	"aten.nonzero_static.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range dtypes {
			out = append(out, NewSample("self", Tensor(d, Values{Lo: 0, Hi: 1},
				r.Shape(i%4)...), "size", r.Dim(), "fill_value", -7))
		}
		return out
	},
	"aten.masked_select.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range dtypes {
			shape := r.Shape(i % 4)
			out = append(out, NewSample("self", Tensor(d, Values{}, shape...), "mask",
				Tensor(ir.Bool, Values{}, r.BroadcastShape(shape)...)))
		}
		return append(out, NewSample("self", Tensor(ir.Float32, Values{}, 3), "mask",
			Tensor(ir.Bool, Values{}, 2, 3)))
	},
	"etgen.repeat_positions.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("repeats", Tensor(ir.Int64, Values{Hi: 3}, 5), "size", 7),
			NewSample("repeats", Tensor(ir.Int32, Values{Lo: 1, Hi: 3}, 4), "size", 4),
		}
	},
	"aten.nonzero.default":          nonzeroSamples,
	"aten.argwhere.default":         nonzeroSamples,
	"aten.repeat_interleave.Tensor": repeatInterleaveSamples,
	"aten.where.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("condition", Tensor(ir.Bool, Values{}, r.Shape(2)...)),
			NewSample("condition", Tensor(ir.Float32, sparse(ir.Float32), r.Shape(3)...)),
		}
	},
	"aten.bincount.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", Tensor(ir.Int64, Values{Hi: 6}, 9)),
			NewSample("self", Tensor(ir.Int32, Values{Hi: 3}, 5), "minlength", 7),
			NewSample("self", Tensor(ir.Uint8, Values{Hi: 4}, 6), "weights", f32(6)),
			NewSample("self", Tensor(ir.Int64, Values{Hi: 4}, 6), "weights",
				Tensor(ir.Float64, Values{}, 6)),
		}
	},
}

// foundSamples are those of operators that find elements.
var foundSamples = bySchema{
	"aten.embedding_bag.default":               bagSamples,
	"aten.embedding_bag.padding_idx":           bagSamples,
	"aten._embedding_bag.default":              bagSamples,
	"aten._embedding_bag_forward_only.default": bagSamples,
	"aten.bucketize.Tensor":                    searchSamples("boundaries"),
	"aten.bucketize.Scalar":                    searchSamples("boundaries"),
	"aten.searchsorted.Tensor":                 searchSamples("sorted_sequence"),
	"aten.searchsorted.Scalar":                 searchSamples("sorted_sequence"),
	"aten._unique2.default":                    uniqueSamples(true),
	"aten.unique_dim.default":                  uniqueSamples(true),
	"aten.unique_consecutive.default":          uniqueSamples(false),
}

// indices is an operand of indices below n.
func indices(n int64, shape ...int64) Input {
	return Tensor(ir.Int64, Values{Hi: float64(n - 1)}, shape...).orZero(n)
}

// orZero makes an index operand of a dimension of size 1 all zeros: the range
// from 0 to 0 would stand for the default one.
func (in Input) orZero(n int64) Input {
	if n <= 1 {
		in.Values = Values{Lo: -0.5, Hi: 0.5}
	}
	return in
}

func indexedSamples(r *Rand) []Sample {
	return append(positionSamples(r), maskSamples(false)...)
}

func positionSamples(r *Rand) []Sample {
	a, b, d := 1+r.Dim(), 1+r.Dim(), r.Dim()
	x := func() Input { return f32(a, b, d) }
	neg := Tensor(ir.Int64, Values{Lo: float64(-a), Hi: float64(a - 1)}, 4)
	return []Sample{
		NewSample("self", x(), "indices", []Input{neg}),
		NewSample("self", x(), "indices", []Input{indices(a, 3, 1), indices(b, 2)}),
		withNone(x(), indices(b, 2, 3)),
		withNone(x(), indices(b, 5), indices(d, 5)),
		NewSample("self", x(), "indices", []Input{Tensor(ir.Int32, Values{Hi: float64(a - 1)}),
			indices(b, 2), indices(d, 2)}),
	}
}

// withNone is a sample that keeps dimension 0 whole.
func withNone(x Input, at ...Input) Sample {
	s := NewSample("self", x, "indices", at)
	list := s.Args[1].Value.(ir.List)
	s.Args[1].Value = slices.Insert(list, 0, ir.Arg(ir.None{}))
	return s
}

// maskSamples are calls with masks of several dimensions, before dimensions and
// behind them.
func maskSamples(values bool) []Sample {
	x := func() Input { return f32(3, 4, 2) }
	mask := func(d ir.DType, sizes ...int64) Input {
		return Tensor(d, Values{Lo: 0, Hi: 1}, sizes...)
	}
	out := []Sample{
		NewSample("self", x(), "indices", []Input{mask(ir.Bool, 3)}),
		NewSample("self", x(), "indices", []Input{mask(ir.Bool, 3, 4)}),
		NewSample("self", x(), "indices", []Input{mask(ir.Uint8, 3, 4, 2)}),
		withNone(x(), mask(ir.Bool, 4)),
		withNone(x(), mask(ir.Bool, 4, 2)),
	}
	if !values {
		return out
	}
	for i, sizes := range [][]int64{{4, 2}, {}, {1}, {3, 1, 2}, {3, 1}} {
		s := &out[i]
		s.Args = append(s.Args, ir.NamedArg{Name: "values",
			Value: s.arg(Tensor(ir.Float32, Values{}, sizes...))})
		if i%2 == 1 {
			s.Args = append(s.Args, ir.NamedArg{Name: "accumulate", Value: ir.BoolArg(true)})
		}
	}
	return out
}

func indexPutSamples(r *Rand) []Sample {
	a, b, n := 1+r.Dim(), 1+r.Dim(), r.Dim()
	var out []Sample
	for i, d := range []ir.DType{ir.Float32, ir.Float16, ir.Int64, ir.Float64} {
		x := Tensor(d, Values{}, a, b)
		var s Sample
		switch i {
		case 0:
			s = NewSample("self", x, "indices", []Input{indices(a, n)}, "values",
				Tensor(d, Values{}, n, b))
		case 1:
			s = NewSample("self", x, "indices", []Input{indices(a, n), indices(b, n)}, "values",
				Tensor(d, Values{}, n))
		case 2:
			s = withNone(x, Tensor(ir.Int64, Values{Lo: float64(-b), Hi: float64(b - 1)}, n))
			v := Tensor(d, Values{}, 1)
			s.Args = append(s.Args, ir.NamedArg{Name: "values", Value: s.arg(v)})
		default:
			s = NewSample("self", x, "indices", []Input{Tensor(ir.Bool, Values{}, a, b)},
				"values", Tensor(d, Values{}))
		}
		if i%2 == 1 {
			s.Args = append(s.Args, ir.NamedArg{Name: "accumulate", Value: ir.BoolArg(true)})
		}
		out = append(out, s)
	}
	return append(out, maskSamples(true)...)
}

func scatterSamples(src bool, more ...any) func(*Rand) []Sample {
	return times(4, func(r *Rand) Sample {
		d := []ir.DType{ir.Float32, ir.Float32, ir.Int32, ir.BFloat16}[r.IntN(4)]
		shape := r.Shape(3)
		dim := r.IntN(3)
		idx := slices.Clone(shape)
		for i := range idx {
			idx[i] = 1 + r.Int64N(idx[i])
		}
		args := []any{"self", Tensor(d, Values{}, shape...), "dim", dim, "index",
			indices(shape[dim], idx...)}
		if src {
			args = append(args, "src", Tensor(d, Values{}, shape...))
		} else {
			args = append(args, "value", 3)
		}
		return NewSample(append(args, more...)...)
	})
}

// sparse are values of which about half are zero.
func sparse(d ir.DType) Values {
	if d.IsFloat() {
		return Values{Special: true}
	}
	return Values{Lo: 0, Hi: 1}
}

// indexUpdateSamples write along a dimension; source names what is written, "" if it is
// among more.
func indexUpdateSamples(source string, more ...any) func(*Rand) []Sample {
	return times(3, func(r *Rand) Sample {
		d := []ir.DType{ir.Float32, ir.Int32, ir.Float64}[r.IntN(3)]
		shape := r.Shape(3)
		dim := r.IntN(3)
		n := shape[dim]
		src := slices.Clone(shape)
		src[dim] = r.Dim()
		args := []any{"self", Tensor(d, Values{}, shape...), "dim", dim, "index",
			indices(n, src[dim])}
		if source != "" {
			args = append(args, source, Tensor(d, Values{}, src...))
		}
		return NewSample(append(args, more...)...)
	})
}

func indexReduceSamples(r *Rand) []Sample {
	var out []Sample
	for _, how := range []string{"prod", "mean", "amax", "amin"} {
		out = append(out, indexUpdateSamples("source", "reduce", how, "include_self",
			how != "mean")(r)...)
	}
	return out
}

func nonzeroSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range dtypes {
		out = append(out, NewSample("self", Tensor(d, sparse(d), r.Shape(i%4)...)))
	}
	return out
}

func repeatInterleaveSamples(r *Rand) []Sample {
	return []Sample{
		NewSample("repeats", Tensor(ir.Int64, Values{Hi: 3}, 5)),
		NewSample("repeats", Tensor(ir.Int32, Values{Hi: 3}, 4)),
		NewSample("repeats", Tensor(ir.Int64, Values{Lo: 1.5, Hi: 2.5}, 3),
			"output_size", 6),
	}
}

// searchSamples look for self in the sorted elements that sequence names.
func searchSamples(sequence string) func(*Rand, *aten.Schema) []Sample {
	return func(r *Rand, s *aten.Schema) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Int64, ir.Float64, ir.Int32} {
			var self any = Tensor(d, Values{}, r.Shape(1+i%2)...)
			if s.Args[s.Index("self")].Type.Name == "Scalar" {
				self = 1
			}
			out = append(out, NewSample("self", self, sequence, Tensor(d, Values{Sorted: true},
				5), "right", i%2 == 0, "out_int32", i == 2))
		}
		return out
	}
}

func uniqueSamples(sorts bool) func(*Rand, *aten.Schema) []Sample {
	return func(r *Rand, s *aten.Schema) []Sample {
		var out []Sample
		for i, d := range dtypes {
			shape := r.Shape(1 + i%2)
			args := []any{"return_inverse", i%3 > 0, "return_counts", i%2 == 0}
			if s.Index("dim") >= 0 && (sorts || i%4 == 1) {
				if args = append(args, "dim", -1); sorts {
					shape = shape[:1]
				}
			}
			out = append(out,
				NewSample(append(args, "self", Tensor(d, Values{Lo: 0, Hi: 2}.forDType(d),
					shape...))...))
		}
		return out
	}
}

// bagSamples add up rows, take their mean and their largest elements.
func bagSamples(r *Rand, s *aten.Schema) []Sample {
	rows, n := 2+r.Dim(), int64(8)
	starts := func(k int64) Input {
		return Tensor(ir.Int64, Values{Lo: 0, Hi: float64(n - 1), Sorted: true}, k)
	}
	call := func(mode int, more ...any) Sample {
		args := append([]any{"weight", f32(rows, 3), "indices", indices(rows, n), "offsets",
			starts(4), "scale_grad_by_freq", false, "mode", mode, "sparse", false}, more...)
		if s.Index("padding_idx") >= 0 && !s.Args[s.Index("padding_idx")].HasDefault {
			args = append(args, "padding_idx", []any{1, nil, -1}[mode])
			if len(more) == 0 {
				args = append(args, "per_sample_weights", nil, "include_last_offset", false)
			}
		}
		return NewSample(args...)
	}
	return []Sample{call(0, "per_sample_weights", f32(n), "include_last_offset", true),
		call(1), call(2)}

}
