package compile

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/kernels/tuned"
)

// otherMachines are words of lines for other machines than microcontrollers.
var otherMachines = regexp.MustCompile(
	`__AVX\w*|__SSE\w*|__FMA__|__aarch64__|__ARM_NEON|vector_size|min_vector_width|TILE_LANES`)

// A package for a microcontroller has no line for another machine: no vectors, and of
// units of processors only what its own may have.
func TestNoLinesForOtherMachines(t *testing.T) {
	arm, floats := regexp.MustCompile(`__ARM_\w+|__asm__\("(?:vsqrt|sxtb|smla)\w*`),
		regexp.MustCompile(`__ARM_FP|__ARM_FEATURE_FMA|__asm__\("vsqrt`)
	riscv := regexp.MustCompile(`__riscv\w*|__asm__\("fsqrt`)
	seen := map[string]int{} // packages by what they have for their own machine
	for _, m := range tuned.Machines() {
		if !m.Microcontroller {
			continue
		}
		wrong := []*regexp.Regexp{otherMachines}
		cortex := m.Name != "riscv32"
		if cortex {
			wrong = append(wrong, riscv)
		} else {
			wrong = append(wrong, arm)
		}
		if !m.Floats {
			wrong = append(wrong, floats)
		}
		for _, model := range []string{"losses_of_pairs/model.pt2", "digits/model.pt2",
			"attention_causal/model.pt2"}[:tier.Of(1, 3, 3)] {
			p, closer, err := Read(filepath.Join("../../golden/cases", model))
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := Package(p, Options{Name: "m", Lang: "c", Target: m.Name})
			if err != nil {
				t.Fatal(err)
			}
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
			for _, f := range pkg.Files {
				for _, w := range wrong {
					if word := w.Find(f.Data); word != nil {
						t.Errorf("%s for %s: %s in %s", model, m.Name, word, f.Name)
					}
				}
				for name, own := range map[string]*regexp.Regexp{"floats": floats,
					"riscv": riscv} {
					if own.Match(f.Data) {
						seen[name]++
					}
				}
			}
		}
	}
	// The models are such that the machines' own lines show.
	for _, name := range []string{"floats", "riscv"} {
		if seen[name] == 0 {
			t.Errorf("no package has lines of %s", name)
		}
	}
}
