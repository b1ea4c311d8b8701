package samples

import "github.com/etgen/etgen/ir"

// seldomSamples are those of composites that few models have.
var seldomSamples = byName{
	"aten.linalg_multi_dot.default": oneSample("tensors", []Input{f32(3), f32(3, 4), f32(4, 2)}),
	"aten.chain_matmul.default":     oneSample("matrices", []Input{f32(2, 3), f32(3, 4), f32(4, 5)}),
	"aten.linalg_vander.default": several(NewSample("x", f32(2, 3)),
		NewSample("x", indices(4, 3), "N", 5)),
	"aten.pdist.default": several(NewSample("self", f32(5, 3)), NewSample("self", f32(4, 2),
		"p", 1.0), NewSample("self", f32(1, 2))),
	"aten.combinations.default": several(NewSample("self", f32(5)),
		NewSample("self", indices(9, 4), "r", 3, "with_replacement", true),
		NewSample("self", f32(2), "r", 3), NewSample("self", f32(2), "r", 0)),
	"aten.renorm.default": several(NewSample("self", f32(3, 4), "p", 2, "dim", 0, "maxnorm", 1.5),
		NewSample("self", f32(2, 3, 2), "p", 1, "dim", -2, "maxnorm", 0.5)),
	"aten.embedding_renorm.default": several(NewSample("self", f32(4, 3), "indices",
		Tensor(ir.Int64, Values{Lo: 0, Hi: 3}, 2, 2), "max_norm", 0.7, "norm_type", 2.0)),
	"aten.segment_reduce.default": several(
		NewSample("data", f32(6, 2), "reduce", "mean", "lengths",
			Tensor(ir.Int64, Values{Lo: 0, Hi: 3}, 4)),
		NewSample("data", f32(6), "reduce", "max", "offsets",
			Tensor(ir.Int64, Values{Lo: 0, Hi: 6, Sorted: true}, 4), "initial", -0.5),
		NewSample("data", f32(5, 2), "reduce", "prod", "lengths",
			Tensor(ir.Int32, Values{Lo: 0, Hi: 3}, 3))),
	"aten.fractional_max_pool2d.default": several(NewSample("self", f32(2, 2, 6, 7), "kernel_size",
		[]int{2, 3}, "output_size", []int{3, 4}, "random_samples",
		Tensor(ir.Float32, Values{Lo: 0, Hi: 0.99}, 2, 2, 2))),
	"aten.fractional_max_pool3d.default": several(NewSample("self", f32(2, 4, 6, 5), "kernel_size",
		[]int{2, 2, 1}, "output_size", []int{2, 1, 4}, "random_samples",
		Tensor(ir.Float32, Values{Lo: 0, Hi: 0.99}, 1, 2, 3))),
	"aten.norm.Scalar": several(NewSample("self", f32(3, 4)), NewSample("self", f32(5), "p", 1)),
	"aten.norm.ScalarOpt_dim": several(NewSample("self", f32(3, 4), "p", nil, "dim", []int{1}),
		NewSample("self", f32(3, 4), "p", 3.0, "dim", []int{0}, "keepdim", true)),
	"aten.norm.ScalarOpt_dim_dtype": oneSample("self", f32(3, 4), "p", 1.0, "dim", []int{0, 1},
		"keepdim", false, "dtype", ir.Float64),
	"aten.norm.ScalarOpt_dtype": oneSample("self", f32(3, 4), "p", 2, "dtype", ir.Float64),
	"aten.frobenius_norm.dim":   oneSample("self", f32(2, 3, 4), "dim", []int{1, 2}),
	"aten.gradient.scalarint": several(NewSample("self", f32(5)), NewSample("self", f32(3, 4),
		"spacing", 0.5, "dim", -1, "edge_order", 2)),
	"aten.gradient.scalararray":    oneSample("self", f32(2, 3), "spacing", 2, "dim", []int{1, 0}),
	"aten.gradient.array":          oneSample("self", f32(3, 4), "dim", []int{0}, "edge_order", 2),
	"aten.gradient.scalarrayint":   oneSample("self", f32(3, 4), "spacing", []float64{0.5, 2}),
	"aten.gradient.scalarrayarray": oneSample("self", f32(3, 4), "spacing", []float64{3}, "dim", []int{1}),
	"aten.gradient.tensorarrayint": oneSample("self", f32(4), "spacing", []Input{places(4)}),
	"aten.gradient.tensorarray": oneSample("self", f32(3, 5), "spacing",
		[]Input{places(3), places(5)}, "dim", []int{0, 1}, "edge_order", 2),
	"aten.fft_fftfreq.default":  several(NewSample("n", 5), NewSample("n", 4, "d", 0.5)),
	"aten.fft_rfftfreq.default": several(NewSample("n", 5), NewSample("n", 4, "d", 0.5)),
	"aten.mvlgamma.default": oneSample("self", Tensor(ir.Float32, Values{Lo: 2, Hi: 6}, 3, 4),
		"p", 3),
	"aten.special_round.default": several(NewSample("self", f32(5)), NewSample("self", f32(5),
		"decimals", 1)),
	"aten.isreal.default": oneSample("self", f32(3)),
	"aten.sum_to_size.default": several(NewSample("self", f32(2, 3, 4), "size", []int{3, 1}),
		NewSample("self", indices(9, 3), "size", []int{3})),
	"aten.native_dropout_backward.default": oneSample("grad_output", f32(3, 4), "mask",
		Tensor(ir.Bool, Values{}, 3, 4), "scale", 1.25),
	"aten._weight_int8pack_mm.default": oneSample("self", f32(2, 5), "mat2",
		Tensor(ir.Int8, Values{}, 3, 5), "scales", f32(3)),
	"aten.conv_tbc.default": oneSample("self", f32(6, 2, 3), "weight", f32(3, 3, 4), "bias", f32(4),
		"pad", 1),
	"aten.pad_sequence.default": several(
		NewSample("sequences", []Input{f32(2, 3), f32(4, 3)}, "padding_value", 1.5),
		NewSample("sequences", []Input{f32(3), f32(1)}, "batch_first", true, "padding_side", "left")),
	"aten.nonzero_numpy.default": nonzeroSamples,
	"aten.repeat_interleave.self_Tensor": several(
		NewSample("self", f32(3, 2), "repeats", indices(3, 3), "dim", 0),
		NewSample("self", f32(2, 2), "repeats", indices(3, 1)),
		NewSample("self", f32(2, 2), "repeats", Tensor(ir.Int64, Values{Lo: 1.5, Hi: 2.5}, 2),
			"dim", 1, "output_size", 4)),
	"aten.normal.Tensor_Tensor":   oneSample("mean", f32(3, 1), "std", zeros(4)),
	"aten.normal.Tensor_float":    oneSample("mean", f32(3), "std", 0.0),
	"aten.normal.float_Tensor":    oneSample("mean", 2.0, "std", zeros(4)),
	"aten.normal.float_float":     oneSample("mean", 2.0, "std", 0.0, "size", []int{2, 3}),
	"aten.kaiser_window.default":  windowsOf(),
	"aten.kaiser_window.periodic": windowsOf("periodic", false),
	"aten.kaiser_window.beta":     windowsOf("periodic", true, "beta", 3.0),
	"aten.isin.Tensor_Scalar":     oneSample("elements", indices(3, 4), "test_element", 1),
	"aten.isin.Scalar_Tensor":     oneSample("element", 2, "test_elements", indices(5, 3), "invert", true),
	"aten.linspace.Scalar_Tensor": oneSample("start", 1, "end", f32(), "steps", 5),
	"aten.linspace.Tensor_Scalar": oneSample("start", f32(), "end", 2.5, "steps", 4),
	"aten.linspace.Tensor_Tensor": several(NewSample("start", f32(), "end", f32(), "steps", 6),
		NewSample("start", f32(), "end", f32(), "steps", 1)),
	"aten.logspace.Scalar_Tensor": oneSample("start", 1, "end", f32(), "steps", 5),
	"aten.logspace.Tensor_Scalar": oneSample("start", f32(), "end", 2.5, "steps", 4, "base", 2.0),
	"aten.logspace.Tensor_Tensor": oneSample("start", f32(), "end", f32(), "steps", 6),
	"aten.max_unpool2d.default": oneSample("self", f32(2, 2, 2), "indices",
		Tensor(ir.Int64, Values{Lo: 0, Hi: 7, Distinct: true}, 2, 2, 2), "output_size", []int{4, 2}),
	"aten.max_unpool3d.default": oneSample("self", f32(1, 2, 2, 2), "indices",
		Tensor(ir.Int64, Values{Lo: 0, Hi: 7, Distinct: true}, 1, 2, 2, 2), "output_size",
		[]int{2, 2, 3}, "stride", []int{2, 2, 2}, "padding", []int{0, 0, 0}),
	"aten._unsafe_masked_index.default":                maskedIndex("fill", 2.5),
	"aten._unsafe_masked_index_put_accumulate.default": maskedIndex("values", f32(3)),
	"aten.mH.default":                                  selfSamples(3),
	"aten.adjoint.default":                             selfSamples(2),
	"aten.matrix_H.default":                            selfSamples(2),
	"aten.linalg_diagonal.default": several(NewSample("A", f32(2, 3, 4)), NewSample("A", f32(3, 4),
		"offset", 1)),
}

// zeros are numbers next to 0: a range from 0 to 0 stands for the default one.
func zeros(shape ...int64) Input { return Tensor(ir.Float32, Values{Lo: 0, Hi: 1e-30}, shape...) }

// places are coordinates in order.
func places(n int64) Input {
	return Tensor(ir.Float32, Values{Lo: 0, Hi: 9, Sorted: true, Distinct: true}, n)
}

func maskedIndex(name string, last any) func(*Rand) []Sample {
	return oneSample("self", f32(4, 3), "mask", Tensor(ir.Bool, Values{}, 2, 3), "indices",
		[]Input{indices(4, 2, 1), indices(3, 3)}, name, last)
}
