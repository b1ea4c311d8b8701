package boards

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// firmware are ways in which weights and sections are asked for.
var firmware = []struct {
	form     string
	sections string
}{
	{codegen.WeightsC, "weights:.qspi,code:.itcm,tables:.dtcm"},
	{codegen.WeightsAsm, "weights:.qspi,code:.itcm,tables:.dtcm"},
	{codegen.WeightsBin, "code:.itcm,tables:.dtcm"},
}

// placedModels are those whose texts have the most kinds of definitions.
var placedModels = []string{ours + "/lenet", ours + "/q_lenet_static", ours + "/lstm"}

// Weights of every form, and code, weights and tables in sections of their own, run on a board
// whose linker script has those sections, with the outputs that they have elsewhere. Nothing of
// the package is in another section, but what the compiler makes by itself.
func TestSections(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM4()
	skipWithout(t, target.Compiler, "qemu-system-arm")
	for _, dir := range placedModels {
		for _, f := range firmware {
			t.Run(modelName(dir)+"/"+f.form, func(t *testing.T) {
				runPlaced(t, dir, f.form, f.sections, target, func(sources []string) []string {
					return sources
				})
			})
		}
	}
}

// The same with clang, whose assembly arm-none-eabi-gcc links.
func TestSectionsClang(t *testing.T) {
	tier.Needs(t, tier.Normal)
	// which clang marks, and gcc does not
	target := toolchain.CortexM4().With("-Wl,--no-warn-execstack")
	skipWithout(t, target.Compiler, "qemu-system-arm", "clang")
	for _, f := range firmware {
		t.Run(f.form, func(t *testing.T) {
			runPlaced(t, ours+"/lenet", f.form, f.sections, target,
				func(sources []string) []string { return assemblyOfClang(t, sources) })
		})
	}
}

// assemblyOfClang makes assembly of C for the Cortex-M4.
func assemblyOfClang(t *testing.T, sources []string) (made []string) {
	t.Helper()
	for _, source := range sources {
		if filepath.Ext(source) != ".c" {
			made = append(made, source)
			continue
		}
		to := strings.TrimSuffix(source, ".c") + ".s"
		args := append(toolchain.StrictC99(), "--target=thumbv7em-none-eabihf", "-mcpu=cortex-m4",
			"-O2", "-ffreestanding", "-fshort-enums", "-ffunction-sections", "-fdata-sections",
			"-fno-addrsig", "-S", "-o", to, source)
		if out, err := exec.CommandContext(t.Context(), "clang", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		made = append(made, to)
	}
	return made
}

// runPlaced runs a case with weights of a form in sections, compiled as sources says.
func runPlaced(t *testing.T, dir, form, sections string, target toolchain.Target,
	sources func([]string) []string) {
	t.Helper()
	g := &generated{kase: readCase(t, dir), name: compile.NameOf(filepath.Base(dir)), form: form,
		optimize: "speed"}
	var err error
	if g.sections, err = codegen.ParseSections(sections); err != nil {
		t.Fatal(err)
	}
	g.generate(t, target)
	work := t.TempDir()
	if form == codegen.WeightsBin {
		g.sources = append(g.sources, g.loader(t, work))
	}
	g.sources = sources(g.sources)
	runs, err := g.runs(work)
	if err != nil {
		t.Fatal(err)
	}
	report, err := g.model.ExecuteOn(t.Context(), baremetal.Firmware, false, target, work, g.sources,
		runs[:1], timeLimit)
	if err != nil {
		t.Fatal(err)
	}
	checkOutputs(t, g, report, false)
	image, err := toolchain.ReadELF(filepath.Join(work, "program.elf"))
	if err != nil {
		t.Fatal(err)
	}
	g.checkSections(t, image)
}

// loader is an application's file that has the weights of --weights=bin at their symbol.
func (g *generated) loader(t *testing.T, work string) string {
	t.Helper()
	path := filepath.Join(work, "loader.S")
	text := fmt.Sprintf(`    .section .qspi, "a", %%progbits
    .balign 16
    .global %[1]s_weights
%[1]s_weights:
    .incbin "%[2]s/%[1]s_weights.bin"
`, g.name, filepath.Dir(g.sources[0]))
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkSections looks at where the package's functions and constants are.
func (g *generated) checkSections(t *testing.T, image *toolchain.Image) {
	t.Helper()
	found := map[string]int{}
	for _, s := range image.Symbols {
		if strings.HasPrefix(s.Name, g.name+"_") && s.Size > 0 {
			found[s.Section]++
		}
	}
	for section, n := range found {
		if !slices.Contains([]string{".itcm", ".qspi", ".dtcm"}, section) {
			t.Errorf("%d symbols of the package are in %s", n, section)
		}
	}
	if found[".itcm"] == 0 || g.form != codegen.WeightsBin && found[".qspi"] == 0 {
		t.Errorf("symbols by section: %v", found)
	}
	t.Logf("symbols by section: %v", found)
}
