package tuned_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/templates/c"
)

// Kernels of bytes give the sums of the definition, as plain C and with a core's
// instructions for pairs.
func TestInt8(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 32))
	var b, calls strings.Builder
	b.WriteString("#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n")
	taken, helpers := map[string]int{}, map[string]bool{}
	n := 0
	for _, tr := range byteTrials(r, tier.Of(16, 40, 40)) {
		if !tr.prepare(t) {
			continue
		}
		taken[tr.in.Kernel.Name]++
		kernel := tr.text(t, n)
		for _, h := range c.HelpersFor(tr.used, false) {
			if !helpers[h] {
				helpers[h] = true
				b.WriteString(text(t, h, &c.Kernel{Index: "int32_t"}))
			}
		}
		b.WriteString(kernel)
		fmt.Fprintf(&calls, "    if (trial%d()) return %d;\n", n, n%60+1)
		n++
	}
	for _, name := range []string{"linear_i8", "conv2d_i8", "depthwise_i8"} {
		if taken[name] < tier.Of(1, 5, 5) {
			t.Errorf("%s was taken %d times", name, taken[name])
		}
	}
	fmt.Fprintf(&b, "int MAIN(void)\n{\n%s    return 0;\n}\n", &calls)
	for _, target := range []toolchain.Target{toolchain.GCC().With(toolchain.Sanitizers()...),
		toolchain.Clang()} {
		t.Run(target.Name, func(t *testing.T) {
			if _, err := toolchain.Find(target.Compiler); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			source := filepath.Join(dir, "bytes.c")
			if err := os.WriteFile(source, []byte("#define MAIN main\n"+b.String()),
				0o644); err != nil {
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
			if out, err := exec.CommandContext(t.Context(), exe).CombinedOutput(); err != nil {
				t.Errorf("a trial fails: %v\n%s", err, out)
			}
		})
	}
	for _, target := range []toolchain.Target{toolchain.CortexM4(), toolchain.CortexM0()} {
		t.Run(target.Name, func(t *testing.T) {
			for _, tool := range []string{target.Compiler, "qemu-system-arm"} {
				if _, err := toolchain.Find(tool); err != nil {
					t.Skip(err)
				}
			}
			dir := t.TempDir()
			elf, err := baremetal.Build(t.Context(), target, dir, nil,
				"#include \"harness_support.h\"\n"+"#define MAIN harness_main\n"+b.String())
			if err != nil {
				t.Fatal(err)
			}
			out, exit, err := baremetal.Run(t.Context(), elf, time.Minute)
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
		"depth":       conv(0, []int64{1, 1<<14 + 4, 1, 1}, []int64{2, 1, 1, 1<<14 + 4}),
		"one product": conv(0, []int64{1, 1, 3, 3}, []int64{2, 1, 1, 1}),
		"groups":      conv(0, []int64{1, 4, 3, 3}, []int64{2, 1, 1, 2}),
	} {
		if tr.prepare(t) {
			t.Errorf("%s: taken by %s", name, tr.in.Kernel.Name)
		}
	}
	tr := conv(128, []int64{1, 4, 3, 3}, []int64{2, 1, 1, 4})
	if !tr.prepare(t) || !tr.in.MACs.Equal(sym.Int(72)) {
		t.Error("a convolution of bytes is not taken")
	}
}
