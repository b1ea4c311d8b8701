package lower

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// What transposed convolutions become has the same results.
func TestSplitTransposedMeans(t *testing.T) {
	ctx := &Context{Table: ops.Standard()}
	r := rand.New(rand.NewPCG(17, 18))
	changed := 0
	for i := range 80 {
		src, sizes := randomTransposed(r, i%2 == 0)
		x := randomBytes(r, int(elements(sizes)))
		run := func(p *ir.Program) string {
			outs, err := interp.New(ctx.Table).Graph(p.Methods[0].Graph,
				[]interp.Value{interp.Tensor(ir.Int8, sizes, x)})
			if err != nil {
				t.Fatalf("%v\n%s", err, src)
			}
			return string(outs[0].Tensor.Data)
		}
		p, err := ir.Parse("m", src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		want := run(p)
		pass := Pipeline{Passes: []Pass{SplitTransposed, DeadCode}}
		if err := pass.Run(ctx, p, nil); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		var text strings.Builder
		if err := ir.Print(&text, p); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "transposed=true") {
			changed++
		}
		if got := run(p); got != want {
			t.Fatalf("other results:\n%s\n%s", src, &text)
		}
	}
	if changed < 60 {
		t.Errorf("only %d were split", changed)
	}
}

// randomTransposed is a transposed convolution of integers, whose sums are exact, of images or of
// rows.
func randomTransposed(r *rand.Rand, images bool) (src string, input []int64) {
	upTo := func(n int64) int64 { return 1 + r.Int64N(n) }
	spatial := 1
	if images {
		spatial = 2
	}
	in, out := upTo(3), upTo(3)
	input, output, weight := []int64{upTo(2), in}, []int64{0, out}, []int64{in, out}
	output[0] = input[0]
	var stride, padding, outside, ones []int64
	for range spatial {
		size, k, s := upTo(4), upTo(5), upTo(3)
		p, o := r.Int64N(min(k, 3)), r.Int64N(s)
		made := (size-1)*s - 2*p + k + o
		for made < 1 {
			size, made = size+1, made+s
		}
		input, weight, output = append(input, size), append(weight, k), append(output, made)
		stride, padding = append(stride, s), append(padding, p)
		outside, ones = append(outside, o), append(ones, 1)
	}
	list := func(xs []int64) string { return strings.ReplaceAll(fmt.Sprint(xs), " ", ", ") }
	numbers := func(n int64, from int64) string {
		xs := make([]int64, n)
		for i := range xs {
			xs[i] = from + r.Int64N(9)
		}
		return list(xs)
	}
	floats := func(n int64, from int64) string {
		return strings.NewReplacer(", ", ".0, ", "]", ".0]").Replace(numbers(n, from))
	}
	weights := fmt.Sprintf(`  const %%w: i8%s = %s
  const %%s: f32[%d] = %s
  const %%z: i64[%d] = %s
  %%v: f32%s = quantized_decomposed.dequantize_per_channel.default(input=%%w, scales=%%s, zero_points=%%z, axis=1, quant_min=-127, quant_max=127, dtype=i8)`,
		list(weight), numbers(elements(weight), -4), out, floats(out, 1), out, numbers(out, -4),
		list(weight))
	if r.IntN(3) == 0 {
		weights = fmt.Sprintf("  const %%v: f32%s = %s", list(weight), floats(elements(weight), -4))
	}
	bias, ref := "", "none"
	if r.IntN(3) > 0 {
		bias, ref = fmt.Sprintf("  const %%b: f32[%d] = %s\n", out, floats(out, -4)), "%b"
	}
	return fmt.Sprintf(`program "m.pt2"

method forward {
  input %%x: i8%s
%s%s
  %%a: f32%s = quantized_decomposed.dequantize_per_tensor.default(input=%%x, scale=1.0, zero_point=3, quant_min=-128, quant_max=127, dtype=i8)
  %%c: f32%s = aten.convolution.default(input=%%a, weight=%%v, bias=%s, stride=%s, padding=%s, dilation=%s, transposed=true, output_padding=%s, groups=1)
  %%r: f32%s = aten.relu.default(self=%%c)
  %%q: i16%s = quantized_decomposed.quantize_per_tensor.default(input=%%r, scale=0.5, zero_point=-9, quant_min=-32767, quant_max=32767, dtype=i16)
  return (%%q)
}
`, list(input), bias, weights, list(input), list(output), ref, list(stride), list(padding), list(ones), list(outside),
		list(output), list(output)), input
}
