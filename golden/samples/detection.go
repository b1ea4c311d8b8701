package samples

import "github.com/etgen/etgen/ir"

// detectionSamples are those of torchvision's operators.
var detectionSamples = byName{
	"torchvision.nms.default": several(
		NewSample("dets", Tensor(ir.Float32, Values{Lo: 0, Hi: 9}, 7, 4), "scores", f32(7),
			"iou_threshold", 0.3),
		NewSample("dets", Tensor(ir.Float64, Values{Special: true}, 5, 4), "scores",
			Tensor(ir.Float64, Values{}, 5), "iou_threshold", 0.5)),
	"etgen.nms.default": several(
		NewSample("boxes", Tensor(ir.Float32, Values{Lo: 0, Hi: 9}, 7, 4), "iou_threshold", 0.3),
		NewSample("boxes", Tensor(ir.BFloat16, Values{Lo: 0, Hi: 5}, 4, 4), "iou_threshold", 0.1)),
	"torchvision.roi_align.default": regionSamples(4, "sampling_ratio", 2, "aligned", true),
	"torchvision.ps_roi_align.default": func(r *Rand) []Sample {
		return append(regionSamples(12, "sampling_ratio", -1)(r),
			regionSamples(12, "sampling_ratio", 3)(r)...)
	},
	"torchvision.roi_pool.default":    regionSamples(3),
	"torchvision.ps_roi_pool.default": regionSamples(12),
	"etgen.deformed_columns.default": several(NewSample(append(deformed(1), "kernel_h", 3,
		"kernel_w", 2)...), NewSample(append(deformed(2), "kernel_h", 3, "kernel_w", 2)...)),
	"torchvision.deform_conv2d.default": func(*Rand) []Sample {
		return []Sample{
			NewSample(append(deformed(1), "weight", f32(3, 4, 3, 2), "bias", f32(3), "mask", f32(0, 1),
				"use_mask", false, "groups", 1)...),
			NewSample(append(deformed(2), "weight", f32(2, 2, 3, 2), "bias", f32(2), "mask",
				f32(2, 12, 3, 4), "use_mask", true, "groups", 2)...),
		}
	},
}

// regionSamples have regions in and beside two images of 5 by 6.
func regionSamples(channels int64, more ...any) func(*Rand) []Sample {
	return func(*Rand) []Sample {
		var out []Sample
		for i, d := range []ir.DType{ir.Float32, ir.Float64} {
			rois := Tensor(d, Values{Lo: -2, Hi: 12}, 3, 5)
			out = append(out, NewSample(append([]any{"input", Tensor(d, Values{}, 2, channels, 5, 6),
				"rois", rois, "spatial_scale", []float64{0.5, 1}[i], "pooled_height", 3 - i,
				"pooled_width", 1 + i}, more...)...))
		}
		return out
	}
}

// deformed are the operands of deformable convolutions by kernels of 3 by 2.
func deformed(groups int64) []any {
	return []any{"input", f32(2, 4, 5, 4), "offset", f32(2, groups*12, 3, 4), "stride_h", 2,
		"stride_w", 1, "pad_h", 1, "pad_w", 1, "dilation_h", 1, "dilation_w", 2,
		"offset_groups", groups}
}
