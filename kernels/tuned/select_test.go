package tuned_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned"
)

func convCall(x, w []int64, stride, pad []int64, groups int64, more ...any) samples.Sample {
	args := []any{"input", static(x...), "weight", static(w...), "bias", nil, "stride", stride,
		"padding", pad,
		"dilation", []int64{1}, "transposed", false, "output_padding", []int64{0}, "groups", groups}
	for i := 0; i < len(more); i += 2 {
		for k := range args {
			if args[k] == more[i] {
				args[k+1] = more[i+1]
			}
		}
	}
	return samples.NewSample(args...)
}

// TestSelect checks which kernel takes a call, if any, and how much work it says
// that is.
func TestSelect(t *testing.T) {
	double := func(sizes ...int64) samples.Input {
		return samples.Tensor(ir.Float64, samples.Values{}, sizes...)
	}
	one := []int64{1, 1}
	zero := []int64{0, 0}
	for _, c := range []struct {
		name     string
		op       string
		sample   samples.Sample
		constant []bool
		kernel   string // "" if the definition is used
		macs     int64
	}{
		{"constant weight", "aten.linear.default", samples.NewSample("input", static(3, 5), "weight",
			static(7, 5)), []bool{false, true}, "linear_rows_f32", 105},
		{"variable weight", "aten.linear.default", samples.NewSample("input", static(3, 5), "weight",
			static(7, 5)), []bool{false, false}, "matmul_rows_f32", 105},
		{"variable bias", "aten.linear.default", samples.NewSample("input", static(3, 5), "weight",
			static(7, 5), "bias", static(7)), []bool{false, true, false}, "linear_rows_f32", 105},
		{"vector weight", "aten.linear.default", samples.NewSample("input", static(3, 5), "weight",
			static(5)), []bool{false, true}, "", 0},
		{"matrix added", "aten.addmm.default", samples.NewSample("self", static(3, 7), "mat1",
			static(3, 5), "mat2", static(5, 7)), []bool{true, false, true}, "linear_rows_f32", 105},
		{"column added", "aten.addmm.default", samples.NewSample("self", static(3, 1), "mat1",
			static(3, 5), "mat2", static(5, 7)), []bool{true, false, true}, "", 0},
		{"square column added", "aten.addmm.default", samples.NewSample("self", static(7, 1), "mat1",
			static(7, 5), "mat2", static(5, 7)), []bool{true, false, true}, "", 0},
		{"scaled", "aten.addmm.default", samples.NewSample("self", static(7), "mat1", static(3, 5),
			"mat2", static(5, 7), "alpha", 2), []bool{true, false, true}, "", 0},
		{"scaled sum", "aten.addmm.default", samples.NewSample("self", static(7), "mat1", static(3, 5),
			"mat2", static(5, 7), "beta", 0), []bool{true, false, true}, "", 0},
		{"double", "aten.mm.default", samples.NewSample("self", double(3, 5), "mat2", double(5, 7)),
			[]bool{false, true}, "", 0},
		{"integers", "aten.mm.default", samples.NewSample("self",
			samples.Tensor(ir.Int32, samples.Values{}, 3,
				5), "mat2", samples.Tensor(ir.Int32, samples.Values{}, 5, 7)), []bool{false, false}, "", 0},
		{"constant on the left", "aten.mm.default", samples.NewSample("self", static(3, 5), "mat2",
			static(5, 7)), []bool{true, false}, "matmul_rows_f32", 105},
		{"column vector", "aten.mm.default", samples.NewSample("self", static(3, 5), "mat2",
			static(5, 1)), []bool{false, false}, "", 0},
		{"batch", "aten.bmm.default", samples.NewSample("self", static(2, 3, 5), "mat2",
			static(2, 5, 7)), []bool{false, true}, "matmul_rows_f32", 210},
		{"constant matrix, vector", "aten.mv.default", samples.NewSample("self", static(7, 5), "vec",
			static(5)), []bool{true, false}, "linear_rows_f32", 35},
		{"nothing to sum", "aten.mm.default", samples.NewSample("self", static(3, 0), "mat2",
			static(0, 7)), []bool{false, true}, "", 0},
		{"elementwise", "aten.add.Tensor", samples.NewSample("self", static(3), "other", static(3)),
			[]bool{false, true}, "", 0},

		{"convolution", "aten.convolution.default", convCall([]int64{2, 3, 6, 5},
			[]int64{8, 3, 3, 2}, one, zero, 1), []bool{false, true}, "conv2d_rows_f32",
			2 * 8 * 4 * 4 * 18},
		{"one dimension", "aten.convolution.default", convCall([]int64{2, 3, 6}, []int64{8, 3, 3},
			one[:1], zero[:1], 1), []bool{false, true}, "conv2d_rows_f32", 2 * 8 * 4 * 9},
		{"three dimensions", "aten.convolution.default", convCall([]int64{1, 3, 6, 6, 6},
			[]int64{8, 3, 3, 3, 3}, []int64{1, 1, 1}, []int64{0, 0, 0}, 1, "output_padding",
			[]int64{0, 0, 0}), []bool{false, true}, "", 0},
		{"groups", "aten.convolution.default", convCall([]int64{1, 6, 5, 5}, []int64{8, 3, 3, 3},
			one, zero, 2), []bool{false, true}, "conv2d_rows_f32", 8 * 9 * 27},
		{"small groups", "aten.convolution.default", convCall([]int64{1, 6, 5, 5},
			[]int64{2, 3, 3, 3}, one, zero, 2), []bool{false, true}, "", 0},
		{"depthwise", "aten.convolution.default", convCall([]int64{1, 6, 5, 5},
			[]int64{12, 1, 3, 3}, one, one, 6), []bool{false, true}, "depthwise_conv2d_f32",
			12 * 25 * 9},
		{"variable weights", "aten.convolution.default", convCall([]int64{2, 3, 6, 5},
			[]int64{8, 3, 3, 2}, one, zero, 1), []bool{false, false}, "", 0},
		{"transposed", "aten.convolution.default", convCall([]int64{2, 3, 6, 5},
			[]int64{3, 8, 3, 2}, one, zero, 1, "transposed", true), []bool{false, true},
			"conv2d_edges_f32", 2 * 8 * 8 * 6 * 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &trial{name: c.name, op: c.op, sample: c.sample, constant: c.constant,
				syms: map[*sym.Symbol]int64{}}
			tr.bind(t, rand.New(rand.NewPCG(1, 1)), tuned.Target{Language: tuned.C,
				Machine: machine("generic"), Speed: true})
			switch {
			case tr.in == nil && c.kernel != "":
				t.Errorf("the definition is used, want %s", c.kernel)
			case tr.in == nil:
			case tr.in.Name() != c.kernel:
				t.Errorf("taken by %s, want %q", tr.in.Name(), c.kernel)
			case !tr.in.MACs.Is(c.macs):
				t.Errorf("%s multiply-accumulates, want %d", tr.in.MACs, c.macs)
			}
		})
	}
}

// TestParams checks that an instance has its kernel's operands, and the fields of its
// descriptor in their order.
func TestParams(t *testing.T) {
	tried := map[string]bool{}
	for _, target := range []tuned.Target{{Language: tuned.C, Machine: machine("generic"),
		Speed: true},
		{Language: tuned.C, Machine: machine("cortex-m4"), Speed: true},
		{Language: tuned.Go, Machine: machine("generic"), Speed: true}} {
		r := rand.New(rand.NewPCG(1, 1))
		for _, trials := range trialsOf(r, target, 5) {
			for _, tr := range trials {
				if !tr.bind(t, r, target) {
					t.Fatalf("%s: not taken", tr.name)
				}
				k := tr.in.Kernel
				if n := len(k.Operands); len(tr.in.Operands) != n && (!k.Composite ||
					len(tr.in.Operands) != n-1) { // a mask may be missing
					t.Errorf("%s reads %d operands and names %d", k.Name, len(tr.in.Operands),
						len(k.Operands))
				}
				tried[k.Name] = true
				if !slices.EqualFunc(tr.in.Params, k.Descriptor.Fields, func(p tuned.Param,
					f *tuned.Field) bool {
					return p.Name == f.Name
				}) {
					t.Errorf("%s has parameters %v", k.Name, tr.in.Params)
				}
			}
		}
	}
	for _, tr := range byteTrials(rand.New(rand.NewPCG(2, 2)), 20) {
		if tr.prepare(t) {
			tried[tr.in.Kernel.Name] = true
		}
	}
	if len(tried) != len(tuned.Standard()) {
		t.Errorf("%d kernels tried of %d", len(tried), len(tuned.Standard()))
	}
}

// Threads share what takes long: many products, many elements, or weights from far.
func TestDivided(t *testing.T) {
	target := tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true, Threads: 2,
		DividedFrom: tuned.WorthThreads}
	for _, c := range []struct {
		name string
		op   string
		in   samples.Sample
		last bool
		want bool
	}{
		{"small product", "aten.linear.default", samples.NewSample("input", static(100, 64), "weight",
			static(64, 64)), false, false},
		{"large product", "aten.linear.default", samples.NewSample("input", static(300, 64), "weight",
			static(64, 64)), false, true},
		{"far weights", "aten.linear.default", samples.NewSample("input", static(1, 512), "weight",
			static(1000, 512)), false, true},
		{"small pooling", "aten.max_pool2d.default", samples.NewSample("self", static(1, 16, 28, 28),
			"kernel_size", []int64{2, 2}), true, false},
		{"large pooling", "aten.max_pool2d.default", samples.NewSample("self", static(1, 64, 112, 112),
			"kernel_size", []int64{3, 3}, "stride", []int64{2, 2}), true, true},
	} {
		tr := &trial{name: c.name, op: c.op, sample: c.in, constant: []bool{false, true}}
		if c.last {
			tr.xOrder, tr.yOrder = []int{0, 2, 3, 1}, []int{0, 2, 3, 1}
		}
		if !tr.bind(t, rand.New(rand.NewPCG(1, 1)), target) || tr.in.Divided != c.want {
			t.Errorf("%s: divided %t, want %t", c.name, !c.want, c.want)
		}
	}
}

// Adaptive means whose windows lie side by side are means of windows; of others
// no kernel knows.
func TestAdaptivePools(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	target := tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true}
	last := []int{0, 2, 3, 1}
	all := epilogues()
	for i := range 60 {
		window := []int64{1 + r.Int64N(6), 1 + r.Int64N(6)}
		out := []int64{1 + r.Int64N(3), 1 + r.Int64N(3)}
		x := []int64{1 + r.Int64N(2), pick[int64](r, 1, 3, 16, 33, 72), window[0] * out[0],
			window[1] * out[1]}
		uneven := i%10 == 9
		if uneven {
			x[2] = out[0]*window[0] + 1
			out[0] = 2 + x[2]%2 // of an odd number 3, if that is not a multiple of it
			uneven = x[2]%out[0] != 0
		}
		tr := &trial{
			name: fmt.Sprintf("adaptive %d: x %d to %d", i, x, out),
			op:   "aten._adaptive_avg_pool2d.default", syms: map[*sym.Symbol]int64{}, xOrder: last,
			yOrder: last, constant: []bool{false},
			sample:   samples.NewSample("self", static(x...), "output_size", out),
			epilogue: all[i%len(all)],
		}
		if taken := tr.prepare(t, r, target); taken == uneven {
			t.Fatalf("%s: taken is %v", tr.name, taken)
		} else if taken {
			tr.check(t, tr.runGo(t))
		}
	}
}
