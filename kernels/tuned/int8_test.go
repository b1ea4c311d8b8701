package tuned_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/templates/c"
)

// byteProgram is a program in C that tries kernels of bytes for a machine.
func byteProgram(t *testing.T, machine *tuned.Machine) string {
	t.Helper()
	vector := machine.Tile.Vector
	r := rand.New(rand.NewPCG(31, 32))
	var b, kernels, calls strings.Builder
	b.WriteString("#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n" +
		"#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n")
	if machine.MVE {
		b.WriteString("#include <arm_mve.h>\n")
	}
	taken, used := map[string]int{}, map[string]bool{}
	n := 0
	for _, tr := range byteTrials(r, tier.Of(24, 72, 120)) {
		tr.machine = machine
		if !tr.prepare(t) {
			continue
		}
		taken[tr.in.Name()]++
		for _, p := range tr.in.Params {
			if p.Name == "int4" && p.Value.Is(1) {
				taken[tr.in.Name()+" int4"]++
			}
		}
		if tr.inPlace() {
			taken[tr.in.Name()+" in place"]++
		}
		kernel := tr.text(t, n)
		maps.Copy(used, tr.used)
		kernels.WriteString(kernel)
		fmt.Fprintf(&calls, "    if (trial%d()) return %d;\n", n, n%60+1)
		n++
	}
	least := map[string]int{"conv2d_i8": tier.Of(1, 4, 5), "depthwise_i8": tier.Of(1, 4, 5),
		"conv2d_i8 in place": tier.Of(0, 1, 2), "depthwise_i8 in place": tier.Of(0, 1, 2),
		"conv2d_i8 int4": tier.Of(1, 4, 5), "matmul_i8": tier.Of(1, 4, 5),
		"groups_i8": tier.Of(1, 4, 5), "groups_i8 int4": tier.Of(1, 2, 3)}
	switch {
	case vector:
		least = map[string]int{"conv2d_i8": tier.Of(1, 4, 5), "points_i8": tier.Of(1, 4, 5),
			"depthwise_lanes_i8": tier.Of(1, 4, 5), "groups_lanes_i8": tier.Of(1, 4, 5)}
	case machine.MVE:
		least = map[string]int{"conv2d_mve_i8": tier.Of(1, 4, 5),
			"depthwise_mve_i8": tier.Of(1, 4, 5), "matmul_mve_i8": tier.Of(1, 4, 5),
			"conv2d_mve_i8 int4": tier.Of(1, 4, 5), "groups_mve_i8": tier.Of(1, 2, 3),
			"groups_mve_i8 int4": tier.Of(0, 1, 1)}
	}
	for name, least := range least {
		if taken[name] < least {
			t.Errorf("%s was taken %d times", name, taken[name])
		}
	}
	for _, h := range c.HelpersFor(used, vector) { // they add to what is used
		text(t, h, &c.Kernel{Index: "int32_t", Used: used, Vector: vector})
	}
	for _, h := range c.HelpersFor(used, vector) {
		b.WriteString(text(t, h, &c.Kernel{Index: "int32_t", Used: used, Vector: vector,
			MVE: machine.MVE, Scalar: machine.MVE}))
	}
	b.WriteString(kernels.String())
	fmt.Fprintf(&b, "int MAIN(void)\n{\n%s    return 0;\n}\n", &calls)
	return b.String()
}

// Kernels of bytes for vectors of hosts give the sums of the definition, with each instruction
// that there is for them. Those of VNNI are emulated.
func TestInt8Lanes(t *testing.T) {
	t.Parallel()
	source := byteProgram(t, machine("generic"))
	header, err := filepath.Abs("testdata/vnni.h")
	if err != nil {
		t.Fatal(err)
	}
	emulated := func(flags ...string) toolchain.Target {
		return toolchain.GCC().With(append(flags, "-march=x86-64-v3", "-O1", "-Wno-psabi", "-include",
			header)...)
	}
	targets := tier.Some([]toolchain.Target{
		toolchain.GCC().With(toolchain.Sanitizers()...).Named("sse2"),
		toolchain.GCC().With("-march=x86-64-v3").Named("avx2"),
		toolchain.Clang().With("-march=x86-64-v3").Named("avx2-clang"),
		emulated().Named("avxvnni"),
		emulated("-DEMULATE_AVX512").Named("avx512vnni"),
		toolchain.NEON(),
		toolchain.NEON().With("-march=armv8.2-a+dotprod").Named("dotprod"),
		toolchain.NEON().With("-march=armv8.2-a+dotprod+i8mm").Named("i8mm"),
	}, 2, -1)
	if cpu, _ := os.ReadFile("/proc/cpuinfo"); strings.Contains(string(cpu), " avx512bw ") {
		targets = append(targets, toolchain.GCC().With("-march=x86-64-v4").Named("avx512"))
	}
	for _, target := range targets {
		t.Run(target.Name, func(t *testing.T) { runBytes(t, target, source) })
	}
}

// Compilers make the instructions for four products of the text for machines that have them.
func TestInt8Dots(t *testing.T) {
	t.Parallel()
	source := byteProgram(t, machine("x86-64-v3-vnni"))
	for _, on := range tier.Some([]struct{ machine, compiler, instruction string }{
		{"x86-64-v3-vnni", "gcc", "vpdpbusd"}, {"x86-64-v3-vnni", "clang", "vpdpbusd"},
		{"x86-64-v4-vnni", "gcc", "vpdpbusd"}, {"x86-64-v4-vnni", "clang", "vpdpbusd"},
		{"neon-dotprod", "aarch64-linux-gnu-gcc", "sdot"},
		{"neon-i8mm", "aarch64-linux-gnu-gcc", "smmla"},
	}, 0, -1) {
		t.Run(on.machine+"/"+on.compiler, func(t *testing.T) {
			path, err := toolchain.Find(on.compiler)
			if err != nil {
				t.Skip(err)
			}
			args := append(strings.Fields(machine(on.machine).Flag), "-std=c99", "-O1", "-S",
				"-DMAIN=main", "-x", "c", "-o", "-", "-")
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Stdin = strings.NewReader(source)
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), on.instruction) {
				t.Errorf("there is no %s: %v", on.instruction, err)
			}
		})
	}
}

// runBytes compiles the program of byteProgram and runs it.
func runBytes(t *testing.T, target toolchain.Target, text string) {
	t.Helper()
	if _, err := toolchain.Find(target.Compiler); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "bytes.c")
	if err := os.WriteFile(source, []byte("#define MAIN main\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	objects, err := target.Compile(t.Context(), dir, source)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "bytes")
	if err := target.Link(t.Context(), exe, objects); err != nil {
		t.Fatal(err)
	}
	args := target.Command(exe)
	if out, err := exec.CommandContext(t.Context(), args[0],
		args[1:]...).CombinedOutput(); err != nil {
		t.Errorf("a trial fails: %v\n%s", err, out)
	}
}

// Kernels of bytes give the sums of the definition, as plain C, with a core's instructions for
// pairs and with vectors.
func TestInt8(t *testing.T) {
	t.Parallel()
	plain, vectors := byteProgram(t, machine("cortex-m4")), byteProgram(t, machine("cortex-m55"))
	for _, target := range []toolchain.Target{toolchain.GCC().With(toolchain.Sanitizers()...),
		toolchain.Clang()} {
		t.Run(target.Name, func(t *testing.T) { runBytes(t, target, plain) })
	}
	for _, on := range []struct {
		board  baremetal.Board
		target toolchain.Target
		text   string
	}{
		{baremetal.CortexM4, toolchain.CortexM4(), plain},
		{baremetal.CortexM4, toolchain.CortexM4().With("-Og",
			"-fno-omit-frame-pointer").Named("debugged"), plain},
		{baremetal.CortexM33, toolchain.CortexM33().With("-Os"), plain},
		{baremetal.CortexM4, toolchain.CortexM0(), plain},
		{baremetal.RISCV32, toolchain.RISCV32(), plain},
		{baremetal.CortexM55, toolchain.CortexM55(), vectors},
		{baremetal.CortexM55, toolchain.CortexM55().With("-Og").Named("debugged vectors"), vectors},
	} {
		target := on.target
		t.Run(target.Name, func(t *testing.T) {
			if strings.HasPrefix(target.Name, "debugged") {
				tier.Needs(t, tier.Normal)
			}
			for _, tool := range []string{target.Compiler, on.board.Emulator} {
				if _, err := toolchain.Find(tool); err != nil {
					t.Skip(err)
				}
			}
			dir := t.TempDir()
			elf, err := on.board.Build(t.Context(), target, dir, nil,
				"#include \"harness_support.h\"\n"+"#define MAIN harness_main\n"+on.text)
			if err != nil {
				t.Fatal(err)
			}
			out, exit, err := on.board.Run(t.Context(), elf, time.Minute)
			if err != nil || exit != 0 {
				t.Errorf("a trial fails: exit code %d, %v\n%s", exit, err, out)
			}
		})
	}
}

// Calls whose sums the kernels might not hold, or whose operands they do not know,
// are left to the definition.
func TestInt8Refuses(t *testing.T) {
	conv := func(offset int64, x, w []int64) *byteTrial {
		return &byteTrial{op: "cortex_m.quantized_conv2d.default", sample: samples.NewSample("input",
			samples.Tensor(ir.Int8, samples.Values{}, x...), "weight",
			samples.Tensor(ir.Int8, samples.Values{}, w...),
			"bias", nil, "stride", []int64{1, 1}, "padding", []int64{0, 0}, "dilation",
			[]int64{1, 1}, "input_offset", offset, "output_offset", 0,
			"requantize_multipliers", samples.Tensor(ir.Int32, samples.Values{}, w[0]), "requantize_shifts",
			samples.Tensor(ir.Int32, samples.Values{}, w[0]),
			"activation_min", -128, "activation_max", 127, "scratch", nil)}
	}
	for name, tr := range map[string]*byteTrial{
		"offset":      conv(129, []int64{1, 4, 3, 3}, []int64{2, 1, 1, 4}),
		"depth":       conv(0, []int64{1, 1 << 18, 1, 1}, []int64{2, 1, 1, 1 << 18}),
		"one product": conv(0, []int64{1, 1, 3, 3}, []int64{2, 1, 1, 1}),
		"groups":      conv(0, []int64{1, 4, 3, 3}, []int64{8, 1, 1, 1}),
	} {
		if tr.prepare(t) {
			t.Errorf("%s: taken by %s", name, tr.in.Name())
		}
	}
	tr := conv(128, []int64{1, 4, 3, 3}, []int64{2, 1, 1, 4})
	if !tr.prepare(t) || !tr.in.MACs.Equal(sym.Int(72)) {
		t.Error("a convolution of bytes is not taken")
	}
}

// microcontroller is a target of the kernels of bytes.
var microcontroller = tuned.Target{Language: tuned.C, Machine: machine("cortex-m4")}

// byteTrial is a call of a kernel of bytes.
type byteTrial struct {
	op             string
	sample         samples.Sample
	xOrder, yOrder []int
	seed           uint64
	spare          bool

	int4    bool            // weights have 4 bits
	machine *tuned.Machine  // nil: that of microcontroller
	used    map[string]bool // by the text of its kernel
	in      *tuned.Instance
	inputs  []eval.Operand
	want    []int32 // in memory's order
	floats  bool    // they are the bits of floats
}

// byteTrials are calls of random shapes, layouts and offsets.
func byteTrials(r *rand.Rand, n int) (out []*byteTrial) {
	last := []int{0, 2, 3, 1}
	orders := func(tr *byteTrial) {
		if r.IntN(3) > 0 {
			tr.xOrder = last
		}
		if r.IntN(3) > 0 {
			tr.yOrder = last
		}
	}
	upTo := func(n int64) int64 { return 1 + r.Int64N(n) }
	for i := range n {
		tr, kind := &byteTrial{seed: r.Uint64(), spare: r.IntN(2) == 0, int4: r.IntN(3) == 0}, i%8
		offset, filter := r.Int64N(256)-127, int64(0)
		x := ir.Int8
		if kind > 3 && kind < 6 && r.IntN(2) == 0 {
			x, offset = ir.Int16, 0
		}
		limits := []any{"input_offset", offset, "output_offset", 3, "activation_min", -128,
			"activation_max", 127}
		param := func(n int64) samples.Input { return samples.Tensor(ir.Int32, samples.Values{}, n) }
		var bias any
		if r.IntN(3) > 0 {
			bias = samples.Input{}
		}
		biasOf := func(n int64) any {
			if bias == nil {
				return nil
			}
			return param(n)
		}
		in, cout := upTo(9), upTo(7)
		if r.IntN(3) == 0 {
			in = 4 * upTo(9)
		}
		switch kind {
		case 4:
			tr.op = ops.IntegerMatmul
			rows, w := []int64{upTo(7), 4 * in}, []int64{cout, 4 * in}
			if r.IntN(2) == 0 {
				rows, w = []int64{2, upTo(3), in + 1}, []int64{in + 1, cout}
			}
			tr.sample = samples.NewSample("self", samples.Tensor(x, samples.Values{}, rows...),
				"mat2", samples.Tensor(ir.Int8, samples.Values{}, w...), "bias", biasOf(cout),
				"transposed", len(rows) == 2, "self_zero_point", -offset, "mat2_zero_point", 0,
				"dtype", ir.Float32)
		case 6:
			batch, m, k, n := upTo(2), 3+upTo(6), upTo(13), upTo(7)
			left, right := samples.Tensor(ir.Int8, samples.Values{}, batch, m, k),
				samples.Tensor(ir.Int8, samples.Values{}, batch, n, k)
			if r.IntN(2) == 0 {
				tr.op = "cortex_m.quantized_batch_matmul.default"
				tr.sample = samples.NewSample("lhs", left, "rhs_transposed", right, "lhs_zero_point",
					offset, "rhs_zero_point", r.Int64N(3)-1, "output_zero_point", 0,
					"output_multiplier", 1<<30, "output_shift", -8, "scratch", nil)
				break
			}
			tr.op = ops.IntegerMatmul
			transposed := r.IntN(2) == 0
			if !transposed {
				right = samples.Tensor(ir.Int8, samples.Values{}, batch, k, n)
			}
			tr.sample = samples.NewSample("self", left, "mat2", right, "bias", nil, "transposed",
				transposed, "self_zero_point", -offset, "mat2_zero_point", r.Int64N(256)-128,
				"dtype", ir.Int32)
		case 5:
			tr.op = ops.IntegerConvolution
			groups, w := int64(1), []int64{cout, in, upTo(3), upTo(3)}
			switch r.IntN(3) {
			case 0: // each channel is by itself, and may make several
				groups, cout, w[1] = in, in*upTo(3), 1
			case 1:
				groups = 1 + upTo(3)
				in, cout, w[1] = groups*in, groups*cout, in
			}
			w[0] = cout
			pads := func() []int64 { return []int64{r.Int64N(3), r.Int64N(3)} }
			orders(tr)
			tr.sample = samples.NewSample("input", samples.Tensor(x, samples.Values{}, upTo(2),
				in, 4+upTo(4), 4+upTo(4)), "weight", samples.Tensor(ir.Int8, samples.Values{}, w...),
				"bias", biasOf(cout), "stride", []int64{upTo(2), upTo(2)}, "before", pads(), "after",
				pads(), "dilation", []int64{upTo(2), upTo(2)}, "transposed", false, "output_padding",
				[]int64{0}, "groups", groups, "input_zero_point", -offset, "weight_zero_point", 0,
				"dtype", ir.Int32)
		case 7:
			tr.op = ops.IntegerMatmul
			groups, size := upTo(4), 4*upTo(4)
			if r.IntN(3) > 0 {
				size = 16 * upTo(4)
			}
			scales := []int64{upTo(40), groups}
			var zeros any
			if r.IntN(2) == 0 {
				zeros = samples.Tensor(ir.Int32, samples.Values{}, scales...)
			}
			tr.sample = samples.NewSample("self", samples.Tensor(ir.Int8, samples.Values{}, upTo(9),
				groups*size), "mat2", samples.Tensor(ir.Int8, samples.Values{}, scales[0], groups*size),
				"bias", nil, "transposed", true, "self_zero_point", 0, "mat2_zero_point", 0, "dtype",
				ir.Float32, "scales", samples.Tensor(ir.Float32, samples.Values{}, scales...),
				"mat2_zero_points", zeros)
		case 0:
			tr.op = "cortex_m.quantized_linear.default"
			sum, b := any(nil), biasOf(cout)
			if r.IntN(4) == 0 {
				sum, b = param(cout), nil
			}
			sizes := []int64{upTo(6), in + 1}
			if r.IntN(2) == 0 {
				sizes = []int64{2, upTo(3), 4 * in}
			}
			tr.sample = samples.NewSample(append(limits, "input",
				samples.Tensor(ir.Int8, samples.Values{}, sizes...),
				"weights", samples.Tensor(ir.Int8, samples.Values{}, cout, sizes[len(sizes)-1]), "bias", b,
				"kernel_sum", sum, "filter_offset", filter,
				"requantize_multipliers", []int64{1 << 30}, "requantize_shifts", []int64{-8})...)
		default:
			k := [2]int64{upTo(3), upTo(3)}
			if r.IntN(6) == 0 {
				k[r.IntN(2)] = 3 + upTo(2)
			}
			dilation := []int64{upTo(2), upTo(2)}
			side := func(i int) int64 { return max(4, (k[i]-1)*dilation[i]) + upTo(4) }
			tr.op = "cortex_m.quantized_conv2d.default"
			weight, more := []int64{cout, k[0], k[1], in}, []any(nil)
			switch {
			case kind == 2: // of one tap
				weight[1], weight[2] = 1, 1
			case kind == 1 && r.IntN(2) == 0: // in groups
				groups := 1 + upTo(3)
				in, cout = groups*in, groups*cout
				weight[0] = cout
			}
			if kind == 3 {
				tr.op = "cortex_m.quantized_depthwise_conv2d.default"
				multiplier := int64(1)
				if r.IntN(2) == 0 {
					in = 8 * upTo(5)
				} else if r.IntN(3) == 0 {
					in, multiplier = upTo(5), cout
				}
				cout = in * multiplier
				weight, more = []int64{1, k[0], k[1], cout}, []any{"depth_multiplier", multiplier}
			}
			pad, stride := []int64{r.Int64N(3), r.Int64N(3)}, []int64{upTo(2), upTo(2)}
			if r.IntN(2) == 0 {
				pad, stride = []int64{0, 0}, []int64{1, 1}
			}
			orders(tr)
			if i%16 == 3 { // results lie as the image does
				tr.spare, tr.xOrder, tr.yOrder = true, last, last
				for i := range pad {
					stride[i] = 1
					pad[i] = (weight[1+i] - 1) * dilation[i] / 2
				}
			}
			tr.sample = samples.NewSample(append(append(limits, more...), "input",
				samples.Tensor(ir.Int8, samples.Values{}, upTo(2), in, side(0), side(1)),
				"weight", samples.Tensor(ir.Int8, samples.Values{}, weight...), "bias", biasOf(cout),
				"stride", stride, "padding", pad,
				"dilation", dilation, "requantize_multipliers", param(cout),
				"requantize_shifts", param(cout), "scratch", nil)...)
		}
		out = append(out, tr)
	}
	return out
}

// prepare selects a kernel and computes what it is to give: the definition's sum.
// It reports whether one accepts the call.
func (tr *byteTrial) prepare(t *testing.T) bool {
	t.Helper()
	op, ok := ops.Standard().Lookup(tr.op)
	if !ok {
		t.Fatalf("%s is not in the table", tr.op)
	}
	call, err := ops.Standard().Bind(tr.sample.Node(op))
	if err != nil {
		t.Fatalf("%s: %v", tr.op, err)
	}
	r := rand.New(rand.NewPCG(tr.seed, 1))
	most := 6000
	if call.Op.Name() == ops.IntegerMatmul && call.Has("scales") {
		most = 16 // zero points
	}
	for k, v := range call.Operands() {
		sizes, _ := v.Type.StaticSizes()
		o := eval.Operand{DType: v.Type.DType, Sizes: sizes}
		n, _ := v.Type.Numel().Const()
		for range n {
			switch o.DType {
			case ir.Int8:
				b := int8(r.Uint32())
				if k == 1 && tr.int4 {
					b >>= 4
				}
				o.Data = append(o.Data, byte(b))
			case ir.Int16:
				o.Data = binary.LittleEndian.AppendUint16(o.Data, uint16(r.Uint32()))
			case ir.Float32:
				o.Data = binary.LittleEndian.AppendUint32(o.Data, math.Float32bits(r.Float32()))
			default:
				o.Data = binary.LittleEndian.AppendUint32(o.Data, uint32(int32(r.IntN(most+1)-most/2)))
			}
		}
		tr.inputs = append(tr.inputs, o)
	}
	target := microcontroller
	if tr.machine != nil {
		target.Machine = tr.machine
	}
	target.Speed = target.Machine.Tile.Vector || tr.seed%2 == 0
	tr.in = tuned.Select(tuned.Standard(), &tuned.Request{Call: call, Target: target,
		Spare: tr.spare,
		Const: func(k int) ([]byte, bool) { return tr.inputs[k].Data, k > 0 },
		Order: func(k int) []int {
			if k == 0 {
				return tr.xOrder
			}
			return nil
		},
		Out: tr.yOrder})
	if tr.in == nil {
		return false
	}
	tensors, err := call.Op.Compute(call)
	if err != nil {
		t.Fatal(err)
	}
	sum := tensors[0]
	expr.Walk(tensors[0].Body, func(e *expr.Expr) {
		if e.Op == expr.OpReduce {
			sum.DType, sum.Body = e.DType, e
		}
	})
	if sum.Body.Op != expr.OpReduce {
		t.Fatalf("%s: the definition has no sum", tr.op)
	}
	tr.floats = sum.DType == ir.Float32
	got, err := reference.Tensor(sum, tr.inputs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	channels := got.Sizes[len(got.Sizes)-1]
	inner := int64(1)
	if len(got.Sizes) == 4 {
		channels, inner = got.Sizes[1], got.Sizes[2]*got.Sizes[3]
	}
	for o := range int64(len(got.Data) / 4) {
		x := int32(binary.LittleEndian.Uint32(got.Data[4*o:]))
		for _, k := range tr.in.Begun {
			x += int32(binary.LittleEndian.Uint32(tr.inputs[k].Data[4*(o/inner%channels):]))
		}
		tr.want = append(tr.want, x)
	}
	tr.want = laid(tr.want, got.Sizes, tr.yOrder)
	return true
}

// laid returns row-major elements in the order of a layout.
func laid[T any](xs []T, sizes []int64, order []int) []T {
	if order == nil {
		return xs
	}
	out := make([]T, 0, len(xs))
	channels, inner := sizes[1], sizes[2]*sizes[3]
	for b := range sizes[0] {
		for i := range inner {
			for c := range channels {
				out = append(out, xs[(b*channels+c)*inner+i])
			}
		}
	}
	return out
}

// inPlace reports whether results may lie over the image.
func (tr *byteTrial) inPlace() bool {
	return tr.in.MayOverwrite(1) && len(tr.want) <= len(tr.inputs[0].Data)
}

// text is the trial's kernel and a function that calls it and compares.
func (tr *byteTrial) text(t *testing.T, number int) string {
	t.Helper()
	in := tr.in
	k := &c.Kernel{Index: "int32_t", Known: map[string]int64{}, MVE: tr.machine.MVE,
		Scalar: tr.machine.MVE, Vector: tr.machine.Tile.Vector}
	result := "int32_t"
	if tr.floats {
		result = "float"
	}
	if tr.inPlace() { // the last bytes of the results, which are as large as those of the image
		result = "int8_t"
		k.Result = c.Result{Name: "(int8_t)", Args: []string{"acc"}}
	}
	for _, p := range in.Params {
		n, ok := p.Value.Const()
		if !ok {
			t.Fatalf("%s: %s is %s", tr.op, p.Name, p.Value)
		}
		k.Known[p.Name] = n
	}
	var b strings.Builder
	typ := "int8_t"
	if tr.inputs[0].DType == ir.Int16 {
		typ = "int16_t"
	}
	packed := in.Packed
	if len(packed) == 0 {
		packed = []tuned.Packed{{Name: "w", DType: ir.Int8, Data: tr.inputs[1].Data}}
	}
	types := map[ir.DType]string{ir.Int8: "int8_t", ir.Int32: "int32_t", ir.Float32: "float"}
	params, given := "", ""
	for _, p := range packed {
		params += fmt.Sprintf("const %s *%s, ", types[p.DType], p.Name)
		given += fmt.Sprintf("%s%d, ", p.Name, number)
	}
	fmt.Fprintf(&b, "static void kernel%d(%s *y, const %s *x, %svoid *scratch)\n%s\n", number, result,
		typ, params, strings.Replace(withKnown(text(t, in.Name(), k), k), "{\n",
			"{\n    (void)scratch;\n", 1))
	data := func(typ, name string, n int, at func(int) any) {
		aligned := 4
		if name == "x" {
			aligned = 2
		}
		fmt.Fprintf(&b, "static const %s %s%d[] __attribute__((aligned(%d))) = {", typ, name, number,
			aligned)
		for i := range n {
			fmt.Fprintf(&b, "%v,", at(i))
		}
		b.WriteString("};\n")
	}
	var x []int64
	for i := 0; i < len(tr.inputs[0].Data); i++ {
		v := int64(int8(tr.inputs[0].Data[i]))
		if typ == "int16_t" {
			v = int64(int16(binary.LittleEndian.Uint16(tr.inputs[0].Data[i:])))
			i++
		}
		x = append(x, v)
	}
	x = laid(x, tr.inputs[0].Sizes, tr.xOrder)
	data(typ, "x", len(x), func(i int) any { return x[i] })
	float := func(bits uint32) any {
		return strconv.FormatFloat(float64(math.Float32frombits(bits)), 'x', -1, 32) + "f"
	}
	for _, p := range packed {
		data(types[p.DType], p.Name, len(p.Data)/p.DType.Size(), func(i int) any {
			if p.DType == ir.Int8 {
				return int8(p.Data[i])
			}
			bits := binary.LittleEndian.Uint32(p.Data[4*i:])
			if p.DType == ir.Float32 {
				return float(bits)
			}
			return int32(bits)
		})
	}
	want := "int32_t"
	if tr.floats {
		want = result
	}
	data(want, "want", len(tr.want), func(i int) any {
		if tr.floats {
			return float(uint32(tr.want[i]))
		}
		return tr.want[i]
	})
	scratch, _ := in.Scratch.Const()
	fmt.Fprintf(&b, "static int trial%d(void)\n{\n    static %s y[%d];\n"+
		"    static int8_t scratch[%d] __attribute__((aligned(4)));\n", number, result,
		max(len(tr.want), len(x)), scratch+1)
	from := fmt.Sprint("x", number)
	if tr.inPlace() {
		fmt.Fprintf(&b, "    for (int i = 0; i < %d; i++) y[i] = %s[i];\n", len(x), from)
		from = "y"
	}
	fmt.Fprintf(&b, "    kernel%d(y, %s, %sscratch);\n"+
		"    for (int i = 0; i < %d; i++) if (y[i] != (%s)want%d[i]) return 1;\n    return 0;\n}\n",
		number, from, given, len(tr.want), result, number)
	tr.used = k.Used
	return b.String()
}
