package tuned_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// mixedTrials are products of rows with integers of 4 and 8 bits, which have a scale for each row
// or for each group of its columns, of a multiple of so many.
func mixedTrials(r *rand.Rand, count int, of int64) (list []*trial) {
	for i := range count {
		m, n := 1+r.Int64N(8), 1+r.Int64N(40)
		groups := 1 + int64(i%3)*r.Int64N(3)
		k := groups * of * (1 + r.Int64N(9))
		scales := []int64{n, groups}
		if i%3 == 0 {
			scales = scales[:1]
		}
		bits := 4 + i%2*4
		float := func(sizes ...int64) samples.Input {
			return samples.Tensor(ir.Float32, samples.Values{}, sizes...)
		}
		list = append(list, &trial{name: fmt.Sprintf("%d rows, %d columns of %d, %d groups, %d bits",
			m, n, k, groups, bits), op: "quantized_decomposed.mixed_linear.default", bits: bits,
			constant: []bool{false, true, true},
			sample: samples.NewSample("input", float(m, k), "weight",
				samples.Tensor(ir.Int8, samples.Values{}, n, k), "weight_scales", float(scales...),
				"weight_zero_points", nil, "dtype", nil)})
	}
	return list
}

// groupsTrials are products of rows of floats that are bytes, with bytes in groups that have
// scales.
func groupsTrials(r *rand.Rand, count int) (list []*trial) {
	for i := range count {
		m, n, groups := 1+r.Int64N(15), 1+r.Int64N(70), 1+r.Int64N(5)
		k := groups * (1 + r.Int64N(40))
		float := func(sizes ...int64) samples.Input {
			return samples.Tensor(ir.Float32, samples.Values{}, sizes...)
		}
		list = append(list, &trial{name: fmt.Sprintf("%d rows, %d columns of %d, %d groups, %d bits",
			m, n, k, groups, 4+i%2*4), op: ops.IntegerMatmul, bits: 4 + i%2*4, zero: new(int64),
			constant: []bool{false, true, true},
			sample: samples.NewSample("self", float(m, k), "mat2",
				samples.Tensor(ir.Int8, samples.Values{}, n, k), "bias", nil, "transposed", true,
				"self_zero_point", 0, "mat2_zero_point", 0, "dtype", ir.Float32, "scales",
				float(n, groups), "mat2_zero_points", nil)})
	}
	return list
}

// Integers of 4 bits lie two to a byte.
func TestMixedLinearPacks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, tr := range mixedTrials(r, 6, 1) {
		if !tr.bind(t, r, microcontroller) {
			t.Fatalf("%s: not taken", tr.name)
		}
		w := tr.call.Tensor("weight")
		s, _ := w.StaticSizes()
		want := int((s[0] + 3) / 4 * 4 * s[1] * int64(tr.bits) / 8)
		if got := len(tr.in.Packed[0].Data); got != want {
			t.Errorf("%s: weights of %d bytes, want %d", tr.name, got, want)
		}
	}
	tr := mixedTrials(r, 1, 1)[0]
	if tr.bind(t, r, tuned.Target{Language: tuned.C, Machine: machine("cortex-m0")}) {
		t.Errorf("a machine that calls functions for floats takes it")
	}
}
