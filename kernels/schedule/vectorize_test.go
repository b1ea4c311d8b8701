package schedule_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/schedule"
)

// elementwise returns a function that sets n elements of its first buffer to value.
func elementwise(n int, value func(i ix) *expr.Expr, bufs ...loop.Buf) *loop.Func {
	return over1(bufs, n, func(i ix) block {
		return block{&loop.Store{Buf: 0, At: i, Value: value(i)}}
	})
}

// over1 returns a function of one loop.
func over1(bufs []loop.Buf, n int, body func(i ix) block) *loop.Func {
	return &loop.Func{Name: "f", Bufs: bufs, Body: block{strip(over("i", n, body))}}
}

func out(d ir.DType, n int64) loop.Buf {
	return loop.Buf{Name: "y", DType: d, Role: loop.Out, Len: sym.Int(n)}
}

func in(name string, d ir.DType, n int64) loop.Buf {
	return loop.Buf{Name: name, DType: d, Len: sym.Int(n)}
}

// inPlace returns y, which holds x at entry, and x.
func inPlace(n int64) []loop.Buf {
	held := out(ir.Float32, n)
	held.Role, held.Init = loop.InOut, 1
	return []loop.Buf{held, in("x", ir.Float32, n)}
}

// TestVectorize holds loops, and what becomes of them for a reader that prints calls
// and, called inline, for one that has no functions, against the files of testdata.
func TestVectorize(t *testing.T) {
	f16, f32, f64, i8, i16, i32, i64 := ir.Float16, ir.Float32, ir.Float64, ir.Int8, ir.Int16,
		ir.Int32, ir.Int64
	a := func(i ix) *expr.Expr { return expr.At(1, f32, i) }
	b := func(i ix) *expr.Expr { return expr.At(2, f32, i) }
	ints := func(i ix) *expr.Expr { return expr.At(1, i32, i) }
	num := func(v float64) *expr.Expr { return expr.Float(f32, v) }
	call := func(name string, x *expr.Expr) *expr.Expr {
		return expr.CallFn(math.Func(name, f32), x)
	}
	// larger is the greater of two numbers, and NaN if v is.
	larger := func(v, than *expr.Expr) *expr.Expr {
		return expr.Select(expr.Or(expr.Gt(v, than), expr.Ne(v, v)), v, than)
	}
	guarded := func(i ix) *expr.Expr { return expr.Select(expr.At(2, ir.Bool, i), a(i), num(0)) }
	constant := func(name string, value *expr.Expr) (*expr.Expr, loop.Stmt) {
		v := &expr.Var{Name: name, DType: value.DType}
		return expr.Get(v), &loop.Let{Var: v, Value: value}
	}
	withScalar := func(f *loop.Func, name string) *loop.Func {
		f.Scalars = []*expr.Var{{Name: name, DType: f32}}
		return f
	}
	unknown := func(bufs ...loop.Buf) []loop.Buf {
		for i := range bufs {
			bufs[i].Len = sym.Inf()
		}
		return bufs
	}
	sum, top := f32Var("sum"), f32Var("top")
	dot := func(inOrder bool) *loop.Func {
		bufs := []loop.Buf{out(f32, 4), in("a", f32, 400), in("b", f32, 100)}
		return &loop.Func{Name: "f", Bufs: bufs, Body: block{over("i", 4, func(i ix) block {
			l := strip(over("j", 100, func(j ix) block {
				return block{set(sum, expr.Add(expr.Get(sum), expr.Mul(a(lin(100, i, j)), b(j))))}
			}))
			l.InOrder = inOrder
			return block{let(sum, num(0)), l, y.put(i, expr.Get(sum))}
		})}}
	}
	maxNaN := &loop.Func{Name: "f", Bufs: []loop.Buf{out(f32, 1), in("a", f32, 100)},
		Body: block{let(top, expr.Neutral(expr.ReduceMax, f32)), strip(over("j", 100,
			func(j ix) block {
				v, let := constant("v", a(j))
				return block{let, set(top, larger(v, expr.Get(top)))}
			})), y.put(lin(0), expr.Get(top))}}
	repeated := func(i ix) *expr.Expr { return expr.Add(a(lin(2, i)), b(i)) }
	for name, f := range map[string]*loop.Func{
		"bits": elementwise(100, func(i ix) *expr.Expr {
			return expr.Xor(expr.And(expr.Shr(ints(i), expr.Int(i32, 3)), expr.Int(i32, 15)), ints(i))
		}, out(i32, 100), in("a", i32, 100)),
		"convert": withScalar(elementwise(2000, func(i ix) *expr.Expr {
			return expr.Cast(i8, expr.Max(num(-128), expr.Min(num(127),
				expr.Round(expr.Div(a(i), expr.ScalarRef(0, f32))))))
		}, out(i8, 2000), in("a", f32, 2000)), "s"),
		"copy_short": elementwise(8, func(i ix) *expr.Expr { return a(lin(i, 8)) },
			out(f32, 8), in("a", f32, 16)),
		"division": elementwise(100, func(i ix) *expr.Expr {
			return expr.Div(ints(i), expr.Int(i32, 3))
		}, out(i32, 100), in("a", i32, 100)),
		"dot":          dot(false),
		"dot_in_order": dot(true),
		"exp_of_exp": elementwise(1000, func(i ix) *expr.Expr { return call("exp", call("exp", a(i))) },
			out(f32, 1000), in("a", f32, 1000)),
		"fma": withScalar(elementwise(1000, func(i ix) *expr.Expr {
			return expr.Add(expr.Mul(a(i), b(i)), expr.ScalarRef(0, f32))
		}, out(f32, 1000), in("a", f32, 1000), in("b", f32, 1000)), "c"),
		"function": elementwise(100, func(i ix) *expr.Expr { return call("tanh", a(i)) },
			out(f32, 100), in("a", f32, 100)),
		"gather": over1([]loop.Buf{out(f32, 100), in("a", f32, 50), in("idx", i64, 100)}, 100,
			func(i ix) block {
				p := sym.NewVar("p", sym.Int(50))
				return block{&loop.LetIndex{Sym: p, Value: expr.At(2, i64, i)}, y.put(i, a(p.Expr()))}
			}),
		"half": elementwise(100, func(i ix) *expr.Expr {
			return expr.Cast(f16, expr.Mul(expr.Cast(f32, expr.At(1, f16, i)), num(0.5)))
		}, out(f16, 100), in("a", f16, 100)),
		"in_place": over1(inPlace(1000), 1000, func(i ix) block {
			return block{y.put(i, expr.Add(expr.Mul(y.at(i), num(2)), x.at(i)))}
		}),
		"larger": {Name: "f", Bufs: []loop.Buf{out(f32, 100), in("a", f32, 100), in("b", f32, 100)},
			Body: block{strip(over("j", 100, func(j ix) block {
				v, letV := constant("v", a(j))
				w, letW := constant("w", b(j))
				return block{letV, letW, y.put(j, larger(v, w))}
			}))}},
		"max_nan": maxNaN,
		"padded": over1([]loop.Buf{out(f32, 440), in("a", f32, 370)}, 11, func(i ix) block {
			return block{strip(over("j", 40, func(j ix) block {
				inside := expr.And(expr.InRange(lin(j, -2), sym.Int(0), sym.Int(37)),
					expr.IdxLt(i, sym.Int(10)))
				return block{y.put(lin(40, i, j), expr.Select(inside, a(lin(37, i, j, -2)), num(0)))}
			}))}
		}),
		"quantized": elementwise(100, func(i ix) *expr.Expr {
			small := func(low float64, x *expr.Expr) *expr.Expr {
				return expr.Cast(i8, expr.Min(num(127), expr.Max(num(low), x)))
			}
			shifted := func(x *expr.Expr) *expr.Expr {
				return expr.Cast(i8, expr.Min(expr.Int(i32, 127), expr.Max(expr.Int(i32, -128),
					expr.Shr(x, expr.Int(i32, 20)))))
			}
			times := func(x *expr.Expr, n int64) *expr.Expr {
				return expr.Mul(expr.Cast(i32, x), expr.Int(i32, n))
			}
			n := small(-128, expr.Add(expr.Round(expr.Mul(expr.Add(a(i), b(i)), expr.At(3, f32, i))),
				num(-3)))
			m := small(0, expr.Round(expr.Mul(a(i), num(0.5))))
			n = shifted(expr.Add(times(n, 7), expr.Add(times(expr.At(4, i8, i), 9), expr.Int(i32, -5))))
			n = shifted(expr.Add(times(n, 1<<20), expr.Int(i32, 1)))
			return expr.Mul(expr.Sub(expr.Cast(f32, n), num(5)), expr.Cast(f32, m))
		}, out(f32, 100), in("a", f32, 100), in("b", f32, 100), in("s", f32, 100), in("n", i8, 100)),
		"quantized_other": elementwise(50, func(i ix) *expr.Expr { // one of the operands has no form
			return expr.Cast(f32, expr.Cast(i8, expr.Min(num(127), expr.Max(num(-128), expr.Round(
				expr.Mul(expr.Add(a(i), b(i)), expr.At(3, f32, sym.FloorDiv(i, sym.Int(2)))))))))
		}, out(f32, 50), in("a", f32, 50), in("b", f32, 50), in("s", f32, 25)),
		"repeated": elementwise(50, func(i ix) *expr.Expr {
			return expr.Select(expr.Le(repeated(i), num(0)), call("exp", repeated(i)), repeated(i))
		}, out(f32, 50), in("a", f32, 90), in("b", f32, 50)),
		"rescaled": elementwise(100, func(i ix) *expr.Expr {
			n := expr.Add(expr.Mul(expr.Cast(f64, a(i)), expr.At(2, f64, i)), expr.At(3, f64, i))
			n = expr.Cast(i16, expr.Min(expr.Float(f64, 255), expr.Max(expr.Float(f64, 0), n)))
			return expr.Add(expr.Cast(f32, expr.Cast(i8, expr.Sub(n, expr.Int(i16, 128)))), num(128))
		}, out(f32, 100), in("a", f32, 100), in("s", f64, 100), in("h", f64, 100)),
		"select_guarded": elementwise(100, guarded, out(f32, 100), in("a", f32, 100),
			in("c", ir.Bool, 100)),
		"select_out_of_range": elementwise(100, guarded, out(f32, 100), in("a", f32, 90),
			in("c", ir.Bool, 100)),
		"select_unknown_length": elementwise(100, guarded, unknown(out(f32, 0), in("a", f32, 0),
			in("c", ir.Bool, 0))...),
		"shared_let": over1([]loop.Buf{out(f32, 100), {Name: "z", DType: f32, Role: loop.Out,
			Len: sym.Int(100)}, in("a", f32, 100)}, 100, func(i ix) block {
			t, let := constant("t", expr.Mul(b(i), b(i)))
			return block{let, y.put(i, expr.Add(t, num(1))), x.put(i, expr.Sub(t, num(1)))}
		}),
		"shifted_self": over1(inPlace(1001), 1000, func(i ix) block {
			return block{y.put(lin(i, 1), expr.Mul(y.at(i), num(2)))}
		}),
		"short": elementwise(8, func(i ix) *expr.Expr { return expr.Add(a(lin(i, 8)), num(1)) },
			out(f32, 8), in("a", f32, 16)),
		"store_strided": over1([]loop.Buf{out(f32, 300), in("a", f32, 100)}, 100,
			func(i ix) block { return block{y.put(lin(3, i, 1), expr.Sqrt(a(i)))} }),
		"strided": elementwise(300, func(i ix) *expr.Expr {
			return expr.Sub(a(lin(2, i)), a(lin(2, i, 1)))
		}, out(f32, 300), in("a", f32, 600)),
		"through": elementwise(100, func(i ix) *expr.Expr {
			n := expr.Cast(i8, expr.Max(num(-128), expr.Round(expr.Mul(a(i), num(3)))))
			return expr.Mul(expr.Sub(expr.Cast(f32, n), num(5)), num(0.25))
		}, out(f32, 100), in("a", f32, 100)),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "vectorize", name+".txtar")
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if r := reference.Verify(f); len(r.Errors) > 0 {
				t.Fatal(r.Errors)
			}
			for i, file := range ar.Files {
				g := *f
				if file.Name != "loop" {
					g.Body = schedule.Vectorize(f, schedule.VectorReader{
						Interpreted: file.Name == "inline"})
				}
				got := g.String()
				if diff := cmp.Diff(string(file.Data), got); diff != "" && !*update {
					t.Errorf("%s (-want +got):\n%s", file.Name, diff)
				}
				ar.Files[i].Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestInline lowers every scalar function without a call of it.
func TestInline(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, name := range math.Names {
			fn := math.Func(name, d)
			n := sym.Int(100)
			i := sym.NewVar("i", n)
			var args []*expr.Expr
			for k := range fn.Params {
				args = append(args, expr.At(1+k, d, i.Expr()))
			}
			s := &loop.For{Var: i, Extent: n, Vectorizable: true,
				Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: expr.CallFn(fn, args...)}}}
			f := &loop.Func{Body: []loop.Stmt{s}}
			for range 1 + len(args) {
				f.Bufs = append(f.Bufs, loop.Buf{Name: "x", DType: d, Len: n})
			}
			c, ok := schedule.Vectorize(f, schedule.VectorReader{Interpreted: true})[0].(*loop.Chunks)
			if !ok {
				t.Errorf("%s runs element by element", fn.Name)
				continue
			}
			for _, s := range c.Body {
				if call := s.(*loop.Vector); call.Prim == "Apply" {
					t.Errorf("%s calls %s", fn.Name, call.Fn.Name)
				}
			}
			if len(c.Temps) > 24 {
				t.Errorf("%s has %d temporaries", fn.Name, len(c.Temps))
			}
		}
	}
}
