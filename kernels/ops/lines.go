package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
)

// buffers returns the buffers of an imperative body of c: results, then
// operands.
func (c *Call) buffers() []loop.Buf {
	var bufs []loop.Buf
	for i, t := range c.Outs {
		name := "out"
		if len(c.Outs) > 1 {
			name += itoa(i)
		}
		bufs = append(bufs, loop.Buf{Name: name, DType: t.DType, Role: loop.Out, Len: t.Numel()})
	}
	for i, v := range c.operands {
		name := "x"
		if len(c.operands) > 1 {
			name += itoa(i)
		}
		bufs = append(bufs, loop.Buf{Name: name, DType: v.Type.DType, Role: loop.In,
			Len: v.Type.Numel()})
	}
	return bufs
}

// lines walks the lines of a tensor along one dimension: element k of a line
// is at base + k·inner in its row-major data.
type lines struct {
	outer, length, inner sym.Expr
	o, k, i              *sym.Symbol
}

func newLines(t ir.Type, dim int) *lines {
	l := &lines{outer: sym.Int(1), length: sym.Int(1), inner: sym.Int(1)}
	if t.Rank() > 0 {
		l.outer, l.length, l.inner = sym.Mul(t.Sizes[:dim]...), t.Sizes[dim],
			sym.Mul(t.Sizes[dim+1:]...)
	}
	l.o, l.k, l.i = sym.NewVar("o", l.outer), sym.NewVar("k", l.length), sym.NewVar("i", l.inner)
	return l
}

// at returns the flat coordinate of element k of the current line.
func (l *lines) at(k sym.Expr) sym.Expr {
	return sym.Add(sym.Mul(sym.Add(sym.Mul(l.o.Expr(), l.length), k), l.inner), l.i.Expr())
}

// each returns the loop over all lines around body.
func (l *lines) each(body ...loop.Stmt) []loop.Stmt {
	return []loop.Stmt{&loop.For{Var: l.o, Extent: l.outer, Body: []loop.Stmt{
		&loop.For{Var: l.i, Extent: l.inner, Body: body},
	}}}
}

// along returns the loop over the elements of a line.
func (l *lines) along(body ...loop.Stmt) loop.Stmt {
	return &loop.For{Var: l.k, Extent: l.length, Body: body}
}
