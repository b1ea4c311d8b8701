package samples

import (
	"slices"

	"github.com/etgen/etgen/ir"
)

// normSamples are those of normalisations and of softmax.
var normSamples = byName{
	"aten.native_layer_norm.default": layerNormSamples("weight", "bias", "eps"),
	"aten.layer_norm.default":        layerNormSamples("weight", "bias", "eps"),
	"aten.rms_norm.default":          layerNormSamples("weight", "eps"),
	"aten._native_batch_norm_legit_no_training.default": batchNormSamples(true, "momentum",
		0.1, "eps", 1e-3),
	"aten.batch_norm.default": batchNormSamples(true, "training", false, "momentum", 0.1,
		"eps", 1e-3,
		"cudnn_enabled", true),
	"aten.instance_norm.default": func(r *Rand) []Sample {
		more := func(use bool) []any {
			return []any{"use_input_stats", use, "momentum", 0.1, "eps", 1e-3,
				"cudnn_enabled", false}
		}
		return slices.Concat(batchNormSamples(true, more(false)...)(r), batchNormSamples(false,
			more(true)...)(r)[1:])
	},
	"aten.native_group_norm.default": func(r *Rand) []Sample {
		return groupNormSamples(r, func(n, ch, hw int64, g int) []any {
			return []any{"N", n, "C", ch, "HxW", hw, "group", g, "eps", 1e-5}
		})
	},
	"aten.group_norm.default": func(r *Rand) []Sample {
		return groupNormSamples(r, func(_, _, _ int64, g int) []any {
			return []any{"num_groups", g}
		})
	},
	"aten._native_batch_norm_legit.default": batchNormSamples(true, "training", false,
		"momentum", 0.1, "eps", 1e-3),
	"aten.native_batch_norm.default": batchNormSamples(true, "training", false, "momentum", 0.1,
		"eps", 1e-3),
	"aten._native_batch_norm_legit_functional.default": batchNormTrainSamples(true),
	"aten._batch_norm_with_update_functional.default": func(r *Rand) []Sample {
		return batchNormSamples(true, "momentum", 0.1, "eps", 1e-3)(r)[1:]
	},
	"aten._softmax_backward_data.default":     softmaxGradients,
	"aten._log_softmax_backward_data.default": softmaxGradients,
	"aten._native_batch_norm_legit.no_stats":  batchNormTrainSamples(false),
	"aten.native_layer_norm_backward.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float32} {
			s := r.Shape(3)
			stats := []int64{s[0], s[1], 1}
			args := []any{"grad_out", Tensor(d, Values{}, s...), "input",
				Tensor(d, Values{}, s...), "normalized_shape", s[2:],
				"mean", Tensor(d, Values{}, stats...), "rstd", Tensor(d, Values{Lo: 0.5, Hi: 2},
					stats...), "weight", nil, "bias", nil, "output_mask",
				[]bool{true, true, i != 2}}
			if i != 1 {
				args[11] = Tensor(d, Values{}, s[2])
			}
			out = append(out, NewSample(args...))
		}
		return out
	},
	"aten.native_group_norm_backward.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float64} {
			n, hw := r.Dim(), r.Dim()
			s := []int64{n, 6, hw, 2}
			args := []any{"grad_out", Tensor(d, Values{}, s...), "input",
				Tensor(d, Values{}, s...),
				"mean", Tensor(d, Values{}, n, 3), "rstd", Tensor(d, Values{Lo: 0.5, Hi: 2}, n,
					3), "weight", nil,
				"N", n, "C", 6, "HxW", hw * 2, "group", 3, "output_mask",
				[]bool{true, i == 0, true}}
			if i == 0 {
				args[9] = Tensor(d, Values{}, 6)
			}
			out = append(out, NewSample(args...))
		}
		return out
	},
	"aten._softmax.default":            softmaxSamples("half_to_float", false),
	"aten._log_softmax.default":        softmaxSamples("half_to_float", false),
	"aten._safe_softmax.default":       softmaxSamples(),
	"aten.softmax.int":                 softmaxSamples(),
	"aten.log_softmax.int":             softmaxSamples(),
	"aten.special_softmax.default":     softmaxSamples(),
	"aten.special_log_softmax.default": softmaxSamples(),
}

// layerNormSamples give the optional arguments named in turn; weight and bias
// are given as None where the schema demands them.
func layerNormSamples(names ...string) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
			shape := r.Shape(3)
			norm := shape[1+i%2:]
			args := []any{"input", Tensor(d, Values{}, shape...), "normalized_shape", norm}
			for j, name := range names {
				switch {
				case name == "eps":
					args = append(args, name, 1e-5)
				case (i+j)%3 == 0:
					args = append(args, name, nil)
				default:
					args = append(args, name, Tensor(d, Values{}, norm...))
				}
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}

// batchNormSamples give per-channel parameters; stats tells whether running
// statistics are among them.
func batchNormSamples(stats bool, more ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16} {
			shape := r.Shape(2 + i)
			n := shape[1]
			args := []any{"input", Tensor(d, Values{}, shape...)}
			for j, name := range []string{"weight", "bias"} {
				if (i+j)%3 == 0 {
					args = append(args, name, nil)
				} else {
					args = append(args, name, Tensor(d, Values{}, n))
				}
			}
			if stats {
				args = append(args, "running_mean", Tensor(d, Values{}, n), "running_var",
					Tensor(d, Values{Lo: 0.5, Hi: 2}, n))
			}
			out = append(out, NewSample(append(args, more...)...))
		}
		return out
	}
}

// batchNormTrainSamples train; running tells whether there are running statistics.
func batchNormTrainSamples(running bool) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		samples := batchNormSamples(running, "training", true, "momentum", 0.1, "eps", 1e-3)(r)
		if running {
			samples = append(samples, batchNormSamples(true, "training", false, "momentum", 0.1,
				"eps", 1e-3)(r)...)
		}
		// one element has no unbiased variance
		return slices.DeleteFunc(samples, func(s Sample) bool {
			sizes, _ := s.Inputs[0].Value.Type.StaticSizes()
			n := int64(1)
			for i, size := range sizes {
				if i != 1 {
					n *= size
				}
			}
			return running && n < 2
		})
	}
}

// groupNormSamples give inputs of two groups and more; more makes the further
// arguments.
func groupNormSamples(r *Rand, more func(n, ch, hw int64, groups int) []any) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16} {
		groups := 1 + i
		n, ch, h, w := r.Dim(), int64(groups)*r.Dim(), r.Dim(), r.Dim()
		args := []any{"input", Tensor(d, Values{}, n, ch, h, w), "weight", nil, "bias", nil}
		if i > 0 {
			args[3], args[5] = Tensor(d, Values{}, ch), Tensor(d, Values{}, ch)
		}
		out = append(out, NewSample(append(args, more(n, ch, h*w, groups)...)...))
	}
	return out
}

// softmaxSamples vary self and dim; more arguments go with them.
func softmaxSamples(more ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		sample := func(x Input, dim int) Sample {
			return NewSample(append([]any{"self", x, "dim", dim}, more...)...)
		}
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Float16, ir.BFloat16} {
			out = append(out, sample(Tensor(d, Values{}, r.Shape(3)...), i%3-1))
		}
		return append(out,
			sample(Tensor(ir.Float32, Values{Lo: -200, Hi: 200}, 3, 17), -1),
			sample(Tensor(ir.Float32, Values{Special: true}, 8, 6), 1),
			sample(f32(), 0),
		)
	}
}

func softmaxGradients(r *Rand) []Sample {
	n, k := r.Dim(), r.Dim()
	return []Sample{
		NewSample("grad_output", f32(n, k), "output", f32(n, k), "dim", 1, "input_dtype", ir.Float32),
		NewSample("grad_output", Tensor(ir.Float64, Values{}, n, k), "output",
			Tensor(ir.Float64, Values{}, n, k), "dim", -2, "input_dtype", ir.Float64),
	}
}
