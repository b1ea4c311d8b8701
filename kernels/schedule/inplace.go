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
// to out does no harm: nothing else writes there. What the kernel of a custom operator or a
// delegate does is not known.
func InPlace(f *loop.Func, out, in int) bool {
	if out == in || len(f.Invokes()) > 0 || f.Bufs[out].Role != loop.Out ||
		f.Bufs[in].Role != loop.In {
		return false
	}
	so, si := int64(f.Bufs[out].DType.Size()), int64(f.Bufs[in].DType.Size())
	all := accesses(f, func(buf int, store bool) bool {
		return store && buf == out || !store && buf == in
	})
	if slices.ContainsFunc(all, access.undetermined) {
		return false
	}
	for i, st := range all {
		for j, ld := range all {
			if st.store && !ld.store && !safe(st, ld, j > i, so, si) {
				return false
			}
		}
	}
	return disjointInParts(f, out, in)
}

// access is a load or store of element at of a buffer.
type access struct {
	buf   int
	store bool
	at    sym.Expr
	scope []binder // outermost first
}

// binder is a loop, or an index that a LetIndex binds to an unknown value.
type binder struct {
	by loop.Stmt   // *loop.For, *loop.While or *loop.LetIndex
	v  *sym.Symbol // nil of a While
}

// accesses returns the loads and stores of f that are wanted, in the order of the text: what is
// loaded to be stored comes before that store.
func accesses(f *loop.Func, wanted func(buf int, store bool) bool) (list []access) {
	var block func(body []loop.Stmt, scope []binder)
	block = func(body []loop.Stmt, scope []binder) {
		for _, st := range body {
			in := scope
			switch st := st.(type) {
			case *loop.For:
				in = append(slices.Clip(scope), binder{st, st.Var})
			case *loop.While:
				in = append(slices.Clip(scope), binder{by: st})
			}
			loop.Nodes(st, func(e *expr.Expr) {
				if e.Op == expr.OpLoad && wanted(e.Buf, false) {
					list = append(list, access{e.Buf, false, e.Coords[0], in})
				}
			})
			switch st := st.(type) {
			case *loop.Store:
				if wanted(st.Buf, true) {
					list = append(list, access{st.Buf, true, st.At, in})
				}
			case *loop.LetIndex:
				scope = append(slices.Clip(scope), binder{st, st.Sym})
			}
			for _, b := range loop.Blocks(st) {
				block(b, in)
			}
		}
	}
	block(f.Body, nil)
	return list
}

// undetermined reports whether a is in a While: its iterations cannot be told apart.
func (a access) undetermined() bool {
	return slices.ContainsFunc(a.scope, func(b binder) bool { return b.v == nil })
}

// part returns the divided loop that a is in, nil if it is in none.
func (a access) part() (in *loop.For) {
	for _, b := range a.scope {
		if l, ok := b.by.(*loop.For); ok && l.Divided {
			in = l
		}
	}
	return in
}

// safe reports whether no instance of st overwrites what a later instance of ld
// reads, which stands behind it or before.
func safe(st, ld access, behind bool, so, si int64) bool {
	common := 0
	for common < len(st.scope) && common < len(ld.scope) &&
		st.scope[common].by == ld.scope[common].by {
		common++
	}
	if behind {
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
