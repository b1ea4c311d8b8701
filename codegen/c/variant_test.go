package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// A variant of a micro-kernel is an entry in a list: what it takes, what it costs, and the
// name of its text. Nothing that lowers, plans or prints a program knows of it. Here one
// takes the products of the code that is small where code is to be fast.
func TestVariant(t *testing.T) {
	linear := tuned.Linear()
	variant := &tuned.Kernel{Name: linear.Name, Descriptor: linear.Descriptor,
		Operands: linear.Operands, C: true,
		Match: func(r *tuned.Request) *tuned.Instance {
			small := *r
			small.Target.Speed = false
			in := linear.Match(&small)
			if in != nil {
				in.Cost = 0
			}
			return in
		}}
	p, err := ir.Parse("variant", `program "variant.pt2"

method forward {
  parameter %w: f32[3, 2] "w" = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  input %x: f32[5, 2]

  %a: f32[5, 3] = aten.linear.default(input=%x, weight=%w)
  %out: f32[5, 3] = aten.relu.default(self=%a)
  return (%out)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	np, err := native.Build(p, native.Options{Table: ops.Standard(), Planner: plan.Best{},
		Kernels: append(tuned.Standard(), variant), Target: tuned.Target{Language: tuned.C,
			Machine: tuned.Machines()[0], Speed: true}})
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := generate(t, np, "variant")
	file := filepath.Join(dir, "variant.c")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.Contains(s, "variant_tile_rows") ||
		strings.Contains(s, "variant_rows_tile") {
		t.Errorf("the variant is not taken:\n%s", s)
	}
	gcc, err := toolchain.Find(toolchain.GCC().Compiler)
	if err != nil {
		t.Fatal(err)
	}
	report, err := exec.CommandContext(t.Context(), gcc, "-std=c99", "-Wall", "-Werror", "-c", "-o",
		filepath.Join(dir, "variant.o"), file).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, report)
	}
}
