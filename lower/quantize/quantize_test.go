package quantize

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// normal are samples of a method of static sizes: floats of a normal distribution, integers
// from 0 to 2.
func normal(m *ir.Method, count int) Samples {
	return Samples{Count: count, Get: func(k int) (vs []interp.Value, err error) {
		r := rand.New(rand.NewPCG(1, uint64(k)))
		for i, v := range m.Graph.Inputs {
			if m.Inputs[i].Kind != ir.UserInput {
				continue
			}
			sizes, _ := v.Type.StaticSizes()
			n, _ := v.Type.Numel().Const()
			var raw []byte
			for range n {
				if v.Type.DType == ir.Int64 {
					raw = binary.LittleEndian.AppendUint64(raw, uint64(r.IntN(3)))
				} else {
					raw = binary.LittleEndian.AppendUint32(raw,
						math.Float32bits(float32(r.NormFloat64())))
				}
			}
			vs = append(vs, interp.Tensor(v.Type.DType, sizes, raw))
		}
		return vs, nil
	}}
}

func newContext() *lower.Context { return &lower.Context{Table: ops.Standard()} }

// recipeOf is the result for a program of one method with normal samples.
func recipeOf(t testing.TB, p *ir.Program, opt Options) *Result {
	t.Helper()
	r, err := New(newContext(), p, map[string]Samples{p.Methods[0].Name: normal(p.Methods[0], 8)}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The folders of testdata are schemes; each case shows a program and what its recipe makes of it.
func TestSchemes(t *testing.T) {
	for _, scheme := range Schemes {
		t.Run(scheme.Name, func(t *testing.T) {
			irtest.RunTxtar(t, filepath.Join("testdata", scheme.Name, "*.txtar"),
				func(p *ir.Program) error {
					r := recipeOf(t, p, Options{Scheme: scheme, Compare: 2})
					text, err := r.Recipe.Marshal()
					if err != nil {
						return err
					}
					read, err := Unmarshal(text)
					if err != nil {
						return err
					}
					if err := Convert(ops.Standard(), p, read); err != nil {
						return err
					}
					if got, want := p.String(), r.Quantized.String(); got != want {
						t.Errorf("a recipe that was read makes\n%s\nnot\n%s", got, want)
					}
					return nil
				})
		})
	}
}
