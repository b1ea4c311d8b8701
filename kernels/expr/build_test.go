package expr_test

import (
	"math"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

const (
	f16 = ir.Float16
	f32 = ir.Float32
	f64 = ir.Float64
	i8  = ir.Int8
	i32 = ir.Int32
	i64 = ir.Int64
	u8  = ir.Uint8
	u64 = ir.Uint64
)

func local(d ir.DType) *expr.Expr { return expr.Get(&expr.Var{Name: "x", DType: d}) }

func TestFold(t *testing.T) {
	negZero := math.Copysign(0, -1)
	F := func(x float64) *expr.Expr { return expr.Float(f32, x) }
	for _, c := range []struct {
		got  *expr.Expr
		want *expr.Expr
	}{
		{expr.Add(expr.Int(i8, 127), expr.Int(i8, 1)), expr.Int(i8, -128)},
		{expr.Mul(expr.Int(u8, 16), expr.Int(u8, 17)), expr.Int(u8, 16)},
		{expr.Neg(expr.Int(i8, -128)), expr.Int(i8, -128)},
		{expr.Abs(expr.Int(i8, -128)), expr.Int(i8, -128)},
		{expr.Div(expr.Int(i32, -7), expr.Int(i32, 2)), expr.Int(i32, -3)},
		{expr.Rem(expr.Int(i32, -7), expr.Int(i32, 2)), expr.Int(i32, -1)},
		{expr.Div(expr.Int(u64, -1), expr.Int(u64, 2)), expr.Int(u64, math.MaxInt64)},
		{expr.Lt(expr.Int(u64, -1), expr.Int(u64, 2)), expr.Bool(false)},
		{expr.Lt(expr.Cast(i32, expr.At(0, ir.Bool)), expr.Int(i32, 2)), expr.Bool(true)},
		{expr.Ge(F(-0.5), expr.Cast(f32, expr.At(0, ir.Bool))), expr.Bool(false)},
		{expr.Shr(expr.Int(i8, -8), expr.Int(i8, 1)), expr.Int(i8, -4)},
		{expr.Shr(expr.Int(u8, 248), expr.Int(u8, 1)), expr.Int(u8, 124)},
		{expr.Add(F(1), F(0x1p-24)), F(1)},
		{expr.Add(F(0.1), F(0.2)), F(float64(float32(0.1) + float32(0.2)))},
		{expr.Rem(F(-5.5), F(2)), F(-1.5)},
		{expr.Round(F(2.5)), F(2)},
		{expr.Round(F(-0.5)), F(negZero)},
		{expr.Min(F(math.NaN()), F(1)), F(1)},
		{expr.Min(F(1), F(math.NaN())), F(math.NaN())},
		{expr.FMA(F(0x1.000002p0), F(0x1.000002p0), F(-0x1.000004p0)), F(0x1p-46)},
		{expr.Cast(f16, F(65520)), expr.Float(f16, math.Inf(1))},
		{expr.Cast(i8, F(-3.9)), expr.Int(i8, -3)},
		{expr.Cast(u8, expr.Int(i32, 300)), expr.Int(u8, 44)},
		{expr.Cast(f32, expr.Int(i64, 1<<24+1)), F(1 << 24)},
		{expr.Cast(f32, expr.Int(i64, 0x7fffffbfffffffff)), F(0x7fffff8000000000)},
		{expr.Cast(f64, expr.Int(u64, -1)), expr.Float(f64, 0x1p64)},
		{expr.Cast(ir.Bool, F(0.5)), expr.Bool(true)},
		{expr.Bitcast(i32, F(1)), expr.Int(i32, 0x3f800000)},
		{expr.Bitcast(f32, expr.Int(i32, math.MinInt32)), F(negZero)},
		{expr.Idx(ir.Uint8, sym.Int(257)), expr.Int(u8, 1)},
		{expr.Num(i32, 3), expr.Int(i32, 3)},
	} {
		if !expr.Equal(c.got, c.want) && !(c.got.Float != c.got.Float &&
			c.want.Float != c.want.Float) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

func TestIdentities(t *testing.T) {
	negZero := math.Copysign(0, -1)
	x, n, b := local(f32), local(i32), local(ir.Bool)
	keeps := func(what string, got, want *expr.Expr) {
		t.Helper()
		if got != want {
			t.Errorf("%s became %v", what, got)
		}
	}
	keeps("x*1", expr.Mul(x, expr.Float(f32, 1)), x)
	keeps("x/1", expr.Div(x, expr.Float(f32, 1)), x)
	keeps("x+-0", expr.Add(x, expr.Float(f32, negZero)), x)
	keeps("x-0", expr.Sub(x, expr.Float(f32, 0)), x)
	keeps("n+0", expr.Add(expr.Int(i32, 0), n), n)
	keeps("--x", expr.Neg(expr.Neg(x)), x)
	keeps("b and true", expr.And(b, expr.Bool(true)), b)
	keeps("b xor false", expr.Xor(b, expr.Bool(false)), b)
	keeps("n and -1", expr.And(n, expr.Int(i32, -1)), n)
	keeps("cast to itself", expr.Cast(f32, x), x)
	keeps("widened and narrowed", expr.Cast(i32, expr.Cast(i64, n)), n)
	half := local(f16)
	keeps("f16 by f32", expr.Cast(f16, expr.Cast(f32, half)), half)
	keeps("select of a constant", expr.Select(expr.Bool(false), half, half), half)
	for what, e := range map[string]*expr.Expr{
		"x+0":        expr.Add(x, expr.Float(f32, 0)),
		"x*0":        expr.Mul(x, expr.Float(f32, 0)),
		"x-x":        expr.Sub(x, x),
		"x==x":       expr.Eq(x, x),
		"not x<1":    expr.Not(expr.Lt(x, expr.Float(f32, 1))),
		"f32 by f16": expr.Cast(f32, expr.Cast(f16, x)),
		"n by f32":   expr.Cast(i32, expr.Cast(f32, n)),
		"n / 0":      expr.Div(expr.Int(i32, 1), expr.Int(i32, 0)),
	} {
		if len(e.Args) == 0 {
			t.Errorf("%s became %v", what, e)
		}
	}
	if e := expr.Not(expr.Lt(n, expr.Int(i32, 1))); e.Op != expr.OpGe {
		t.Errorf("not n<1 became %v", e)
	}
	// Narrow floats compute in float32.
	if e := expr.Add(half, half); e.Op != expr.OpCast || e.DType != f16 || e.Args[0].DType != f32 {
		t.Errorf("f16 sum is %v", e)
	}
	if e := expr.Cast(i32, half); e.Op != expr.OpCast || e.Args[0].DType != f32 {
		t.Errorf("f16 to i32 is %v", e)
	}
	if e := expr.Cast(f64, expr.Cast(i8, half)); e.DType != f64 {
		t.Errorf("got %v", e)
	}
}

// Chains of casts are what their steps do, for every pair of dtypes and way.
func TestCastChains(t *testing.T) {
	dtypes := []ir.DType{ir.Bool, i8, u8, ir.Int16, ir.Uint16, i32, ir.Uint32, i64, u64, f16,
		ir.BFloat16, f32, f64}
	for _, a := range dtypes {
		v := &expr.Var{Name: "x", DType: a}
		for _, b := range dtypes {
			for _, c := range dtypes {
				if b.IsFloat() && !c.IsFloat() && c != ir.Bool {
					continue // out of range is open
				}
				e := expr.Cast(c, expr.Cast(b, expr.Get(v)))
				if e.DType != c {
					t.Fatalf("%s to %s to %s is %s", a, b, c, e.DType)
				}
				for _, x := range []float64{0, 1, 2, 100, 127, 200, 2049, 40000, 70000, 1 << 25,
					1<<25 + 1, 1 << 40} {
					in := expr.Convert(expr.Value{F: x}, f64, a)
					want := expr.Convert(expr.Convert(in, a, b), b, c)
					got := evalCasts(e, v, in)
					if got != want {
						t.Errorf("%v as %s to %s to %s is %v, want %v by %v", x, a, b, c,
							got, want, e)
					}
				}
			}
		}
	}
}

func evalCasts(e *expr.Expr, v *expr.Var, in expr.Value) expr.Value {
	if e.Op == expr.OpLocal {
		return in
	}
	args := make([]expr.Value, len(e.Args))
	for i, a := range e.Args {
		if a.Op == expr.OpConst {
			args[i] = expr.Value{I: a.Int, F: a.Float}
		} else {
			args[i] = evalCasts(a, v, in)
		}
	}
	out, err := expr.Apply(e.Op, e.DType, e.Args[0].DType, args...)
	if err != nil {
		panic(err)
	}
	return out
}

func TestDtypesMustFit(t *testing.T) {
	x, n, b := local(f32), local(i32), local(ir.Bool)
	for what, f := range map[string]func(){
		"mixed sum":        func() { expr.Add(x, n) },
		"sum of bool":      func() { expr.Add(b, b) },
		"sqrt of int":      func() { expr.Sqrt(n) },
		"select on float":  func() { expr.Select(x, x, x) },
		"bitcast by size":  func() { expr.Bitcast(i64, x) },
		"shift of float":   func() { expr.Shl(x, x) },
		"complex constant": func() { expr.Float(ir.Complex64, 1) },
		"complex cast":     func() { expr.Cast(ir.Complex64, x) },
		"sum over bool":    func() { expr.Sum([]*sym.Symbol{sym.NewVar("i", sym.Int(2))}, b) },
		"not of float":     func() { expr.Not(x) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was accepted", what)
				}
			}()
			f()
		}()
	}
}

func TestInRange(t *testing.T) {
	i := sym.NewVar("i", sym.Int(10)).Expr()
	n := sym.NewSymbol("n", 3, 8).Expr()
	for _, c := range []struct {
		e    *expr.Expr
		want string
	}{
		{expr.InRange(i, sym.Int(0), sym.Int(10)), "true"},
		{expr.InRange(i, sym.Int(-2), sym.Add(n, sym.Int(7))), "true"},
		{expr.InRange(sym.Sub(i, sym.Int(20)), sym.Int(0), n), "false"},
		{expr.InRange(sym.Sub(i, sym.Int(1)), sym.Int(0), sym.Int(10)), "0 <= index32(i - 1)"},
		{expr.InRange(i, sym.Int(0), n), "index32(i) < index32(n)"},
		{expr.InRange(sym.Mul(i, sym.Int(1<<40)), sym.Int(1), sym.Int(1<<42)),
			"1 <= index(1099511627776*i) & index(1099511627776*i) < 4398046511104"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
