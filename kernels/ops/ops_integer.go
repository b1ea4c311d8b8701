package ops

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// integerOps are operators of number theory.
func integerOps() []Op {
	return []Op{
		gcdOp("aten::gcd(Tensor self, Tensor other) -> Tensor",
			func(a, b, g *expr.Expr) *expr.Expr { return g }),
		gcdOp("aten::lcm(Tensor self, Tensor other) -> Tensor",
			func(a, b, g *expr.Expr) *expr.Expr {
				zero := expr.Eq(g, like(g, 0))
				return expr.Select(zero, g,
					absolute(expr.Mul(expr.Div(a, expr.Select(zero, like(g, 1), g)), b)))
			}),
	}
}

// gcdOp runs Euclid's algorithm per element; result makes the element of the
// operands and their greatest common divisor.
func gcdOp(schema string, result func(a, b, g *expr.Expr) *expr.Expr) Op {
	op := binary(schema, intOnly, func(a, b *expr.Expr) *expr.Expr { return a })
	op.Compute = nil
	op.Loops = func(c *Call) (*loop.Func, error) {
		out := c.Outs[0]
		d := out.DType
		vars, coords := indexVars(out.Sizes)
		load := func(name string) *expr.Expr {
			k := c.Operand(name)
			at := sym.RowMajor(c.operands[k].Type.Sizes, broadcastCoords(c.operands[k].Type,
				out.Sizes, coords))
			return expr.Cast(d, expr.At(1+k, c.operands[k].Type.DType, at))
		}
		for _, name := range []string{"self", "other"} {
			if c.Operand(name) < 0 {
				return nil, c.Errorf("argument %s is a number", name)
			}
		}
		a, b := load("self"), load("other")
		x, y, rest := newCounter("x", d), newCounter("y", d), newCounter("rest", d)
		body := []loop.Stmt{
			x.start(absolute(a)), y.start(absolute(b)),
			&loop.While{Cond: expr.Ne(y.get(), expr.Int(d, 0)), Body: []loop.Stmt{
				rest.fixed(expr.Rem(x.get(), y.get())),
				x.set(y.get()),
				y.set(rest.get()),
			}},
			&loop.Store{Buf: 0, At: sym.RowMajor(out.Sizes, coords), Value: result(a, b, x.get())},
		}
		for i := len(vars) - 1; i >= 0; i-- {
			body = []loop.Stmt{&loop.For{Var: vars[i], Extent: out.Sizes[i], Body: body}}
		}
		return &loop.Func{Name: "gcd", Bufs: c.buffers(), Body: body}, nil
	}
	return op
}
