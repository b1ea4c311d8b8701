package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

var inf = math.Inf(1)

// roundingOps round to integers; integers stay.
func roundingOps() []Op {
	whole := func(f func(*expr.Expr) *expr.Expr) func(*expr.Expr) *expr.Expr {
		return func(x *expr.Expr) *expr.Expr {
			if !x.DType.IsFloat() {
				return x
			}
			return f(x)
		}
	}
	return []Op{
		unary("aten::floor(Tensor self) -> Tensor", noBool, whole(expr.Floor)),
		unary("aten::ceil(Tensor self) -> Tensor", noBool, whole(expr.Ceil)),
		unary("aten::trunc(Tensor self) -> Tensor", noBool, whole(expr.Trunc)),
		unary("aten::fix(Tensor self) -> Tensor", noBool, whole(expr.Trunc)).core(
			sameAs("aten.trunc.default")),
		unary("aten::round(Tensor self) -> Tensor", noBool, whole(expr.Round)),
		pointwise("aten::round.decimals(Tensor self, *, int decimals) -> Tensor", "self", noBool,
			roundDecimals).core(
			opmathForm(roundDecimalsCore)),
		unary("aten::frac(Tensor self) -> Tensor", floatOnly, func(x *expr.Expr) *expr.Expr {
			return expr.Sub(x, expr.Trunc(x))
		}).core(opmathForm(func(b *Builder, _ *Call, x *ir.Value) *ir.Value {
			return b.sub(x, b.Op("aten.trunc.default", x))
		})),
	}
}

// roundDecimals scales by a power of ten, rounds and scales back.
func roundDecimals(p *point) *expr.Expr {
	x := p.x[0]
	n, err := p.c.Int("decimals")
	if err != nil || !x.DType.IsFloat() {
		return x
	}
	ten := like(x, math.Pow10(int(max(n, -n))))
	switch {
	case n > 0:
		return expr.Div(expr.Round(expr.Mul(x, ten)), ten)
	case n < 0:
		return expr.Mul(expr.Round(expr.Div(x, ten)), ten)
	}
	return expr.Round(x)
}
