package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// counter is a mutable integer local of an imperative body.
type counter struct{ v *expr.Var }

// newCounter names a local of dtype d.
func newCounter(name string, d ir.DType) counter { return counter{&expr.Var{Name: name, DType: d}} }

func (c counter) get() *expr.Expr { return expr.Get(c.v) }

// start declares the counter.
func (c counter) start(x *expr.Expr) loop.Stmt {
	return &loop.Let{Var: c.v, Value: x, Mutable: true}
}

// fixed declares the local for good.
func (c counter) fixed(x *expr.Expr) loop.Stmt { return &loop.Let{Var: c.v, Value: x} }

func (c counter) set(x *expr.Expr) loop.Stmt { return &loop.Assign{Var: c.v, Value: x} }

// add steps the counter.
func (c counter) add(n int64) loop.Stmt {
	return c.set(expr.Add(c.get(), expr.Int(c.v.DType, n)))
}

// index binds the value of x, which lies in [0, extent), as an index for the
// rest of the block.
func index(name string, x *expr.Expr, extent sym.Expr) (*loop.LetIndex, sym.Expr) {
	s := sym.NewVar(name, extent)
	return &loop.LetIndex{Sym: s, Value: x}, s.Expr()
}

// indexDType is Int32 if every position below n fits, else Int64.
func indexDType(n sym.Expr) ir.DType {
	if _, hi := n.Bounds(); hi < math.MaxInt32/2 {
		return ir.Int32
	}
	return ir.Int64
}
