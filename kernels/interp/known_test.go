package interp

import (
	"math"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// in is an operand with its elements.
func in(d ir.DType, sizes []int64, xs ...float64) knownInput {
	return knownInput{samples.Tensor(d, samples.Values{}, sizes...), xs}
}

type knownInput struct {
	samples.Input
	xs []float64
}

// callKnown runs op, its arguments given as name, value, …, and returns the
// results' elements and types.
func callKnown(t *testing.T, op string, args ...any) (outs [][]float64, types []Value) {
	t.Helper()
	table := ops.Standard()
	m := New(table)
	var data [][]float64
	for i := 1; i < len(args); i += 2 {
		if k, ok := args[i].(knownInput); ok {
			data = append(data, k.xs)
			args[i] = k.Input
		}
	}
	s := samples.NewSample(args...)
	for i, x := range s.Inputs {
		var b []byte
		for _, f := range data[i] {
			b = tensor.Append(b, x.Value.Type.DType, f)
		}
		m.Set(x.Value, inputValue(x, b))
	}
	c, err := table.Bind(&ir.Node{Name: "known", Op: op, Args: s.Args})
	if err != nil {
		t.Fatal(err)
	}
	vs := m.call(c)
	for _, v := range vs {
		d := v.Tensor.DType
		xs := []float64{}
		for i := range int64(len(v.Tensor.Data) / d.Size()) {
			x := eval.Get(d, v.Tensor.Data, i)
			if d.IsFloat() {
				xs = append(xs, x.F)
			} else {
				xs = append(xs, float64(x.I))
			}
		}
		outs = append(outs, xs)
	}
	return outs, vs
}

// TestKnown compares with results worked out by hand or recorded from PyTorch
// and the ExecuTorch runtime.
func TestKnown(t *testing.T) {
	nan, f, u8, i64 := math.NaN(), ir.Float32, ir.Uint8, ir.Int64
	for _, tt := range []struct {
		name, op string
		args     []any
		out      int
		want     []float64
	}{
		{"the difference of unsigned numbers does not wrap", "aten.isclose.default",
			[]any{"self", in(u8, []int64{3}, 1, 2, 200), "other", in(u8, []int64{3}, 2, 1, 200),
				"rtol", 0.0, "atol", 1.0}, 0, []float64{1, 1, 1}},
		{"the last NaN of a window", "aten.max_pool2d_with_indices.default",
			[]any{"self", in(f, []int64{1, 2, 4}, 1, nan, 5, 3, nan, 2, 4, 9), "kernel_size",
				[]int64{2, 2}}, 1, []float64{4, 7}},
		{"a median with NaN", "aten.median.dim", []any{"self",
			in(f, []int64{3, 4}, 1, nan, 5, 3, 4, 2, 1, 3,
				nan, nan, 1, 2), "dim", 1}, 0, []float64{nan, 2, nan}},
		{"the place of a median with NaN", "aten.median.dim", []any{"self", in(f, []int64{3, 4}, 1, nan,
			5, 3, 4, 2, 1, 3, nan, nan, 1, 2), "dim", 1}, 1, []float64{1, 1, 0}},
		{"the default dtype of indices", "aten.tril_indices.default", []any{"row", 2, "col", 3}, 0,
			[]float64{0, 1, 1, 0, 0, 1}},
		{"above a diagonal", "aten.triu_indices.default", []any{"row", 2, "col", 3, "offset", 1}, 0,
			[]float64{0, 0, 1, 1, 2, 2}},
		{"coordinates of what is not zero", "aten.nonzero.default",
			[]any{"self", in(f, []int64{2, 3}, 0, 1, nan, 0, 0, -2)}, 0,
			[]float64{0, 1, 0, 2, 1, 2}},
		{"positions repeated", "aten.repeat_interleave.Tensor",
			[]any{"repeats", in(i64, []int64{4}, 2, 0, 1, 3)}, 0, []float64{0, 0, 2, 3, 3, 3}},
		{"a mask that broadcasts", "aten.masked_select.default",
			[]any{"self", in(f, []int64{2, 2}, 1, 2, 3, 4), "mask", in(ir.Bool, []int64{2}, 0, 1)},
			0, []float64{2, 4}},
		{"halves go to even, then into the range",
			"quantized_decomposed.quantize_per_tensor.default",
			[]any{"input", in(f, []int64{6}, 0.5, 1.5, 2.5, -0.5, -200, 200), "scale", 1.0,
				"zero_point", 1, "quant_min", -128, "quant_max", 127, "dtype", ir.Int8}, 0,
			[]float64{1, 3, 3, 1, -128, 127}},
		{"the upper half of a byte comes first", "quantized_decomposed.embedding_4bit.default",
			[]any{"weight", in(u8, []int64{2, 1}, 0x8f, 0x08), "weight_scales", in(f, []int64{2}, 1,
				0.5), "weight_zero_points", nil,
				"weight_quant_min", -8, "weight_quant_max", 7, "indices", in(i64, []int64{2}, 1,
					0)}, 0, []float64{-4, 0, 0, 7}},
		{"the lowest bits of a byte come first", "quantized_decomposed.embedding_2bit.default",
			[]any{"weight", in(u8, []int64{1, 1}, 0b11_10_01_00), "weight_scales",
				in(f, []int64{1}, 2), "weight_zero_points", nil,
				"weight_quant_min", -2, "weight_quant_max", 1, "indices", in(i64, []int64{1}, 0)},
			0, []float64{-4, -2, 0, 2}},
		{"a sum of quantized numbers", "quantized_decomposed.add.default",
			[]any{"a", in(u8, []int64{2}, 13, 255), "a_scale", 0.5, "a_zero_point", 3,
				"a_quant_min", 0, "a_quant_max", 255,
				"b", in(u8, []int64{2}, 20, 255), "b_scale", 0.25, "b_zero_point", 0, "b_quant_min",
				0, "b_quant_max", 255,
				"out_scale", 0.5, "out_zero_point", 1, "out_quant_min", 0, "out_quant_max", 255}, 0,
			[]float64{21, 255}},
		{"the scale of a token", "quantized_decomposed.choose_qparams_per_token_asymmetric.default",
			[]any{"input", in(f, []int64{2, 3}, -1, 0, 1.55, 0, 0, 0), "dtype", ir.Int8}, 1,
			[]float64{-28, 127}},
	} {
		outs, _ := callKnown(t, tt.op, tt.args...)
		if got := outs[tt.out]; !slices.EqualFunc(got, tt.want, func(a, b float64) bool {
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		}) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
