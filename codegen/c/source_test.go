package c_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// Where tiles are of AVX-512, gcc makes what follows them of vectors as wide,
// functions of kernels/math and all, whatever the machine's own tuning prefers.
func TestWideVectors(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("this machine's gcc is not one for amd64, which has AVX-512")
	}
	text := `program "wide.pt2"

method forward {
  parameter %w: f32[32, 2] "w" = [` + strings.Repeat("0.5, ", 63) + `0.5]
  input %x: f32[3, 2]

  %a: f32[3, 32] = aten.linear.default(input=%x, weight=%w)
  %gate: f32[3, 32] = aten.tanh.default(self=%a)
  %out: f32[3, 32] = aten.mul.Tensor(self=%a, other=%gate)
  return (%out)
}
`
	gcc, err := toolchain.Find(toolchain.GCC().Compiler)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ir.Parse("wide", text)
	if err != nil {
		t.Fatal(err)
	}
	np, err := native.Build(p, native.Options{Table: ops.Standard(), Planner: plan.Best{},
		Kernels: tuned.Standard(), Target: tuned.Target{Language: tuned.C, Machine: tuned.Machines()[0],
			Speed: true}})
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := generate(t, np, "wide")
	report, err := exec.CommandContext(t.Context(), gcc, "-std=c99", "-O3", "-march=icelake-server",
		"-mtune=icelake-server",
		"-fopt-info-vec-optimized", "-c", "-o", filepath.Join(dir, "wide.o"),
		filepath.Join(dir, "wide.c")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	if s := string(report); !strings.Contains(s, "loop vectorized using 64 byte vectors") ||
		strings.Contains(s, "loop vectorized using 32 byte vectors") {
		t.Errorf("vectors are not whole ones:\n%s", s)
	}
}

// Options that change what floating-point arithmetic gives are an error that says
// what to do, whatever the compiler; others are none.
func TestFastMath(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dir, pkg := generate(t, kitchenSink(), "sink")
	source := sources(dir, pkg)[:1]
	for _, target := range []toolchain.Target{toolchain.GCC(), toolchain.Clang()} {
		for _, flags := range [][]string{{"-ffast-math"}, {"-O3", "-ffast-math"}, {"-Ofast"},
			{"-ffinite-math-only"}} {
			if strings.HasPrefix(target.Compiler, "clang") && flags[0] == "-Ofast" {
				flags = append(flags, "-Wno-deprecated") // clang says that of the name
			}
			_, err := target.With(flags...).Compile(t.Context(), t.TempDir(), source...)
			if err == nil ||
				!strings.Contains(err.Error(),
					"sink.c needs exact floating-point arithmetic: compile it without -ffast-math") {
				t.Errorf("%s %v: %v", target.Compiler, flags, err)
			}
		}
		for _, flags := range [][]string{{"-O3"}, {"-Os"}, {"-O3", "-fno-math-errno"}} {
			if _, err := target.With(flags...).Compile(t.Context(), t.TempDir(),
				source...); err != nil {
				t.Errorf("%s %v: %v", target.Compiler, flags, err)
			}
		}
	}
}
