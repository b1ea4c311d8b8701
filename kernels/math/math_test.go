package math_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	kmath "github.com/etgen/etgen/kernels/math"
)

var unary = map[string]func(float64) float64{
	"exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1, "log": math.Log, "log2": math.Log2,
	"log10": math.Log10, "log1p": math.Log1p,
	"sigmoid": func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / (1 + math.Exp(x))
		}
		return 1 / (1 + math.Exp(-x))
	},
	"rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"sin":   math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos,
	"atan": math.Atan,
	"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "asinh": math.Asinh,
	"acosh": math.Acosh, "atanh": math.Atanh,
	"erf": math.Erf, "erfc": math.Erfc,
}

var bound = regexp.MustCompile(`within (\d+) ulp`)

func bits(d ir.DType) (man, minExp int) {
	if d == ir.Float32 {
		return 23, -126
	}
	return 52, -1022
}

// ulps returns the distance of got from the exact want in units in the last
// place of d at want.
func ulps(d ir.DType, got, want float64) float64 {
	man, minExp := bits(d)
	limit := math.MaxFloat64
	if d == ir.Float32 {
		limit = 0x1.ffffffp127 // from here on want rounds to infinity
	}
	switch {
	case got != got || want != want:
		if got != got && want != want {
			return 0
		}
		return math.Inf(1)
	case math.Abs(want) >= limit || math.IsInf(got, 0):
		if math.IsInf(got, 0) && math.Abs(want) >= limit*(1-0x1p-22) &&
			math.Signbit(got) == math.Signbit(want) {
			return 0
		}
		if math.Abs(got) >= limit*(1-0x1p-22) && math.Signbit(got) == math.Signbit(want) {
			return 0
		}
		return math.Inf(1)
	case want == 0 && got == 0 && math.Signbit(want) != math.Signbit(got):
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(got-want) / math.Ldexp(1, max(e-1, minExp)-man)
}

// inputs returns arguments of all exponents and both signs, dense where
// functions are interesting, and the special values.
func inputs(d ir.DType, n int, r *rand.Rand) []float64 {
	out := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0.5,
		-0.5, 2, -2,
		0x1p-149, -0x1p-149, 0x1p-126, 0x1.fffffep-127, 0x1.fffffep127, -0x1.fffffep127,
		0x1.fffffep-1, 0x1.000002p0,
		math.Pi, math.Pi / 2, 16367173, 0x1.921fb6p1, 0x1p100, 88.72284, 89, -103.97, -87.4}
	for i := range n {
		switch i % 4 {
		case 0: // every bit pattern is as likely
			if d == ir.Float32 {
				out = append(out, float64(math.Float32frombits(r.Uint32())))
			} else {
				out = append(out, math.Float64frombits(r.Uint64()))
			}
		case 1:
			out = append(out, (r.Float64()*2-1)*math.Ldexp(1, r.IntN(24)-12))
		case 2:
			out = append(out, (r.Float64()*2-1)*110)
		case 3:
			out = append(out, (r.Float64()*2-1)*1.5)
		}
	}
	if d == ir.Float32 {
		for i, x := range out {
			out[i] = float64(float32(x))
		}
	}
	return out
}

func stated(t *testing.T, doc string) float64 {
	m := bound.FindStringSubmatch(doc)
	if m == nil {
		t.Fatalf("no bound in %q", doc)
	}
	b, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// contracted returns fn as a compiler may compile it that fuses every product
// with the sum it goes into.
func contracted(fn *expr.Func) *expr.Func {
	c := *fn
	c.Body = expr.Rewrite(fn.Body, func(e *expr.Expr) *expr.Expr {
		switch {
		case e.Op == expr.OpCall:
			d := *e
			d.Fn = contracted(e.Fn)
			return &d
		case e.DType.IsFloat() && e.Op == expr.OpAdd && e.Args[0].Op == expr.OpMul:
			return expr.FMA(e.Args[0].Args[0], e.Args[0].Args[1], e.Args[1])
		case e.DType.IsFloat() && e.Op == expr.OpAdd && e.Args[1].Op == expr.OpMul:
			return expr.FMA(e.Args[1].Args[0], e.Args[1].Args[1], e.Args[0])
		case e.DType.IsFloat() && e.Op == expr.OpSub && e.Args[1].Op == expr.OpMul:
			return expr.FMA(expr.Neg(e.Args[1].Args[0]), e.Args[1].Args[1], e.Args[0])
		case e.DType.IsFloat() && e.Op == expr.OpSub && e.Args[0].Op == expr.OpMul:
			return expr.FMA(e.Args[0].Args[0], e.Args[0].Args[1], expr.Neg(e.Args[1]))
		}
		return e
	})
	return &c
}

// Functions of float32 must not need float64 hardware or helpers.
func TestNoDoubles(t *testing.T) {
	for _, name := range kmath.Names {
		fn := kmath.Func(name, ir.Float32)
		if fn == nil || kmath.Func(name, ir.Float64) == nil {
			t.Fatalf("%s is missing", name)
		}
		expr.Walk(fn.Body, func(e *expr.Expr) {
			if e.DType == ir.Float64 {
				t.Errorf("%s computes %s in float64", name, e.Op)
			}
		})
	}
}

func TestUnary(t *testing.T) {
	for _, fused := range []bool{false, true} {
		t.Run(map[bool]string{false: "rounded", true: "fused"}[fused], func(t *testing.T) {
			testUnary(t, fused)
		})
	}
}

// compiled returns a function that computes fn.
func compiled(t *testing.T, fn *expr.Func) func(args ...eval.Value) eval.Value {
	t.Helper()
	d := fn.Body.DType
	f := &loop.Func{Name: fn.Name, Scalars: fn.Params, Bufs: []loop.Buf{{Name: "out", DType: d,
		Role: loop.Out, Len: sym.Int(1)}}}
	args := make([]*expr.Expr, len(fn.Params))
	for i, p := range fn.Params {
		args[i] = expr.ScalarRef(i, p.DType)
	}
	f.Body = []loop.Stmt{&loop.Store{At: sym.Int(0), Value: expr.CallFn(fn, args...)}}
	p, err := eval.Compile(f)
	if err != nil {
		t.Fatal(err)
	}
	run, out := p.Runner(), make([]byte, d.Size())
	return func(args ...eval.Value) eval.Value {
		if err := run.Run([][]byte{out}, nil, args); err != nil {
			t.Fatal(err)
		}
		return eval.Get(d, out, 0)
	}
}

func testUnary(t *testing.T, fused bool) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, name := range kmath.Names {
			ref, ok := unary[name]
			if !ok {
				continue
			}
			t.Run(name+"_"+d.Short(), func(t *testing.T) {
				fn := kmath.Func(name, d)
				if fused {
					fn = contracted(fn)
				}
				run := compiled(t, fn)
				limit := stated(t, fn.Doc)
				n := tier.Of(2000, 60000, 600000)
				if d == ir.Float64 {
					n = tier.Of(100, 1500, 15000) // the reference takes long
				}
				trig := strings.Contains("sin cos tan", name)
				worst, at := 0.0, 0.0
				for _, x := range inputs(d, n, rand.New(rand.NewPCG(3, 4))) {
					if d == ir.Float64 && trig && math.Abs(x) > 1<<20 {
						continue
					}
					got := run(eval.Value{F: x}).F
					want := ref(x)
					if d == ir.Float64 {
						want = exactly(bigUnary[name], x, want)
					}
					u := ulps(d, got, want)
					if u > worst {
						worst, at = u, x
					}
					if trig && d == ir.Float32 && math.Abs(x) <= 400 && u > limit-1 {
						t.Fatalf("%s(%v): error of %.3f ulp: got %v, want %v", name, x,
							u, got, want)
					}
				}
				t.Logf("worst error %.3f ulp at %v", worst, at)
				if worst > limit {
					t.Errorf("%s(%v): error of %.3f ulp, stated are %v: got %v, Go has %v", name,
						at, worst, limit, run(eval.Value{F: at}).F, ref(at))
				}
			})
		}
	}
}

// refPow is x^y by 200 bits where it is an ordinary number.
func refPow(x, y float64) float64 {
	ref := math.Pow(x, y)
	if x == 0 || y == 0 || math.IsNaN(ref) || math.IsInf(ref, 0) || ref == 0 || math.IsInf(x, 0) ||
		math.IsInf(y, 0) || math.Abs(ref) == 1 {
		return ref
	}
	z, _ := bExp(nb().Mul(bf(y), bLog(bf(math.Abs(x))))).Float64()
	return math.Copysign(z, ref)
}

// refAtan2 is the angle by 200 bits where neither argument is special.
func refAtan2(y, x float64) float64 {
	if x == 0 || y == 0 || math.IsNaN(x+y) || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return math.Atan2(y, x)
	}
	a := bAtan(nb().Quo(bf(y), bf(x)))
	if x < 0 && y > 0 {
		a.Add(a, bPi)
	} else if x < 0 {
		a.Sub(a, bPi)
	}
	z, _ := a.Float64()
	return z
}

func TestBinary(t *testing.T) {
	for _, fused := range []bool{false, true} {
		t.Run(map[bool]string{false: "rounded", true: "fused"}[fused], func(t *testing.T) {
			testBinary(t, fused)
		})
	}
}

func testBinary(t *testing.T, fused bool) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, c := range []struct {
			name        string
			quick, slow func(a, b float64) float64
		}{{"pow", math.Pow, refPow}, {"atan2", math.Atan2, refAtan2}} {
			name, ref := c.name, c.quick
			many, few := 400, 60000
			if d == ir.Float64 {
				ref, many, few = c.slow, 12, 2000
			}
			t.Run(name+"_"+d.Short(), func(t *testing.T) {
				fn := kmath.Func(name, d)
				if fused {
					fn = contracted(fn)
				}
				run := compiled(t, fn)
				limit := stated(t, fn.Doc)
				r := rand.New(rand.NewPCG(5, 6))
				as, bs := inputs(d, many, r), inputs(d, many, r)
				worst, wa, wb := 0.0, 0.0, 0.0
				try := func(a, b float64) {
					got := run(eval.Value{F: a}, eval.Value{F: b}).F
					if u := ulps(d, got, ref(a, b)); u > worst {
						worst, wa, wb = u, a, b
					}
				}
				for _, a := range as {
					for _, b := range bs {
						try(a, b)
					}
				}
				for range few { // powers that are neither 0 nor infinite
					a := math.Exp2(r.Float64()*20 - 10)
					b := (r.Float64()*2 - 1) * 100 / math.Max(0.1, math.Abs(math.Log2(a)))
					if d == ir.Float32 {
						a, b = float64(float32(a)), float64(float32(b))
					}
					try(a, b)
				}
				t.Logf("worst error %.3f ulp at (%v, %v)", worst, wa, wb)
				if worst > limit {
					t.Errorf("%s(%v, %v): error of %.3f ulp, stated are %v: got %v, want %v", name,
						wa, wb, worst, limit,
						run(eval.Value{F: wa}, eval.Value{F: wb}).F, ref(wa, wb))
				}
			})
		}
	}
}
