package expr

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Subst maps symbols to what replaces them.
type Subst = map[*sym.Symbol]sym.Expr

// Rewrite rebuilds e bottom-up: f sees every node, its operands already
// rewritten, and returns what takes its place. What f leaves alone is shared
// with e, and a node used twice is rewritten once. It goes through the
// definitions of data-dependent indices.
func Rewrite(e *Expr, f func(*Expr) *Expr) *Expr { return newRewriter(nil, f, false).expr(e) }

// RewriteAll is Rewrite for several expressions that share nodes.
func RewriteAll(es []*Expr, f func(*Expr) *Expr) []*Expr {
	r := newRewriter(nil, f, false)
	return seq.Map(es, r.expr)
}

// ShiftLoads adds n to the numbers of the buffers that e loads from.
func ShiftLoads(e *Expr, n int) *Expr {
	return Rewrite(e, func(e *Expr) *Expr {
		if e.Op != OpLoad {
			return e
		}
		c := *e
		c.Buf += n
		return &c
	})
}

// SubstIndex replaces free symbols in index expressions, extents of reductions
// and bounds of data-dependent indices included. Reductions whose extents
// change get new variables.
func SubstIndex(e *Expr, m Subst) *Expr { return newRewriter(m, nil, false).expr(e) }

// RewriteFresh is SubstIndex and Rewrite at once, with new variables for every
// reduction, so that what m brings in is not captured. What m brings in is not
// rewritten.
func RewriteFresh(e *Expr, m Subst, f func(*Expr) *Expr) *Expr {
	return newRewriter(m, f, true).expr(e)
}

// rewriter rewrites below one set of bound variables; outer rewrites the
// expressions that do not depend on them, which keeps those shared.
type rewriter struct {
	outer *rewriter
	bound []*sym.Symbol
	sub   Subst
	f     func(*Expr) *Expr
	fresh bool
	free  *Free
	exprs map[*Expr]*Expr
	syms  map[*sym.Symbol]*sym.Symbol // of data-dependent indices
}

func newRewriter(m Subst, f func(*Expr) *Expr, fresh bool) *rewriter {
	return &rewriter{sub: m, f: f, fresh: fresh, free: &Free{}, exprs: map[*Expr]*Expr{},
		syms: map[*sym.Symbol]*sym.Symbol{}}
}

func (r *rewriter) expr(e *Expr) *Expr {
	if out, ok := r.exprs[e]; ok {
		return out
	}
	if r.outer != nil && !intersect(r.free.Of(e), r.bound) {
		return r.outer.expr(e)
	}
	out := r.rebuild(e)
	if r.f != nil {
		out = r.f(out)
	}
	r.exprs[e] = out
	return out
}

// rebuild returns e with its parts rewritten, e itself if they all stay.
func (r *rewriter) rebuild(e *Expr) *Expr {
	inner := r
	idx, coords, vars, args := e.Idx, e.Coords, e.Vars, e.Args
	changed := false
	switch e.Op {
	case OpIndex:
		idx = r.index(e.Idx)
		changed = !idx.Equal(e.Idx)
	case OpLoad, OpLocal:
		if slices.ContainsFunc(e.Coords, func(x sym.Expr) bool { return x.AnySymbol(r.changes) }) {
			coords = r.indices(e.Coords)
			changed = !slices.EqualFunc(coords, e.Coords, sym.Expr.Equal)
		}
	case OpReduce:
		inner, vars = r.under(e.Vars)
		changed = inner != r
	}
	copied := false
	for i, a := range e.Args {
		x := inner.expr(a)
		if x == a {
			continue
		}
		if !copied {
			args, copied = slices.Clone(e.Args), true
		}
		args[i] = x
	}
	if !changed && !copied {
		return e
	}
	c := *e
	c.Idx, c.Coords, c.Vars, c.Args = idx, coords, vars, args
	return &c
}

// under returns the rewriter for what is below a reduction over vars, and the
// variables that take their place; r itself if they stay.
func (r *rewriter) under(vars []*sym.Symbol) (*rewriter, []*sym.Symbol) {
	rename := r.fresh
	extents := make([]sym.Expr, len(vars))
	for i, v := range vars {
		extents[i] = r.index(Extent(v))
		rename = rename || !extents[i].Equal(Extent(v))
		_, shadowed := r.sub[v]
		rename = rename || shadowed
	}
	if !rename {
		return r, vars
	}
	in := newRewriter(maps.Clone(r.sub), r.f, r.fresh)
	in.outer, in.bound, in.free = r, vars, r.free
	if in.sub == nil {
		in.sub = Subst{}
	}
	out := make([]*sym.Symbol, len(vars))
	for i, v := range vars {
		out[i] = sym.NewVar(v.Name, extents[i])
		in.sub[v] = out[i].Expr()
	}
	return in, out
}

func (r *rewriter) indices(xs []sym.Expr) []sym.Expr {
	return seq.Map(xs, r.index)
}

func (r *rewriter) index(x sym.Expr) sym.Expr {
	if !x.AnySymbol(r.changes) {
		return x
	}
	var m Subst
	for _, s := range x.Symbols() {
		to, ok := r.sub[s]
		if d := DefOf(s); d != nil && !ok {
			t := r.dataIndex(s, d)
			to, ok = t.Expr(), t != s
		}
		if ok {
			if m == nil {
				m = Subst{}
			}
			m[s] = to
		}
	}
	if m == nil {
		return x
	}
	return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { to, ok := m[s]; return to, ok })
}

// changes reports whether something may take the place of s.
func (r *rewriter) changes(s *sym.Symbol) bool {
	_, ok := r.sub[s]
	return ok || DefOf(s) != nil
}

// dataIndex returns the symbol for s, whose value d computes.
func (r *rewriter) dataIndex(s *sym.Symbol, d *Expr) *sym.Symbol {
	if t, ok := r.syms[s]; ok {
		return t
	}
	if r.outer != nil && !intersect(r.free.Of(d), r.bound) {
		return r.outer.dataIndex(s, d)
	}
	value, lo, hi := r.expr(d), r.index(s.Lo), r.index(s.Hi)
	t := s
	if value != d || !lo.Equal(s.Lo) || !hi.Equal(s.Hi) {
		t = &sym.Symbol{Name: s.Name, Lo: lo, Hi: hi, Def: value}
	}
	r.syms[s] = t
	return t
}
