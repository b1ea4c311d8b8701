package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// quantizedPrograms make the graphs between dequantize nodes and a quantize node. Each has many
// results that lie in the middle of two integers.
var quantizedPrograms = []struct {
	name  string
	seeds uint64
	write func(w *quantizedProgram) (v, sizes string)
}{
	{"mean", 96, func(w *quantizedProgram) (v, sizes string) {
		h, d := w.size(1, 8), w.size(1, 8)
		if w.IntN(2) == 0 {
			x := w.input(fmt.Sprintf("[64, %d]", h), anyInts)
			return w.op("[64]", "aten.mean.dim(self=%s, dim=[-1])", x)
		}
		x := w.input(fmt.Sprintf("[4, 16, %d, %d]", h, d), anyInts)
		return w.op("[4, 16, 1, 1]", "aten.mean.dim(self=%s, dim=[2, 3], keepdim=true)", x)
	}},
	{"scaled_mean", 80, func(w *quantizedProgram) (v, sizes string) {
		x := w.input(fmt.Sprintf("[64, %d]", w.size(1, 5)), anyInts)
		v, _ = w.op("[64]", "aten.mean.dim(self=%s, dim=[1])", x)
		return w.op("[64]", "aten.mul.Scalar(self=%s, other=%v)", v, w.quotient())
	}},
	{"pool", 24, func(w *quantizedProgram) (v, sizes string) {
		h, d := w.size(1, 4), w.size(1, 4)
		x := w.input(fmt.Sprintf("[4, 6, %d, %d]", 3*h, 4*d), anyInts)
		if w.IntN(3) == 0 {
			return w.op("[4, 6, 3, 2]", "aten.adaptive_avg_pool2d.default(self=%s, output_size=[3, 2])", x)
		}
		pad := [2]int64{min(h/2, w.Int64N(2)), min(d/2, w.Int64N(2))}
		rows, columns := (2*h+2*pad[0])/h+1, (3*d+2*pad[1])/d+1
		return w.op(fmt.Sprintf("[4, 6, %d, %d]", rows, columns), "aten.avg_pool2d.default(self=%s, "+
			"kernel_size=[%d, %d], stride=[%d, %d], padding=[%d, %d], count_include_pad=%v)",
			x, h, d, h, d, pad[0], pad[1], w.IntN(2) == 0)
	}},
	{"resize", 16, func(w *quantizedProgram) (v, sizes string) {
		x := w.input("[1, 6, 4, 5]", anyInts)
		h, d := w.size(4, 8), w.size(5, 10)
		return w.op(fmt.Sprintf("[1, 6, %d, %d]", h, d), "aten.upsample_bilinear2d.vec(input=%s, "+
			"output_size=[%d, %d], align_corners=%v, scale_factors=none)", x, h, d, w.IntN(2) == 0)
	}},
	{"sum", 400, func(w *quantizedProgram) (v, sizes string) {
		v = w.input("[4, 50]", anyInts)
		for range 1 + w.IntN(3) {
			op := []string{"add", "sub"}[w.IntN(2)]
			v, _ = w.op("[4, 50]", "aten."+op+".Tensor(self=%s, other=%s)", v, w.input("[4, 50]", anyInts))
		}
		return v, "[4, 50]"
	}},
	{"scaled_sum", 400, func(w *quantizedProgram) (v, sizes string) {
		v, _ = w.op("[200]", "aten.mul.Scalar(self=%s, other=%v)", w.input("[200]", anyInts),
			w.quotient())
		return w.op("[200]", "aten.add.Tensor(self=%s, other=%s)", v, w.input("[200]", anyInts))
	}},
	{"linear", 24, func(w *quantizedProgram) (v, sizes string) {
		v, _ = w.op("[200]", "aten.mul.Scalar(self=%s, other=%v)", w.input("[200]", anyInts),
			w.quotient())
		v, _ = w.op("[200]", "aten.add.Scalar(self=%s, other=%v)", v, 100*w.quotient())
		return w.op("[200]", "aten.relu.default(self=%s)", v)
	}},
	{"product", 16, func(w *quantizedProgram) (v, sizes string) {
		return w.op("[200]", "aten.mul.Tensor(self=%s, other=%s)", w.input("[200]", bytes8),
			w.input("[200]", bytes8))
	}},
	{"prelu", 24, func(w *quantizedProgram) (v, sizes string) {
		slope := w.constant("f32[1]", fmt.Sprintf("[%v]", w.quotient()))
		return w.op("[200]", "aten._prelu_kernel.default(self=%s, weight=%s)",
			w.input("[200]", bytes8), slope)
	}},
	{"function", 16, func(w *quantizedProgram) (v, sizes string) {
		f := []string{"sigmoid", "tanh", "silu"}[w.IntN(3)]
		return w.op("[200]", "aten."+f+".default(self=%s)", w.input("[200]", anyInts))
	}},
	{"floats", 16, func(w *quantizedProgram) (v, sizes string) {
		v, w.scale = w.name("x"), 0.1
		w.inputs = append(w.inputs, fmt.Sprintf("  input %s: f32[200]\n", v))
		return v, "[200]"
	}},
	{"moved", 24, func(w *quantizedProgram) (v, sizes string) {
		x, y := w.input("[4, 50]", anyInts), w.input("[4, 50]", anyInts)
		if w.IntN(2) == 0 {
			return w.op("[4, 50]", "aten.maximum.default(self=%s, other=%s)", x, y)
		}
		return w.op("[8, 50]", "aten.cat.default(tensors=[%s, %s], dim=0)", x, y)
	}},
}

// bytes8 are the types of 8 bits, anyInts all of quantized tensors.
var bytes8, anyInts = []string{"i8", "u8"}, []string{"i8", "u8", "i16"}

// quantizedProgram writes the text of a program.
type quantizedProgram struct {
	*rand.Rand
	scale          float64 // one of the first input
	values         int
	inputs, consts []string
	nodes          []string
}

func (w *quantizedProgram) size(least, most int64) int64 { return least + w.Int64N(most-least+1) }

// quotient is one of scales: a power of two, a small fraction or any number.
func (w *quantizedProgram) quotient() float64 {
	switch w.IntN(4) {
	case 0:
		return math.Ldexp(1, w.IntN(5)-2)
	case 1:
		return float64(1+w.IntN(6)) / float64(1+w.IntN(6))
	}
	return math.Exp(w.NormFloat64())
}

func (w *quantizedProgram) name(letter string) string {
	w.values++
	return fmt.Sprintf("%%%s%d", letter, w.values)
}

func (w *quantizedProgram) constant(typ, data string) string {
	v := w.name("c")
	w.consts = append(w.consts, fmt.Sprintf("  const %s: %s = %s\n", v, typ, data))
	return v
}

// op writes a node that makes floats of the given sizes.
func (w *quantizedProgram) op(sizes, format string, args ...any) (v, out string) {
	v = w.name("v")
	w.nodes = append(w.nodes, fmt.Sprintf("  %s: f32%s = %s\n", v, sizes,
		fmt.Sprintf(format, args...)))
	return v, sizes
}

// quantization are the arguments of one to or from integers of one of the types.
func (w *quantizedProgram) quantization(types []string, scale float64) (typ, args string) {
	typ = types[w.IntN(len(types))]
	lo, hi, zero := -128, 127, w.IntN(256)-128
	switch typ {
	case "u8":
		lo, hi, zero = 0, 255, zero+128
	case "i16":
		lo, hi, zero, scale = -32768, 32767, 0, scale/256
	}
	if w.IntN(2) == 0 {
		zero = (lo + hi + 1) / 2
	}
	return typ, fmt.Sprintf("scale=%v, zero_point=%d, quant_min=%d, quant_max=%d, dtype=%s",
		float32(scale), zero, lo, hi, typ)
}

// input is a dequantized input.
func (w *quantizedProgram) input(sizes string, types []string) string {
	v, f := w.name("x"), w.name("f")
	if w.scale == 0 {
		w.scale = []float64{1. / 16, 0.1, 0.02 + w.Float64()/10}[w.IntN(3)]
	}
	typ, args := w.quantization(types, w.scale*w.quotient())
	w.inputs = append(w.inputs, fmt.Sprintf("  input %s: %s%s\n", v, typ, sizes))
	w.nodes = append(w.nodes, fmt.Sprintf("  %s: f32%s = %s.default(input=%s, %s)\n", f, sizes,
		dequantizeOp, v, args))
	return f
}

// text is the program that quantizes v.
func (w *quantizedProgram) text(v, sizes string) string {
	typ, args := w.quantization(anyInts, w.scale*w.quotient())
	return "program \"m.pt2\"\n\nmethod forward {\n" + strings.Join(w.inputs, "") +
		strings.Join(w.consts, "") + "\n" + strings.Join(w.nodes, "") + fmt.Sprintf(
		"  %%q: %s%s = %s.default(input=%s, %s)\n  return (%%q)\n}\n", typ, sizes, quantizeOp, v, args)
}

// Random programs have the integers of the graph that quantizes and dequantizes, but for one in
// 12,000 results of each kind of program: in floats, in fixed point, on hosts and where vectors of
// floats are. Of 320,000 scaled sums at most 15 differ, and of as many sums 6.
func TestRandomIntegers(t *testing.T) {
	const oneIn = 12000
	modes := [...]Context{{}, {Fixed: true}, {Speed: true}, {Speed: true, Fixed: true},
		{Vectors: true}}
	for _, p := range quantizedPrograms {
		t.Run(p.name, func(t *testing.T) {
			var elements, differ [len(modes)]int
			worst := [len(modes)]struct {
				rate float64
				src  string
			}{}
			for seed := range p.seeds {
				w := &quantizedProgram{Rand: rand.New(rand.NewPCG(seed, 1))}
				src := w.text(p.write(w))
				before := must.Get(ir.Parse("m", src))
				for m := range modes {
					ctx := modes[m]
					ctx.Table = ops.Standard()
					after := must.Get(ir.Parse("m", src))
					pass := Pipeline{Passes: []Pass{IntegerArithmetic, DeadCode}}
					if err := pass.Run(&ctx, after, nil); err != nil {
						t.Fatalf("%v\n%s", err, src)
					}
					n, off, kept := 0, 0, interp.NewKept()
					for round := range 8 {
						inputs := w.samples(before, round)
						want := outputsOf(t, &ctx, before, inputs, kept)[0]
						for i, x := range outputsOf(t, &ctx, after, inputs, kept)[0] {
							if round%2 == 0 {
								n++
							}
							if d := x - want[i]; math.Abs(d) > 1 {
								t.Fatalf("mode %d: element %d is %v, want %v\n%s", m, i, x, want[i], src)
							} else if d != 0 && round%2 == 0 {
								off++
							}
						}
					}
					elements[m], differ[m] = elements[m]+n, differ[m]+off
					if rate := float64(off) / float64(n); off > 8 && rate > worst[m].rate {
						var made strings.Builder
						must.Check(ir.Print(&made, after))
						worst[m].rate, worst[m].src = rate, src+made.String()
					}
				}
			}
			for m, ctx := range modes {
				mode := fmt.Sprintf("hosts %v fixed %v vectors %v: %d of %d elements differ", ctx.Speed,
					ctx.Fixed, ctx.Vectors, differ[m], elements[m])
				t.Log(mode)
				if differ[m]*oneIn > elements[m] || worst[m].rate > 0.003 {
					t.Errorf("%s, %v of\n%s", mode, worst[m].rate, worst[m].src)
				}
			}
		})
	}
}

// samples are numbers for the inputs, of floats with NaN among them; integers: in odd rounds few of
// them, near the ends and the middle.
func (w *quantizedProgram) samples(p *ir.Program, round int) (inputs []interp.Value) {
	for _, v := range p.Methods[0].Graph.Inputs {
		sizes, _ := v.Type.StaticSizes()
		n, _ := v.Type.Numel().Const()
		if v.Type.DType == ir.Float32 {
			xs := seq.Of(int(n), func(int) float64 { return 20 * w.NormFloat64() })
			copy(xs, []float64{math.NaN(), math.Inf(1), math.Inf(-1)})
			inputs = append(inputs, interp.Tensor(v.Type.DType, sizes, float32s(xs)))
			continue
		}
		least, most := expr.IntRange(v.Type.DType)
		ends := []int64{least, least + 1, most - 1, most, (least + most) / 2, (least+most)/2 + 1}
		xs := seq.Of(int(n), func(int) int64 {
			if round%2 == 0 {
				return least + w.Int64N(most-least+1)
			}
			return ends[w.IntN(len(ends))]
		})
		inputs = append(inputs, interp.Tensor(v.Type.DType, sizes,
			intData(v.Type.DType, xs, n).Data.(ir.Bytes)))
	}
	return inputs
}
