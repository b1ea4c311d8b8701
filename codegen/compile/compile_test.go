package compile

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
)

func TestNameOf(t *testing.T) {
	for file, want := range map[string]string{
		"My-Net.pt2": "my_net", "a/b/lenet.pt2": "lenet", "2net.pt2": "model2net",
		"__x__.y.pt2": "x_y", "ä.pt2": "model", "": "model",
		"model.core.pt2": "model_core", "v.pt2": "v", "v2_net.pt2": "v2_net", "1.pt2": "model1",
	} {
		if got := NameOf(file); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", file, got, want)
		}
	}
}

// Nodes of sibling regions share a name, not their multiply-accumulates.
func TestMACsOfRegions(t *testing.T) {
	p, err := ir.Parse("net", `program "net"

method forward {
  input %x: f32[2, 3]
  input %w: f32[3, 4]
  input %v: f32[3, 4]
  input %p: b8[]

  %y: f32[2, 4] = c: higher_order.cond(%p, [%x, %w, %v])  # net.py:1
    region (%a: f32[2, 3], %b: f32[3, 4], %d: f32[3, 4]) {
      %mm: f32[2, 4] = aten.mm.default(self=%a, mat2=%b)  # net.py:2
      return (%mm)
    }
    region (%a: f32[2, 3], %b: f32[3, 4], %d: f32[3, 4]) {
      %cat: f32[4, 3] = aten.cat.default(tensors=[%a, %a], dim=0)  # net.py:3
      %mm: f32[4, 4] = aten.mm.default(self=%cat, mat2=%d)  # net.py:4
      %slice: f32[2, 4] = aten.slice_copy.Tensor(self=%mm, dim=0, start=0, end=2)  # net.py:5
      return (%slice)
    }
  return (%y)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := MACs(p); n != 2*3*4+4*3*4 || err != nil {
		t.Errorf("the program has %d multiply-accumulates, %v", n, err)
	}
	_, r, err := Reported(p, Options{Lang: "c", Name: "net"})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, l := range r.Methods[0].Layers {
		if l.MACs > 0 {
			got = append(got, l.MACs)
		}
	}
	if !slices.Equal(got, []int64{24, 48}) || r.Methods[0].MACs != 72 {
		t.Errorf("layers have %v, the method %d", got, r.Methods[0].MACs)
	}
}

// Products of groups that have scales count, too.
func TestMACsOfGroups(t *testing.T) {
	p, err := ir.Parse("net", `program "net"

method forward {
  input %x: i8[3, 8]
  const %w: i8[2, 8] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
  const %s: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]

  %y: f32[3, 2] = etgen.integer_matmul.default(self=%x, mat2=%w, bias=none, transposed=true, self_zero_point=0, mat2_zero_point=0, dtype=f32, scales=%s)
  return (%y)
}
`)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := MACs(p); n != 3*2*8 || err != nil {
		t.Errorf("the program has %d multiply-accumulates, %v", n, err)
	}
}
