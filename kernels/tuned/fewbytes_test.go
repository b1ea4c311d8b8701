package tuned_test

import (
	"bytes"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// Sums of floats that are bytes less a zero point are exact up to 2^24. The zero point decides how
// far such a float is from 0: at most 255, at the least zero point and at the largest one.
func TestExactBytes(t *testing.T) {
	for _, tt := range []struct {
		zero int64
		taps int64 // of weights of 127
		want bool
	}{{127, 518, true}, {127, 520, false}, {-128, 518, true}, {-128, 520, false}, {0, 1032, true},
		{0, 1034, false}} {
		x := samples.Tensor(ir.Float32, samples.Values{}, 1, 1, tt.taps/2, 8)
		w := samples.Tensor(ir.Int8, samples.Values{}, 4, 1, tt.taps/2, 2)
		pair := []int64{0, 0}
		conv := samples.NewSample("input", x, "weight", w, "bias", nil, "stride", []int64{1, 1},
			"before", pair, "after", pair, "dilation", []int64{1, 1}, "transposed", false,
			"output_padding", []int64{0}, "groups", 1, "input_zero_point", tt.zero,
			"weight_zero_point", 0, "dtype", ir.Float32)
		product := samples.NewSample("self", samples.Tensor(ir.Float32, samples.Values{}, 3, tt.taps),
			"mat2", samples.Tensor(ir.Int8, samples.Values{}, 4, tt.taps), "bias", nil, "transposed",
			true, "self_zero_point", tt.zero, "mat2_zero_point", 0, "dtype", ir.Float32)
		wide := samples.Tensor(ir.Float32, samples.Values{}, 1, 64, tt.taps/2, 8)
		apart := samples.NewSample("input", wide, "weight", samples.Tensor(ir.Int8, samples.Values{}, 64,
			1, tt.taps/2, 2), "bias", nil, "stride", []int64{1, 1}, "before", pair, "after", pair,
			"dilation", []int64{1, 1}, "transposed", false, "output_padding", []int64{0}, "groups", 64,
			"input_zero_point", tt.zero, "weight_zero_point", 0, "dtype", ir.Float32)
		last := []int{0, 2, 3, 1}
		for _, on := range []struct {
			op     string
			sample samples.Sample
			kernel *tuned.Kernel
			order  []int
		}{
			{ops.IntegerConvolution, conv, tuned.ConvFewBytes(), nil},
			{ops.IntegerConvolution, conv, tuned.ConvBytes(), nil},
			{ops.IntegerConvolution, apart, tuned.DepthwiseBytes(), last},
			{ops.IntegerMatmul, product, tuned.ConvBytes(), nil},
		} {
			op, ok := ops.Standard().Lookup(on.op)
			if !ok {
				t.Fatalf("%s is not in the table", on.op)
			}
			call, err := ops.Standard().Bind(on.sample.Node(op))
			if err != nil {
				t.Fatal(err)
			}
			weights := bytes.Repeat([]byte{127}, int(64*tt.taps))
			in := on.kernel.Match(&tuned.Request{Call: call, Target: tuned.Running(),
				Const: func(k int) ([]byte, bool) { return weights, k > 0 },
				Order: func(int) []int { return on.order }, Out: on.order})
			if got := in != nil; got != tt.want {
				t.Errorf("%s of %s, zero point %d, %d weights: taken: %v", on.kernel.Name, on.op, tt.zero,
					tt.taps, got)
			}
		}
	}
}
