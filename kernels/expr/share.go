package expr

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// Sharer makes structurally equal nodes one node. Reductions that differ only
// in the names of their variables become equal: their variables are replaced
// by ones that depend on nothing but the extents and how deep reductions nest
// below, so a variable may be bound by several reductions, never by one inside
// the other. Data-dependent indices of equal definitions become one symbol.
type Sharer struct {
	nodes   map[string]*Expr
	ids     map[*Expr]int
	heights map[*Expr]int
	vars    map[string]*sym.Symbol
	symIDs  map[*sym.Symbol]int
	data    map[string]*sym.Symbol
}

// NewSharer returns an empty Sharer.
func NewSharer() *Sharer {
	return &Sharer{
		nodes: map[string]*Expr{}, ids: map[*Expr]int{}, heights: map[*Expr]int{},
		vars: map[string]*sym.Symbol{}, symIDs: map[*sym.Symbol]int{},
		data: map[string]*sym.Symbol{},
	}
}

// Share returns the representative of e. Two expressions given to the same
// Sharer are structurally equal if and only if the results are identical.
func (sh *Sharer) Share(e *Expr) *Expr {
	r := newRewriter(nil, nil, false)
	r.f = func(e *Expr) *Expr { return sh.node(e) }
	return r.expr(e)
}

// Equal reports whether a and b are structurally equal, up to the names of
// reduction variables.
func Equal(a, b *Expr) bool {
	sh := NewSharer()
	return sh.Share(a) == sh.Share(b)
}

// node returns the representative of e, whose operands are representatives.
func (sh *Sharer) node(e *Expr) *Expr {
	if _, ok := sh.ids[e]; ok {
		return e
	}
	height := 0
	for _, a := range e.Args {
		height = max(height, sh.heights[a])
	}
	e = sh.mergeData(e, &height)
	if e.Op == OpReduce {
		height++
		e = sh.renameVars(e, height)
	}
	key := sh.key(e)
	if old, ok := sh.nodes[key]; ok {
		return old
	}
	sh.nodes[key] = e
	sh.ids[e] = len(sh.ids) + 1
	sh.heights[e] = height
	return e
}

// mergeData replaces data-dependent indices in e by their representatives.
func (sh *Sharer) mergeData(e *Expr, height *int) *Expr {
	m := Subst{}
	e.Indices(func(x sym.Expr) {
		for _, s := range x.Symbols() {
			d := DefOf(s)
			if d == nil {
				continue
			}
			*height = max(*height, sh.heights[d])
			key := fmt.Sprintf("%d %s %s", sh.ids[d], sh.indexKey(s.Lo), sh.indexKey(s.Hi))
			t, ok := sh.data[key]
			if !ok {
				t = s
				sh.data[key] = s
			}
			if t != s {
				m[s] = t.Expr()
			}
		}
	})
	if len(m) == 0 {
		return e
	}
	return newRewriter(m, nil, false).rebuildShallow(e)
}

// renameVars gives the reduction e the variables of its height.
func (sh *Sharer) renameVars(e *Expr, height int) *Expr {
	m := Subst{}
	vars := make([]*sym.Symbol, len(e.Vars))
	for i, v := range e.Vars {
		key := fmt.Sprintf("%d %d %s", height, i, sh.indexKey(Extent(v)))
		t, ok := sh.vars[key]
		if !ok {
			t = sym.NewVar(fmt.Sprintf("r%d_%d", height, i), Extent(v))
			sh.vars[key] = t
		}
		vars[i] = t
		if t != v {
			m[v] = t.Expr()
		}
	}
	if len(m) == 0 {
		return e
	}
	body := newRewriter(m, sh.node, false).expr(e.Args[0])
	c := *e
	c.Vars, c.Args = vars, []*Expr{body}
	return &c
}

// rebuildShallow substitutes in e alone.
func (r *rewriter) rebuildShallow(e *Expr) *Expr {
	c := *e
	switch e.Op {
	case OpIndex:
		c.Idx = r.index(e.Idx)
	case OpLoad, OpLocal:
		c.Coords = r.indices(e.Coords)
	}
	return &c
}

func (sh *Sharer) indexKey(x sym.Expr) string {
	var b strings.Builder
	b.WriteString(x.String())
	for _, s := range x.Symbols() {
		id, ok := sh.symIDs[s]
		if !ok {
			id = len(sh.symIDs)
			sh.symIDs[s] = id
		}
		fmt.Fprintf(&b, "#%d", id)
	}
	return b.String()
}

// key identifies a node given that its operands are representatives.
func (sh *Sharer) key(e *Expr) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d", e.Op, e.DType)
	switch e.Op {
	case OpConst:
		fmt.Fprintf(&b, " %d %x", e.Int, math.Float64bits(e.Float))
	case OpLoad, OpScalar:
		fmt.Fprintf(&b, " %d", e.Buf)
	case OpLocal:
		fmt.Fprintf(&b, " %p", e.Var)
	case OpCall:
		fmt.Fprintf(&b, " %p", e.Fn)
	case OpReduce:
		fmt.Fprintf(&b, " %d %t", e.Kind, e.InOrder)
		for _, v := range e.Vars {
			b.WriteString(" " + sh.indexKey(v.Expr()))
		}
	}
	e.Indices(func(x sym.Expr) { b.WriteString(" " + sh.indexKey(x)) })
	for _, a := range e.Args {
		fmt.Fprintf(&b, " @%d", sh.ids[a])
	}
	return b.String()
}
