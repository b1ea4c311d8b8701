package quantize

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
)

// grouped has a layer of each kind that groups are for, and one that has none.
const grouped = `program "m.pt2"

method forward {
  input %x: f32[1, 64, 2, 2]
  input %i: i64[3]
  const %e: f32[8, 64] = []
  const %w: f32[4, 64, 1, 1] = []
  const %k: f32[4, 64, 3, 3] = []
  const %a: f32[64, 6] = []
  const %l: f32[5, 64] = []
  const %b: f32[4] = [1.0, 2.0, 3.0, 4.0]
  const %c: f32[6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]

  %0: f32[3, 64] = aten.embedding.default(weight=%e, indices=%i)
  %1: f32[1, 4, 2, 2] = aten.conv2d.default(input=%x, weight=%w, bias=%b)
  %2: f32[1, 4, 2, 2] = aten.conv2d.default(input=%x, weight=%k, bias=%b, padding=[1, 1])
  %3: f32[3, 6] = aten.addmm.default(self=%c, mat1=%0, mat2=%a)
  %4: f32[3, 5] = aten.linear.default(input=%0, weight=%l)
  return (%1, %2, %3, %4)
}
`

// Groups have scales in embeddings, products and convolutions of single elements. The weights of
// these are never floats, and the results are those of the graph that dequantizes.
func TestGroups(t *testing.T) {
	text := grouped
	for _, n := range []int{8 * 64, 4 * 64, 4 * 64 * 9, 64 * 6, 5 * 64} {
		var xs []string
		for i := range n { // groups of other sizes
			x := math.Sin(float64(i)*1.7) * (1 + float64(i/32%3))
			xs = append(xs, fmt.Sprintf("%.4f", float32(x)))
		}
		text = strings.Replace(text, "= []", "= ["+strings.Join(xs, ", ")+"]", 1)
	}
	for _, bits := range []int{8, 4} {
		p := parsed(t, text)
		r := recipeOf(t, p, Options{Scheme: Scheme{Bits: bits, Group: 32}})
		var groups []string
		for _, w := range r.Recipe.Methods[0].Weights {
			groups = append(groups, fmt.Sprint(w.Value, w.Group))
		}
		if got := strings.Join(groups, " "); got != "e32 w32 k0 a32 l32" {
			t.Errorf("groups of %s", got)
		}
		backend := ir.Clone(r.Quantized)
		if err := lowerBackend.Run(newContext(), backend, nil); err != nil {
			t.Fatal(err)
		}
		for _, n := range backend.Methods[0].Graph.Nodes {
			w, _ := n.Arg("weight").(ir.Ref)
			if _, isRef := n.Arg("mat2").(ir.Ref); isRef || w.Value != nil && w.Value.Def != nil &&
				strings.Contains(w.Value.Def.Op, "dequantize") && ir.OpBase(n.Op) != "embedding" {
				t.Errorf("%d bits: weights become floats: %s", bits, n)
			}
		}
		want, got := run(t, r.Quantized), run(t, backend)
		for o := range want {
			for i, x := range want[o] {
				if math.Abs(got[o][i]-x) > 1e-4*(1+math.Abs(x)) {
					t.Fatalf("%d bits: output %d element %d is %v, want %v", bits, o, i, got[o][i], x)
				}
			}
		}
	}
}

// run returns the outputs of a program with normal inputs.
func run(t *testing.T, p *ir.Program) (outs [][]float64) {
	t.Helper()
	inputs, err := normal(p.Methods[0], 1).Get(0)
	if err != nil {
		t.Fatal(err)
	}
	var values []interp.Value
	if values, err = newRunner(newContext().Table, p.Methods[0], nil, nil).run(inputs, nil,
		nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		var xs []float64
		floats(v.Tensor.Data, func(x float64) { xs = append(xs, x) })
		outs = append(outs, xs)
	}
	return outs
}
