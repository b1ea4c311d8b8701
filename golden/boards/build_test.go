package boards

import (
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// Smaller cores than the board's: packages are built for them without a warning
// and need nothing but the compiler's own library.
func TestBuilds(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, target := range []toolchain.Target{toolchain.CortexM0(), toolchain.RISCV32()} {
		for _, m := range onBoard {
			t.Run(target.Name+"/"+modelName(m.dir), func(t *testing.T) {
				skipWithout(t, target.Compiler)
				sizes := link(t, generate(t, readCase(t, m.dir), target), target)
				t.Logf("%+v", sizes)
			})
		}
	}
}

// inDoubles reports whether a case's model has float64 values, or what PyTorch
// computes in float64: the ranks of quantiles, the incomplete gamma functions, guards in Python's
// floats, the scales of dynamic quantization, arange in steps of a fraction, sizes that are parts
// of floats; or the angles of a Fourier transform of a dynamic size.
func inDoubles(c *testcase.Case) bool {
	switch filepath.Base(c.Dir) {
	case "complex_functions", "composites_of_odd_numbers", "counted_in_steps", "fourier_dynamic",
		"gelu_infinite", "guard_arithmetic", "incomplete_gamma", "norms", "nothing_reduced",
		"promotion", "q_ao_dynamic_x86", "q_dynamic_groups", "q_dynamic_half", "q_dynamic_layers",
		"q_recurrent_dynamic", "q_transposed", "quantiles", "sizes_truncated":
		return true
	}
	return false
}

// Every case is built for the Cortex-M4: there is no operator that needs a
// library or, unless the model says so, doubles.
func TestEveryCaseLinks(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM4()
	skipWithout(t, target.Compiler)
	dirs, err := testcase.Find(ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			link(t, generate(t, readCase(t, dir), target), target)
		})
	}
}

// link builds a package on its own, which has no large stack and no unwanted doubles.
func link(t *testing.T, g *generated, target toolchain.Target) toolchain.Sizes {
	t.Helper()
	dir := t.TempDir()
	image := linked(t, g, target, dir)
	if found := image.DoubleHelpers(); len(found) > 0 && !inDoubles(g.kase) {
		t.Errorf("double-precision functions are linked: %v", found)
	}
	checkFrames(t, g, dir)
	return image.Sizes()
}

// linked builds a package in dir that needs no library.
func linked(t *testing.T, g *generated, target toolchain.Target, dir string) *toolchain.Image {
	t.Helper()
	elf, err := baremetal.Link(t.Context(), target, dir, g.sources, g.entry)
	if err != nil {
		t.Fatal(err)
	}
	image, err := toolchain.ReadELF(elf)
	if err != nil {
		t.Fatal(err)
	}
	if len(image.Undef) > 0 {
		t.Errorf("undefined: %v", image.Undef)
	}
	return image
}
