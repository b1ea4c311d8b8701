package conform

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
)

// processorHas reports whether the processor has what Linux calls flag.
func processorHas(flag string) bool {
	text, _ := os.ReadFile("/proc/cpuinfo")
	return slices.Contains(strings.Fields(string(text)), flag)
}

// The checked-in cases through C on machines with wider and narrower vectors
// than gcc assumes: in packages that choose vectors and tiles by what the
// compiler tells them, and in ones of that machine.
func TestMachines(t *testing.T) {
	tier.Needs(t, tier.Normal)
	clang := toolchain.Clang()
	runs := []struct {
		machine toolchain.Target
		target  string
		needs   string // of the processor's flags
	}{
		{host(t, "native"), "generic", ""},
		{host(t, "neon"), "generic", ""},
		{host(t, "x86-64-v3"), "generic", "avx2"},
		{host(t, "neon"), "neon", ""},
		{host(t, "x86-64-v3"), "x86-64-v3", "avx2"},
		{clang.With("-march=x86-64-v3"), "x86-64-v3", "avx2"},
		{host(t, "x86-64-v4"), "x86-64-v4", "avx512vl"},
		{clang.With("-march=x86-64-v4"), "x86-64-v4", "avx512vl"},
		{host(t, "gcc"), "scalar", ""},
		{clang, "scalar", ""},
	}
	for k, run := range runs {
		if run.needs != "" && !processorHas(run.needs) {
			continue
		}
		t.Run(run.machine.Name+" "+run.target, func(t *testing.T) {
			c := way.C{Settings: way.Settings{Options: compile.Options{Target: run.target}},
				Target: run.machine}
			dirs := ofVectors()
			if run.machine.Compiler == clang.Compiler { // gcc tries all
				dirs = tier.Share(dirs, k%3, 3)
			}
			if run.target == "generic" { // elsewhere the text of tuned kernels alone differs
				dirs = append(dirs, tier.Share(others(t), k, 3)...)
			}
			report, err := Check(t.Context(), dirs, []way.Way{c}, func(m Miss) { t.Error(m) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
		})
	}
}

// others returns cases besides those of [ofVectors].
func others(t *testing.T) []string {
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		return slices.Contains(ofVectors(), dir)
	})
	return tier.Some(dirs, 0, 30)
}

// ofVectors returns the cases that hand-made kernels with vectors run in.
func ofVectors() []string {
	var dirs []string
	for _, name := range []string{"digits", "lenet", "conv_grouped", "conv_asymmetric_pad",
		"channels_last_conv", "conv_rounded",
		"mlp784", "matmul_kinds", "attention_causal", "promotion"} {
		dirs = append(dirs, "../cases/"+name)
	}
	return dirs
}

// Some through Go, which chooses its assembly by what it finds.
func TestGoMachines(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, name := range []string{"x86-64-v3", "neon"} {
		t.Run(name, func(t *testing.T) {
			g := way.Go{Machine: toolchain.GoHost(name)}
			report, err := Check(t.Context(), ofVectors(), []way.Way{g}, func(m Miss) {
				t.Error(m)
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
		})
	}
}

// host returns one of the machines that programs can run on.
func host(t *testing.T, name string) toolchain.Target {
	for _, h := range toolchain.Hosts() {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no machine %s", name)
	return toolchain.Target{}
}
