package lower

import (
	"fmt"
	"strings"
)

// activationForm is how the activations of a program are quantized.
type activationForm struct {
	name, typ string
	zero      int
}

var activationForms = []activationForm{
	{"int8 symmetric", "i8", 0}, {"int8 affine", "i8", -7},
	{"uint8 symmetric", "u8", 128}, {"uint8 affine", "u8", 115},
	{"int16", "i16", 0},
}

// formProgram writes a program of one operator, whose activations have a form.
type formProgram struct {
	quantizedProgram
	act     activationForm
	weights weightsForm
}

// quantization are the arguments of a quantize or a dequantize node.
func (w *formProgram) quantization(scale float64) string {
	lo, hi := -128, 127
	switch w.act.typ {
	case "u8":
		lo, hi = 0, 255
	case "i16":
		lo, hi, scale = -32768, 32767, scale/256
	}
	return fmt.Sprintf("scale=%v, zero_point=%d, quant_min=%d, quant_max=%d, dtype=%s",
		float32(scale), w.act.zero, lo, hi, w.act.typ)
}

// input is a dequantized input, of at most 4.
func (w *formProgram) input(sizes string) string {
	v, f := w.name("x"), w.name("f")
	w.inputs = append(w.inputs, fmt.Sprintf("  input %s: %s%s\n", v, w.act.typ, sizes))
	w.nodes = append(w.nodes, fmt.Sprintf("  %s: f32%s = %s.default(input=%s, %s)\n", f, sizes,
		dequantizeOp, v, w.quantization(4./127.3)))
	return f
}

// rounded is a value with the numbers that integers of a scale stand for.
func (w *formProgram) rounded(v, sizes string, scale float64) string {
	q, f := w.name("q"), w.name("f")
	w.nodes = append(w.nodes,
		fmt.Sprintf("  %s: %s%s = %s.default(input=%s, %s)\n", q, w.act.typ, sizes, quantizeOp, v,
			w.quantization(scale)),
		fmt.Sprintf("  %s: f32%s = %s.default(input=%s, %s)\n", f, sizes, dequantizeOp, q,
			w.quantization(scale)))
	return f
}

// text is the program that quantizes v.
func (w *formProgram) text(v, sizes string, scale float64) string {
	return "program \"m.pt2\"\n\nmethod forward {\n" + strings.Join(w.inputs, "") +
		strings.Join(w.consts, "") + "\n" + strings.Join(w.nodes, "") + fmt.Sprintf(
		"  %%q: %s%s = %s.default(input=%s, %s)\n  return (%%q)\n}\n", w.act.typ, sizes,
		quantizeOp, v, w.quantization(scale))
}

// formOperator is an operator: its result, the result's sizes, and the largest number in it.
type formOperator struct {
	name  string
	write func(w *formProgram) (v, sizes string, largest float64)
}

// ofOne is an operator of one tensor of images.
func ofOne(name, call, out string, largest float64) formOperator {
	return formOperator{name, func(w *formProgram) (v, sizes string, most float64) {
		v, sizes = w.op(out, "aten."+call, w.input(formImage))
		return v, sizes, largest
	}}
}

// ofTwo is an operator of two.
func ofTwo(name, call, out string, largest float64) formOperator {
	return formOperator{name, func(w *formProgram) (v, sizes string, most float64) {
		v, sizes = w.op(out, "aten."+call, w.input(formImage), w.input(formImage))
		return v, sizes, largest
	}}
}

const formImage = "[2, 4, 6, 8]"

// formOperators are those without weights.
var formOperators = []formOperator{
	ofTwo("add", "add.Tensor(self=%s, other=%s)", formImage, 8),
	ofTwo("sub", "sub.Tensor(self=%s, other=%s)", formImage, 8),
	ofTwo("mul", "mul.Tensor(self=%s, other=%s)", formImage, 16),
	ofTwo("cat", "cat.default(tensors=[%s, %s], dim=1)", "[2, 8, 6, 8]", 4),
	ofTwo("maximum", "maximum.default(self=%s, other=%s)", formImage, 4),
	ofTwo("minimum", "minimum.default(self=%s, other=%s)", formImage, 4),
	{"matmul of two variables", func(w *formProgram) (v, sizes string, largest float64) {
		v, sizes = w.op("[3, 4, 5]", "aten.matmul.default(self=%s, other=%s)", w.input("[3, 4, 8]"),
			w.input("[3, 8, 5]"))
		return v, sizes, 32
	}},
	ofOne("max_pool2d", "max_pool2d.default(self=%s, kernel_size=[2, 2], stride=[2, 2])",
		"[2, 4, 3, 4]", 4),
	ofOne("avg_pool2d", "avg_pool2d.default(self=%s, kernel_size=[3, 3], stride=[2, 2], "+
		"padding=[1, 1])", "[2, 4, 3, 4]", 4),
	ofOne("adaptive_avg_pool2d", "adaptive_avg_pool2d.default(self=%s, output_size=[1, 1])",
		"[2, 4, 1, 1]", 2),
	ofOne("mean", "mean.dim(self=%s, dim=[2, 3], keepdim=false)", "[2, 4]", 2),
	ofOne("amax", "amax.default(self=%s, dim=[2, 3])", "[2, 4]", 4),
	ofOne("pad with a constant", "constant_pad_nd.default(self=%s, pad=[1, 1, 1, 1], value=0.0)",
		"[2, 4, 8, 10]", 4),
	ofOne("pad by reflection", "reflection_pad2d.default(self=%s, padding=[1, 1, 1, 1])",
		"[2, 4, 8, 10]", 4),
	ofOne("pad by copies", "replication_pad2d.default(self=%s, padding=[1, 1, 1, 1])",
		"[2, 4, 8, 10]", 4),
	ofOne("resize to the nearest", "upsample_nearest2d.vec(input=%s, output_size=[12, 16], "+
		"scale_factors=none)", "[2, 4, 12, 16]", 4),
	ofOne("resize bilinearly", "upsample_bilinear2d.vec(input=%s, output_size=[12, 16], "+
		"align_corners=false, scale_factors=none)", "[2, 4, 12, 16]", 4),
	ofOne("relu", "relu.default(self=%s)", formImage, 4),
	ofOne("relu6", "relu6.default(self=%s)", formImage, 4),
	ofOne("clamp", "clamp.default(self=%s, min=-1.5, max=2.5)", formImage, 4),
	ofOne("hardtanh", "hardtanh.default(self=%s)", formImage, 4),
	ofOne("leaky_relu", "leaky_relu.default(self=%s, negative_slope=0.1)", formImage, 4),
	ofOne("softmax", "softmax.int(self=%s, dim=-1, dtype=none)", formImage, 1),
	ofOne("tanh", "tanh.default(self=%s)", formImage, 1),
	ofOne("sigmoid", "sigmoid.default(self=%s)", formImage, 1),
	ofOne("gelu", "gelu.default(self=%s)", formImage, 4),
	ofOne("gelu by tanh", "gelu.default(self=%s, approximate=\"tanh\")", formImage, 4),
	ofOne("silu", "silu.default(self=%s)", formImage, 4),
	ofOne("hardswish", "hardswish.default(self=%s)", formImage, 4),
	ofOne("hardsigmoid", "hardsigmoid.default(self=%s)", formImage, 1),
	ofNorm("layer_norm", "layer_norm.default(input=%s, normalized_shape=[8], weight=%s, bias=%s)"),
	ofNorm("rms_norm", "rms_norm.default(input=%s, normalized_shape=[8], weight=%s, eps=1e-05)"),
	{"LSTM cell", lstmCell}, {"GRU cell", gruCell},
}

// ofNorm is a normalization of the last dimension.
func ofNorm(name, call string) formOperator {
	return formOperator{name, func(w *formProgram) (v, sizes string, largest float64) {
		x := w.input(formImage)
		weight := w.constant("f32[8]", "[1.0, 0.5, 1.5, 0.7, 1.2, 0.9, 1.1, 0.8]")
		bias := w.constant("f32[8]", "[0.0, 0.5, -0.5, 0.1, 0.2, -0.2, 0.3, 0.4]")
		args := []any{x, weight, bias}
		v, sizes = w.op(formImage, "aten."+call, args[:strings.Count(call, "%s")]...)
		return v, sizes, 4
	}}
}

// gate is a function of a quarter or a third of the sums of a cell.
func (w *formProgram) gate(x, f string, from, to int) string {
	v, s := w.op("[2, 8]", "aten.slice_copy.Tensor(self=%s, dim=1, start=%d, end=%d, step=1)", x,
		from, to)
	v, _ = w.op(s, "aten."+f+".default(self=%s)", v)
	return w.rounded(v, s, 1./126.7)
}

// both is a function of two values, rounded to integers.
func (w *formProgram) both(f, a, b, sizes string, scale float64) string {
	v, _ := w.op(sizes, "aten."+f+".Tensor(self=%s, other=%s)", a, b)
	return w.rounded(v, sizes, scale)
}

// lstmCell is what is behind the products of an LSTM's step.
func lstmCell(w *formProgram) (v, sizes string, largest float64) {
	x := w.both("add", w.input("[2, 32]"), w.input("[2, 32]"), "[2, 32]", 8./126.7)
	in, forget := w.gate(x, "sigmoid", 0, 8), w.gate(x, "sigmoid", 8, 16)
	cell, out := w.gate(x, "tanh", 16, 24), w.gate(x, "sigmoid", 24, 32)
	c := w.both("add", w.both("mul", forget, w.input("[2, 8]"), "[2, 8]", 4./126.7),
		w.both("mul", in, cell, "[2, 8]", 1./126.7), "[2, 8]", 4./126.7)
	v, sizes = w.op("[2, 8]", "aten.tanh.default(self=%s)", c)
	v, sizes = w.op(sizes, "aten.mul.Tensor(self=%s, other=%s)", out, w.rounded(v, sizes, 1./126.7))
	return v, sizes, 1
}

// gruCell is what is behind the products of a GRU's step.
func gruCell(w *formProgram) (v, sizes string, largest float64) {
	x, h, before := w.input("[2, 24]"), w.input("[2, 24]"), w.input("[2, 8]")
	sums := w.both("add", x, h, "[2, 24]", 8./126.7)
	reset, update := w.gate(sums, "sigmoid", 0, 8), w.gate(sums, "sigmoid", 8, 16)
	part := func(of string) string {
		v, _ := w.op("[2, 8]", "aten.slice_copy.Tensor(self=%s, dim=1, start=16, end=24)", of)
		return v
	}
	v = w.both("mul", reset, part(h), "[2, 8]", 4./126.7)
	v, sizes = w.op("[2, 8]", "aten.tanh.default(self=%s)", w.both("add", part(x), v, "[2, 8]",
		8./126.7))
	made := w.rounded(v, sizes, 1./126.7)
	v = w.both("mul", update, w.both("sub", before, made, sizes, 8./126.7), sizes, 8./126.7)
	v, sizes = w.op(sizes, "aten.add.Tensor(self=%s, other=%s)", v, made)
	return v, sizes, 8
}
