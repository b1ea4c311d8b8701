package schedule_test

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Loops as the tests write them.
type (
	ix     = sym.Expr
	block  = []loop.Stmt
	buffer int // of float32
)

// The buffers of operands, and i0 of int64.
const (
	y  buffer = 0
	x  buffer = 1
	i0        = 2
	s  buffer = 3
)

// operands returns a function of y, x, i0 and s.
func operands(body block) *loop.Func {
	return &loop.Func{Name: "f", Body: body, Bufs: []loop.Buf{
		{Name: "y", DType: ir.Float32, Role: loop.Out, Len: sym.Int(640)},
		{Name: "x", DType: ir.Float32, Len: sym.Int(640)},
		{Name: "i0", DType: ir.Int64, Len: sym.Int(640)},
		{Name: "s", DType: ir.Float32, Role: loop.Scratch, Len: sym.Int(64)},
	}}
}

func (b buffer) at(i ix) *expr.Expr { return expr.At(int(b), ir.Float32, i) }

func (b buffer) put(i ix, value *expr.Expr) loop.Stmt {
	return &loop.Store{Buf: int(b), At: i, Value: value}
}

var zero = expr.Float(ir.Float32, 0)

func f32Var(name string) *expr.Var { return &expr.Var{Name: name, DType: ir.Float32} }

func let(v *expr.Var, value *expr.Expr) loop.Stmt {
	return &loop.Let{Var: v, Value: value, Mutable: true}
}

func set(v *expr.Var, value *expr.Expr) loop.Stmt { return &loop.Assign{Var: v, Value: value} }

// over returns a loop of n, a number or an index expression, iterations.
func over(name string, n any, body func(i ix) block) *loop.For {
	extent, ok := n.(ix)
	if !ok {
		extent = sym.Int(int64(n.(int)))
	}
	v := sym.NewVar(name, extent)
	return &loop.For{Var: v, Extent: extent, Body: body(v.Expr())}
}

// strip marks a loop as one whose iterations are independent.
func strip(l *loop.For) *loop.For {
	l.Vectorizable = true
	return l
}

// lin returns a sum: a number before an index is its factor, the last one is added.
func lin(terms ...any) ix {
	sum, factor := sym.Int(0), sym.Int(1)
	for i, t := range terms {
		switch t := t.(type) {
		case ix:
			sum, factor = sym.Add(sum, sym.Mul(factor, t)), sym.Int(1)
		case int:
			if factor = sym.Int(int64(t)); i == len(terms)-1 {
				sum = sym.Add(sum, factor)
			}
		}
	}
	return sum
}
