package custom

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

const mixed = "my::mix(Tensor x, Tensor(a!) m, Tensor? y, Tensor[] zs, Tensor?[] os, int n, " +
	"float f, " +
	"bool b, int[] ns, float[] fs, bool[] bs, str s, SymInt size, float? none) -> (Tensor, Tensor)"

const mixedProgram = `program "m.pt2"

method forward {
  symbol s0 in [1, 4]
  input %x: f32[2, 3]
  input %z: i32[s0, 2]
  buffer %m: f32[3] "m" = [1.0, 2.0, 3.0]
  %n: int(s0) = aten.sym_size.int(self=%z, dim=0)
  %p: f32[2, 3] = aten.add.Scalar(self=%x, other=1)
  %a: f32[4], %b: b8[1] = mix: my.mix.default(x=%p, m=%m, y=%x, zs=[%z, %z], os=[%x, none], n=3, f=0.5, b=true, ns=[4, 5], fs=[1.5, 2.0], bs=[true, false], s="word", size=%n, none=none)
  %q: f32[4] = aten.mul.Scalar(self=%a, other=2)
  return (%q, %b, %m)
}
`

// A kernel gets the same arguments from rt/optimize as from rt, and what it writes is read.
func TestOptimized(t *testing.T) {
	p, err := ir.Parse("m.txt", mixedProgram)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kernels := &custom.Kernels{}
	if err := kernels.Declare(mixed); err != nil {
		t.Fatal(err)
	}
	pkg, err := compile.Package(p, compile.Options{Lang: "pte", Name: "m", Custom: kernels})
	if err != nil {
		t.Fatal(err)
	}
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	program, err := rt.Open(filepath.Join(dir, "m.pte"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	var runs [][]string
	for _, o := range []rt.Optimizer{nil, optimize.With(optimize.Options{Strict: true,
		Custom: []string{mixed}})} {
		var seen []string
		method, err := program.LoadMethod("forward", &rt.MethodOptions{Optimize: o,
			Registry: portable.Registry().With(rt.Kernel{Name: "my::mix.out",
				Prepare: func(c *rt.Call) (func() error, error) {
					return func() error { return mix(c, &seen) },
						nil
				}})})
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(4) {
			x, _ := rt.NewTensor(ir.Float32, []int64{2, 3}, nil, nil)
			z, _ := rt.NewTensor(ir.Int32, []int64{n + 1, 2}, nil, nil)
			x.Data[2], z.Data[0] = byte(n), byte(n)
			out, err := method.Forward(t.Context(), x, z)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range out {
				seen = append(seen, show(v))
			}
		}
		runs = append(runs, seen)
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Errorf("rt/optimize:\n%s\nrt:\n%s", strings.Join(runs[1], "\n"), strings.Join(runs[0], "\n"))
	}
}

// mix notes its arguments, and writes to what it writes.
func mix(c *rt.Call, seen *[]string) error {
	n := len(c.Args) - 2
	for _, v := range c.Args[:n] {
		*seen = append(*seen, show(v))
	}
	for i, v := range []*rt.EValue{c.Args[1], c.Args[n], c.Args[n+1]} {
		v.Tensor.Data[0] += byte(i + 1)
	}
	copy(c.Args[n].Tensor.Data, c.Args[0].Tensor.Data[:16])
	c.Args[n+1].Tensor.Data[0] = 1
	return nil
}

// show says what is in a slot.
func show(v *rt.EValue) string {
	switch {
	case v == nil:
		return "nil"
	case v.Kind == rt.TensorKind:
		return fmt.Sprint(v.Tensor.DType, v.Tensor.Sizes, v.Tensor.Data)
	case v.Kind == rt.IntList, v.Kind == rt.TensorList:
		text := v.Kind.String()
		for _, x := range v.List {
			text += " " + show(x)
		}
		return text
	}
	return fmt.Sprint(v.Kind, v.Int, v.Double, v.Bool, v.String, v.Doubles, v.Bools)
}
