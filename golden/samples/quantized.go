package samples

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// quantSamples are those of quantized_decomposed.
var quantSamples = bySchema{
	"quantized_decomposed.choose_qparams.tensor":                       quantized,
	"quantized_decomposed.choose_qparams_per_token_asymmetric.default": quantized,
	"quantized_decomposed.dequantize_per_channel.default":              quantized,
	"quantized_decomposed.dequantize_per_channel_group.default":        quantized,
	"quantized_decomposed.dequantize_per_tensor.default":               quantized,
	"quantized_decomposed.dequantize_per_tensor.tensor":                quantized,
	"quantized_decomposed.dequantize_per_token.default":                quantized,
	"quantized_decomposed.quantize_per_channel.default":                quantized,
	"quantized_decomposed.quantize_per_channel_group.default":          quantized,
	"quantized_decomposed.quantize_per_tensor.default":                 quantized,
	"quantized_decomposed.quantize_per_tensor.tensor":                  quantized,
	"quantized_decomposed.quantize_per_token.default":                  quantized,
	"quantized_decomposed.embedding_byte.default":                      quantEmbeddings(8),
	"quantized_decomposed.embedding_byte.dtype":                        quantEmbeddings(8),
	"quantized_decomposed.embedding_4bit.default":                      quantEmbeddings(4),
	"quantized_decomposed.embedding_4bit.dtype":                        quantEmbeddings(4),
	"quantized_decomposed.embedding_2bit.default":                      quantEmbeddings(2),
	"quantized_decomposed.embedding_2bit.dtype":                        quantEmbeddings(2),
}

// torchaoSamples are those of blocks: a tensor, a channel, a row, a group of a row, and others.
var torchaoSamples = byName{
	"torchao.quantize_affine.default": func(r *Rand) []Sample {
		return affine(func(in ir.DType, sizes, block, scales []int64, zero any) Sample {
			return NewSample("input", Tensor(in, Values{Lo: -3, Hi: 3}, sizes...), "block_size", block,
				"scale", Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1}, scales...), "zero_point", zero,
				"output_dtype", ir.Int8, "quant_min", -127, "quant_max", 127)
		})
	},
	"torchao.dequantize_affine.default": func(r *Rand) []Sample {
		return affine(func(out ir.DType, sizes, block, scales []int64, zero any) Sample {
			return NewSample("input", Tensor(ir.Int8, Values{}, sizes...), "block_size", block,
				"scale", Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1}, scales...), "zero_point", zero,
				"input_dtype", ir.Int8, "quant_min", nil, "quant_max", nil, "output_dtype", out)
		})
	},
	"torchao.choose_qparams_affine.default": func(r *Rand) []Sample {
		var out []Sample
		how := []string{"ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"}
		affine(func(d ir.DType, sizes, block, _ []int64, zero any) Sample {
			var dtype any
			if zero != nil {
				dtype = ir.Int8
			}
			s := NewSample("input", Tensor(d, Values{Lo: -3, Hi: 3}, sizes...), "mapping_type",
				how[len(out)%3], "block_size", block, "target_dtype", ir.Int8, "quant_min", nil,
				"quant_max", 127, "eps", []any{nil, 0x1p-10}[len(out)%2], "scale_dtype",
				[]any{nil, ir.Float32, d}[len(out)/2%3], "zero_point_dtype", dtype, "keepdim", len(out)%2 == 1)
			out = append(out, s)
			return s
		})
		return out
	},
}

// affine makes a sample of each kind of block.
func affine(of func(d ir.DType, sizes, block, scales []int64, zero any) Sample) []Sample {
	var out []Sample
	for i, s := range []struct{ sizes, block, scales []int64 }{
		{[]int64{2, 3, 4}, []int64{2, 3, 4}, []int64{}},
		{[]int64{2, 3, 4}, []int64{2, 1, 4}, []int64{3}},
		{[]int64{2, 3, 4}, []int64{1, 1, 4}, []int64{2, 3}},
		{[]int64{3, 8}, []int64{1, 4}, []int64{3, 2}},
		{[]int64{3, 8}, []int64{1, 8}, []int64{3, 1}},
		{[]int64{4, 6, 2}, []int64{2, 3, 2}, []int64{2, 2}},
	} {
		for _, d := range []ir.DType{ir.Float32, ir.Float16} {
			var zero any
			if i%2 == 0 {
				zero = Tensor(ir.Int32, Values{Lo: -9, Hi: 9}, s.scales...)
			}
			out = append(out, of(d, s.sizes, s.block, s.scales, zero))
		}
	}
	return out
}

// int8Samples are those of mixed products, of training with rounded values, and of cortex_m.
var int8Samples = byName{
	"quantized_decomposed.mixed_mm.default": func(r *Rand) []Sample {
		var out []Sample
		for _, d := range []ir.DType{ir.Float32, ir.Float16} {
			m, k, n := r.Dim(), r.Dim(), r.Dim()
			out = append(out, NewSample("input", Tensor(d, Values{}, m, k), "weight",
				Tensor(ir.Int8, Values{}, k, n),
				"weight_scales", Tensor(d, Values{Lo: 0.01, Hi: 0.1}, k),
				"weight_zero_points", nil))
		}
		return out
	},
	"quantized_decomposed.mixed_linear.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float16, ir.Float32} {
			m, k, n := r.Dim(), 6+r.Dim(), r.Dim()
			scales := []int64{n, 3}[:1+i%2]
			out = append(out, NewSample("input", Tensor(d, Values{}, m, k), "weight",
				Tensor(ir.Int8, Values{}, n, k),
				"weight_scales", Tensor(d, Values{Lo: 0.01, Hi: 0.1}, scales...),
				"weight_zero_points", nil, "dtype", []any{nil, ir.Float32, nil}[i]))
		}
		return out
	},
	"quantized_decomposed.add.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Uint8, ir.Uint8, ir.Int8, ir.Int32} {
			shape := r.Shape(i)
			lo, hi := int64(0), int64(255)
			if d == ir.Int8 {
				hi = 127
			}
			v := Values{Lo: float64(lo), Hi: float64(hi)}
			out = append(out, NewSample("a", Tensor(d, v, shape...), "a_scale", 0.03,
				"a_zero_point", 3, "a_quant_min", lo, "a_quant_max", hi,
				"b", Tensor(d, v, shape...), "b_scale", 0.05, "b_zero_point", 100,
				"b_quant_min", lo, "b_quant_max", hi,
				"out_scale", 0.07, "out_zero_point", 20, "out_quant_min", lo,
				"out_quant_max", hi))
		}
		return out
	},
	"aten.fake_quantize_per_tensor_affine.default": fakeQuantized("scale", 0.05, "zero_point",
		3),
	"aten.fake_quantize_per_tensor_affine_cachemask.default": fakeQuantized("scale", 0.05,
		"zero_point", 3),
	"aten.fake_quantize_per_tensor_affine.tensor_qparams": fakeQuantized("scale", scale,
		"zero_point", zero),

	"aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default": fakeQuantized(
		"scale", scale, "zero_point", zero,
		"fake_quant_enabled", Tensor(ir.Int64, Values{Lo: 0, Hi: 1}, 1)),
	"aten.fake_quantize_per_channel_affine.default": fakeQuantized("scale", Tensor(ir.Float32,
		Values{Lo: 0.01, Hi: 0.1}, 4),
		"zero_point", Tensor(ir.Int32, Values{Lo: -3, Hi: 5}, 4), "axis", 1),
	"aten.fake_quantize_per_channel_affine_cachemask.default": fakeQuantized("scale",
		Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1}, 4),
		"zero_point", Tensor(ir.Int32, Values{Lo: -3, Hi: 5}, 4), "axis", 1),

	"cortex_m.quantize_per_tensor.default": conversions(
		func(ir.DType) ir.DType { return ir.Float32 }),
	"cortex_m.dequantize_per_tensor.default": conversions(func(d ir.DType) ir.DType { return d }),
	"cortex_m.quantized_activation.default": func(r *Rand) []Sample {
		return []Sample{NewSample("input", Tensor(ir.Int8, bytes, r.Shape(4)...), "lut",
			Tensor(ir.Int8, bytes, 256))}
	},
	"cortex_m.transpose.default": func(r *Rand) []Sample {
		x := func(rank int) Input { return Tensor(ir.Int8, bytes, r.Shape(rank)...) }
		return []Sample{
			NewSample("input", x(4), "perm", []int64{0, 3, 1, 2}),
			NewSample("input", x(3), "perm", []int64{0, 2, 1}),
			NewSample("input", x(2), "perm", []int64{1, 0}),
		}
	},
	"cortex_m.pad.default": func(r *Rand) []Sample {
		last := Tensor(ir.Int8, bytes, 2, 3, 4, 5)
		last.Value.Type.Strides = []sym.Expr{sym.Int(60), sym.Int(1), sym.Int(15), sym.Int(3)}
		out := []Sample{
			NewSample("input", Tensor(ir.Int8, bytes, 2, 3, 4, 5), "pre_pad",
				[]int64{0, 1, 2, 0}, "post_pad", []int64{1, 0, 0, 3}, "pad_value", -128),
			NewSample("input", Tensor(ir.Int8, bytes, 2, 1, 4, 5), "pre_pad",
				[]int64{0, 1, 2, 0}, "post_pad", []int64{1, 0, 0, 3}, "pad_value", 5),
			NewSample("input", Tensor(ir.Int8, bytes, 4, 5), "pre_pad", []int64{0, 0, 2, 1},
				"post_pad", []int64{0, 0, 0, 3}, "pad_value", 100),
		}
		return append(out, NewSample("input", last, "pre_pad", []int64{0, 1, 2, 0}, "post_pad",
			[]int64{1, 0, 0, 3}, "pad_value", 7))
	},
	"cortex_m.quantized_linear.default": func(r *Rand) []Sample {
		var out []Sample
		for i, shape := range [][]int64{{1, 64}, {2, 3, 5}, {7}} {
			in, rows := shape[len(shape)-1], 1+r.Int64N(9)
			params := []any{"bias", Tensor(ir.Int32, Values{Lo: -3000, Hi: 3000}, rows),
				"kernel_sum", nil}
			if i == 1 {
				params = []any{"bias", nil, "kernel_sum",
					Tensor(ir.Int32, Values{Lo: -3000, Hi: 3000}, rows)}
			}
			out = append(out,
				NewSample(append(params, "input", Tensor(ir.Int8, bytes, shape...), "weights",
					Tensor(ir.Int8, bytes, rows, in),
					"input_offset", 5, "filter_offset", i, "output_offset", -7,
					"requantize_multipliers", []int64{1500406475},
					"requantize_shifts", []int64{-8}, "activation_max", 120,
					"activation_min", -120)...))
		}
		return out
	},
	"cortex_m.quantized_batch_matmul.default": func(r *Rand) []Sample {
		b, m, n, k := r.Dim(), r.Dim(), r.Dim(), 3*r.Dim()
		return []Sample{NewSample("lhs", Tensor(ir.Int8, bytes, b, m, k), "lhs_zero_point", 3,
			"rhs_transposed", Tensor(ir.Int8, bytes, b, n, k),
			"rhs_zero_point", -4, "output_zero_point", 9, "output_multiplier", 1<<30+777,
			"output_shift", -9)}
	},
	"etgen.fixed_mean.default": func(r *Rand) []Sample {
		of := func(dims []int64, keep bool, zero, to int) Sample {
			return NewSample("self", Tensor(ir.Int8, Values{}, 2, 3, r.Dim(), 4), "dim", dims,
				"keepdim", keep, "zero_point", zero, "sum_shift", 2, "output_zero_point", to,
				"output_multiplier",
				1518500250, "output_shift", -3, "activation_min", -100, "activation_max", 127)
		}
		return []Sample{of([]int64{2, 3}, true, -5, 3), of([]int64{1}, false, 7, -20),
			of(nil, false, 0, 0)}
	},
	"etgen.fixed_norm.default": func(r *Rand) []Sample {
		return []Sample{NewSample("input", Tensor(ir.Int8, Values{}, 2, 3, 5), "normalized_shape",
			[]int64{3, 5}, "multipliers", Tensor(ir.Int32, Values{Lo: -1 << 30, Hi: 1 << 30}, 3, 1),
			"biases", Tensor(ir.Int32, Values{Lo: -1 << 20, Hi: 1 << 20}, 3, 5), "input_zero_point", 0,
			"mean", true, "added", 12345, "variance_shift", 10, "input_shift", 18, "output_shift",
			-14, "output_fraction", 14, "activation_min", -100, "activation_max", 127),
			NewSample("input", Tensor(ir.Int8, Values{}, 2, 20), "normalized_shape", []int64{20},
				"multipliers", Tensor(ir.Int32, Values{Lo: 1 << 29, Hi: 1 << 30}), "biases",
				Tensor(ir.Int32, Values{Lo: -1 << 20, Hi: 1 << 20}, 20), "input_zero_point", -7, "mean",
				false, "added", 0, "variance_shift", 0, "input_shift", 22, "output_shift", -20,
				"output_fraction", 16, "activation_min", -128, "activation_max", 127)}
	},
	"etgen.fixed_rescale.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Int8, ir.Int16, ir.Uint8} {
			channels := [][]int64{{}, {3, 1}, {2, 1, 1}}[i]
			n := r.Dim()
			sums := Tensor(ir.Int32, Values{Lo: -1 << 20, Hi: 1 << 20}, 2, 3, n)
			by := Tensor(ir.Int32, Values{Lo: -1 << 30, Hi: 1 << 30}, channels...)
			tensors, multipliers, up := []Input{sums}, []Input{by}, []int64{10}
			if i > 0 {
				tensors = append(tensors, Tensor(ir.Int8, Values{}, 3, n))
				multipliers = append(multipliers, Tensor(ir.Int32, Values{Lo: -1 << 30, Hi: 1 << 30}))
				up = append(up, 23)
			}
			args := []any{"tensors", tensors, "multipliers", multipliers,
				"added", Tensor(ir.Int32, Values{Lo: -1 << 28, Hi: 1 << 28}), "up", up, "shift", 21,
				"ties", i % 3, "quant_min", 0, "quant_max", 127, "dtype", d}
			if i > 0 {
				args = append(args, "other", Tensor(d, Values{}, 2, 3, n), "near", 1<<19)
			}
			out = append(out, NewSample(args...))
		}
		var four, multipliers []Input // as many terms as there may be, of all types
		n := r.Dim()
		for _, d := range []ir.DType{ir.Int32, ir.Int16, ir.Uint8, ir.Int8} {
			values := Values{}
			if d == ir.Int32 {
				values = Values{Lo: -1 << 20, Hi: 1 << 20}
			}
			four = append(four, Tensor(d, values, 2, n))
			multipliers = append(multipliers, Tensor(ir.Int32, Values{Lo: -1 << 29, Hi: 1 << 29}))
		}
		out = append(out, NewSample("tensors", four, "multipliers", multipliers,
			"added", Tensor(ir.Int32, Values{Lo: -1 << 28, Hi: 1 << 28}), "up", []int64{10, 15, 22, 23},
			"shift", 20, "ties", 0, "quant_min", -100, "quant_max", 127, "dtype", ir.Int8))
		return out
	},
	"etgen.integer_spline.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Int8, ir.Int16} {
			sizes := []int64{2, r.Dim()}
			args := []any{"self", Tensor(ir.Int16, Values{Lo: -1 << 15, Hi: 1<<15 - 1}, sizes...), "table",
				Tensor(ir.Int32, Values{Lo: 0, Hi: 1 << 18}, 1<<(6+i), 4), "bits", 10 - i, "shift", 12,
				"quant_min", -100, "quant_max", 127, "dtype", d}
			if i > 0 {
				args = append(args, "other", Tensor(d, Values{}, sizes...))
			}
			out = append(out, NewSample(args...))
		}
		return out
	},
	"etgen.integer_prelu.default": func(r *Rand) []Sample {
		n := r.Dim()
		args := []any{"self", Tensor(ir.Int8, Values{}, 2, 3, n), "multipliers",
			Tensor(ir.Int32, Values{Lo: -1 << 20, Hi: 1 << 20}, 1, 3, 1), "self_zero_point", 9,
			"output_multiplier", 1048577, "added", -12345, "shift", 20, "quant_min", -100, "quant_max",
			127, "dtype", ir.Int8}
		return []Sample{NewSample(args...), NewSample(append(args, "other",
			Tensor(ir.Int8, Values{}, 2, 3, n), "near", 1<<18)...)}
	},
	"etgen.integer_exponentials.default": func(r *Rand) []Sample {
		sums := Tensor(ir.Int32, Values{Lo: -1 << 16, Hi: 1 << 16}, 2, 3, 7)
		mask := Tensor(ir.Bool, Values{}, 3, 7)
		return []Sample{NewSample("scores", sums, "mask", nil, "scale", 1e-4),
			NewSample("scores", sums, "mask", mask, "scale", 1e-4),
			NewSample("scores", Tensor(ir.Float32, Values{Lo: -9, Hi: 9}, r.Dim(), 5), "mask", nil,
				"scale", 1.0)}
	},
	"etgen.integer_average.default": func(r *Rand) []Sample {
		var out []Sample
		for _, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16} {
			m, k, n := r.Dim(), r.Dim(), r.Dim()
			out = append(out, NewSample("weights", Tensor(ir.Int32, Values{Lo: 0, Hi: 1 << 24}, 2, m, k),
				"mat2", Tensor(d, Values{}, 2, k, n), "mat2_zero_point", 3))
		}
		return out
	},
	"etgen.integer_softmax.default": integerSoftmaxSamples("scale", 256.0),
	"etgen.fixed_softmax.default": integerSoftmaxSamples("multiplier", 1518500250, "added", -123456,
		"up", 1, "shift", 20, "ties", 1, "quant_min", -128, "quant_max", 100, "dtype", ir.Int8),
	"cortex_m.softmax.default": func(r *Rand) []Sample {
		var out []Sample
		for i, shape := range [][]int64{{2, 3, 7}, {1, 12}, {40}} {
			out = append(out, NewSample("input", Tensor(ir.Int8, bytes, shape...), "dim",
				len(shape)-1-len(shape)*(i%2), "input_zero_point", 4,
				"output_zero_point", -128, "input_multiplier", 1<<30+99999, "input_shift",
				19+2*i, "diff_min", -249>>i))
		}
		return out
	},
	"cortex_m.quantized_add.default": pairwise(int8s, "self_zero_point", -3,
		"self_multiplier", 1<<30+12345,
		"self_shift", -1, "other_zero_point", 7, "other_multiplier", 1<<30, "other_shift", 0,
		"output_zero_point", 5, "output_multiplier", 1717986918, "output_shift", -18),
	"cortex_m.quantized_mul.default": pairwise(int8s, "self_zero_point", -3, "other_zero_point", 7,
		"output_zero_point", -5, "output_multiplier", 1288490188, "output_shift", -6),
	"cortex_m.quantized_div.default": pairwise([]ir.DType{ir.Int8, ir.Int16}, "self_zero_point", -3,
		"other_zero_point", 7, "output_zero_point", -5, "output_scale", 9.5),
	"cortex_m.minimum.default": pairwise(int8s),
	"cortex_m.maximum.default": pairwise(int8s),
	"cortex_m.quantized_avg_pool2d.default": int8Pool("zero_point", 4, "multiplier", 1<<30,
		"shift", -3),
	"cortex_m.quantized_max_pool2d.default": int8Pool("dilation", []int64{1, 1},
		"input_zero_point", 3, "output_zero_point", 3,
		"activation_min", -90, "activation_max", 100),
	"cortex_m.quantized_conv2d.default":           int8Convolutions(convDense),
	"cortex_m.quantized_depthwise_conv2d.default": int8Convolutions(convDepthwise),
	"cortex_m.quantized_transpose_conv2d.default": int8Convolutions(convTransposed),
}

func integerSoftmaxSamples(rest ...any) func(r *Rand) []Sample {
	return func(r *Rand) []Sample {
		exps := Tensor(ir.Int32, Values{Lo: 0, Hi: 1 << 26}, 256)
		return []Sample{NewSample(append([]any{"input", Tensor(ir.Int8, Values{}, 2, 3, 7), "exps", exps,
			"dim", 1}, rest...)...), NewSample(append([]any{"input", Tensor(ir.Int8, Values{}, r.Dim()),
			"exps", exps, "dim", -1}, rest...)...)}
	}
}

func quantized(r *Rand, s *aten.Schema) []Sample {
	var out []Sample
	for i := range 4 {
		shape := r.Shape(3)
		dtype, in := ir.Int8, ir.Float32
		lo, hi := int64(-128), int64(127)
		if i%2 == 1 {
			dtype, lo, hi = ir.Uint8, 0, 255
		}
		if s.Index("out_dtype") >= 0 || s.Index("output_dtype") >= 0 {
			in = dtype
		}
		group := int64(0)
		if s.Index("group_size") >= 0 {
			shape, group = []int64{r.Dim(), 6}, 2
		}
		scales := []int64{shape[1]}
		switch {
		case s.Index("axis") >= 0 || s.Index("scales") < 0:
		case group > 0:
			scales = []int64{shape[0], 6 / group}
		case i < 2: // by token
			scales = []int64{shape[0], shape[1], 1}
		default:
			scales = []int64{shape[0] * shape[1], 1}
		}
		var args []any
		for _, p := range s.Args {
			switch p.Name {
			case "input":
				args = append(args, p.Name, Tensor(in, Values{Lo: -3, Hi: 3}.forDType(in),
					shape...))
			case "scale":
				if p.Type.Name == "float" {
					args = append(args, p.Name, 0.03)
				} else {
					args = append(args, p.Name, Tensor(ir.Float64, Values{Lo: 0.01, Hi: 0.1}, 1))
				}
			case "zero_point":
				if p.Type.Name == "int" {
					args = append(args, p.Name, 3)
				} else {
					args = append(args, p.Name, Tensor(ir.Int64, Values{Lo: 0, Hi: 9}, 1))
				}
			case "scales":
				args = append(args, p.Name, Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1},
					scales...))
			case "zero_points":
				args = append(args, p.Name, Tensor(ir.Int64, Values{Lo: 0, Hi: 9}, scales...))
			case "axis":
				args = append(args, p.Name, 1)
			case "quant_min":
				args = append(args, p.Name, lo)
			case "quant_max":
				args = append(args, p.Name, hi)
			case "eps":
				args = append(args, p.Name, 0x1p-12)
			case "group_size":
				args = append(args, p.Name, group)
			case "output_dtype":
				args = append(args, p.Name, []ir.DType{ir.Float32, ir.Float16}[i%2])
			case "dtype":
				args = append(args, p.Name, dtype)
			}
		}
		out = append(out, NewSample(args...))
	}
	return out
}

// quantEmbeddings look up rows of integers of so many bits.
func quantEmbeddings(bits int64) func(*Rand, *aten.Schema) []Sample {
	return func(r *Rand, s *aten.Schema) []Sample {
		var out []Sample
		for i := range 4 {
			rows, bytes := 2+r.Dim(), 2*r.Dim()
			wd, limits := ir.Uint8, Values{Hi: 255}
			if bits == 8 && i%2 == 0 {
				wd, limits = ir.Int8, Values{Lo: -128, Hi: 127}
			}
			scales := []int64{rows}
			if i >= 2 {
				scales = append(scales, 2)
			}
			pd := []ir.DType{ir.Float32, ir.Float16, ir.Float32, ir.BFloat16}[i]
			args := []any{"weight", Tensor(wd, limits, rows, bytes), "weight_scales",
				Tensor(pd, Values{Lo: 0.01, Hi: 0.1}, scales...)}
			if i%2 == 1 {
				args = append(args, "weight_zero_points", Tensor(pd, Values{Lo: -2, Hi: 2},
					scales...))
			} else {
				args = append(args, "weight_zero_points", nil)
			}
			args = append(args, "weight_quant_min", -1<<(bits-1), "weight_quant_max", 1<<(bits-1)-1,
				"indices", indices(rows, 2, r.Dim()))
			if s.Index("dtype") >= 0 {
				args = append(args, "dtype", []ir.DType{ir.Float32, ir.Float32, ir.Float16,
					ir.BFloat16}[i])
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}

// fakeQuantized are those of one tensor; more says what the integers stand for.
func fakeQuantized(more ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		return []Sample{NewSample(append([]any{"self", f32(3, 4, 2), "quant_min", -20,
			"quant_max", 30}, more...)...)}
	}
}

// The operands that say what the integers of a tensor stand for.
var (
	scale = Tensor(ir.Float32, Values{Lo: 0.01, Hi: 0.1}, 1)
	zero  = Tensor(ir.Int32, Values{Lo: -3, Hi: 5}, 1)
)

var int8s = []ir.DType{ir.Int8}

// bytes are all values of int8.
var bytes = Values{Lo: -128, Hi: 127}

// conversions vary the integer dtype; of tells that of the input.
func conversions(of func(ir.DType) ir.DType) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for _, d := range []ir.DType{ir.Int8, ir.Int16, ir.Int8} {
			v := Values{Lo: -100, Hi: 100, Special: true}
			lo, hi := expr.IntRange(d)
			out = append(out, NewSample("input", Tensor(of(d), v, r.Shape(3)...), "scale", 0.37,
				"zero_point", -11, "quant_min", lo, "quant_max", hi, "dtype", d))
		}
		return out
	}
}

// pairwise are those of two operands of one dtype.
func pairwise(dtypes []ir.DType, with ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		shape := r.Shape(4)
		samples := [][2][]int64{{shape, shape}, {shape, {1, shape[1], 1, 1}},
			{{1, shape[1], 1, 1}, shape}, {{17}, {17}}, {{3, 5}, {1}}}
		var out []Sample
		for i, s := range samples {
			d := dtypes[i%len(dtypes)]
			args := []any{"self", Tensor(d, bytes, s[0]...), "other", Tensor(d, bytes, s[1]...)}
			out = append(out, NewSample(append(args, with...)...))
		}
		return out

	}
}

func int8Pool(with ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i := range 3 {
			out = append(out,
				NewSample(append([]any{"input", Tensor(ir.Int8, bytes, 1+r.Int64N(2),
					1+r.Int64N(5), 5+r.Int64N(5), 5+r.Int64N(5)),
					"kernel_size", []int64{2 + int64(i), 3}, "stride", []int64{2, 1 + int64(i)},
					"padding", []int64{int64(i % 2), 1}, "ceil_mode", i == 2}, with...)...))
		}
		return out

	}
}

// The sorts of convolutions of bytes.
const (
	convDense = iota
	convDepthwise
	convTransposed
)

// int8Convolutions vary the window of a convolution of bytes.
func int8Convolutions(kind int) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, s := range []struct{ in, perIn, m, h, w, kh, kw, sh, sw, ph, pw, dh, dw int64 }{
			{3, 3, 4, 6, 5, 3, 2, 1, 2, 1, 0, 1, 1},
			{4, 2, 3, 5, 7, 2, 3, 2, 1, 1, 1, 2, 1},
			{5, 5, 2, 3, 4, 1, 1, 1, 1, 0, 0, 1, 1},
			{1, 1, 3, 7, 5, 5, 4, 2, 2, 2, 1, 1, 1},
		} {
			weight := []int64{s.m * s.in / s.perIn, s.kh, s.kw, s.perIn}
			channels := weight[0]
			args := []any{"stride", []int64{s.sh, s.sw}, "padding", []int64{s.ph, s.pw}}
			switch kind {
			case convDepthwise:
				channels = s.in * s.m
				weight = []int64{1, s.kh, s.kw, channels}
				args = append(args, "depth_multiplier", s.m)
			case convTransposed:
				weight[3], s.dh, s.dw = s.in, 1, 1
				args = append(args, "output_padding", []int64{s.sh - 1, 0})
			}
			if i%2 == 0 {
				args = append(args, "bias", Tensor(ir.Int32, Values{Lo: -3000, Hi: 3000}, channels))
			} else {
				args = append(args, "bias", nil, "scratch", Tensor(ir.Uint8, Values{}, 8))
			}
			out = append(out, NewSample(append(args,
				"input", Tensor(ir.Int8, bytes, 1+r.Int64N(2), s.in, s.h, s.w), "weight",
				Tensor(ir.Int8, bytes, weight...),
				"dilation", []int64{s.dh, s.dw}, "input_offset", 5+i, "output_offset", -7,
				"requantize_multipliers", Tensor(ir.Int32, Values{Lo: 1 << 30, Hi: 1<<31 - 1},
					channels),
				"requantize_shifts", Tensor(ir.Int32, Values{Lo: -12, Hi: 1}, channels),
				"activation_min", -100, "activation_max", 120)...))
		}
		return out
	}
}
