package samples

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// reductionSamples are those of reductions.
var reductionSamples = bySchema{
	"aten.sum.default":               reduced(dtypes),
	"aten.sum.dim_IntList":           reduced(dtypes),
	"aten.nansum.default":            reduced(dtypes),
	"aten.prod.default":              reduced(dtypes, domain(-2, 2)),
	"aten.prod.dim_int":              reduced(dtypes, domain(-2, 2)),
	"aten.mean.default":              reduced(floats),
	"aten.mean.dim":                  reduced(floats),
	"aten.amax.default":              reduced(dtypes),
	"aten.amin.default":              reduced(dtypes),
	"aten.max.default":               reduced(dtypes),
	"aten.min.default":               reduced(dtypes),
	"aten.max.dim":                   reduced(dtypes),
	"aten.min.dim":                   reduced(dtypes),
	"aten.argmax.default":            reduced(dtypes),
	"aten.argmin.default":            reduced(dtypes),
	"aten.any.default":               reduced(dtypes),
	"aten.any.dim":                   reduced(dtypes),
	"aten.any.dims":                  reduced(dtypes),
	"aten.all.default":               reduced(dtypes),
	"aten._is_all_true.default":      reduced([]ir.DType{ir.Bool}),
	"aten._is_any_true.default":      reduced([]ir.DType{ir.Bool}),
	"aten.all.dim":                   reduced(dtypes),
	"aten.all.dims":                  reduced(dtypes),
	"aten.count_nonzero.dim_IntList": reduced(dtypes),
	"aten.count_nonzero.default":     reduced(dtypes),
	"aten.logsumexp.default":         reduced(dtypes),
	"aten.linalg_vector_norm.default": reduced(floats, domain(0.5, 2),
		with("ord", 2),
		with("ord", 1),
		with("ord", 0),
		with("ord", math.Inf(1)),
		with("ord", math.Inf(-1)),
		with("ord", 3)),
	"aten.aminmax.default":     reduced(dtypes),
	"aten.var.default":         reduced(floats, with(), with("unbiased", false)),
	"aten.var.dim":             reduced(floats, with(), with("unbiased", false)),
	"aten.var.correction":      reduced(floats, with(), with("correction", 0)),
	"aten.std.default":         reduced(floats, with(), with("unbiased", false)),
	"aten.std.dim":             reduced(floats, with(), with("unbiased", false)),
	"aten.std.correction":      reduced(floats, with(), with("correction", 0)),
	"aten.var_mean.default":    reduced(floats, with(), with("unbiased", false)),
	"aten.var_mean.dim":        reduced(floats, with(), with("unbiased", false)),
	"aten.var_mean.correction": reduced(floats, with(), with("correction", 0)),
	"aten.std_mean.default":    reduced(floats, with(), with("unbiased", false)),
	"aten.std_mean.dim":        reduced(floats, with(), with("unbiased", false)),
	"aten.std_mean.correction": reduced(floats, with(), with("correction", 0)),
	"aten.kthvalue.default":    orderSamples,
	"aten.median.dim":          orderSamples,
}

// orderedSamples are those of running reductions, of sorting, and of what follows from it.
var orderedSamples = byName{
	"aten.cumsum.default":       running(dtypes, Values{}),
	"aten.cumprod.default":      running(dtypes, Values{Lo: -2, Hi: 2}),
	"aten.logcumsumexp.default": running(floats, Values{}),
	"aten.cummax.default":       running(dtypes, Values{}),
	"aten.cummin.default":       running(dtypes, Values{}),
	"aten.sort.default":         sortSamples("dim", "descending"),
	"aten.sort.stable":          sortSamples("dim", "descending"),
	"aten.argsort.default":      sortSamples("dim", "descending"),
	"aten.argsort.stable":       sortSamples("stable", "dim", "descending"),
	"aten.msort.default":        sortSamples(),
	"aten.topk.default":         sortSamples("dim", "largest", "k"),
	"aten.nanmedian.default":    sortSamples(),
	"aten.histogram.bin_ct": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(4, 9), "bins", 5),
			NewSample("self", f32(8), "bins", 3, "range", []float64{-1, 0.5}, "weight", f32(8),
				"density", true)}
	},
	"aten.histogram.bins_tensor": func(*Rand) []Sample {
		return []Sample{NewSample("self", f32(4, 9), "bins",
			Tensor(ir.Float32, Values{Sorted: true}, 4))}
	},
	"aten._histogramdd_bin_edges.default":        histograms("bins", []int64{3, 2}),
	"aten._histogramdd_from_bin_cts.default":     histograms("bins", []int64{3, 2}),
	"aten._histogramdd_from_bin_tensors.default": histogramsBetween,
	"aten.histogramdd.default":                   histograms("bins", []int64{3, 2}),
	"aten.histogramdd.int_bins":                  histograms("bins", 3),
	"aten.histogramdd.TensorList_bins":           histogramsBetween,
	"aten.histc.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", f32(4, 9), "bins", 5),
			NewSample("self", Tensor(ir.Float64, Values{Special: true}, 30), "bins", 7, "min",
				-1, "max", 2),
			NewSample("self", Tensor(ir.BFloat16, Values{}, 20), "bins", 3, "min",
				-2, "max", 2),
		}
	},
	"aten.median.default":             sortSamples(),
	"aten.mode.default":               sortSamples("dim", "keepdim"),
	"aten.nanmedian.dim":              nanMedianSamples,
	"aten.quantile.default":           quantileSamples,
	"aten.nanquantile.default":        quantileSamples,
	"aten.quantile.scalar":            quantileNumberSamples,
	"aten.nanquantile.scalar":         quantileNumberSamples,
	"aten.nanmean.default":            nanMeanSamples,
	"aten.linalg_norm.ord_str":        normOrders("fro"),
	"aten.linalg_matrix_norm.str_ord": normOrders("fro"),
	"aten.linalg_norm.default":        normOrders(nil, 1, inf),
	"aten.linalg_matrix_norm.default": normOrders(1, -1, inf, -inf),
	"aten.trapezoid.x":                trapezoidAt,
	"aten.trapz.x":                    trapezoidAt,
	"aten.cumulative_trapezoid.x":     trapezoidAt,
	"aten.trapezoid.dx":               trapezoidBy,
	"aten.trapz.dx":                   trapezoidBy,
	"aten.cumulative_trapezoid.dx":    trapezoidBy,
	"aten.diff.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", f32(4, 5)),
			NewSample("self", f32(5, r.Dim()), "n", 2, "dim", 0),
			NewSample("self", f32(2, 5), "prepend", f32(2, 1), "append", f32(2, 2)),
			NewSample("self", Tensor(ir.Bool, Values{}, 6)),
		}
	},
}

// reduced reduces over each kind of dim argument, with and without keepdim.
func reduced(takes []ir.DType, opts ...option) func(*Rand, *aten.Schema) []Sample {
	g := newGiven(takes, opts)
	return func(r *Rand, s *aten.Schema) []Sample {
		var dims []any
		switch i := s.Index("dim"); {
		case i < 0:
			dims = []any{nil}
		case s.Args[i].Type.IsList():
			dims = []any{[]int64{1}, []int64{-1}, []int64{0, 2}, []int64{0, 1, 2}}
		default:
			dims = []any{0, 1, -1}
		}
		var out []Sample
		for i, d := range dtypes {
			if !slices.Contains(g.takes, d) {
				continue
			}
			for j, dim := range dims {
				if i > 1 && j != i%len(dims) {
					continue
				}
				args := []any{"self", Tensor(d, g.values, r.Shape(3)...)}
				if s.Index("dim") >= 0 {
					args = append(args, "dim", dim)
				}
				if s.Index("keepdim") >= 0 {
					args = append(args, "keepdim", (i+j)%2 == 0)
				}
				args = append(args, g.with[(i+j)%len(g.with)]...)
				out = append(out, NewSample(args...))
			}
		}
		return out
	}
}

// running run along a dimension, in each dtype of takes.
func running(takes []ir.DType, v Values) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, d := range dtypes {
			if slices.Contains(takes, d) {
				out = append(out, NewSample("self", Tensor(d, v.forDType(d), r.Shape(3)...),
					"dim", i%3-1))
			}
		}
		return append(out, NewSample("self", Tensor(ir.Float32, v), "dim", 0))
	}
}

func orderSamples(r *Rand, s *aten.Schema) []Sample {
	if s.Index("k") < 0 {
		return sortSamples("dim", "keepdim")(r)
	}
	return sortSamples("dim", "keepdim", "k")(r)
}

// sortSamples makes samples with the arguments named, of values with and
// without ties.
func sortSamples(names ...string) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, d := range dtypes {
			v := Values{Distinct: i%2 == 0 && d.IsFloat()}
			args := []any{"self", Tensor(d, v, 1+r.Int64N(5), 2+r.Int64N(9), 1+r.Int64N(3))}
			for _, name := range names {
				switch name {
				case "dim":
					args = append(args, "dim", 1)
				case "k":
					args = append(args, "k", 2)
				default:
					args = append(args, name, i%3 == 0)
				}
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}

func nanMedianSamples(r *Rand) []Sample {
	return append(sortSamples("dim", "keepdim")(r), NewSample("self",
		Tensor(ir.Float32, Values{Special: true}, 4, 7), "dim", 1))
}

// special returns an operand with NaN and infinities.
func special() Input { return Tensor(ir.Float32, Values{Special: true}, 4, 6) }

// shares returns an operand of numbers from 0 to 1.
func shares(shape ...int64) Input { return Tensor(ir.Float32, Values{Lo: 0, Hi: 1}, shape...) }

func nanMeanSamples(*Rand) []Sample {
	return []Sample{NewSample("self", special()), NewSample("self", special(), "dim", []int{1},
		"keepdim", true)}
}

func quantileSamples(r *Rand) []Sample {
	return []Sample{
		NewSample("self", f32(3, 1+r.Dim()), "q", shares(3), "dim", 1),
		NewSample("self", f32(r.Shape(2)...), "q", shares(),
			"keepdim", true, "interpolation", "lower"),
		NewSample("self", special(), "q", shares(3), "dim", 0, "interpolation", "nearest"),
	}
}

func quantileNumberSamples(r *Rand) []Sample {
	return []Sample{
		NewSample("self", f32(r.Shape(2)...), "q", 0.3),
		NewSample("self", f32(2, 5), "q", 0.8, "dim", -1, "keepdim", true,
			"interpolation", "higher"),
		NewSample("self", special(), "q", 0.5, "dim", 1, "interpolation", "midpoint"),
	}
}

// normOrders have each of ords, of the last two dimensions and of others.
func normOrders(ords ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, ord := range ords {
			x := func(shape ...int64) Input {
				return Tensor(ir.Float32, Values{Lo: 0.5, Hi: 2}, shape...)
			}
			out = append(out, NewSample("self", x(r.Shape(2)...), "ord", ord),
				NewSample("self", x(r.Shape(3)...), "ord", ord, "dim", []int{2, 0}, "keepdim",
					i%2 == 0),
				NewSample("self", x(r.Shape(3)...), "ord", ord, "dim", []int{0, -1}, "dtype",
					ir.Float64))
		}
		return out
	}
}

func trapezoidAt(r *Rand) []Sample {
	a, n := r.Dim(), 1+r.Dim()
	return []Sample{NewSample("y", f32(a, n), "x", f32(n)), NewSample("y", f32(n, a), "x",
		f32(n, a), "dim", 0), NewSample("y", f32(n, a), "x", f32(n), "dim", 0)}
}

func trapezoidBy(r *Rand) []Sample {
	a, n := r.Dim(), 1+r.Dim()
	return []Sample{NewSample("y", f32(a, n)), NewSample("y", f32(n, a), "dx", 0.5, "dim", 0)}
}

// histograms are those of points in the plane.
func histograms(args ...any) func(*Rand) []Sample {
	of := func(more ...any) Sample {
		return NewSample(slices.Concat([]any{"self", f32(9, 2)}, args, more)...)
	}
	return several(of(), of("range", []float64{-1, 0.5, 0, 2}, "weight", f32(9), "density", true))
}

func histogramsBetween(*Rand) []Sample {
	edges := func(n int64) Input { return Tensor(ir.Float32, Values{Sorted: true}, n) }
	return []Sample{NewSample("self", f32(9, 2), "bins", []Input{edges(4), edges(3)})}
}
