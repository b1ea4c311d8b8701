package samples

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
)

// windowSamples are those of operators that look at windows of images: convolutions, pools
// and their gradients, and sampling.
var windowSamples = byName{
	"aten.convolution.default": convolutions(),
	"aten._convolution.default": convolutions("benchmark", false, "deterministic", false,
		"cudnn_enabled", true, "allow_tf32", true),
	"aten._convolution.deprecated": convolutions("benchmark", false, "deterministic", false,
		"cudnn_enabled", true),
	"etgen.padded_convolution.default":  paddedSamples,
	"etgen.integer_convolution.default": integerConvolutionSamples,
	"etgen.mixed_convolution.default":   mixedConvolutionSamples,
	"aten.convolution_backward.default": func(r *Rand) []Sample {
		var out []Sample
		for i, s := range convolutions()(r) {
			c, err := ops.Standard().Bind(&ir.Node{Op: "aten.convolution.default", Args: s.Args})
			if err != nil || !c.Outs[0].DType.IsFloat() {
				continue
			}
			sizes, _ := c.Outs[0].StaticSizes()
			d := c.Outs[0].DType
			mask := []bool{true, true, true}
			if i == 1 {
				mask[i] = false
			}
			x, w := s.Inputs[0], s.Inputs[1]
			args := []any{"grad_output", Tensor(d, Values{}, sizes...), "input", x, "weight", w,
				"bias_sizes", nil}
			for _, name := range []string{"stride", "padding", "dilation", "transposed",
				"output_padding", "groups"} {
				args = append(args, name, c.Arg(name))
			}
			out = append(out, NewSample(append(args, "output_mask", mask)...))
		}
		return out
	},
	"etgen.convolution_weight_gradient.default": func(*Rand) []Sample {
		return []Sample{
			NewSample("near", f32(2, 4, 5, 4), "far", f32(2, 6, 7, 6), "kernel", []int64{3, 2},
				"stride", []int64{1, 2}, "padding", []int64{1, 0}, "dilation", []int64{2, 1},
				"groups", 2),
			NewSample("near", f32(1, 2, 5), "far", f32(1, 3, 9), "kernel", []int64{3}, "stride",
				[]int64{2}, "padding", []int64{1}, "dilation", []int64{1}, "groups", 1),
		}
	},
	"aten.max_pool2d_with_indices_backward.default": func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float64, ir.Float32} {
			x := []int64{2, 3, 6, 7}[i%2:]
			o := slices.Clone(x)
			o[len(o)-2], o[len(o)-1] = 3, 3
			out = append(out, NewSample("grad_output", Tensor(d, Values{}, o...), "self",
				Tensor(d, Values{}, x...), "kernel_size", []int64{2, 2},
				"stride", []int64{2, 2}, "padding", []int64{0, 0}, "dilation", []int64{1, 1},
				"ceil_mode", false, "indices", indices(42, o...)))
		}
		return out
	},
	"aten.im2col.default": times(3, func(r *Rand) Sample {
		return NewSample("self", f32(2, r.Dim(), 5+r.Dim(), 5+r.Dim()), "kernel_size",
			[]int{2, 3}, "dilation", []int{1 + r.IntN(2), 1}, "padding", []int{r.IntN(2), 1},
			"stride", []int{1, 1 + r.IntN(2)})
	}),
	"aten.col2im.default": times(3, func(r *Rand) Sample {
		// 6×7 pixels, a kernel of 2×3 and padding 1.
		s := 1 + r.Int64N(2)
		blocks := ((6+2-2)/s + 1) * ((7+2-3)/s + 1)
		return NewSample("self", f32(2, 3*6, blocks), "output_size", []int{6, 7}, "kernel_size",
			[]int{2, 3}, "dilation", []int{1, 1}, "padding", []int{1, 1}, "stride",
			[]int64{s, s})
	}),
	"aten.max_pool1d.default":              poolSamples(1, true),
	"aten.max_pool2d.default":              poolSamples(2, true),
	"aten.max_pool3d.default":              poolSamples(3, true),
	"aten.max_pool1d_with_indices.default": poolSamples(1, true),
	"aten.max_pool2d_with_indices.default": poolSamples(2, true),
	"aten.max_pool3d_with_indices.default": poolSamples(3, true),
	"aten.avg_pool1d.default":              poolSamples(1, false),
	"aten.avg_pool2d.default":              poolSamples(2, false),
	"aten.avg_pool3d.default":              poolSamples(3, false),
	"aten.adaptive_avg_pool1d.default":     adaptiveSamples(1),
	"aten.adaptive_avg_pool2d.default":     adaptiveSamples(2),
	"aten.adaptive_avg_pool3d.default":     adaptiveSamples(3),
	"aten.adaptive_max_pool1d.default":     adaptiveSamples(1),
	"aten.adaptive_max_pool2d.default":     adaptiveSamples(2),
	"aten.adaptive_max_pool3d.default":     adaptiveSamples(3),
	"aten._adaptive_avg_pool2d.default":    adaptiveSamples(2),
	"aten._adaptive_avg_pool3d.default":    adaptiveSamples(3),
	"aten.grid_sampler.default":            gridSamples(2, 3),
	"aten.grid_sampler_2d.default":         gridSamples(2),
	"aten.grid_sampler_3d.default":         gridSamples(3),
}

// resampled are those of convolutions of 1, 2 and 3 dimensions, and of upsampling.
var resampled = bySchema{
	"aten.conv1d.default":                    convNSamples(1),
	"aten.conv2d.default":                    convNSamples(2),
	"aten.conv3d.default":                    convNSamples(3),
	"aten.conv1d.padding":                    convNSamples(1),
	"aten.conv2d.padding":                    convNSamples(2),
	"aten.conv3d.padding":                    convNSamples(3),
	"aten.conv_transpose1d.default":          convNSamples(1),
	"aten.conv_transpose2d.input":            convNSamples(2),
	"aten.conv_transpose3d.input":            convNSamples(3),
	"aten.upsample_nearest1d.default":        upsampleSamples(1, false),
	"aten.upsample_nearest1d.vec":            upsampleSamples(1, false),
	"aten.upsample_nearest2d.default":        upsampleSamples(2, false),
	"aten.upsample_nearest2d.vec":            upsampleSamples(2, false),
	"aten.upsample_nearest3d.default":        upsampleSamples(3, false),
	"aten.upsample_nearest3d.vec":            upsampleSamples(3, false),
	"aten._upsample_nearest_exact1d.default": upsampleSamples(1, false),
	"aten._upsample_nearest_exact1d.vec":     upsampleSamples(1, false),
	"aten._upsample_nearest_exact2d.default": upsampleSamples(2, false),
	"aten._upsample_nearest_exact2d.vec":     upsampleSamples(2, false),
	"aten._upsample_nearest_exact3d.default": upsampleSamples(3, false),
	"aten._upsample_nearest_exact3d.vec":     upsampleSamples(3, false),
	"aten.upsample_linear1d.default":         upsampleSamples(1, true),
	"aten.upsample_linear1d.vec":             upsampleSamples(1, true),
	"aten.upsample_bilinear2d.default":       upsampleSamples(2, true),
	"aten.upsample_bilinear2d.vec":           upsampleSamples(2, true),
	"aten.upsample_trilinear3d.default":      upsampleSamples(3, true),
	"aten.upsample_trilinear3d.vec":          upsampleSamples(3, true),
	"aten.upsample_bicubic2d.default":        upsampleSamples(2, true),
	"aten.upsample_bicubic2d.vec":            upsampleSamples(2, true),
	"aten._upsample_bilinear2d_aa.default":   upsampleSamples(2, true),
	"aten._upsample_bilinear2d_aa.vec":       upsampleSamples(2, true),
	"aten._upsample_bicubic2d_aa.default":    upsampleSamples(2, true),
	"aten._upsample_bicubic2d_aa.vec":        upsampleSamples(2, true),
	"aten._upsample_lanczos2d_aa.default":    upsampleSamples(2, true),
	"aten._upsample_lanczos2d_aa.vec":        upsampleSamples(2, true),
}

// convolutions vary operands and window; more arguments go with them.
func convolutions(more ...any) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		add := func(d ir.DType, x, w []int64, bias bool, stride, pad, dil []int64, transposed bool,
			outPad []int64, groups int64) {
			args := []any{"input", Tensor(d, Values{}, x...), "weight", Tensor(d, Values{}, w...)}
			if n := w[0]; bias {
				if transposed {
					n = w[1] * groups
				}
				args = append(args, "bias", Tensor(d, Values{}, n))
			} else {
				args = append(args, "bias", nil)
			}
			args = append(args, "stride", stride, "padding", pad, "dilation", dil, "transposed",
				transposed, "output_padding", outPad, "groups", groups)
			out = append(out, NewSample(append(args, more...)...))
		}
		f := ir.Float32
		zero := []int64{0, 0}
		add(f, []int64{2, 3, 9}, []int64{4, 3, 3}, true, []int64{2}, []int64{1}, []int64{1}, false,
			zero[:1], 1)
		add(f, []int64{1, 2, 8, 7}, []int64{3, 2, 3, 2}, false, []int64{1, 2}, []int64{0, 1},
			[]int64{2, 1}, false, zero, 1)
		add(f, []int64{2, 4, 5, 6}, []int64{6, 2, 3, 3}, true, []int64{1, 1}, []int64{1, 1},
			[]int64{1, 1}, false, zero, 2)
		add(f, []int64{1, 3, 6, 6}, []int64{6, 1, 3, 3}, true, []int64{2, 2}, []int64{1, 1},
			[]int64{1, 1}, false, zero, 3)
		add(f, []int64{2, 5, 3, r.Dim()}, []int64{4, 5, 1, 1}, true, []int64{1},
			[]int64{0}, []int64{1},
			false, []int64{0}, 1)
		add(f, []int64{1, 2, 4, 5, 3}, []int64{3, 2, 2, 3, 2}, true, []int64{1, 2, 1},
			[]int64{0, 1, 1},
			[]int64{1, 1, 2}, false, []int64{0, 0, 0}, 1)
		add(f, []int64{2, 3, 5}, []int64{3, 2, 4}, true, []int64{2}, []int64{1}, []int64{1}, true,
			[]int64{1}, 1)
		add(f, []int64{1, 4, 3, 4}, []int64{4, 3, 3, 2}, true, []int64{2, 3}, []int64{1, 0},
			[]int64{1, 2}, true, []int64{1, 0}, 2)
		for _, d := range []ir.DType{ir.Float64, ir.Float16, ir.BFloat16, ir.Int64} {
			add(d, []int64{1, 2, 5, 5}, []int64{2, 2, 3, 3}, true, []int64{1, 1}, []int64{1, 1},
				[]int64{1, 1}, false, zero, 1)
		}
		return out
	}
}

func paddedSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.BFloat16} {
		k, groups := int64(i), []int64{1, 2, 4, 1}[i]
		out = append(out, NewSample("input", Tensor(d, Values{}, 1+k%2, 4, 5+k, 3+r.Dim()),
			"weight", Tensor(d, Values{}, 4, 4/groups, 3, 2), "bias", Tensor(d, Values{}, 4),
			"stride", []int64{1 + k%2, 2}, "before", []int64{k, 0}, "after", []int64{1, k % 3},
			"dilation", []int64{1, 1 + k/2}, "groups", groups))
	}
	return out
}

// integerConvolutionSamples have zero points, padding that is not even, groups, transposed
// weights, and operands of two types.
func integerConvolutionSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Int8, ir.Int8, ir.Uint8, ir.Int16, ir.Int8, ir.Int8,
		ir.Float32} {
		k, groups := int64(i), []int64{1, 4, 2, 1, 1, 1, 2}[i]
		x, w := []int64{1 + k%2, 4, 5 + k, 3 + r.Dim()}, []int64{4, 4 / groups, 3, 2}
		lists := []any{"stride", []int64{1 + k%2, 1}, "before", []int64{k % 3, 1}, "after",
			[]int64{1, 1}, "dilation", []int64{1, 1 + k/3}}
		if i == 3 {
			x, w, lists = x[:3], w[:3], []any{"stride", []int64{2}, "before", []int64{1}, "after",
				[]int64{2}, "dilation", []int64{1}}
		}
		bias, dtype := any(Tensor(ir.Int32, Values{Lo: -90, Hi: 90}, 4)), ir.Float32
		if i%2 == 1 {
			bias, dtype = nil, ir.Int32
		}
		zero := []int64{0, -7, 120, 300, 5, -128, 9}[i]
		out = append(out, NewSample(append([]any{"input", Tensor(d, Values{}, x...), "weight",
			Tensor(ir.Int8, Values{}, w...), "bias", bias, "transposed", i == 4,
			"output_padding", []int64{0}, "groups", groups, "input_zero_point", zero,
			"weight_zero_point", k % 2, "dtype", dtype}, lists...)...))
	}
	return out
}

// mixedConvolutionSamples have one and two dimensions, and groups.
func mixedConvolutionSamples(r *Rand) []Sample {
	var out []Sample
	for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.BFloat16} {
		k, groups := int64(i), []int64{1, 4, 2, 1}[i]
		x, w := []int64{1 + k%2, 4, 5 + k, 3 + r.Dim()}, []int64{4, 4 / groups, 3, 2}
		dims := 2 - k%3/2
		out = append(out, NewSample("input", Tensor(d, Values{}, x[:2+dims]...), "weight",
			Tensor(ir.Int8, Values{}, w[:2+dims]...), "stride", []int64{1 + k%2, 1}[:dims],
			"before", []int64{1, k % 2}[:dims], "after", []int64{k % 3, 1}[:dims],
			"dilation", []int64{1, 1 + k/3}[:dims], "groups", groups))
	}
	return out
}

// convNSamples convolve n dimensions.
func convNSamples(n int) func(*Rand, *aten.Schema) []Sample {
	return func(r *Rand, sch *aten.Schema) []Sample {
		var out []Sample
		for i := range 3 {
			x, w := []int64{2, 4}, []int64{4, 4}
			for range n {
				x, w = append(x, 4+r.Int64N(3)), append(w, 1+r.Int64N(3))
			}
			args := []any{}
			if i == 1 {
				x = x[1:]
			}
			if i == 2 {
				w[1] = 2
				args = append(args, "groups", 2)
			}
			if sch.Index("output_padding") >= 0 && i == 0 {
				args = append(args, "stride", 2, "output_padding", 1, "padding", 1)
			} else if sch.Args[sch.Index("padding")].Type.Name == "str" {
				args = append(args, "padding", []string{"same", "same", "valid"}[i])
			} else {
				args = append(args, "padding", i%2, "stride", 1+i%2)
			}
			args = append(args, "input", f32(x...), "weight", f32(w...))
			if i > 0 {
				nout := w[0]
				if sch.Index("output_padding") >= 0 && i == 2 {
					nout = 2 * w[1]
				}
				args = append(args, "bias", f32(nout))
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}

func poolSamples(n int, dilated bool) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Float32, ir.BFloat16,
			ir.Float64} {
			shape := []int64{1 + r.Int64N(2), 2}
			for range n {
				shape = append(shape, 5+r.Int64N(4))
			}
			if i == 1 {
				shape = shape[1:]
			}
			v := Values{}
			if dilated && i == 2 {
				v.Special = true
			}
			args := []any{"self", Tensor(d, v, shape...), "kernel_size", 2 + i%2, "padding", i % 2,
				"ceil_mode", i > 2}
			if i > 0 {
				args = append(args, "stride", 1+i%3)
			}
			if dilated {
				args = append(args, "dilation", 1+i/2%2)
			} else {
				args = append(args, "count_include_pad", i%4 < 2)
				if n > 1 && i == 5 {
					args = append(args, "divisor_override", 3)
				}
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}

// adaptiveSamples pool n dimensions to a size.
func adaptiveSamples(n int) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for i, size := range []int{1, 2, 3, 7} {
			shape := []int64{2, 3}
			for range n {
				shape = append(shape, 4+r.Int64N(4))
			}
			out = append(out, NewSample("self", Tensor([]ir.DType{ir.Float32, ir.Float16}[i%2],
				Values{}, shape[i%2:]...), "output_size", slices.Repeat([]int{size}, n)))
		}
		return out
	}
}

// gridSamples sample images of so many dimensions, with each mode and padding.
func gridSamples(dims ...int) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		var out []Sample
		for _, n := range dims {
			for mode := range 3 {
				if cubic := 2; mode == cubic && n != 2 {
					continue
				}
				for padding := range 3 {
					x, g := []int64{2, 2}, []int64{2}
					for range n {
						x, g = append(x, 2+r.Int64N(3)), append(g, 1+r.Int64N(3))
					}
					// Not far outside, where a float cannot hold the position well.
					grid := Tensor(ir.Float32, Values{Lo: -1.6, Hi: 1.6}, append(g, int64(n))...)
					out = append(out, NewSample("input", f32(x...), "grid", grid,
						"interpolation_mode",
						mode, "padding_mode", padding, "align_corners", (mode+padding)%2 == 0))
				}
			}
		}
		return out
	}
}

// upsampleSamples resample n dimensions, not only of floats if floats is not set.
func upsampleSamples(n int, floats bool) func(*Rand, *aten.Schema) []Sample {
	return func(r *Rand, s *aten.Schema) []Sample {
		var out []Sample
		for i, scale := range []float64{2, 1.5, 0.6, 3, 1.1} {
			d := []ir.DType{ir.Float32, ir.Float32, ir.BFloat16, ir.Float64, ir.Float32}[i]
			if !floats && i == 3 || floats && n == 2 && i == 4 {
				d = ir.Uint8
			}
			shape := []int64{1, 2}
			var sizes []int64
			for range n {
				shape = append(shape, 3+r.Int64N(4))
				sizes = append(sizes, int64(float64(shape[len(shape)-1])*scale))
			}
			args := []any{s.Args[0].Name, Tensor(d, Values{}, shape...)}
			if s.Index("align_corners") >= 0 {
				args = append(args, "align_corners", i%2 == 1)
			}
			if s.Index("scale_factors") >= 0 && i%2 == 0 {
				args = append(args, "output_size", nil, "scale_factors",
					slices.Repeat([]float64{scale}, n))
			} else {
				args = append(args, "output_size", sizes)
				if s.Index("scale_factors") >= 0 {
					args = append(args, "scale_factors", nil)
				}
			}
			out = append(out, NewSample(args...))
		}
		return out
	}
}
