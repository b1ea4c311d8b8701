package lower

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// No layer dequantizes its weights at run time, whatever their zero points are, and none means
// something else. Scales that the run computes have no other way.
func TestZeroPointsOfWeights(t *testing.T) {
	count := 0
	for _, layer := range []string{"linear", "addmm", "convolution", "depthwise", "transposed"} {
		for _, act := range []string{"f32", "i8", "u8", "i16"} {
			for _, weight := range []string{"i8", "u8"} {
				for _, zeros := range []string{"none", "same", "near", "far"} {
					src := affineLayer(layer, act, weight, zeros)
					for i, ctx := range []*Context{{}, {Speed: true}, {Fixed: true}} {
						if count++; testing.Short() && count/3%3 != i {
							continue // each in its turn
						}
						ctx.Table = ops.Standard()
						what := fmt.Sprintf("%s of %s, weights %s with zero points %s, speed %v, fixed %v",
							layer, act, weight, zeros, ctx.Speed, ctx.Fixed)
						integers := zeros == "none" || zeros == "same" && act != "f32" ||
							act == "f32" && zeros != "far" && layer == "convolution"
						sameLayer(t, what, ctx, src, act, integers)
					}
				}
			}
		}
	}
}

// sameLayer compares a program before and after Backend.
func sameLayer(t *testing.T, what string, ctx *Context, src, act string, integers bool) {
	t.Helper()
	before, err := ir.Parse("m", src)
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, src)
	}
	after, _ := ir.Parse("m", src)
	if err := Backend.Run(ctx, after, nil); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	floats := false
	constant := Constants(after, after.Methods[0])
	for n := range after.Methods[0].Graph.All() {
		base := ir.OpBase(n.Op)
		if x, ok := n.Arg("input").(ir.Ref); ok && strings.HasPrefix(base, "dequantize") &&
			constant[x.Value] {
			t.Errorf("%s: dequantized at run time", what)
		}
		floats = floats || strings.HasPrefix(n.Op, "aten.") && (base == "convolution" ||
			base == "linear" || base == "addmm" || base == "mm")
	}
	if floats && integers && !ctx.Speed {
		t.Errorf("%s: the weights are float32", what)
	}
	x := before.Methods[0].Graph.Inputs[0].Type
	sizes, _ := x.StaticSizes()
	n, _ := x.Numel().Const()
	r := rand.New(rand.NewPCG(1, 2))
	var raw []byte
	for range n {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(r.NormFloat64())))
	}
	in := []interp.Value{interp.Tensor(ir.Float32, sizes, raw)}
	want, got := outputsOf(t, ctx, before, in, nil)[0], outputsOf(t, ctx, after, in, nil)[0]
	near := map[string]float64{"f32": 1e-3, "i8": 0.51, "u8": 0.51, "i16": 0.011}[act] // a step
	for i := range want {
		if !(math.Abs(want[i]-got[i]) <= near) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// affineLayer is a program with a layer whose 16 channels have zero points: none, the same, such
// that int8 holds the weights less these ("near"), or not ("far").
func affineLayer(layer, act, weight, zeros string) string {
	list := func(n int, f func(i int) any) string {
		xs := make([]string, n)
		for i := range xs {
			xs[i] = fmt.Sprint(f(i))
		}
		return strings.Join(xs, ", ")
	}
	sizes, weights, x := "[16, 16]", 256, "[4, 16]"
	switch layer {
	case "convolution", "transposed":
		sizes, weights, x = "[16, 16, 3, 3]", 256*9, "[1, 16, 5, 5]"
	case "depthwise":
		sizes, weights, x = "[16, 1, 3, 3]", 16*9, "[1, 16, 5, 5]"
	}
	less, limits := 0, "-128, quant_max=127"
	if weight == "u8" {
		less, limits = 128, "0, quant_max=255"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "program \"m.pt2\"\n\nmethod forward {\n  input %%x: f32%s\n", x)
	fmt.Fprintf(&b, "  const %%w: %s%s = [%s]\n", weight, sizes, list(weights, func(i int) any {
		if zeros == "far" {
			return i*37%256 - 128 + less
		}
		return i*37%100 - 50 + less
	}))
	fmt.Fprintf(&b, "  const %%s: f32[16] = [%s]\n", list(16, func(i int) any {
		return float32(0.01) + float32(i)/1000
	}))
	fmt.Fprintf(&b, "  const %%z: i64[16] = [%s]\n", list(16, func(i int) any {
		switch zeros {
		case "none":
			return less
		case "same":
			return 3 + less
		}
		return i - 5 + less
	}))
	fmt.Fprintf(&b, "  const %%b: f32[16] = [%s]\n\n", list(16, func(i int) any {
		return fmt.Sprintf("%.1f", float64(i)-4.3)
	}))
	rounded := func(to, from, sizes, scale string) {
		args := map[string]string{"i8": "zero_point=-3, quant_min=-128, quant_max=127",
			"u8":  "zero_point=120, quant_min=0, quant_max=255",
			"i16": "zero_point=0, quant_min=-32768, quant_max=32767"}[act]
		for _, step := range [][4]string{{to + "_q", act, "quantize", from},
			{to, "f32", "dequantize", to + "_q"}} {
			fmt.Fprintf(&b, "  %%%s: %s%s = quantized_decomposed.%s_per_tensor.default(input=%%%s, "+
				"scale=%s, %s, dtype=%s)\n", step[0], step[1], sizes, step[2], step[3], scale, args, act)
		}
	}
	in := "x"
	if act != "f32" {
		in = "a"
		rounded("a", "x", x, "0.02")
	}
	axis := 0
	if layer == "transposed" {
		axis = 1
	}
	fmt.Fprintf(&b, "  %%v: f32%s = quantized_decomposed.dequantize_per_channel.default(input=%%w, "+
		"scales=%%s, zero_points=%%z, axis=%d, quant_min=%s, dtype=%s)\n", sizes, axis, limits, weight)
	y := x
	switch layer {
	case "linear":
		fmt.Fprintf(&b, "  %%y: f32%s = aten.linear.default(input=%%%s, weight=%%v, bias=%%b)\n", y, in)
	case "addmm":
		fmt.Fprintf(&b, "  %%p: f32[16, 16][1, 16] = aten.permute.default(self=%%v, dims=[1, 0])\n")
		fmt.Fprintf(&b, "  %%y: f32%s = aten.addmm.default(self=%%b, mat1=%%%s, mat2=%%p)\n", y, in)
	default:
		groups := 1
		if layer == "depthwise" {
			groups = 16
		}
		fmt.Fprintf(&b, "  %%y: f32%s = aten.convolution.default(input=%%%s, weight=%%v, bias=%%b, "+
			"stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=%v, output_padding=[0, 0], "+
			"groups=%d)\n", y, in, layer == "transposed", groups)
	}
	if act == "f32" {
		return b.String() + "  return (%y)\n}\n"
	}
	rounded("o", "y", y, map[string]string{"i8": "0.5", "u8": "0.5", "i16": "0.01"}[act])
	return b.String() + "  return (%o)\n}\n"
}
