package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// matrixExp is the exponential of matrices: Taylor's series of a matrix that was halved until its
// norm is at most 1, squared as often as it was halved.
func matrixExp() entry {
	return entry{
		Schema: "aten::linalg_matrix_exp(Tensor self) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t, _ := c.square("self")
			return one(ir.TensorOf(t.DType, t.Sizes...))
		},
		Loops: func(c *Call) *loop.Func {
			t, n := c.square("self")
			d, batch := t.DType, t.Sizes[:t.Rank()-2]
			vars, at := indexVars(batch)
			bufs := c.buffers()
			num := func(x float64) *expr.Expr { return expr.Num(d, x) }
			out, x := matrixOf(0, t, batch, at), matrixOf(1, t, batch, at)
			product := workMatrix(&bufs, "product", d, n, n)
			local := func(name string) counter { return newCounter(name, d) }
			norm, sum, scale, term := local("norm"), local("sum"), local("scale"), local("term")
			halved := newCounter("halved", ir.Int32)
			every := func(name string, f func(i, j sym.Expr) []loop.Stmt) loop.Stmt {
				return each(name, n, func(i sym.Expr) []loop.Stmt {
					return []loop.Stmt{each(name+"_column", n, func(j sym.Expr) []loop.Stmt {
						return f(i, j)
					})}
				})
			}
			// times makes out what f says of an element of a·out.
			times := func(name string, a func(i, k sym.Expr) *expr.Expr,
				f func(i, j sym.Expr, x *expr.Expr) *expr.Expr) []loop.Stmt {
				return []loop.Stmt{
					every(name, func(i, j sym.Expr) []loop.Stmt {
						return []loop.Stmt{sum.start(num(0)),
							each(name+"_term", n, func(k sym.Expr) []loop.Stmt {
								return []loop.Stmt{sum.plus(expr.Mul(a(i, k), out.get(k, j)))}
							}),
							product.set(i, j, sum.get())}
					}),
					every(name+"_copy", func(i, j sym.Expr) []loop.Stmt {
						return []loop.Stmt{out.set(i, j, f(i, j, product.get(i, j)))}
					}),
				}
			}
			unit := func(i, j sym.Expr) *expr.Expr {
				return expr.Select(expr.Eq(expr.Idx(ir.Int64, i), expr.Idx(ir.Int64, j)), num(1), num(0))
			}
			terms := 12.0 // 1/13! is less than half the distance of 1 to the next number
			if d == ir.Float64 {
				terms = 18
			}
			body := []loop.Stmt{norm.start(num(0)),
				each("column", n, func(j sym.Expr) []loop.Stmt {
					return []loop.Stmt{sum.start(num(0)),
						each("row", n, func(i sym.Expr) []loop.Stmt {
							return []loop.Stmt{sum.plus(expr.Abs(x.get(i, j)))}
						}),
						norm.set(expr.Max(norm.get(), sum.get()))}
				}),
				scale.start(num(1)), halved.start(expr.Int(ir.Int32, 0)),
				&loop.While{
					Cond: expr.And(expr.Gt(norm.get(), num(1)), expr.Lt(norm.get(), num(inf))),
					Body: []loop.Stmt{norm.set(expr.Mul(norm.get(), num(0.5))),
						scale.set(expr.Mul(scale.get(), num(0.5))), halved.add(1)}},
				every("start", func(i, j sym.Expr) []loop.Stmt {
					return []loop.Stmt{out.set(i, j, unit(i, j))}
				}),
				term.start(num(terms)),
				&loop.While{Cond: expr.Gt(term.get(), num(0)), Body: append(times("taylor",
					func(i, k sym.Expr) *expr.Expr { return expr.Mul(x.get(i, k), scale.get()) },
					func(i, j sym.Expr, x *expr.Expr) *expr.Expr {
						return expr.Add(unit(i, j), expr.Div(x, term.get()))
					}), term.set(expr.Sub(term.get(), num(1))))},
				&loop.While{Cond: expr.Gt(halved.get(), expr.Int(ir.Int32, 0)), Body: append(
					times("square", out.get, func(_, _ sym.Expr, x *expr.Expr) *expr.Expr { return x }),
					halved.add(-1))},
			}
			return &loop.Func{Name: "matrix_exp", Bufs: bufs, Body: nest(vars, body...)}
		},
	}
}
