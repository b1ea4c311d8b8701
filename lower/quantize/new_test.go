package quantize

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

var lowerBackend = lower.Backend

// uneven is two layers of which channels of the first are large where those of the second are
// small.
const uneven = `program "m.pt2"

method forward {
  input %x: f32[1, 2, 4, 4]
  const %w: f32[4, 2, 1, 1] = [100.0, 50.0, 0.01, -0.02, 1.0, 1.0, 3e-5, 2e-5]
  const %b: f32[4] = [10.0, 0.001, -0.5, 1e-5]
  const %v: f32[2, 4, 1, 1] = [0.01, 90.0, 1.0, 3e4, -0.02, 80.0, -1.0, 2e4]
  const %c: f32[2] = [1.0, -1.0]

  %a: f32[1, 4, 4, 4] = aten.conv2d.default(input=%x, weight=%w, bias=%b)
  %r: f32[1, 4, 4, 4] = aten.relu.default(self=%a)
  %y: f32[1, 2, 4, 4] = aten.conv2d.default(input=%r, weight=%v, bias=%c)
  return (%y)
}
`

// Equalization leaves what the layers compute as it is, and halves the error at least.
func TestEqualize(t *testing.T) {
	scheme := Schemes[0]
	plain := recipeOf(t, parsed(t, uneven), Options{Scheme: scheme, Compare: 4})
	even := recipeOf(t, parsed(t, uneven), Options{Scheme: scheme, Compare: 4, Equalize: true})
	want, got := outputOf(t, plain.Float), outputOf(t, even.Float)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-5*math.Abs(want[i])+1e-5 {
			t.Fatalf("element %d is %v, was %v", i, got[i], want[i])
		}
	}
	before := plain.Reports["forward"].Outputs[0].SQNR
	after := even.Reports["forward"].Outputs[0].SQNR
	if after < before+6 {
		t.Errorf("%v dB, %v dB equalized", before, after)
	}
	if len(even.Recipe.Methods[0].Weights[0].Factors) != 1 || len(even.Recipe.Methods[0].Biases) != 1 {
		t.Errorf("the recipe does not tell: %+v", even.Recipe.Methods[0])
	}
}

func outputOf(t *testing.T, p *ir.Program) (xs []float64) {
	t.Helper()
	m := p.Methods[0]
	inputs, err := normal(m, 1).Get(0)
	if err != nil {
		t.Fatal(err)
	}
	outs, err := newRunner(newContext().Table, m, nil, nil).run(inputs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	floats(outs[0].Tensor.Data, func(x float64) { xs = append(xs, x) })
	return xs
}

// A bias that is corrected leaves less of the mean error of a layer.
func TestCorrectBias(t *testing.T) {
	text := strings.ReplaceAll(uneven, "100.0, 50.0, 0.01, -0.02", "0.73, 0.21, 0.31, -0.99")
	means := func(biases Biases) float64 {
		scheme := Scheme{Name: "int4", Activations: ir.Int8, Bits: 4} // whose errors are large
		r := recipeOf(t, parsed(t, text), Options{Scheme: scheme, Compare: 8, Biases: biases})
		a := (&Default{Scheme: scheme}).Annotate(ModelOf(newContext().Table, r.Float, r.Float.Methods[0]))
		c := &comparison{table: newContext().Table, float: r.Float.Methods[0], annotation: a,
			quantized: r.Quantized.Methods[0]}
		if _, err := c.compare(normal(r.Float.Methods[0], 8), 8); err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, d := range c.drift {
			for _, x := range d.means() {
				total += math.Abs(x)
			}
		}
		return total
	}
	if before, after := means(LeftBiases), means(CorrectedBiases); after > before/10 {
		t.Errorf("means are off by %v, corrected by %v", before, after)
	}
}

// Weights of 4 bits have corrected biases where there are enough samples, with enough sums of a
// channel. One sample of an image of 4 by 4 has 16 sums, but is one sample. Images without a row
// have no sums.
func TestBiasOfFewBits(t *testing.T) {
	scheme, err := SchemeNamed("int4-weights")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		samples int
		image   string
		opt     Options
		want    bool
	}{
		{FewSamples, "1, 1]", Options{}, true},
		{FewSamples, "2, 2]", Options{}, true},
		{FewSamples, "2, 2]", Options{Biases: LeftBiases}, false},
		{FewSamples, "0, 2]", Options{}, false},
		{FewSamples - 1, "4, 4]", Options{}, false},
		{1, "4, 4]", Options{}, false},
		{1, "4, 4]", Options{Biases: CorrectedBiases}, true},
		{0, "2, 2]", Options{}, false},
		{1, "2, 2]", Options{}, false},
		{1, "2, 2]", Options{Compare: 1, Biases: CorrectedBiases}, true},
	} {
		p := parsed(t, strings.ReplaceAll(uneven, "4, 4]", tt.image))
		tt.opt.Scheme = scheme
		r, err := New(newContext(), p, map[string]Samples{"forward": normal(p.Methods[0], tt.samples)},
			tt.opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.Recipe.Methods[0].Biases) > 0; got != tt.want {
			t.Errorf("%d samples of %s, %+v: biases are corrected: %v", tt.samples, tt.image, tt.opt, got)
		}
	}
}

// Layers stay in float32, or get activations of 16 bits, by pattern and by error.
func TestKeep(t *testing.T) {
	types := func(opt Options) string {
		opt.Scheme, opt.Compare = Schemes[0], 2
		r := recipeOf(t, parsed(t, uneven), opt)
		var words []string
		for _, a := range r.Recipe.Methods[0].Activations {
			words = append(words, a.Value+":"+a.DType)
		}
		for _, w := range r.Recipe.Methods[0].Weights {
			words = append(words, w.Value+":"+w.DType)
		}
		return strings.Join(append(words, r.Kept...), " ")
	}
	for _, tt := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "x:int8 r:int8 y:int8 w:int8 v:int8"},
		{Options{KeepFloat: []string{"y"}}, "x:int8 r:int8 w:int8"},
		{Options{KeepFloat: []string{"y"}, Wide: true}, "x:int8 r:int16 y:int16 w:int8 v:int8"},
		{Options{KeepFloat: []string{"conv*"}}, ""},
		{Options{KeepWorst: 1}, "x:int8 r:int8 w:int8 y"},
		{Options{Accept: func(p *ir.Program) (bool, error) {
			return !strings.Contains(p.String(), "%x, scale"), nil
		}}, "a y"},
	} {
		if got := types(tt.opt); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.opt, got, tt.want)
		}
	}
}

// Bad samples are errors that name the input or the node.
func TestBadSamples(t *testing.T) {
	p := parsed(t, uneven)
	constant := func(x float64) Samples {
		return Samples{Count: 2, Get: func(int) ([]interp.Value, error) {
			return []interp.Value{interp.Tensor(ir.Float32, []int64{1, 2, 4, 4},
				raw(slices.Repeat([]float64{x}, 32)...))}, nil
		}}
	}
	for _, tt := range []struct {
		samples Samples
		want    string
	}{
		{Samples{}, "m.pt2: there are no samples to calibrate with"},
		{constant(math.NaN()), "m.pt2: sample 0: input x: 32 of 32 elements are not finite"},
		{constant(1), "m.pt2: input x: all elements of all samples are 1: there is no range"},
		{constant(3e38), "m.pt2: sample 0: node r (aten.relu.default): "},
		{Samples{Count: 1, Get: func(int) ([]interp.Value, error) {
			return nil, fmt.Errorf("it is gone")
		}}, "m.pt2: sample 0: it is gone"},
		{Samples{Count: 1, Get: func(int) ([]interp.Value, error) { return nil, nil }},
			"m.pt2: sample 0: an input is missing"},
	} {
		_, err := New(newContext(), ir.Clone(p), map[string]Samples{"forward": tt.samples},
			Options{Scheme: Schemes[0]})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	_, err := New(newContext(), parsed(t, `program "m.pt2"

method forward {
  input %x: f32[2]

  %y: f32[2] = aten.relu.default(self=%x)
  return (%y)
}
`), nil, Options{Scheme: Schemes[0]})
	if err == nil || !strings.Contains(err.Error(), "there is nothing to quantize") {
		t.Errorf("error %v", err)
	}
}

// No sum exceeds the bound that a report gives: with the inputs that make it largest it is
// reached.
func TestLargestSum(t *testing.T) {
	r := recipeOf(t, parsed(t, small), Options{Scheme: Schemes[0], Compare: 1})
	l := r.Reports["forward"].Layers[0]
	m := r.Recipe.Methods[0]
	far := max(127-m.Activations[0].ZeroPoint, m.Activations[0].ZeroPoint+128)
	want := 0.0
	for c, q := range [][2]float64{{127, 64}, {127, 64}} {
		b := []float64{1, 2}[c] / float64(m.Activations[0].Scale) / float64(m.Weights[0].Scales[c])
		want = max(want, (q[0]+q[1])*float64(far)+b)
	}
	if math.Abs(float64(l.Sum)-want) > 1 {
		t.Errorf("largest sum %d, want %v", l.Sum, want)
	}
}

// Sums of int16 and int8 that int32 may not hold are of int64, or floats where time counts, and the
// summary says so.
func TestSumsBeyondInt32(t *testing.T) {
	const depth = 700 // 700·127·32767 is more than 2^31
	text := fmt.Sprintf(`program "m.pt2"

method forward {
  input %%x: f32[2, %d]
  const %%w: f32[1, %[1]d] = [1.0%s]

  %%y: f32[2, 1] = aten.linear.default(input=%%x, weight=%%w, bias=none)
  %%z: f32[2, 1] = aten.relu.default(self=%%y)
  return (%%z)
}
`, depth, strings.Repeat(", 1.0", depth-1))
	for _, name := range []string{"int8", "int16x8"} {
		scheme, err := SchemeNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		p := parsed(t, text)
		r := recipeOf(t, ir.Clone(p), Options{Scheme: scheme, Compare: 1})
		var shown strings.Builder
		(&Summary{Result: r}).Text(&shown, -1)
		beyond := name == "int16x8"
		if strings.Contains(shown.String(), "int32 may not hold their sums: y\n") != beyond ||
			strings.Contains(shown.String(), "no int32 sum exceeds") == beyond {
			t.Errorf("%s: the summary is\n%s", name, &shown)
		}
		if err := Convert(ops.Standard(), p, r.Recipe); err != nil {
			t.Fatal(err)
		}
		for _, speed := range []bool{false, true} {
			p, ctx := ir.Clone(p), newContext()
			ctx.Speed = speed
			if err := lower.Backend.Run(ctx, p, nil); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(p.String(), "dtype=i64") != (beyond && !speed) {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
}

// With integers outside, inputs and outputs are int8 and say what they stand for; the program is
// the same after its text was read.
func TestOutside(t *testing.T) {
	p := parsed(t, uneven)
	var told []int
	r := recipeOf(t, ir.Clone(p), Options{Scheme: Schemes[0], Outside: true,
		Progress: func(done, all int) { told = append(told, done, all) }})
	if n := len(told); n < 4 || told[0] != 0 || told[n-2] != told[n-1] {
		t.Errorf("progress is %v: it begins before the first run, and ends with all", told)
	}
	if err := Convert(newContext().Table, p, r.Recipe); err != nil {
		t.Fatal(err)
	}
	m := p.Methods[0]
	a := r.Recipe.Methods[0].Activations
	in, out := m.Inputs[0].Quantized, m.Outputs[0].Quantized
	if in == nil || out == nil || in.ZeroPoint != a[0].ZeroPoint ||
		float32(out.Scale) != float32(a[len(a)-1].Scale) {
		t.Fatalf("in %+v, out %+v, recipe %+v", in, out, a)
	}
	ref := m.Graph.Outputs[0].(ir.Ref)
	if m.Graph.Inputs[0].Type.DType != ir.Int8 || ref.Value.Type.DType != ir.Int8 {
		t.Errorf("%v to %v", m.Graph.Inputs[0].Type, ref.Value.Type)
	}
	if again := parsed(t, p.String()); again.String() != p.String() {
		t.Errorf("%v\nbecomes\n%v", p, again)
	}
	r.Recipe.Methods[0].Activations = a[1:]
	err := Convert(newContext().Table, parsed(t, uneven), r.Recipe)
	if err == nil || !strings.Contains(err.Error(), "input x is not quantized") {
		t.Errorf("error %v", err)
	}
}
