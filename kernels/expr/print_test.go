package expr_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	kmath "github.com/etgen/etgen/kernels/math"
)

func format(e *expr.Expr, typed bool) string {
	return e.Format(expr.Names{
		Operand: func(int) string { return "b" },
		Scalar:  func(int) string { return "s" },
		Local:   func(v *expr.Var) string { return v.Name },
		Index:   sym.Expr.String,
	}, typed)
}

// Precedence, associativity and the dtypes of constants show in the text. Nodes are
// made as they are: nothing is folded.
func TestText(t *testing.T) {
	node := func(op expr.Op, d ir.DType, args ...*expr.Expr) *expr.Expr {
		return &expr.Expr{Op: op, DType: d, Args: args}
	}
	local := func(name string, d ir.DType) *expr.Expr {
		return expr.Get(&expr.Var{Name: name, DType: d})
	}
	x, n, u, p := local("x", f32), local("n", i32), local("u", u64), local("p", ir.Bool)
	i := sym.NewVar("i", sym.Int(8)).Expr()
	c, k := func(v float64) *expr.Expr { return expr.Float(f32, v) },
		func(v int64) *expr.Expr { return expr.Int(i32, v) }
	add := func(a, b *expr.Expr) *expr.Expr { return node(expr.OpAdd, a.DType, a, b) }
	sub := func(a, b *expr.Expr) *expr.Expr { return node(expr.OpSub, a.DType, a, b) }
	mul := func(a, b *expr.Expr) *expr.Expr { return node(expr.OpMul, a.DType, a, b) }
	div := func(a, b *expr.Expr) *expr.Expr { return node(expr.OpDiv, a.DType, a, b) }
	neg := func(a *expr.Expr) *expr.Expr { return node(expr.OpNeg, a.DType, a) }
	is := func(op expr.Op, a, b *expr.Expr) *expr.Expr { return node(op, ir.Bool, a, b) }
	or := func(a, b *expr.Expr) *expr.Expr { return node(expr.OpOr, a.DType, a, b) }
	and := func(a, b *expr.Expr) *expr.Expr { return node(expr.OpAnd, a.DType, a, b) }
	choose := func(p, a, b *expr.Expr) *expr.Expr { return node(expr.OpSelect, a.DType, p, a, b) }
	f := func(op expr.Op, args ...*expr.Expr) *expr.Expr { return node(op, args[0].DType, args...) }
	big := &expr.Expr{Op: expr.OpConst, DType: u64, Int: -1}
	array := expr.GetAt(&expr.Var{Name: "a", DType: f32, Len: 4}, sym.Int(2))
	for want, e := range map[string]*expr.Expr{
		"x + x - x": sub(add(x, x), x), "x - (x - x)": sub(x, sub(x, x)),
		"x*x/x*x": mul(div(mul(x, x), x), x), "x/(x*x)": div(x, mul(x, x)),
		"(x + x)*x": mul(add(x, x), x), "x % x": f(expr.OpRem, x, x),
		"-x*-x": mul(neg(x), neg(x)), "-(x*x)": neg(mul(x, x)), "-1.0": c(-1),
		"-(1.0)": neg(c(1)), "-(-1.0)": neg(c(-1)),
		"~n & 3 | n ^ n << 2": or(and(f(expr.OpNot, n), k(3)),
			f(expr.OpXor, n, f(expr.OpShl, n, k(2)))),
		"!p": f(expr.OpNot, p), "x + 0.5 < 2.5": is(expr.OpLt, add(x, c(0.5)), c(2.5)),
		"1.0f32 < 2.0f32":       is(expr.OpLt, c(1), c(2)),
		"x < 1.0 & (n < 2 | p)": and(is(expr.OpLt, x, c(1)), or(is(expr.OpLt, n, k(2)), p)),
		"(n << 2) + 1 >= n":     is(expr.OpGe, add(f(expr.OpShl, n, k(2)), k(1)), n),
		"n == 3 & n != 4":       and(is(expr.OpEq, n, k(3)), is(expr.OpNe, n, k(4))),
		"p ? x : 0.0":           choose(p, x, c(0)),
		"p ? 1.0 : x < 0.0 ? x : 2.0": choose(p, c(1), choose(is(expr.OpLt, x, c(0)),
			x, c(2))),
		"(p ? x : 1.0)*(p ? 2.0 : 3.0)": mul(choose(p, x, c(1)), choose(p, c(2), c(3))),
		"p ? (p ? 1 : 2) : 3":           choose(p, choose(p, k(1), k(2)), k(3)),
		"(p ? 1i32 : 2i32) == 2i32":     is(expr.OpEq, choose(p, k(1), k(2)), k(2)),
		"fma(x, 2.0, b[8*i + 1])": f(expr.OpFMA, x, c(2), expr.At(0, f32,
			sym.Add(sym.Mul(sym.Int(8), i), sym.Int(1)))),
		"min(x, max(0.0, a[2]))": f(expr.OpMin, x, f(expr.OpMax, c(0), array)),
		"sqrt(floor(ceil(trunc(round(abs(x))))))": f(expr.OpSqrt, f(expr.OpFloor, f(expr.OpCeil,
			f(expr.OpTrunc, f(expr.OpRound, f(expr.OpAbs, x)))))),
		"f32(n) + f32(2i64)": add(node(expr.OpCast, f32, n),
			node(expr.OpCast, f32, expr.Int(ir.Int64, 2))),
		"bits.f32(bits.i32(x) & 255)": node(expr.OpBitcast, f32,
			and(node(expr.OpBitcast, i32, x), k(255))),
		"f16(x)":             node(expr.OpCast, f16, x),
		"exp_f32(x + 1.0)":   expr.CallFn(kmath.Func("exp", f32), add(x, c(1))),
		"index(2*i + 1) - 1": sub(expr.Idx(ir.Int64, sym.Add(i, i, sym.Int(1))), expr.Int(ir.Int64, 1)),
		"index32(i)":         expr.Idx(i32, i),
		"inf":                c(math.Inf(1)), "-inf": c(math.Inf(-1)), "nan": c(math.NaN()),
		"x == inf":             is(expr.OpEq, x, c(math.Inf(1))),
		"-inff32 < 0.0f32":     is(expr.OpLt, c(math.Inf(-1)), c(0)),
		"-0.0":                 c(math.Copysign(0, -1)),
		"true":                 expr.Bool(true),
		"p & false":            and(p, expr.Bool(false)),
		"18446744073709551615": big,
		"u - 1":                sub(u, expr.Int(u64, 1)),
		"1e-05":                c(1e-5), "1.5e+20": c(1.5e20), "0.1": expr.Float(f64, 0.1),
		"-9223372036854775808": expr.Int(ir.Int64, math.MinInt64), "65504.0": expr.Float(f16, 65504),
	} {
		if got := format(e, true); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for want, e := range map[string]*expr.Expr{"1i32 + 2i32": add(k(1), k(2)), "x + 2.0": add(x, c(2)),
		"2.5f32": c(2.5)} {
		if got := format(e, false); got != want {
			t.Errorf("alone: got %s, want %s", got, want)
		}
	}
}

// Every float comes back with its bits.
func TestTextFloats(t *testing.T) {
	for k := range 20000 {
		bits := uint64(k) * 0x9e3779b97f4a7c15
		for d, v := range map[ir.DType]float64{f64: math.Float64frombits(bits),
			f32: float64(math.Float32frombits(uint32(bits >> 32)))} {
			got, err := strconv.ParseFloat(format(expr.Float(d, v), true), 8*d.Size())
			if err != nil || math.Float64bits(got) != math.Float64bits(v) && v == v {
				t.Fatalf("%x of %s: %v", bits, d, err)
			}
			if alone := format(expr.Float(d, v), false); !strings.HasSuffix(alone, d.Short()) {
				t.Fatalf("%s has no type", alone)
			}
		}
	}
}
