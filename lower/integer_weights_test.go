package lower

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/seq"
)

// weightsForm is how the weights of a layer are quantized, and its bias.
type weightsForm struct {
	name    string
	most    int  // the largest integer
	channel bool // a scale for each channel
	zero    int
	group   int    // so many elements of a row have a scale
	bias    string // "none", "float" or "int32"
	// train says that the program quantizes float weights, as one that was trained so does.
	train bool
}

// weightForms are those of layers whose activations are quantized, too.
var weightForms = []weightsForm{
	{name: "per tensor, symmetric, no bias", most: 127, bias: "none"},
	{name: "per tensor, symmetric, float bias", most: 127, bias: "float"},
	{name: "per tensor, affine, float bias", most: 100, zero: 9, bias: "float"},
	{name: "per channel, symmetric, float bias", most: 127, channel: true, bias: "float"},
	{name: "per channel, symmetric, int32 bias", most: 127, channel: true, bias: "int32"},
	{name: "per channel, affine, int32 bias", most: 100, channel: true, zero: -5, bias: "int32"},
	{name: "int4 per channel, float bias", most: 7, channel: true, bias: "float"},
	{name: "trained, per channel", most: 127, channel: true, bias: "float", train: true},
}

// weightOnlyForms are those of layers of floats, and of activations with scales of the run.
var weightOnlyForms = []weightsForm{
	{name: "int8 per channel", most: 127, channel: true, bias: "float"},
	{name: "int8 per tensor", most: 127, bias: "float"},
	{name: "int4 per channel", most: 7, channel: true, bias: "float"},
	{name: "int4 groups of 32", most: 7, group: 32, bias: "float"},
	{name: "int4 groups of 64", most: 7, group: 64, bias: "float"},
	{name: "int4 groups of 128", most: 7, group: 128, bias: "float"},
}

// formLayer is an operator with weights. Sizes of weights begin with the channels, but those of a
// transposed convolution.
type formLayer struct {
	name              string
	x, weight, result string
	axis              int // that of channels
	groups            int
	rest              string // the other arguments of a convolution
}

const formChannels = 16

var formLayers = []formLayer{
	{name: "linear", x: "[4, 128]", weight: "[16, 128]", result: "[4, 16]"},
	{name: "addmm", x: "[4, 128]", weight: "[16, 128]", result: "[4, 16]"},
	{name: "mm", x: "[4, 128]", weight: "[16, 128]", result: "[4, 16]"},
	{name: "embedding", x: "[5]", weight: "[16, 128]", result: "[5, 128]"},
	{name: "conv1d", x: "[1, 16, 9]", weight: "[16, 16, 3]", result: "[1, 16, 9]",
		rest: "stride=[1], padding=[1], dilation=[1], transposed=false, output_padding=[0]"},
	{name: "conv2d", x: "[1, 16, 6, 5]", weight: "[16, 16, 3, 3]", result: "[1, 16, 6, 5]",
		rest: "stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=false, " +
			"output_padding=[0, 0]"},
	{name: "conv2d 1x1", x: "[1, 128, 3, 2]", weight: "[16, 128, 1, 1]", result: "[1, 16, 3, 2]",
		rest: "stride=[1, 1], padding=[0, 0], dilation=[1, 1], transposed=false, " +
			"output_padding=[0, 0]"},
	{name: "conv2d in strides", x: "[1, 16, 6, 5]", weight: "[16, 16, 3, 3]",
		result: "[1, 16, 3, 3]", rest: "stride=[2, 2], padding=[1, 1], dilation=[1, 1], " +
			"transposed=false, output_padding=[0, 0]"},
	{name: "conv2d dilated", x: "[1, 16, 7, 6]", weight: "[16, 16, 3, 3]", result: "[1, 16, 3, 2]",
		rest: "stride=[1, 1], padding=[0, 0], dilation=[2, 2], transposed=false, " +
			"output_padding=[0, 0]"},
	{name: "conv2d in groups", x: "[1, 16, 6, 5]", weight: "[16, 4, 3, 3]",
		result: "[1, 16, 6, 5]", groups: 4, rest: "stride=[1, 1], padding=[1, 1], " +
			"dilation=[1, 1], transposed=false, output_padding=[0, 0]"},
	{name: "depthwise conv2d", x: "[1, 16, 6, 5]", weight: "[16, 1, 3, 3]",
		result: "[1, 16, 6, 5]", groups: 16, rest: "stride=[1, 1], padding=[1, 1], " +
			"dilation=[1, 1], transposed=false, output_padding=[0, 0]"},
	{name: "transposed conv2d", x: "[1, 16, 4, 5]", weight: "[16, 16, 3, 3]", axis: 1,
		result: "[1, 16, 9, 11]", rest: "stride=[2, 2], padding=[0, 0], dilation=[1, 1], " +
			"transposed=true, output_padding=[0, 0]"},
	{name: "conv3d", x: "[1, 16, 3, 4, 3]", weight: "[16, 16, 2, 2, 2]",
		result: "[1, 16, 2, 3, 2]", rest: "stride=[1, 1, 1], padding=[0, 0, 0], " +
			"dilation=[1, 1, 1], transposed=false, output_padding=[0, 0, 0]"},
}

// of writes the layer of a float tensor.
func (l formLayer) of(w *formProgram, x string) (v, sizes string, largest float64) {
	weight := w.weight(l.weight, l.axis)
	bias := "none"
	if l.name != "embedding" {
		bias = w.bias()
	}
	depth := float64(numelOf(l.weight)) / formChannels
	largest = 3 * 2 * 0.5 * depth / 8 // about what random numbers add up to
	switch {
	case l.name == "embedding":
		i := w.name("i")
		w.inputs = append(w.inputs, fmt.Sprintf("  input %s: i64%s\n", i, l.x))
		v, sizes = w.op(l.result, "aten.embedding.default(weight=%s, indices=%s)", weight, i)
		return v, sizes, 1
	case l.name == "linear":
		v, sizes = w.op(l.result, "aten.linear.default(input=%s, weight=%s, bias=%s)", x, weight, bias)
	case l.rest == "":
		p := w.name("p")
		w.nodes = append(w.nodes, fmt.Sprintf(
			"  %s: f32[128, 16][1, 128] = aten.permute.default(self=%s, dims=[1, 0])\n", p, weight))
		if l.name == "mm" || bias == "none" {
			v, sizes = w.op(l.result, "aten.mm.default(self=%s, mat2=%s)", x, p)
		} else {
			v, sizes = w.op(l.result, "aten.addmm.default(self=%s, mat1=%s, mat2=%s)", bias, x, p)
		}
	default:
		v, sizes = w.op(l.result, "aten.convolution.default(input=%s, weight=%s, bias=%s, "+
			l.rest+", groups=%d)", x, weight, bias, max(1, l.groups))
	}
	return v, sizes, largest
}

// numelOf is the product of sizes.
func numelOf(sizes string) int {
	n := 1
	for word := range strings.SplitSeq(strings.Trim(sizes, "[]"), ", ") {
		var size int
		fmt.Sscan(word, &size)
		n *= size
	}
	return n
}

// listOf writes a list of n elements.
func listOf(n int, f func(i int) any) string {
	return "[" + strings.Join(seq.Of(n, func(i int) string { return fmt.Sprint(f(i)) }), ", ") + "]"
}

// weight is a dequantized constant.
func (w *formProgram) weight(sizes string, axis int) string {
	f := w.weights
	lo, hi := -f.most-1, f.most
	if f.zero != 0 {
		lo, hi = -128, 127
	}
	scale := func(i int) any { return float32(0.5) / float32(f.most) * (1 + float32(i%7)/10) }
	typ := "i8"
	if f.train {
		typ = "f32"
	}
	c := w.constant(typ+sizes, listOf(numelOf(sizes), func(int) any {
		if f.train {
			return float32(w.Float64() - 0.5)
		}
		return w.IntN(2*f.most+1) - f.most + f.zero
	}))
	limits := fmt.Sprintf("quant_min=%d, quant_max=%d, dtype=i8", lo, hi)
	v := w.name("w")
	call := ""
	switch {
	case f.group > 0:
		rows := fmt.Sprintf("[%d, %d]", formChannels, numelOf(sizes)/formChannels/f.group)
		call = fmt.Sprintf("channel_group.default(input=%s, scales=%s, zero_points=none, %s, "+
			"group_size=%d, output_dtype=f32)", c, w.constant("f32"+rows,
			listOf(numelOf(rows), scale)), limits, f.group)
	case f.channel:
		args := fmt.Sprintf("scales=%s, zero_points=%s, axis=%d, %s",
			w.constant("f32[16]", listOf(16, scale)),
			w.constant("i64[16]", listOf(16, func(int) any { return f.zero })), axis, limits)
		if f.train {
			q := w.name("q")
			w.nodes = append(w.nodes, fmt.Sprintf("  %s: i8%s = "+
				"quantized_decomposed.quantize_per_channel.default(input=%s, %s)\n", q, sizes, c, args))
			c = q
		}
		call = fmt.Sprintf("channel.default(input=%s, %s)", c, args)
	default:
		call = fmt.Sprintf("tensor.default(input=%s, scale=%v, zero_point=%d, %s)", c, scale(0),
			f.zero, limits)
	}
	w.nodes = append(w.nodes, fmt.Sprintf("  %s: f32%s = quantized_decomposed.dequantize_per_%s\n", v,
		sizes, call))
	return v
}

// bias is one, dequantized if it is of integers, or none.
func (w *formProgram) bias() string {
	f := w.weights
	switch f.bias {
	case "float":
		return w.constant("f32[16]", listOf(16, func(i int) any {
			return fmt.Sprintf("%.2f", float64(i)/5-1.3)
		}))
	case "int32":
		c, v := w.constant("i32[16]", listOf(16, func(i int) any { return 900*i - 7000 })), w.name("b")
		w.nodes = append(w.nodes, fmt.Sprintf("  %s: f32[16] = "+
			"quantized_decomposed.dequantize_per_tensor.default(input=%s, scale=0.00021, "+
			"zero_point=0, quant_min=-2147483648, quant_max=2147483647, dtype=i32)\n", v, c))
		return v
	}
	return "none"
}

// floatInput is an input that is not quantized.
func (w *formProgram) floatInput(sizes string) string {
	x := w.name("x")
	w.inputs = append(w.inputs, fmt.Sprintf("  input %s: f32%s\n", x, sizes))
	return x
}

// dynamic is a float tensor quantized with scales that the run chooses: one, or one for each row.
func (w *formProgram) dynamic(x, sizes string, rows bool) string {
	s, z, q, f := w.name("s"), w.name("z"), w.name("q"), w.name("f")
	one, choose, to, scales, zeros := "[1]", "choose_qparams.tensor(input=%s, quant_min=-128, "+
		"quant_max=127, eps=0.000244140625, dtype=i8)", "tensor.tensor", "scale", "zero_point"
	last := ""
	if rows {
		one = sizes[:strings.LastIndex(sizes, ",")] + ", 1]"
		choose = "choose_qparams_per_token_asymmetric.default(input=%s, dtype=i8)"
		to, scales, zeros, last = "token.default", "scales", "zero_points", ", output_dtype=f32"
	}
	args := fmt.Sprintf("%s=%s, %s=%s, quant_min=-128, quant_max=127, dtype=i8", scales, s, zeros, z)
	w.nodes = append(w.nodes,
		fmt.Sprintf("  %s: f64%s, %s: i64%s = c%s: quantized_decomposed."+choose+"\n", s, one, z, one,
			s[1:], x),
		fmt.Sprintf("  %s: i8%s = quantized_decomposed.quantize_per_%s(input=%s, %s)\n", q, sizes, to,
			x, args),
		fmt.Sprintf("  %s: f32%s = quantized_decomposed.dequantize_per_%s(input=%s, %s%s)\n", f,
			sizes, to, q, args, last))
	return f
}

// floats is the program that returns a float.
func (w *formProgram) floats(v string) string {
	return "program \"m.pt2\"\n\nmethod forward {\n" + strings.Join(w.inputs, "") +
		strings.Join(w.consts, "") + "\n" + strings.Join(w.nodes, "") + "  return (" + v + ")\n}\n"
}
