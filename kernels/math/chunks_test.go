package math_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	kmath "github.com/etgen/etgen/kernels/math"
)

// elementwise returns a program that applies fn to n elements.
func elementwise(t testing.TB, fn *expr.Func, d ir.DType, n int, strip bool) *eval.Program {
	count := sym.Int(int64(n))
	i := sym.NewVar("i", count)
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "out", DType: d, Role: loop.Out,
		Len: count}}}
	var args []*expr.Expr
	for k, p := range fn.Params {
		f.Bufs = append(f.Bufs, loop.Buf{Name: p.Name, DType: d, Role: loop.In, Len: count})
		args = append(args, expr.At(1+k, d, i.Expr()))
	}
	f.Body = []loop.Stmt{&loop.For{Var: i, Extent: count, Vectorizable: strip,
		Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: expr.CallFn(fn, args...)}}}}
	p, err := eval.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// arguments returns n arguments for each parameter of fn, after n elements for
// the results.
func arguments(fn *expr.Func, d ir.DType, n int) [][]byte {
	r := rand.New(rand.NewPCG(7, 8))
	bufs := [][]byte{make([]byte, n*d.Size())}
	for range fn.Params {
		b := make([]byte, n*d.Size())
		xs := inputs(d, n, r)
		r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		for i := range n {
			eval.Put(d, b, int64(i), eval.Value{F: xs[i]})
		}
		bufs = append(bufs, b)
	}
	return bufs
}

// Computed in chunks, both arms of every Select and all, functions give the
// same bits.
func TestStrips(t *testing.T) {
	const n = 3000
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, name := range kmath.Names {
			fn := kmath.Func(name, d)
			bufs := arguments(fn, d, n)
			var want []byte
			for _, strip := range []bool{false, true} {
				if err := elementwise(t, fn, d, n, strip).Run(bufs, nil, nil); err != nil {
					t.Fatal(err)
				}
				if !strip {
					want = bytes.Clone(bufs[0])
					continue
				}
				for i := range int64(n) {
					if got, want := eval.Get(d, bufs[0], i).F, eval.Get(d, want, i).F; got !=
						want && (got == got || want == want) || 1/got != 1/want && got == 0 {
						t.Errorf("%s(%g): got %g, want %g", fn.Name, eval.Get(d, bufs[1], i).F, got,
							want)
					}
				}
			}
		}
	}
}

func BenchmarkStrips(b *testing.B) {
	const n = 4096
	for _, name := range []string{"exp", "tanh", "erf", "sin"} {
		fn := kmath.Func(name, ir.Float32)
		bufs := arguments(fn, ir.Float32, n)
		for kind, strip := range []bool{false, true} {
			b.Run(name+"/"+[]string{"elements", "strips"}[kind], func(b *testing.B) {
				p := elementwise(b, fn, ir.Float32, n, strip)
				for b.Loop() {
					if err := p.Run(bufs, nil, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		}
	}
}
