package lower

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	fixed "github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/ops"
)

func TestExactProductsForSpeed(t *testing.T) {
	ctx := &Context{Table: ops.Standard(), Speed: true}
	irtest.RunTxtar(t, "testdata/exact-products-for-speed/*.txtar", func(p *ir.Program) error {
		return Pipeline{Passes: []Pass{ExactProducts}}.Run(ctx, p, nil)
	})
}

// Rounding once gives what the definition of requantisation does, for sums around
// steps of its result and for random ones.
func TestRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	accepted := 0
	for range 200 {
		m, s := int64(1<<30+r.IntN(1<<30)), int64(r.IntN(16)-13)
		if r.IntN(10) == 0 {
			m = m >> 20 << 20 // with sums in the middle of two integers
		}
		limit := int64(1) << (8 + r.IntN(17))
		q := rescaled{offset: int64(r.IntN(256) - 128), lo: -128, hi: 127}
		if r.IntN(2) == 0 {
			q.lo = q.offset
		}
		scale, half, ok := rounding(m, s, limit, q)
		if !ok {
			continue
		}
		accepted++
		sums := []int64{0, limit, -limit}
		for range 100 {
			x := r.Int64N(2*limit+1) - limit
			// … and around a step.
			step := int64((float64(r.IntN(512)-256) + 0.5) / math.Ldexp(float64(m), int(s)-31))
			sums = append(sums, x)
			for d := int64(-2); d <= 2; d++ {
				if y := step + d; y >= -limit && y <= limit {
					sums = append(sums, y)
				}
			}
		}
		for _, x := range sums {
			i32 := func(n int64) *expr.Expr { return expr.Int(ir.Int32, n) }
			want := fixed.Requantize(i32(x), i32(m), i32(s)).Int + q.offset
			h := half
			if q.lo < q.offset {
				h *= max(-1, min(1, float64(x)))
			}
			y := max(float64(q.lo-q.offset), min(float64(q.hi-q.offset), float64(x)*scale+h))
			got := int64(y) + q.offset
			if want = max(q.lo, min(q.hi, want)); got != want {
				t.Fatalf("sum %d scaled by %d, shift %d, offset %d: %d, want %d", x, m, s,
					q.offset, got, want)
			}
		}
	}
	if accepted < 80 {
		t.Errorf("only %d scales were accepted", accepted)
	}
}

// Scales for which that would not do are refused.
func TestRoundingRefuses(t *testing.T) {
	q := rescaled{lo: -128, hi: 127}
	for _, c := range []struct{ m, s, limit int64 }{
		{-1 << 30, -5, 1000},        // falls
		{1 << 30, -5, 1000},         // a half, which gives halves
		{1<<30 + 12345, 8, 1 << 24}, // the sum would wrap around
		{1<<30 + 12345, -20, 1 << 24},
	} {
		if _, _, ok := rounding(c.m, c.s, c.limit, q); ok {
			t.Errorf("%v was accepted", c)
		}
	}
}

// What products of integers become has the same results to the bit.
func TestExactProductsMean(t *testing.T) {
	ctx := &Context{Table: ops.Standard(), Speed: true}
	r := rand.New(rand.NewPCG(7, 8))
	changed := 0
	for i := range 60 {
		src := randomProduct(r, i)
		x := randomBytes(r, 2*6*5*7)
		run := func(p *ir.Program) string {
			in := p.Methods[0].Graph.Inputs[0]
			sizes, _ := in.Type.StaticSizes()
			outs, err := interp.New(ctx.Table).Graph(p.Methods[0].Graph,
				[]interp.Value{interp.Tensor(ir.Int8, sizes, x[:elements(sizes)])})
			if err != nil {
				t.Fatalf("%v\n%s", err, src)
			}
			return string(outs[0].Tensor.Data)
		}
		before, err := ir.Parse("m", src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		want := run(before)
		after, _ := ir.Parse("m", src)
		if err := (Pipeline{Passes: []Pass{ExactProducts}}).Run(ctx, after, nil); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		if len(after.Methods[0].Graph.Nodes) > 1 {
			changed++
		}
		if got := run(after); got != want {
			t.Fatalf("%d: results differ\n%s", i, src)
		}
	}
	if changed < 40 {
		t.Errorf("only %d products were changed", changed)
	}
}

func elements(sizes []int64) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	return n
}

func randomBytes(r *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// randomProduct is a program of one product of int8.
func randomProduct(r *rand.Rand, i int) string {
	var consts strings.Builder
	constant := func(name string, d ir.DType, lo, hi int64, sizes ...int64) string {
		n := int64(1)
		var dims, xs []string
		for _, s := range sizes {
			n *= s
			dims = append(dims, fmt.Sprint(s))
		}
		for range n {
			xs = append(xs, fmt.Sprint(lo+r.Int64N(hi-lo+1)))
		}
		fmt.Fprintf(&consts, "  const %%%s: %s[%s] = [%s]\n", name, d.Short(),
			strings.Join(dims, ", "), strings.Join(xs, ", "))
		return "%" + name
	}
	bias := func(n int64) string {
		if r.IntN(3) == 0 {
			return "none"
		}
		return constant("b", ir.Int32, -5000, 5000, n)
	}
	in, out := 1+r.Int64N(5), 1+r.Int64N(6)
	batch := 1 + r.Int64N(2)
	inOffset, outOffset := r.Int64N(256)-127, r.Int64N(256)-128
	lo := pick(r, int64(-128), outOffset)
	limits := fmt.Sprintf("input_offset=%d, output_offset=%d", inOffset, outOffset)
	act := fmt.Sprintf("activation_min=%d, activation_max=127", lo)
	if i%3 == 0 {
		x := pick(r, fmt.Sprintf("%d, %d", batch, in), fmt.Sprintf("2, %d, %d", batch, in))
		rows := strings.TrimSuffix(x, fmt.Sprintf("%d", in))
		sum, b := "none", bias(out)
		if r.IntN(3) == 0 {
			sum, b = constant("k", ir.Int32, -5000, 5000, out), "none"
		}
		w := constant("w", ir.Int8, -128, 127, out, in)
		return fmt.Sprintf(
			"program \"m\"\n\nmethod forward {\n  input %%x: i8[%s]\n%s\n  %%y: i8[%s%d] = "+
				"cortex_m.quantized_linear.default(input=%%x, weights=%s, bias=%s, kernel_sum=%s, %s, "+
				"filter_offset=%d, requantize_multipliers=[%d], requantize_shifts=[%d], "+
				"%s)\n  return (%%y)\n}\n",
			x, &consts, rows, out, w, b, sum, limits, r.IntN(5), 1<<30+r.IntN(1<<30),
			r.IntN(12)-11, act)
	}
	kh, kw, sh, sw, ph, pw, dh, dw := 1+r.Int64N(3), 1+r.Int64N(3), 1+r.Int64N(2), 1+r.Int64N(2),
		r.Int64N(3), r.Int64N(2), 1+r.Int64N(2), 1+r.Int64N(2)
	h, wide := int64(6), int64(7)
	oh, ow := (h+2*ph-(kh-1)*dh-1)/sh+1, (wide+2*pw-(kw-1)*dw-1)/sw+1
	op, multiplier, weight := "quantized_conv2d", "", ""
	if i%3 == 1 {
		m := 1 + r.Int64N(3)
		out = in * m
		op, multiplier = "quantized_depthwise_conv2d", fmt.Sprintf("depth_multiplier=%d, ", m)
		weight = constant("w", ir.Int8, -128, 127, 1, kh, kw, out)
	} else {
		weight = constant("w", ir.Int8, -128, 127, out, kh, kw, in)
	}
	b := bias(out)
	m, s := constant("m", ir.Int32, 1<<30, 1<<31-1, out), constant("s", ir.Int32, -11, 1, out)
	return fmt.Sprintf(
		"program \"m\"\n\nmethod forward {\n  input %%x: i8[%d, %d, %d, %d]\n%s\n  %%y: i8[%d, %d, %d, "+
			"%d] = cortex_m.%s.default(input=%%x, weight=%s, bias=%s, stride=[%d, %d], padding=[%d, %d], "+
			"dilation=[%d, %d], %s%s, requantize_multipliers=%s, requantize_shifts=%s, %s, "+
			"scratch=none)\n  return (%%y)\n}\n",
		batch, in, h, wide, &consts, batch, out, oh, ow, op, weight, b, sh, sw, ph, pw, dh, dw,
		multiplier, limits, m, s, act)
}

// pick returns one of xs.
func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }
