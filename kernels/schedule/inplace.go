package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// InPlace reports whether output buffer out of f may start at the very address
// of input buffer in: no store to out overwrites what a later load from in
// reads, whether loops run one iteration after the other or their Vectorizable loops
// in chunks, or threads share those that are Divided. It is sound, not complete. That f reads back
// what it has stored
// to out does no harm: nothing else writes there.
func InPlace(f *loop.Func, out, in int) bool {
	if out == in || f.Bufs[out].Role != loop.Out || f.Bufs[in].Role != loop.In {
		return false
	}
	c := collector{out: out, in: in}
	c.block(f.Body, nil)
	if c.failed {
		return false
	}
	so, si := int64(f.Bufs[out].DType.Size()), int64(f.Bufs[in].DType.Size())
	for _, st := range c.stores {
		for _, ld := range c.loads {
			if !safe(st, ld, so, si) {
				return false
			}
		}
	}
	return disjointInParts(f, out, in)
}

// access is a load or store at position at, in text order pos, within scopes.
type access struct {
	at    sym.Expr
	pos   int
	scope []binder // outermost first
}

// binder is a loop, or an index that a LetIndex binds to an unknown value.
type binder struct {
	by loop.Stmt // *loop.For or *loop.LetIndex
	v  *sym.Symbol
}

type collector struct {
	out, in       int
	stores, loads []access
	pos           int
	failed        bool
}

func (c *collector) block(body []loop.Stmt, scope []binder) {
	for _, st := range body {
		c.pos++
		loop.Nodes(st, func(e *expr.Expr) {
			if e.Op == expr.OpLoad && e.Buf == c.in {
				c.loads = append(c.loads, access{e.Coords[0], c.pos, scope})
			}
		})
		switch st := st.(type) {
		case *loop.Store:
			c.pos++ // after the loads of its own value
			if st.Buf == c.out {
				c.stores = append(c.stores, access{st.At, c.pos, scope})
			}
		case *loop.LetIndex:
			scope = append(slices.Clip(scope), binder{st, st.Sym})
		case *loop.While:
			c.failed = c.failed || touches(st, c.out, c.in)
		case *loop.For:
			c.block(st.Body, append(slices.Clip(scope), binder{st, st.Var}))
		case *loop.If:
			c.block(st.Then, scope)
			c.block(st.Else, scope)
		}
	}
}

// touches reports whether w stores to out or loads from in: its iterations
// cannot be told apart.
func touches(w *loop.While, out, in int) bool {
	return stores(w, func(buf int) bool { return buf == out }) ||
		loop.Any([]loop.Stmt{w}, func(s loop.Stmt) bool {
			return loop.AnyNode(s, func(e *expr.Expr) bool {
				return e.Op == expr.OpLoad && e.Buf == in
			})
		})
}

// safe reports whether no instance of st overwrites what a later instance of ld
// reads.
func safe(st, ld access, so, si int64) bool {
	common := 0
	for common < len(st.scope) && common < len(ld.scope) &&
		st.scope[common].by == ld.scope[common].by {
		common++
	}
	if ld.pos > st.pos {
		// In the same iteration the load comes later, and a chunk of vectors does
		// all its stores before all these loads: no store and load may meet.
		return disjoint(st, ld, so, si, 0, false)
	}
	// The load is later if a common loop has advanced, the ones around it being
	// where they were.
	for level := range common {
		if _, ok := st.scope[level].by.(*loop.For); ok && !disjoint(st, ld, so, si, level, true) {
			return false
		}
	}
	return true
}

// disjoint reports whether ld reads beyond what st writes when both are in the same
// iteration of the outermost level loops and, if later is set, the load in a
// later one of the next.
func disjoint(st, ld access, so, si int64, level int, later bool) bool {
	m := expr.Subst{}
	for i, b := range ld.scope {
		if i < level {
			continue
		}
		lo, hi := subst(b.v.Lo, m), subst(b.v.Hi, m)
		if i == level && later {
			lo = sym.Add(b.v.Expr(), sym.Int(1))
		}
		v := &sym.Symbol{Name: b.v.Name + "_later", Lo: lo, Hi: hi}
		m[b.v] = v.Expr()
	}
	load := sym.Mul(sym.Int(si), subst(ld.at, m))
	store := sym.Mul(sym.Int(so), st.at)
	if sym.LessEq(sym.Add(store, sym.Int(so)), load) {
		return true
	}
	return sym.LessEq(sym.Add(load, sym.Int(si)), store)
}
