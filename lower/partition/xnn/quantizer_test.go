package xnn

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
	quant "github.com/etgen/etgen/lower/quantize"
)

// What XNNPACK computes in floats stays so: a sigmoid, and what only it reads. A layer of the
// Python program that XNNPACK has not stays float32, weights too, and so does one that it has in
// floats alone.
func TestQuantizer(t *testing.T) {
	text := strings.ReplaceAll(`program "net.pt2"

method forward {
  input %x: f32[1, 8]
  parameter %w: f32[8, 8] "w" = W8
  parameter %e: f32[8, 8] "e" = W8
  parameter %b: f32[1, 8, 8] "b" = W8
  %linear: f32[1, 8] = aten.linear.default(input=%x, weight=%w)
  %linear_1: f32[1, 8] = aten.linear.default(input=%x, weight=%e)
  %add: f32[1, 8] = aten.add.Tensor(self=%linear, other=%linear_1)
  %mul: f32[1, 8] = aten.mul.Tensor(self=%linear, other=%add)
  %relu: f32[1, 8] = aten.relu.default(self=%mul)
  %sigmoid: f32[1, 8] = aten.sigmoid.default(self=%relu)
  %view: f32[1, 1, 8] = aten.view.default(self=%sigmoid, size=[1, 1, 8])
  %bmm: f32[1, 1, 8] = aten.bmm.default(self=%view, mat2=%b)
  return (%bmm)
}
`, "W8", "["+strings.Repeat("0.5, ", 63)+"0.5]")
	p, err := ir.Parse("net", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		make func(*quant.Default) quant.Quantizer
		want map[string]bool // whether it is quantized
	}{
		{func(own *quant.Default) quant.Quantizer { return own },
			map[string]bool{"x": true, "add": true, "relu": true, "sigmoid": true, "w": true, "b": true}},
		{partition.QuantizerOf([]*partition.Use{{Backend: Backend{}}}),
			map[string]bool{"x": true, "add": true, "relu": true, "sigmoid": false, "w": true, "b": false}},
	} {
		m := quant.ModelOf(ops.Standard(), p, p.Methods[0])
		a := c.make(&quant.Default{Scheme: quant.Schemes[0]}).Annotate(m)
		got := map[string]bool{}
		for v := range a.Activations {
			got[v.Name] = true
		}
		for v, w := range a.Weights {
			got[v.Name] = w.Axis == 0 || v.Name == "b"
		}
		for name, want := range c.want {
			if got[name] != want {
				t.Errorf("%s quantized: %v, want %v", name, got[name], want)
			}
		}
	}
}
