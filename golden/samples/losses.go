package samples

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// lossSamples are those of losses, and of measures of vectors.
var lossSamples = byName{
	"aten.kl_div.default": func(r *Rand) []Sample {
		return []Sample{
			NewSample("self", f32(3, 4), "target", Tensor(ir.Float32, Values{Lo: 0.1, Hi: 1}, 3,
				4)),
			NewSample("self", f32(3, 4), "target", f32(4), "reduction", 2, "log_target", true),
		}
	},
	"aten.binary_cross_entropy.default": binaryLossSamples(Values{Lo: 0.1, Hi: 0.9}),
	"aten.binary_cross_entropy_with_logits.default": func(r *Rand) []Sample {
		more := NewSample("self", f32(3, 4), "target",
			Tensor(ir.Float32, Values{Lo: 0.1, Hi: 0.9}, 3, 4), "pos_weight",
			Tensor(ir.Float32, Values{Lo: 0.5, Hi: 2}, 4), "reduction", 0)
		return append(binaryLossSamples(Values{})(r), more)
	},
	"aten.cross_entropy_loss.default": func(r *Rand) []Sample {
		n, k := r.Dim(), 1+r.Dim()
		return append(classLossSamples(r),
			NewSample("self", f32(n, k), "target", indices(k, n), "label_smoothing", 0.1),
			NewSample("self", f32(n, k), "target",
				Tensor(ir.Float32, Values{Lo: 0.1, Hi: 1}, n, k), "weight", f32(k)))
	},
	"torch_nn._linear_cross_entropy_batch_chunked.default": linearLossSamples("reduction", "mean",
		"label_smoothing", 0.1, "allow_retain_graph", true, "compute_input_grad", false,
		"compute_linear_weight_grad", false, "compute_linear_bias_grad", false),
	"torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default": linearLossSamples(),
	"aten.nll_loss_nd.default":    classLossSamples,
	"aten.huber_loss.default":     pairLossSamples,
	"aten.l1_loss.default":        pairLossSamples,
	"aten.mse_loss.default":       pairLossSamples,
	"aten.smooth_l1_loss.default": pairLossSamples,
	"aten.cosine_embedding_loss.default": func(r *Rand) []Sample {
		n, k := r.Dim(), r.Dim()
		sign := func(shape ...int64) Input {
			return Tensor(ir.Int64, Values{Lo: -1, Hi: 1}, shape...)
		}
		return []Sample{
			NewSample("input1", f32(n, k), "input2", f32(n, k), "target", sign(n),
				"margin", 0.1),
			NewSample("input1", f32(k), "input2", f32(k), "target", sign(), "reduction", 0),
		}
	},
	"aten.triplet_margin_loss.default": func(r *Rand) []Sample {
		n, k := r.Dim(), r.Dim()
		return []Sample{
			NewSample("anchor", f32(n, k), "positive", f32(n, k), "negative", f32(n, k)),
			NewSample("anchor", f32(n, k), "positive", f32(n, k), "negative", f32(n, k),
				"p", 1.0, "swap", true, "reduction", 0),
		}
	},
	"aten.multi_margin_loss.default": func(r *Rand) []Sample {
		n, k := r.Dim(), 1+r.Dim()
		return []Sample{
			NewSample("self", f32(n, k), "target", indices(k, n)),
			NewSample("self", f32(k), "target", indices(k), "p", 2),
			NewSample("self", f32(n, k), "target", indices(k, n), "margin", 0.5, "weight",
				f32(k), "reduction", 0),
		}
	},
	"aten.poisson_nll_loss.default": func(r *Rand) []Sample {
		s := r.Shape(2)
		x := func(lo, hi float64) Input {
			return Tensor(ir.Float32, Values{Lo: lo, Hi: hi}, s...)
		}
		return []Sample{
			NewSample("input", x(-2, 2), "target", x(0, 3), "log_input", true, "full", false,
				"eps", 1e-8, "reduction", 1),
			NewSample("input", x(0.5, 2), "target", x(0, 3), "log_input", false, "full", true,
				"eps", 1e-8, "reduction", 0),
		}
	},
	"aten.margin_ranking_loss.default": func(r *Rand) []Sample {
		_, x, sign := pairs(r)
		return []Sample{NewSample("input1", x(), "input2", x(), "target", sign(), "margin",
			0.5), NewSample("input1", x(), "input2", x(), "target", sign(), "reduction", 0)}
	},
	"aten.hinge_embedding_loss.default": func(r *Rand) []Sample {
		s, x, _ := pairs(r)
		sign := Tensor(ir.Int64, Values{Lo: -1, Hi: 1}, s...)
		return []Sample{NewSample("self", x(), "target", sign), NewSample("self", x(), "target",
			sign, "margin", 0.3, "reduction", 2)}
	},
	"aten.multilabel_margin_loss.default": func(*Rand) []Sample {
		target := func(shape ...int64) Input {
			return Tensor(ir.Int64, Values{Lo: -1, Hi: 3}, shape...)
		}
		return []Sample{NewSample("self", f32(3, 4), "target", target(3, 4)),
			NewSample("self", f32(4), "target", target(4), "reduction", 0)}
	},
	"aten.soft_margin_loss.default": func(r *Rand) []Sample {
		_, x, sign := pairs(r)
		return []Sample{NewSample("self", x(), "target", sign()), NewSample("self", x(),
			"target", sign(), "reduction", 0)}
	},
	"aten.isin.Tensor_Tensor": func(r *Rand) []Sample {
		return []Sample{
			NewSample("elements", indices(5, r.Shape(2)...), "test_elements", indices(5, 2, 2)),
			NewSample("elements", indices(5, 4), "test_elements", indices(5, 3),
				"invert", true),
		}
	},
}

// measureSamples are those of measures of two vectors, and of other names of operators.
var measureSamples = bySchema{
	"aten.cosine_similarity.default":  vectorPairs,
	"aten.pairwise_distance.default":  vectorPairs,
	"aten.cdist.default":              vectorPairs,
	"aten.linalg_vecdot.default":      vectorPairs,
	"aten.special_xlogy.default":      renamed,
	"aten.special_xlogy.other_scalar": renamed,
	"aten.special_xlogy.self_scalar":  points(floats, domain(0.5, 3)),
}

func vectorPairs(r *Rand, s *aten.Schema) []Sample {
	a, n := r.Dim(), r.Dim()
	return []Sample{
		NewSample(s.Args[0].Name, f32(a, n), s.Args[1].Name, f32(a, n)),
		NewSample(s.Args[0].Name, f32(2, a, n), s.Args[1].Name, f32(a, n)),
	}
}

func renamed(r *Rand, s *aten.Schema) []Sample {
	args := []any{s.Args[0].Name, Tensor(ir.Float32, Values{Lo: 0.5, Hi: 3}, 3, 4),
		s.Args[1].Name, Tensor(ir.Float32, Values{Lo: 0.5, Hi: 3}, 4)}
	if s.Args[1].Type.Name != "Tensor" {
		args[3] = 1.5
	}
	if s.Index("rounding_mode") >= 0 {
		args = append(args, "rounding_mode", "floor")
	}
	return []Sample{NewSample(args...)}
}

func pairLossSamples(r *Rand) []Sample {
	s := r.Shape(2)
	return []Sample{
		NewSample("self", f32(s...), "target", f32(s...)),
		NewSample("self", f32(s...), "target", f32(s[1:]...), "reduction", 0),
		NewSample("self", Tensor(ir.Float64, Values{}, s...), "target",
			Tensor(ir.Float64, Values{}, s...), "reduction", 2),
	}
}

func binaryLossSamples(v Values) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		x := func() Input { return Tensor(ir.Float32, v, 3, 4) }
		t := func() Input { return Tensor(ir.Float32, Values{Lo: 0.1, Hi: 0.9}, 3, 4) }
		return []Sample{
			NewSample("self", x(), "target", t()),
			NewSample("self", x(), "target", t(), "weight", f32(4), "reduction", 2),
		}
	}
}

func classLossSamples(r *Rand) []Sample {
	n, k := r.Dim(), 1+r.Dim()
	return []Sample{
		NewSample("self", f32(n, k), "target", indices(k, n)),
		NewSample("self", f32(k), "target", indices(k)),
		NewSample("self", f32(n, k, 3), "target", indices(k, n, 3), "weight",
			Tensor(ir.Float32, Values{Lo: 0.5, Hi: 2}, k), "reduction", 2),
		NewSample("self", f32(n+1, k), "target",
			Tensor(ir.Int64, Values{Lo: -1, Hi: float64(k - 1)}, n+1), "weight",
			Tensor(ir.Float32, Values{Lo: 0.5, Hi: 2}, k), "ignore_index", -1, "reduction", 0),
	}
}

func pairs(r *Rand) (s []int64, x func() Input, sign func() Input) {
	s = r.Shape(2)
	return s, func() Input { return f32(s...) }, func() Input {
		return Tensor(ir.Float32, Values{Lo: -1, Hi: 1}, s...)
	}
}

// linearLossSamples are those of a linear layer and its cross entropy.
func linearLossSamples(more ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		n, in, k := r.Dim(), r.Dim(), 1+r.Dim()
		return []Sample{NewSample(append([]any{"input", f32(n, in), "linear_weight", f32(k, in),
			"target", indices(k, n), "linear_bias", f32(k), "weight", nil, "ignore_index", -100,
			"batch_chunk_size", 2, "acc_policy", "compact", "acc_dtype", ir.Float32}, more...)...)}
	}
}
