package samples

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// copySamples are those of operators that copy, and of factories.
var copySamples = bySchema{
	"aten._conj_physical.default":              copies,
	"aten._to_copy.default":                    copies,
	"aten.alias.default":                       copies,
	"aten.alias_copy.default":                  copies,
	"aten.alpha_dropout.default":               copies,
	"aten.clone.default":                       copies,
	"aten.contiguous.default":                  copies,
	"aten.copy.default":                        copies,
	"aten.detach.default":                      copies,
	"aten.detach_copy.default":                 copies,
	"aten.dropout.default":                     copies,
	"aten.feature_alpha_dropout.default":       copies,
	"aten.feature_dropout.default":             copies,
	"aten.fill.Scalar":                         copies,
	"aten.fill.Tensor":                         copies,
	"aten.lift.default":                        copies,
	"aten.lift_fresh.default":                  copies,
	"aten.lift_fresh_copy.default":             copies,
	"aten.positive.default":                    copies,
	"aten.resolve_conj.default":                copies,
	"aten.resolve_neg.default":                 copies,
	"aten.to.device":                           copies,
	"aten.to.dtype":                            copies,
	"aten.to.dtype_layout":                     copies,
	"aten.to.other":                            copies,
	"aten.type_as.default":                     copies,
	"et_copy._d2h_copy.default":                copies,
	"et_copy._h2d_copy.default":                copies,
	"aten.empty.memory_format":                 factories,
	"aten.empty_like.default":                  factories,
	"aten.empty_permuted.default":              factories,
	"aten.empty_strided.default":               factories,
	"aten.zero.default":                        factories,
	"aten.zeros.default":                       factories,
	"aten.zeros_like.default":                  factories,
	"aten.ones.default":                        factories,
	"aten.ones_like.default":                   factories,
	"aten.full.default":                        factories,
	"aten.full_like.default":                   factories,
	"aten.new_empty.default":                   factories,
	"aten.new_empty_strided.default":           factories,
	"aten.new_full.default":                    factories,
	"aten.new_ones.default":                    factories,
	"aten.new_zeros.default":                   factories,
	"aten.scalar_tensor.default":               factories,
	"prims.scalar_tensor.default":              factories,
	"aten.arange.default":                      factories,
	"aten.arange.start":                        factories,
	"aten.arange.start_step":                   factories,
	"aten.eye.default":                         factories,
	"aten.eye.m":                               factories,
	"aten.linspace.default":                    factories,
	"dim_order_ops._to_dim_order_copy.default": orderedCopies,
	"dim_order_ops._clone_dim_order.default":   orderedCopies,
	"dim_order_ops._empty_dim_order.default":   orderedFactories,
	"aten.rand.default":                        drawn,
	"aten.randn.default":                       drawn,
	"aten.rand_like.default":                   drawn,
	"aten.randn_like.default":                  drawn,
}

// createdSamples are those of factories with arguments of their own.
var createdSamples = byName{
	"aten.native_dropout.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("input", f32(3, 4), "p", 0.5, "train", false),
			NewSample("input", f32(3, 4), "p", 1.0, "train", true),
			NewSample("input", f32(5, 40), "p", 0.25, "train", true),
			NewSample("input", Tensor(ir.BFloat16, Values{}, 7, 9), "p", 0.5, "train", nil),
		}
	},
	"aten.hann_window.default":                windowsOf(),
	"aten.hann_window.periodic":               windowsOf("periodic", false),
	"aten.hamming_window.default":             windowsOf(),
	"aten.hamming_window.periodic":            windowsOf("periodic", true),
	"aten.hamming_window.periodic_alpha":      windowsOf("periodic", false, "alpha", 0.6),
	"aten.hamming_window.periodic_alpha_beta": windowsOf("periodic", true, "alpha", 0.6, "beta", 0.3),
	"aten.blackman_window.default":            windowsOf(),
	"aten.blackman_window.periodic":           windowsOf("periodic", false),
	"aten.bartlett_window.default":            windowsOf(),
	"aten.bartlett_window.periodic":           windowsOf("periodic", false),
	// Of composites that draw numbers only those samples have one result, in which it does not
	// matter what is drawn. The case random_numbers has others.
	"aten.uniform.default":           oneSample("self", f32(3, 4), "from", 2.0, "to", 2.0),
	"aten.normal_functional.default": oneSample("self", f32(3, 4), "mean", 2.0, "std", 0.0),
	"aten.exponential.default":       oneSample("self", f32(3, 4), "lambd", math.Inf(1)),
	"aten.bernoulli.default":         oneSample("self", Tensor(ir.Float32, Values{Lo: 1, Hi: 1}, 4)),
	"aten.bernoulli.p":               oneSample("self", f32(3, 4), "p", 1.0),
	"aten.randint.default":           oneSample("high", 1, "size", []int{3, 4}),
	"aten.randint.low":               oneSample("low", 3, "high", 4, "size", []int{3, 4}),
	"aten.randint_like.default":      oneSample("self", f32(3, 4), "high", 1),
	"aten.randint_like.low_dtype":    oneSample("self", f32(3), "low", 3, "high", 4),
	"aten.randperm.default":          oneSample("n", 1),
	"aten.multinomial.default": oneSample("self", Tensor(ir.Float32, Values{Lo: 1, Hi: 2}, 3, 1),
		"num_samples", 1),
	"aten.tril_indices.default": triangleIndexSamples,
	"aten.triu_indices.default": triangleIndexSamples,
	"aten.vander.default": func(r *Rand) []Sample {
		return []Sample{NewSample("x", f32(r.Dim())), NewSample("x", f32(3), "N", 5,
			"increasing", true)}
	},
	"aten.logspace.default": func(*Rand) []Sample {
		return []Sample{
			NewSample("start", -1, "end", 2.0, "steps", 5),
			NewSample("start", 0, "end", 4, "steps", 3, "base", 2.0, "dtype", ir.Float64),
		}
	},
	"aten.affine_grid_generator.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("theta", f32(2, 2, 3), "size", []int{2, 3, 5, 4}, "align_corners", false),
			NewSample("theta", f32(1, 2, 3), "size", []int{1, 3, 1, 4}, "align_corners", true),
			NewSample("theta", f32(2, 3, 4), "size", []int{2, 1, 2, 3, 4},
				"align_corners", false),
		}
	},
}

// copies makes samples of operators that copy.
func copies(r *Rand, s *aten.Schema) []Sample {
	var out []Sample
	for i, d := range dtypes {
		shape := r.Shape(r.IntN(4))
		var args []any
		for j, p := range s.Args {
			switch {
			case p.Type.Name == "Tensor" && j == 0:
				args = append(args, p.Name, Tensor(d, Values{}, shape...))
			case p.Type.Name == "Tensor" && p.Name == "value":
				args = append(args, p.Name, Tensor(d, Values{}))
			case p.Type.Name == "Tensor":
				args = append(args, p.Name, Tensor(dtypes[(i+3)%len(dtypes)], Values{},
					r.BroadcastShape(shape)...))
			case p.Type.Name == "ScalarType":
				args = append(args, p.Name, dtypes[(i+4)%len(dtypes)])
			case p.Type.Name == "Scalar":
				args = append(args, p.Name, 2)
			case p.Type.Name == "Device" && !p.HasDefault:
				args = append(args, p.Name, ir.Device("cpu"))
			case p.Name == "p":
				args = append(args, p.Name, 0.5)
			case p.Name == "train":
				args = append(args, p.Name, false)
			}
		}
		out = append(out, NewSample(args...))
	}
	return out
}

// factories makes samples of factories.
func factories(r *Rand, s *aten.Schema) []Sample {
	var out []Sample
	for _, d := range dtypes {
		var args []any
		for _, p := range s.Args {
			switch p.Name {
			case "self":
				args = append(args, "self", Tensor(d, Values{}, r.Shape(3)...))
			case "size":
				args = append(args, "size", []int64{2, 3})
			case "stride":
				args = append(args, "stride", []int64{1, 2})
			case "physical_layout":
				args = append(args, "physical_layout", []int64{1, 0})
			case "fill_value", "s":
				args = append(args, p.Name, ir.Int(r.IntN(2)))
			case "start":
				args = append(args, "start", 1)
			case "end":
				args = append(args, "end", ir.Int(8+r.IntN(5)))
			case "step":
				args = append(args, "step", 2)
			case "n", "m", "steps":
				args = append(args, p.Name, ir.Int(r.Dim()))
			case "dtype":
				if d != ir.Bool {
					args = append(args, "dtype", d)
				}
			}
		}
		out = append(out, NewSample(args...))
	}
	return out
}

func orderedCopies(r *Rand, s *aten.Schema) []Sample {
	out := copies(r, s)
	for _, order := range [][]int64{{0, 2, 3, 1}, {0, 1, 2, 3}} {
		out = append(out, NewSample("self", Tensor(ir.Float32, Values{}, r.Shape(4)...),
			"dim_order", order))
	}
	return out
}

func orderedFactories(r *Rand, s *aten.Schema) []Sample {
	return append(factories(r, s), NewSample("size", []int64{2, 3, 4, 5}, "dim_order",
		[]int64{0, 2, 3, 1}))
}

func drawn(r *Rand, s *aten.Schema) []Sample {
	var out []Sample
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
		if s.Index("self") >= 0 {
			out = append(out, NewSample("self", Tensor(d, Values{}, r.Shape(3)...)))
		} else {
			out = append(out, NewSample("size", []int64{7, 13}, "dtype", d))
		}
	}
	return out
}

// windowsOf makes samples of a window with further arguments.
func windowsOf(args ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for _, n := range []int64{0, 1, 2, 8 + r.Dim()} {
			out = append(out, NewSample(append([]any{"window_length", n}, args...)...))
		}
		return append(out, NewSample(append([]any{"window_length", 5, "dtype", ir.Float64},
			args...)...))
	}
}

// several gives the same samples each time.
func several(all ...Sample) func(*Rand) []Sample { return func(*Rand) []Sample { return all } }

func oneSample(args ...any) func(*Rand) []Sample { return several(NewSample(args...)) }

func triangleIndexSamples(r *Rand) []Sample {
	return []Sample{
		NewSample("row", 3, "col", 4),
		NewSample("row", 4, "col", 3, "offset", 1, "dtype", ir.Int32),
		NewSample("row", 4, "col", 5, "offset", -2),
		NewSample("row", 2, "col", 2, "offset", ir.Int(r.IntN(9)-4)),
	}
}
