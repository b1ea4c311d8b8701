package quantize_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/rt/portable"
)

const shared = "../../../shared/"

// inTheWay are nets whose outputs have less than 20 dB, with the reason.
var inTheWay = map[string]string{
	"tv_mobilenet_v2": "52 layers of random weights, each of which amplifies a step",
	"trained_ic01":    "a softmax whose input has 26 dB, and two classes that are nearly as likely",
}

// Nets quantize with what was recorded of them, with over 20 dB at every output. Other schemes
// lose more in nets of random weights, but no net becomes noise.
func TestNets(t *testing.T) {
	tier.Needs(t, tier.Normal)
	var dirs []string
	for _, pattern := range []string{"tv_*", "mlperf_*", "trained_*", "lenet", "hf_*", "nanogpt_*",
		"transformer_encoder", "lstm", "gru"} {
		found, err := filepath.Glob(shared + "models/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	if len(dirs) == 0 {
		t.Skip("the recorded cases are not beside the repository")
	}
	for _, dir := range dirs {
		for _, scheme := range []string{"int8", "int16x8", "int8-dynamic", "int4-weights"} {
			name := filepath.Base(dir)
			if info, err := os.Stat(dir + "/model.pt2"); err != nil ||
				scheme != "int8" && info.Size() > 2<<20 {
				continue
			}
			t.Run(name+"/"+scheme, func(t *testing.T) {
				p, closer, err := pt2.Read(dir + "/model.pt2")
				if err != nil {
					t.Fatal(err)
				}
				defer closer.Close()
				samples, err := record.Samples(p.Methods[0], []string{dir}, 0)
				if err != nil {
					t.Fatal(err)
				}
				s, err := quantize.SchemeNamed(scheme)
				if err != nil {
					t.Fatal(err)
				}
				m := p.Methods[0].Name
				r, err := quantize.New(&lower.Context{Table: ops.Standard()}, p,
					map[string]quantize.Samples{m: samples}, quantize.Options{Scheme: s, Compare: 2,
						Kernel: portable.Kernels()})
				if err != nil {
					t.Fatal(err)
				}
				least := quantize.Decibel(20)
				if scheme != "int8" {
					least = 9
				}
				for _, o := range r.Reports[m].Outputs {
					t.Logf("output %d: %.1f dB; worst layer %+v", o.Index, o.SQNR, r.Reports[m].Layers[0])
					if o.SQNR < least && inTheWay[name] == "" {
						t.Errorf("output %d has %.1f dB", o.Index, o.SQNR)
					}
				}
				if len(r.Reports[m].Outputs) == 0 {
					t.Error("no output was compared")
				}
			})
		}
	}
}

// Keywords, quantized with the first half of the recordings, are told apart in the second half
// as well as in float32, to half a percent; with weights of 4 bits to one and a half.
func TestKeywords(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for scheme, most := range map[string]float64{"int8": 0.5, "int4-weights": 1.5} {
		p, closer, err := pt2.Read(shared + "models/trained_kws01/model.pt2")
		if err != nil {
			t.Skip("the recorded cases are not beside the repository: ", err)
		}
		defer closer.Close()
		half := func(part string) quantize.Samples {
			s, err := record.Samples(p.Methods[0], []string{shared + "kws01/features.npy" + part}, 0)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		labels, err := record.Labels(shared + "kws01/labels.npy[100:]")
		if err != nil {
			t.Fatal(err)
		}
		s, err := quantize.SchemeNamed(scheme)
		if err != nil {
			t.Fatal(err)
		}
		ctx := &lower.Context{Table: ops.Standard()}
		r, err := quantize.New(ctx, p, map[string]quantize.Samples{"forward": half("[:100]")},
			quantize.Options{Scheme: s, Kernel: portable.Kernels()})
		if err != nil {
			t.Fatal(err)
		}
		percent := func(p *ir.Program) float64 {
			a, err := quantize.Evaluate(ctx, p, "forward", half("[100:]"), labels, portable.Kernels(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return a.Percent()
		}
		float, got := percent(r.Float), percent(r.Quantized)
		t.Logf("float32 %.1f %%, %s %.1f %%", float, scheme, got)
		if float < 90 || got < float-most {
			t.Errorf("float32 %.1f %%, %s %.1f %%", float, scheme, got)
		}
	}
}
