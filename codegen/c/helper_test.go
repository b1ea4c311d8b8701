package c_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/codegen/c"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// pointwise returns a method that computes body of operands x0, x1, … of dtype
// d for n elements each.
func pointwise(index int, d, result ir.DType, operands int, n int64,
	body func(x []*expr.Expr) *expr.Expr) (*native.Kernel, *native.Method) {
	i := sym.NewVar("i", sym.Int(n))
	buf := func(name string, d ir.DType, s native.Storage) *native.Buffer {
		return &native.Buffer{Name: name, DType: d, Sizes: sizes(n), Len: sym.Int(n), MaxLen: n,
			Storage: s}
	}
	fn := &loop.Func{Name: "k", Bufs: []loop.Buf{{Name: "out", DType: result, Role: loop.Out,
		Len: sym.Int(n)}}}
	m := &native.Method{Name: foreign.Of(fmt.Sprintf("m%d", index))}
	out := buf("out", result, native.Output)
	m.Outputs = []native.Port{{Name: foreign.Of("out0"), Type: ir.TensorOf(result, out.Sizes...),
		Buf: out}}
	args := []*native.Buffer{out}
	var xs []*expr.Expr
	for k := range operands {
		b := buf(fmt.Sprintf("x%d", k), d, native.Input)
		m.Inputs = append(m.Inputs, native.Port{Name: foreign.Of(b.Name), Type: ir.TensorOf(d,
			b.Sizes...), Buf: b})
		fn.Bufs = append(fn.Bufs, loop.Buf{Name: b.Name, DType: d, Role: loop.In, Len: sym.Int(n)})
		args = append(args, b)
		xs = append(xs, expr.At(1+k, d, i.Expr()))
	}
	fn.Body = []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(n),
		Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: body(xs)}}}}
	k := &native.Kernel{Name: fmt.Sprintf("k%d", index), Loop: fn}
	m.Body = []native.Stmt{&native.Call{Kernel: k, Args: args}}
	return k, m
}

// TestHelpers compares the helper functions with eval on many numbers, the
// forms for machines without an instruction or without a unit for floats included.
func TestHelpers(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const n = 20000
	r := rand.New(rand.NewPCG(3, 4))
	type unary = func(*expr.Expr) *expr.Expr
	p := &native.Program{Source: foreign.Of("helpers")}
	var steps []step
	var want [][]byte
	var names []string
	add := func(name string, d, result ir.DType, operands int,
		body func(x []*expr.Expr) *expr.Expr) {
		k, m := pointwise(len(p.Methods), d, result, operands, n, body)
		p.Kernels, p.Methods = append(p.Kernels, k), append(p.Methods, m)
		bufs := [][]byte{make([]byte, n*result.Size())}
		s := step{method: "helpers_" + m.Name.Raw(), out: []int{n * result.Size()}}
		for x := range operands {
			data := wideElements(r, d, n)
			bufs = append(bufs, data)
			s.in = append(s.in, data)
			s.args = append(s.args, fmt.Sprintf("(const %s *)in[%d]", cTypes[d], x))
		}
		s.args = append(s.args, "("+cTypes[result]+" *)out[0]")
		if err := eval.Run(k.Loop, bufs, nil, nil); err != nil {
			t.Fatal(err)
		}
		steps, want, names = append(steps, s), append(want, bufs[0]),
			append(names, name+" "+d.Short())
	}
	one := func(f unary) func(x []*expr.Expr) *expr.Expr {
		return func(x []*expr.Expr) *expr.Expr { return f(x[0]) }
	}
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		add("sqrt", d, d, 1, one(expr.Sqrt))
		add("floor", d, d, 1, one(expr.Floor))
		add("ceil", d, d, 1, one(expr.Ceil))
		add("trunc", d, d, 1, one(expr.Trunc))
		add("round", d, d, 1, one(expr.Round))
		add("abs", d, d, 1, one(expr.Abs))
		add("difference", d, d, 2, func(x []*expr.Expr) *expr.Expr { return expr.Sub(x[0], x[1]) })
		add("rem", d, d, 2, func(x []*expr.Expr) *expr.Expr { return expr.Rem(x[0], x[1]) })
		add("fma", d, d, 3, func(x []*expr.Expr) *expr.Expr { return expr.FMA(x[0], x[1], x[2]) })
		for _, to := range []ir.DType{ir.Int32, ir.Uint32, ir.Int64, ir.Uint64} {
			lo, hi := expr.IntRange(to)
			_, _ = lo, hi
			add("to "+to.Short(), d, to, 1, func(x []*expr.Expr) *expr.Expr {
				// What does not fit may give anything.
				top := map[ir.DType]float64{ir.Int32: 0x1p31, ir.Uint32: 0x1p32, ir.Int64: 0x1p63,
					ir.Uint64: 0x1p64}[to]
				low := -top
				if to.IsUnsigned() {
					low = -1
				}
				fits := expr.And(expr.Lt(x[0], expr.Float(d, top)),
					expr.Gt(x[0], expr.Float(d, low)))
				return expr.Select(fits, expr.Cast(to, x[0]), expr.Int(to, 7))
			})
		}
	}
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float8E4M3FN, ir.Float8E5M2,
		ir.Float8E4M3FNUZ, ir.Float8E5M2FNUZ, ir.Float8E8M0FNU} {
		add("narrow to "+d.Short(), ir.Float32, d, 1, func(x []*expr.Expr) *expr.Expr {
			return expr.Cast(d, x[0])
		})
		add("widen from "+d.Short(), d, ir.Float32, 1, func(x []*expr.Expr) *expr.Expr {
			return expr.Cast(ir.Float32, x[0])
		})
	}
	for _, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16, ir.Int32} {
		quantisations(func(name string, quantised unary, zero float64) {
			if d.Size() > 1 && zero != 0 {
				return
			}
			name += " to " + d.Short()
			add(name, ir.Float32, d, 1, func(x []*expr.Expr) *expr.Expr {
				return expr.Cast(d, quantised(x[0]))
			})
			add(name+" and back", ir.Float32, ir.Float32, 1, func(x []*expr.Expr) *expr.Expr {
				return expr.Sub(expr.Cast(ir.Float32, expr.Cast(d, quantised(x[0]))),
					expr.Float(ir.Float32, zero))
			})
		})
	}
	add("round twice", ir.Float32, ir.Float32, 1, func(x []*expr.Expr) *expr.Expr {
		num := func(v float64) *expr.Expr { return expr.Float(ir.Float64, v) }
		y := expr.Mul(expr.Cast(ir.Float64, x[0]), num(0.73))
		y = expr.Add(expr.Round(expr.Min(num(1<<22), expr.Max(num(-1<<22), y))), num(0))
		return expr.Add(expr.Round(expr.Mul(expr.Cast(ir.Float32, y), expr.Float(ir.Float32,
			0.25))), expr.Float(ir.Float32, 3))
	})
	for _, machine := range []string{"generic", "riscv32"} {
		m, err := tuned.MachineNamed(machine)
		if err != nil {
			t.Fatal(err)
		}
		dir, pkg := generateFor(t, p, c.Options{Name: "helpers", Machine: m})
		strict(t, dir, pkg)
		main, stdin := mainText("helpers", steps, "")
		software := toolchain.GCC().Named("gcc without instructions").With("-U__SSE2__",
			"-U__SSE__", "-U__FLT_EVAL_METHOD__", "-O1", "-fsanitize=undefined",
			"-fno-sanitize-recover=all")
		hardware := toolchain.GCC().Named("gcc with FMA").With("-mfma")
		for _, target := range []toolchain.Target{software, sanitized(), hardware} {
			got := run(t, dir, pkg, main, stdin, target)
			for i, ref := range want {
				if got[0] != 0 {
					t.Fatalf("status %d", got[0])
				}
				compare(t, machine+", "+target.Name, names[i], p.Kernels[i].Loop.Bufs[0].DType,
					got[1:1+len(ref)], ref)
				got = got[1+len(ref):]
			}
		}
	}
}

// quantisations yields ways to round and to limit, and the zero point of each.
func quantisations(yield func(name string, quantised func(*expr.Expr) *expr.Expr, zero float64)) {
	num := func(x float64) *expr.Expr { return expr.Float(ir.Float32, x) }
	for _, zero := range []float64{0, -128, 37, 1 << 21, 1 << 23} {
		sum := func(x *expr.Expr) *expr.Expr {
			return expr.Add(expr.Round(expr.Mul(x, num(3.7))), num(zero))
		}
		name := fmt.Sprint("quantise from ", zero)
		yield(name, func(x *expr.Expr) *expr.Expr {
			return expr.Min(num(127), expr.Max(num(-128), sum(x)))
		}, zero)
		yield(name+", NaN being least", func(x *expr.Expr) *expr.Expr {
			return expr.Min(expr.Max(sum(x), num(-128)), num(127))
		}, zero)
		yield(name+", of both orders", func(x *expr.Expr) *expr.Expr {
			return expr.Max(num(0), expr.Min(sum(x), num(90.5)))
		}, zero)
	}
	yield("limit", func(x *expr.Expr) *expr.Expr {
		return expr.Min(expr.Max(expr.Round(x), num(-20)), num(107))
	}, 1)
	yield("limit, NaN staying", func(x *expr.Expr) *expr.Expr {
		return expr.Max(num(0), expr.Min(num(100), expr.Round(x)))
	}, 2)
	yield("no integer", func(x *expr.Expr) *expr.Expr {
		return expr.Min(num(99.5), expr.Max(num(-3.5), x))
	}, 3)
}

// wideElements returns n numbers of all magnitudes, corner cases among them.
func wideElements(r *rand.Rand, d ir.DType, n int) []byte {
	out := randomElements(r, d, n)
	size := d.Size()
	for i := range n {
		if i%3 == 0 {
			continue
		}
		for k := range size {
			out[i*size+k] = byte(r.Uint32())
		}
		if i%3 == 1 && (d == ir.Float32 || d == ir.Float64) { // closer together, with fewer bits
			v := expr.RoundTo(d, float64(r.IntN(4000)-2000)/float64(int(1)<<r.IntN(12)))
			eval.Put(d, out, int64(i), eval.Value{F: v})
		}
	}
	return out
}
