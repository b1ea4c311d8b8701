package lower

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

func TestStream(t *testing.T) {
	irtest.RunTxtar(t, "testdata/stream/*.txtar", func(p *ir.Program) error {
		return Pipeline{Passes: []Pass{stream(StreamOptions{Dim: 2})}}.Run(&Context{
			Table: ops.Standard()}, p, nil)
	})
}

// What cannot stream is refused by name.
func TestStreamRefuses(t *testing.T) {
	const conv = `%conv: f32[1, 2, 6] = aten.convolution.default(input=%x, weight=%w, bias=none, stride=[1], padding=[1], dilation=[1], transposed=false, output_padding=[0], groups=1)`
	for _, tt := range []struct {
		name, body string
		opt        StreamOptions
		want       string
	}{
		{"end", conv + "\n  return (%conv)", StreamOptions{Dim: 2},
			"node conv (aten.convolution.default): it pads the end of the window along dimension 2"},
		{"end, with frames", conv + "\n  return (%conv)", StreamOptions{Dim: 2, Frames: true}, ""},
		{"nothing saved",
			"%s: f32[1, 1, 6] = aten._softmax.default(self=%x, dim=2, half_to_float=false)\n  return (%s)",
			StreamOptions{Dim: 2},
			"node s (aten._softmax.default): streaming along dimension 2 saves nothing"},
		{"no dimension", conv + "\n  return (%conv)", StreamOptions{Dim: 3},
			"dimension 3 of it cannot stream"},
		{"no input", conv + "\n  return (%conv)", StreamOptions{Input: "y", Dim: 2},
			`the model has no input "y"`},
		{"shortened before", strings.Replace(strings.Replace(conv, "padding=[1]", "padding=[0]", 1), "6]",
			"4]", 1) +
			"\n  %two: f32[1, 2, 4] = aten.convolution.default(input=%conv, weight=%v, bias=none, " +
			"stride=[1], padding=[1], dilation=[1], transposed=false, output_padding=[0], " +
			"groups=1)\n  return (%two)",
			StreamOptions{Dim: 2},
			"node two (aten.convolution.default): it pads along dimension 2 what an operator without " +
				"padding has shortened before"},
		{"padding that is not zero any more",
			"%pad: f32[1, 1, 8] = aten.constant_pad_nd.default(self=%x, pad=[2, 0], value=0.0)\n" +
				"  %clamp: f32[1, 1, 8] = aten.clamp.default(self=%pad, min=1.0, max=2.0)\n" +
				"  %conv: f32[1, 2, 6] = aten.convolution.default(input=%clamp, weight=%w, bias=none, " +
				"stride=[1], padding=[0], dilation=[1], transposed=false, output_padding=[0], " +
				"groups=1)\n  return (%conv)",
			StreamOptions{Dim: 2},
			"node clamp (aten.clamp.default): the model cannot stream: it changes the padding along " +
				"dimension 2"},
	} {
		p, err := ir.Parse("m", "program \"m.pt2\"\n\nmethod forward {\n"+
			"  parameter %w: f32[2, 1, 3] \"w\" = data(00112233aabbccdd, 24)\n"+
			"  parameter %v: f32[2, 2, 3] \"v\" = data(00112233aabbccdd, 48)\n"+
			"  input %x: f32[1, 1, 6]\n  "+tt.body+"\n}\n")
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		err = Pipeline{Passes: []Pass{stream(tt.opt)}}.Run(&Context{Table: ops.Standard()}, p, nil)
		if tt.want == "" && err == nil {
			continue
		}
		if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}
