package strip_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	kmath "github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/strip"
)

// The vector form of a function gives the bits of the function, for arguments
// of all kinds, tails and a result in the arguments' place.
func TestFunctions(t *testing.T) {
	for _, name := range kmath.Names {
		fn := kmath.Func(name, ir.Float32)
		if strip.Vector(fn.Name) == "" {
			continue
		}
		const n = 1<<14 + 5
		r := rand.New(rand.NewPCG(1, 2))
		in := elements(r, ir.Float32, n)
		for i := range int64(n) {
			switch {
			case i%3 == 0: // any bits
				eval.Put(ir.Float32, in, i,
					eval.Value{F: float64(math.Float32frombits(r.Uint32()))})
			case i%3 == 1:
				eval.Put(ir.Float32, in, i, eval.Value{F: float64(float32(2 * r.NormFloat64()))})
			}
		}
		count := sym.Int(n)
		i := sym.NewVar("i", count)
		want := make([]byte, len(in))
		f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "y", DType: ir.Float32, Role: loop.Out,
			Len: count}, {Name: "x", DType: ir.Float32, Role: loop.In, Len: count}},
			Body: []loop.Stmt{&loop.For{Var: i, Extent: count,
				Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: expr.CallFn(fn,
					expr.At(1, ir.Float32, i.Expr()))}}}}}
		if err := eval.Run(f, [][]byte{want, in}, nil, nil); err != nil {
			t.Fatal(err)
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(eval.Get(ir.Float32, in, int64(i)).F)
		}
		strip.Levels(func(level int) {
			f := strip.Function(fn.Name)
			if f == nil {
				return
			}
			got := append([]float32(nil), x...)
			for at := 0; at < n; {
				k := min(n-at, r.IntN(70))
				if part := got[at : at+k]; k > 0 && !f(part, part) {
					t.Fatalf("%s at level %d: no vectors for %d elements", name, level, k)
				}
				at += k
			}
			bad := 0
			for i := range got {
				w := float32(eval.Get(ir.Float32, want, int64(i)).F)
				if math.Float32bits(got[i]) != math.Float32bits(w) && (w == w ||
					got[i] == got[i]) && bad < 5 {
					bad++
					t.Errorf("level %d: %s(%g) is %g, want %g", level, name, x[i], got[i], w)
				}
			}
		})
	}
}
