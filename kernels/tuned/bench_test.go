package tuned_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/kernels/tuned"
)

// benchmarks are the calls that are timed.
func benchmarks() []*trial {
	conv := func(name string, x, w []int64, pad, groups int64) *trial {
		return &trial{name: name, op: "aten.convolution.default", constant: []bool{false,
			true, true},
			sample: samples.NewSample("input", static(x...), "weight", static(w...), "bias",
				static(w[0]), "stride", []int64{1, 1},
				"padding", []int64{pad, pad}, "dilation", []int64{1, 1}, "transposed", false,
				"output_padding", []int64{0, 0}, "groups", groups)}
	}
	return []*trial{
		{name: "linear 784 to 128", op: "aten.linear.default", constant: []bool{false, true, true},
			sample: samples.NewSample("input", static(1, 784), "weight", static(128, 784), "bias",
				static(128))},
		conv("convolution 3x3 64 to 64 on 14x14", []int64{1, 64, 14, 14}, []int64{64, 64, 3, 3}, 1,
			1),
		conv("convolution 1x1 64 to 64 on 25x5", []int64{1, 64, 25, 5}, []int64{64, 64, 1, 1}, 0,
			1),
		conv("depthwise 3x3 of 64 on 25x5", []int64{1, 64, 25, 5}, []int64{64, 1, 3, 3}, 1, 64),
		conv("depthwise 3x3 of 64 on 56x56", []int64{1, 64, 56, 56}, []int64{64, 1, 3, 3}, 1, 64),
		{name: "matmul 256x256x256", op: "aten.mm.default", constant: []bool{false, false},
			sample: samples.NewSample("self", static(256, 256), "mat2", static(256, 256))},
	}
}

const timer = `
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *fill(int n)
{
    float *p = (float *)malloc(sizeof(float) * (size_t)n);
    for (int i = 0; i < n; i++) p[i] = (float)(i %% 17 - 8) / 8.0f;
    return p;
}

/* the best of several runs of at least 10 ms each, in GFLOP/s */
#define TIME(flops, call) do { \
        double best = 0; \
        for (int run = 0; run < 10; run++) { \
            double from = seconds(), t; \
            int n = 0; \
            do { call; n++; __asm__ volatile("" ::: "memory"); } while ((t = seconds() - from) < 0.01); \
            if (flops * n / t > best) best = flops * n / t; \
        } \
        printf("%%g\n", best * 1e-9); \
    } while (0)

int main(void)
{
%s    return 0;
}
`

// naiveC returns plain C for a trial, without bias, as a function called name.
func (tr *trial) naiveC(t testing.TB, name string) string {
	size := func(arg string) []int64 { return tr.sizes(t, tr.call.Tensor(arg)) }
	switch tr.in.Name() {
	case "linear_rows_f32":
		w := size("weight")
		return fmt.Sprintf(`static void %s(float *y, const float *x, const float *w)
{
    for (int j = 0; j < %[2]d; j++) {
        float s = 0;
        for (int k = 0; k < %[3]d; k++) s += x[k] * w[j * %[3]d + k];
        y[j] = s;
    }
}
`, name, w[0], w[1])
	case "matmul_rows_f32":
		x, w := size("self"), size("mat2")
		return fmt.Sprintf(`static void %s(float *y, const float *x, const float *w)
{
    for (int i = 0; i < %[2]d; i++)
        for (int j = 0; j < %[4]d; j++) {
            float s = 0;
            for (int k = 0; k < %[3]d; k++) s += x[i * %[3]d + k] * w[k * %[4]d + j];
            y[i * %[4]d + j] = s;
        }
}
`, name, x[0], x[1], w[1])
	}
	x, w := size("input"), size("weight")
	pad, err := tr.call.Ints("padding")
	if err != nil {
		t.Fatal(err)
	}
	step := 1 // depthwise: output channel o reads input channel o
	if w[1] != 1 {
		step = 0
	}
	return fmt.Sprintf(`static void %s(float *y, const float *x, const float *w)
{
    enum { H = %d, W = %d, CIN = %d, K = %d, P = %d, OH = H + 2 * P - K + 1, OW = W + 2 * P - K + 1 };
    for (int o = 0; o < %d; o++)
        for (int p = 0; p < OH; p++)
            for (int q = 0; q < OW; q++) {
                float s = 0;
                for (int c = 0; c < CIN; c++)
                    for (int i = 0; i < K; i++)
                        for (int j = 0; j < K; j++)
                            if (p + i >= P && p + i < H + P && q + j >= P && q + j < W + P)
                                s += x[((c + o * %d) * H + p + i - P) * W + q + j - P] * w[((o * CIN + c) * K + i) * K + j];
                y[(o * OH + p) * OW + q] = s;
            }
}
`, name, x[2], x[3], w[1], w[2], pad[0], w[0], step)
}

// BenchmarkC times the C kernels against plain loops, at gcc -O3
// -march=native.
func BenchmarkC(b *testing.B) {
	t := testing.TB(b)
	r := rand.New(rand.NewPCG(7, 8))
	set := newBatch()
	var code, calls strings.Builder
	code.WriteString(
		"#define _POSIX_C_SOURCE 199309L\n#include <stdint.h>\n#include <stdio.h>\n#include " +
			"<stdlib.h>\n#include <time.h>\n\n")
	all := benchmarks()
	for i, tr := range all {
		if !tr.bind(t, r, tuned.Target{Language: tuned.C, Machine: machine("generic"), Speed: true}) {
			b.Fatalf("%s: not taken", tr.name)
		}
		fast, slow := fmt.Sprintf("tuned_%d", i), fmt.Sprintf("naive_%d", i)
		code.WriteString(set.withHelpers(t, tr, tr.kernel(t, fast, false)))
		code.WriteString(tr.naiveC(t, slow))
		fmt.Fprintf(&calls, "    {\n        float *y = fill(%d)",
			tr.number(t, tr.call.Outs[0].Numel()))
		args := "y"
		for k, x := range tr.inputs() {
			fmt.Fprintf(&calls, ", *b%d = fill(%d)", k, len(x))
			args += fmt.Sprintf(", b%d", k)
		}
		if n := tr.number(t, tr.in.Scratch); n > 0 {
			fmt.Fprintf(&calls, ", *s = fill(%d)", n)
			args += ", s"
		}
		flops := 2 * tr.number(t, tr.in.MACs)
		fmt.Fprintf(&calls,
			";\n        TIME(%d.0, %s(%s));\n        TIME(%d.0, %s(y, b0, b1));\n    }\n", flops,
			fast, args, flops, slow)
	}
	fmt.Fprintf(&code, timer, calls.String())
	dir := b.TempDir()
	source, exe := filepath.Join(dir, "bench.c"), filepath.Join(dir, "bench")
	if err := os.WriteFile(source, []byte(code.String()), 0o666); err != nil {
		b.Fatal(err)
	}
	target := toolchain.GCC().With("-O3", "-march=native", "-Wno-unused-function",
		"-Wno-variadic-macros")
	if err := target.Build(b.Context(), dir, exe, source); err != nil {
		b.Fatal(err)
	}
	out, err := exec.CommandContext(b.Context(), exe).Output()
	if err != nil {
		b.Fatal(err)
	}
	rates := strings.Fields(string(out))
	for i, tr := range all {
		b.Run(strings.ReplaceAll(tr.name, " ", "_"), func(b *testing.B) {
			for k, unit := range []string{"GFLOP/s", "naive-GFLOP/s"} {
				rate, err := strconv.ParseFloat(rates[2*i+k], 64)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(rate, unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGo times the Go kernels.
func BenchmarkGo(b *testing.B) {
	t := testing.TB(b)
	r := rand.New(rand.NewPCG(7, 8))
	for _, tr := range benchmarks() {
		if !tr.bind(t, r, tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true}) {
			b.Fatalf("%s: not taken", tr.name)
		}
		tr.want = make([]float32, tr.number(t, tr.call.Outs[0].Numel()))
		b.Run(strings.ReplaceAll(tr.name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				tr.runGo(t)
			}
			b.ReportMetric(2e-9*float64(tr.number(t, tr.in.MACs))*float64(
				b.N)/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}
