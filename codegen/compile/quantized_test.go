package compile

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// quantizedFiles are the quantized models, here and shared.
func quantizedFiles(t *testing.T) (files []string) {
	for _, pattern := range []string{"../../golden/cases/q_*/model.pt2",
		"../../../shared/models*/q_*/model*.pt2"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 14 {
		t.Fatalf("%d quantized models", len(files))
	}
	return files
}

// quantizedNative is the native form of a quantized model, and its graph.
func quantizedNative(t *testing.T, file string, opt Options) (*native.Program, *ir.Method) {
	p, closer, err := pt2.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	np, err := Native(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return np, p.Methods[0]
}

// Models in which all is quantized multiply integers on microcontrollers: with the kernels for
// bytes, nothing as floats. On targets with an FPU, too, no tensor between loops is of floats.
func TestQuantizedModelsMultiplyIntegers(t *testing.T) {
	for _, file := range quantizedFiles(t) {
		name := filepath.Base(filepath.Dir(file))
		if strings.Contains(name, "weights") || name == "q_lstm" || name == "q_static_half" {
			continue // activations are floats, of q_static_half halves
		}
		t.Run(strings.ReplaceAll(file, "../", ""), func(t *testing.T) {
			np, m := quantizedNative(t, file, Options{Target: "cortex-m4"})
			products := 0
			for n := range m.Graph.All() {
				switch base := ir.OpBase(n.Op); {
				case strings.HasPrefix(n.Op, "etgen.integer_"):
					products++
				case strings.HasPrefix(base, "conv"), base == "linear", strings.HasSuffix(base, "mm"),
					strings.HasSuffix(base, "norm"), base == "dequantize_per_channel":
					if !floatsToo[name] {
						t.Errorf("%s is left", n.Op)
					}
				}
			}
			floats := map[*ir.Value]bool{} // that are made of floats that stand for integers
			others := map[*ir.Value]bool{} // computed only where integers are not sure, not kept
			for n := range m.Graph.All() {
				if other, ok := n.Arg("other").(ir.Ref); ok && strings.HasPrefix(n.Op, "etgen.") {
					others[other.Value] = !slices.ContainsFunc(np.Methods[0].Buffers,
						func(b *native.Buffer) bool { return b.Name == other.Value.Name })
				}
			}
			for n := range m.Graph.All() {
				made := strings.Contains(n.Op, ".dequantize_")
				for _, arg := range n.Args {
					ir.EachRef(arg.Value, func(v *ir.Value) { made = made || floats[v] })
				}
				if made && strings.Contains(n.Op, ".quantize_") && !floatsBetween[name] && !floatsToo[name] &&
					!strings.Contains(name, "dynamic") && !others[n.Output(0)] {
					t.Errorf("%s is computed by floats", n.Output(0).Name)
				}
				for _, v := range n.Outputs {
					floats[v] = made && v.Type.DType.IsFloat()
				}
			}
			tuned := 0
			for _, k := range np.Kernels {
				if k.Tuned != nil && strings.HasSuffix(k.Tuned.Kernel.Name, "_i8") {
					tuned++
				}
			}
			// What q_halves and q_ties have, averages, sums and products of elements, has no
			// kernels for bytes. Products of q_dynamic_half are those of halves.
			if name != "q_dynamic_half" && (products == 0 || tuned == 0 &&
				!strings.HasSuffix(name, "int16") && !strings.HasPrefix(name, "q_norms") &&
				name != "q_windows_wide" && name != "q_halves" && name != "q_ties") {
				t.Errorf("%d products of integers, %d kernels for bytes", products, tuned)
			}
			for _, b := range np.Methods[0].Buffers {
				if b.Storage == native.Arena && b.Root == nil && b.DType.IsFloat() &&
					!strings.Contains(name, "dynamic") && name != "q_torchao" && !floatsToo[name] &&
					!isScratch(np, b) {
					t.Errorf("%s is a tensor of %s", b.Name, b.DType)
				}
			}
		})
	}
}

// floatsBetween are models that compute with floats that stand for integers: torchao's operators
// on blocks, rectifiers with a slope for each channel, sums of int16, and of more than two
// integers, of a layer's sums and a tensor, and batch norms by themselves.
var floatsBetween = map[string]bool{"q_torchao": true, "q_moved_apart": true, "q_int16": true,
	"q_scales_apart": true, "q_batch": true, "q_ao_x86": true}

// floatsToo are models with products of integers and with products of floats: those of floats and
// weights in groups; what an LSTM and a GRU multiply in their loops; transposed convolutions of
// what the call quantizes.
var floatsToo = map[string]bool{"q_ao_groups": true, "q_recurrent_layers": true,
	"q_transposed": true}

// isScratch reports whether calls have b for what they keep.
func isScratch(np *native.Program, b *native.Buffer) bool {
	found := false
	native.EachCall(np.Methods[0].Body, func(c *native.Call) {
		for i, a := range c.Args {
			if a == b && c.Kernel.Loop != nil && c.Kernel.Loop.Bufs[i].Role == loop.Scratch {
				found = true
			}
		}
	})
	return found
}

// On no target a loop makes something of constants alone when the model runs, as what
// dequantizes weights does.
func TestQuantizedWeightsStay(t *testing.T) {
	settings := []Options{{Target: "cortex-m4"}, {Target: "cortex-m4", Optimize: "speed"},
		{Target: "riscv32"}, {Target: "x86-64-v3"}, {Target: "x86-64-v3", Optimize: "size"},
		{Lang: "go"}, {Lang: "go", Optimize: "size"}}
	for k, opt := range settings {
		files := quantizedFiles(t)
		if tier.Now() == tier.Short {
			files = tier.Share(files, k, len(settings))
		}
		for _, file := range files {
			t.Run(strings.Join([]string{strings.ReplaceAll(file, "../", ""), opt.Lang, opt.Target,
				opt.Optimize}, " "), func(t *testing.T) {
				np, _ := quantizedNative(t, file, opt)
				native.EachCall(np.Methods[0].Body, func(c *native.Call) {
					if c.Kernel.Loop == nil || c.Kernel.Copy {
						return
					}
					reads := slices.DeleteFunc(slices.Clone(c.Args), func(b *native.Buffer) bool {
						return c.Kernel.Loop.Bufs[slices.Index(c.Args, b)].Role != loop.In
					})
					if len(reads) > 0 && !slices.ContainsFunc(reads, func(b *native.Buffer) bool {
						return b.Storage != native.Weight
					}) {
						t.Errorf("%s reads constants alone: %s", c.Kernel.Name, c.Kernel.Doc)
					}
				})
			})
		}
	}
}
