package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// digit says that the iteration of a loop of count iterations follows from the
// element x that it touches: it is x/unit mod count.
type digit struct{ unit, count sym.Expr }

// names reports whether v is x/unit mod count, v being less than count: x is a
// multiple of unit·count, and v·unit, and what is less than unit.
func (g digit) names(x sym.Expr, v *sym.Symbol) bool {
	unit, rest, linear := x.Coef(v)
	if !linear || !unit.Equal(g.unit) || rest.Uses(v) || !sym.Less(sym.Int(0), unit) {
		return false
	}
	whole := sym.Mul(g.unit, g.count)
	for _, s := range rest.Symbols() {
		if c, less, ok := rest.Coef(s); ok && !whole.IsZero() && sym.Mod(c, whole).IsZero() {
			rest = less
		}
	}
	return sym.NonNegative(rest) && sym.Less(rest, unit)
}

// owns reports whether the marked loops of f touch no element of owned buffers that
// another iteration of these touches, and nothing else touches them at all.
func owns(f *loop.Func, owned map[int]digit) bool {
	ok := true
	eachTouch(f, func(buf int, at sym.Expr, in *loop.For) {
		g, result := owned[buf]
		ok = ok && (!result || in != nil && in.Extent.Equal(g.count) && g.names(at, in.Var))
	})
	return ok
}

// eachTouch calls visit for every load and store of f, and the marked loop it is
// in, nil if it is in none.
func eachTouch(f *loop.Func, visit func(buf int, at sym.Expr, in *loop.For)) {
	var block func(body []loop.Stmt, in *loop.For)
	block = func(body []loop.Stmt, in *loop.For) {
		for _, st := range body {
			loop.Exprs(st, func(e *expr.Expr) {
				expr.Walk(e, func(e *expr.Expr) {
					if e.Op == expr.OpLoad {
						visit(e.Buf, e.Coords[0], in)
					}
				})
			})
			if s, ok := st.(*loop.Store); ok {
				visit(s.Buf, s.At, in)
			}
			inner := in
			if l, ok := st.(*loop.For); ok && l.Divided {
				inner = l
			}
			for _, b := range loop.Blocks(st) {
				block(b, inner)
			}
		}
	}
	block(f.Body, nil)
}

// inParts reports whether a loop in s is divided.
func inParts(s loop.Stmt) bool {
	if l, ok := s.(*loop.For); ok && l.Divided {
		return true
	}
	return slices.ContainsFunc(loop.Blocks(s), func(block []loop.Stmt) bool {
		return slices.ContainsFunc(block, inParts)
	})
}

// apartInParts reports whether no thread reads from buffer in, which may lie where
// out does, what another stores to out.
func apartInParts(f *loop.Func, out, in int) bool {
	if !slices.ContainsFunc(f.Body, inParts) {
		return true
	}
	owned := map[int]digit{}
	divided := false
	eachTouch(f, func(buf int, at sym.Expr, l *loop.For) {
		divided = divided || l != nil
		if buf == out && l != nil {
			unit, _, _ := at.Coef(l.Var)
			owned[out], owned[in] = digit{unit, l.Extent}, digit{unit, l.Extent}
		}
	})
	return !divided || f.Bufs[out].DType.Size() == f.Bufs[in].DType.Size() && owns(f, owned)
}
