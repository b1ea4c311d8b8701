package tuned_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/kernels/tuned"
)

// object compiles kernels for target, once each with parameters, and returns
// the object file.
func object(t testing.TB, compiler toolchain.Target, target tuned.Target,
	kernels ...string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	sets := trialsOf(r, target, 1)
	b := newBatch()
	var text strings.Builder
	text.WriteString("#include <stddef.h>\n#include <stdint.h>\n\n")
	for _, k := range kernels {
		tr := sets[k][0]
		if !tr.prepare(t, r, target) {
			t.Fatalf("%s: not taken", tr.name)
		}
		body := strings.Replace(tr.kernel(t, "run_"+k, true), "static void run_", "void run_", 1)
		text.WriteString(b.withHelpers(t, tr, body))
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "kernels.c")
	if err := os.WriteFile(source, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	objects, err := compiler.Compile(t.Context(), dir, source)
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

// TestFusedMultiplyAdd counts the instructions that gcc does not emit unless
// told under -std=c99.
func TestFusedMultiplyAdd(t *testing.T) {
	t.Parallel()
	tier.Needs(t, tier.Normal)
	for _, c := range []struct {
		compiler    toolchain.Target
		objdump     string
		target      string
		instruction string
		want        int // at least: one for every sum of the tiles
	}{
		{toolchain.GCC().With("-mavx2", "-mfma"), "objdump", "generic", `\bvfn?m(add|sub)\w*ps\b`,
			12},
		{toolchain.GCC().With("-O3", "-mavx2", "-mfma"), "objdump", "generic",
			`\bvfn?m(add|sub)\w*ps\b`, 12},
		{toolchain.Clang().With("-mavx2", "-mfma"), "objdump", "generic", `\bvfn?m(add|sub)\w*ps\b`,
			12},
		{toolchain.CortexM4(), "arm-none-eabi-objdump", "cortex-m4", `\bvfma\.f32\b`, 16},
		{toolchain.CortexM4().With("-Os"), "arm-none-eabi-objdump", "cortex-m4",
			`\bvfma\.f32\b`, 16},
	} {
		t.Run(c.compiler.Name+" "+strings.Join(c.compiler.Flags[max(0, len(c.compiler.Flags)-3):],
			" "), func(t *testing.T) {
			kernels := map[string]int{"linear_f32": c.want, "conv2d_f32": c.want,
				"depthwise_conv2d_f32": 1}
			if c.target == "generic" {
				kernels["linear_rows_f32"], kernels["matmul_rows_f32"], kernels["winograd_f32"] =
					c.want, c.want, c.want
			}
			for kernel, want := range kernels {
				o := object(t, c.compiler, tuned.Target{Language: tuned.C, Machine: machine(c.target),
					Speed: strings.Contains(kernel, "_rows") || kernel == "winograd_f32"}, kernel)
				out, err := exec.CommandContext(t.Context(), c.objdump, "-d", o).Output()
				if err != nil {
					t.Fatal(err)
				}
				if n := len(regexp.MustCompile(c.instruction).FindAll(out, -1)); n < want {
					t.Errorf("%s has %d fused multiply-adds, want %d or more", kernel, n, want)
				}
			}
		})
	}
}

// TestCodeSize bounds what the kernels of a small convolutional network take.
func TestCodeSize(t *testing.T) {
	for _, c := range []struct {
		compiler toolchain.Target
		target   string
		most     uint64 // bytes
	}{
		{toolchain.CortexM4(), "cortex-m4", 3300},
		{toolchain.CortexM4().With("-Os"), "cortex-m4", 2500},
		{toolchain.CortexM0().With("-Os"), "cortex-m0", 2500},
		{toolchain.RISCV32().With("-Os"), "riscv32", 3000},
	} {
		o := object(t, c.compiler, tuned.Target{Language: tuned.C, Machine: machine(c.target)}, "conv2d_f32",
			"depthwise_conv2d_f32", "linear_f32")
		image, err := toolchain.ReadELF(o)
		if err != nil {
			t.Fatal(err)
		}
		n := image.Sizes().Text
		t.Logf("%s: %d bytes", c.target, n)
		if n > c.most {
			t.Errorf(
				"convolution, depthwise convolution and linear take %d bytes on %s, want %d at most", n, c.target, c.most)
		}
		if names := image.DoubleHelpers(); len(names) > 0 {
			t.Errorf("%s computes in double: %v", c.target, names)
		}
		for _, name := range image.Undef {
			if strings.HasPrefix(name, "mem") {
				t.Errorf("%s needs %s", c.target, name)
			}
		}
	}
}
