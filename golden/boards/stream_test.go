package boards

import (
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/lower"
)

// A streaming model takes less than a tenth of the whole window's instructions for a frame.
func TestStream(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM4().With("-O3")
	skipWithout(t, target.Compiler, baremetal.CortexM4.Emulator)
	for _, tt := range []struct {
		dir           string
		dim           int
		frames, shape int64 // in a call, in a window
		padded        bool
	}{
		{ours + "/stream_keywords", 2, 2, 48, false},
		{shared + "/trained_kws01", 2, 2, 49, true},
		{ours + "/stream_tcn", 2, 1, 48, false},
	} {
		t.Run(modelName(tt.dir), func(t *testing.T) {
			c := readCase(t, tt.dir)
			recipe := recipeOf(t, c)
			kase := interpreted(t, inIntegers(t, c, recipe), compile.Options{Recipe: recipe})
			g := &generated{kase: kase, name: "net", optimize: "speed", recipe: recipe}
			whole := ran(t, target, g)
			frames := *kase
			x := *kase.Calls[0].Inputs[0].Tensor
			size := int64(len(x.Data)) / x.Shape[tt.dim]
			x.Data = x.Data[:size*tt.frames] // which frame it is makes no difference
			frames.Calls = frames.Calls[:1]
			frames.Calls[0].Inputs = []tensor.Value{{Tensor: &x}}
			s := &generated{kase: &frames, name: "net", optimize: "speed", recipe: recipe,
				stream: &lower.StreamOptions{Dim: tt.dim, Frames: tt.padded}}
			stream := ran(t, target, s)
			each := float64(stream.Instructions) / float64(tt.frames)
			share := each / float64(whole.Instructions)
			t.Logf("window: %d instructions, arena %d; %d frames: %d instructions, arena %d, state %d; "+
				"%.1f %% for a frame", whole.Instructions, g.arena.Size, tt.frames, stream.Instructions,
				s.arena.Size, s.state, 100*share)
			if share >= 0.1 {
				t.Errorf("a frame takes %.3f of the window's instructions", share)
			}
		})
	}
}
