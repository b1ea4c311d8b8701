package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// TieSizes makes sizes that data decides, and that the model asserts to be equal,
// one: the symbol that gets its value later is replaced by what it is equal to.
// PyTorch records both symbols, and lets operators take them for each other behind
// the assertion. DefineSizes asserts what is replaced here.
var TieSizes = Pass{
	Name: "tie-sizes",
	Doc:  "make sizes one that data decides and the model asserts to be equal",
	Run: perMethod(func(_ *Context, m *ir.Method) error {
		t := &ties{m: m, now: map[*sym.Symbol]sym.Expr{}}
		for _, n := range m.Graph.Nodes {
			if a, b, ok := assertedEqual(n); ok {
				t.tie(t.resolve(a), t.resolve(b))
			}
		}
		if len(t.now) > 0 {
			m.MapSizes(t.resolve)
		}
		return nil
	}),
}

// assertedEqual returns the integers that n asserts to be equal, if data decides one
// of them.
func assertedEqual(n *ir.Node) (a, b sym.Expr, ok bool) {
	if n.Op != assertOp {
		return a, b, false
	}
	ref, ok := n.Arg("self").(ir.Ref)
	if !ok || ref.Value.Def == nil || ref.Value.Def.Op != "_operator.eq" {
		return a, b, false
	}
	x, okX := argType(ref.Value.Def.Arg("a"))
	y, okY := argType(ref.Value.Def.Arg("b"))
	return x.Expr, y.Expr, okX && okY && x.HasExpr && y.HasExpr &&
		(ops.DataDecides(x.Expr) || ops.DataDecides(y.Expr))
}

// ties are the sizes of a method that are replaced by others.
type ties struct {
	m     *ir.Method
	first map[*sym.Symbol]int // where symbols are mentioned first; nil: not looked for
	now   map[*sym.Symbol]sym.Expr
}

// resolve returns e with what is replaced replaced.
func (t *ties) resolve(e sym.Expr) sym.Expr {
	return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
		x, ok := t.now[s]
		if ok {
			x = t.resolve(x)
		}
		return x, ok
	})
}

// tie replaces that of two equal integers which is a symbol with a value later than
// all that the other one mentions.
func (t *ties) tie(a, b sym.Expr) {
	if t.first == nil {
		t.first = firstMentions(t.m)
	}
	later := func(x, than sym.Expr) bool {
		return ops.DataDecides(x) && !slices.ContainsFunc(than.Symbols(), func(s *sym.Symbol) bool {
			return t.first[s] >= t.first[x.Symbols()[0]]
		})
	}
	switch {
	case later(a, b):
	case later(b, a):
		a, b = b, a
	default:
		return
	}
	gone := a.Symbols()[0]
	t.m.Symbols = slices.DeleteFunc(t.m.Symbols, func(s *sym.Symbol) bool { return s == gone })
	if ops.DataDecides(b) { // in the range of both
		x := b.Symbols()[0]
		both := &sym.Symbol{Name: x.Name, Lo: sym.Max(x.Lo, gone.Lo), Hi: sym.Min(x.Hi, gone.Hi)}
		t.first[both] = t.first[x]
		b, t.now[x] = both.Expr(), both.Expr()
		if i := slices.Index(t.m.Symbols, x); i >= 0 {
			t.m.Symbols[i] = both
		}
	}
	t.now[gone] = b
}

// firstMentions returns where in m each symbol is mentioned first: the number of
// the node, over those of the graph's inputs, which are 0.
func firstMentions(m *ir.Method) map[*sym.Symbol]int {
	first := map[*sym.Symbol]int{}
	note := func(v *ir.Value, at int) {
		if v == nil {
			return
		}
		for _, s := range typeSymbols(v.Type) {
			if _, ok := first[s]; !ok {
				first[s] = at
			}
		}
	}
	for _, v := range m.Graph.Inputs {
		note(v, 0)
	}
	for i, n := range m.Graph.Nodes {
		for _, v := range n.Outputs {
			note(v, i+1)
		}
	}
	return first
}
