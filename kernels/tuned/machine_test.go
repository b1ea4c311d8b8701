package tuned_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/kernels/tuned"
)

// The rows of the table agree with each other.
func TestMachines(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range tuned.Machines() {
		if seen[m.Name] || m.Doc == "" || len(m.Languages) == 0 {
			t.Errorf("%s is there twice, or says too little", m.Name)
		}
		seen[m.Name] = true
		if found, err := tuned.MachineNamed(m.Name); err != nil || found != m {
			t.Errorf("%s is found as %v, %v", m.Name, found, err)
		}
		if m.Tile.Vector != (m.Open || m.Vectors > 0 && !m.MVE) {
			t.Errorf("%s: vectors of %d bits, tile %+v", m.Name, m.Vectors, m.Tile)
		}
		if m.Microcontroller && (m.For(tuned.Go) || m.Tile.Vector || m.Assembly != nil) {
			t.Errorf("%s is a microcontroller with more than such have", m.Name)
		}
		if results := m.Tile.Rows * m.Tile.Cols; m.Floats && results >= m.Registers &&
			!m.Tile.Vector {
			t.Errorf("%s: %d results in %d registers", m.Name, results, m.Registers)
		}
		if (m.Undefined != nil) != (m.Flag != "") || m.Defined != nil && m.Undefined == nil {
			t.Errorf("%s is told by macros, but not of all", m.Name)
		}
	}
	if m, err := tuned.MachineNamed(""); err != nil || !m.Open {
		t.Errorf("no name is %v, %v", m, err)
	}
	_, err := tuned.MachineNamed("cortex-m5")
	if err == nil || !strings.Contains(err.Error(), "cortex-m55, cortex-m85") {
		t.Errorf("error %v", err)
	}
}

// newer are the machines that gcc 12 does not know.
var newer = []string{"cortex-m52", "cortex-m85"}

// Compilers tell by macros that the rows are right: which they define, and whether there
// are units for floats and for pairs of products.
func TestMachinesAsCompilersSay(t *testing.T) {
	compilers := map[string]string{"neon": "aarch64-linux-gnu-gcc", "cortex": "arm-none-eabi-gcc",
		"x86": "gcc", "riscv32": "riscv64-unknown-elf-gcc"}
	for _, m := range tuned.Machines() {
		if m.Flag == "" {
			continue
		}
		family, _, _ := strings.Cut(m.Name, "-")
		compiler, err := toolchain.Find(compilers[family])
		if err != nil {
			t.Fatal(err)
		}
		macros := func(more ...string) (map[string]bool, string) {
			args := slices.Concat(strings.Fields(m.Flag), more, []string{"-dM", "-E", "-x", "c",
				"/dev/null"})
			out, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput()
			if err != nil {
				return nil, string(out)
			}
			defined := map[string]bool{}
			for line := range strings.Lines(string(out)) {
				defined[strings.Fields(line)[1]] = true
			}
			return defined, ""
		}
		defined, problem := macros()
		if strings.Contains(problem, "unrecognized") && slices.Contains(newer, m.Name) {
			continue
		}
		if defined == nil {
			t.Errorf("%s: %s", m.Name, problem)
			continue
		}
		for _, name := range m.Defined {
			if !defined[name] {
				t.Errorf("%s: %s is not defined", m.Name, name)
			}
		}
		for _, name := range m.Undefined {
			if defined[name] {
				t.Errorf("%s: %s is defined", m.Name, name)
			}
		}
		if family != "cortex" {
			continue
		}
		if got := defined["__ARM_FEATURE_DSP"]; got != m.DSP {
			t.Errorf("%s: DSP %v, the compiler says %v", m.Name, m.DSP, got)
		}
		hard, _ := macros("-mfloat-abi=hard", "-mfpu=auto") // nil without a unit
		if hard["__ARM_FP"] != m.Floats || hard["__ARM_FEATURE_FMA"] != m.FMA {
			t.Errorf("%s: floats %v, FMA %v, the compiler says otherwise", m.Name, m.Floats, m.FMA)
		}
	}
}
