package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Extent returns the number of values of a loop variable: 0 ≤ v < Extent.
func Extent(v *sym.Symbol) sym.Expr { return sym.Add(v.Hi, sym.Int(1)) }

// Over returns a loop variable for each of some sizes.
func Over(sizes []sym.Expr) []*sym.Symbol {
	vars := make([]*sym.Symbol, len(sizes))
	for i, s := range sizes {
		vars[i] = sym.NewVar(fmt.Sprintf("i%d", i), s)
	}
	return vars
}

// Extents returns the numbers of values of loop variables.
func Extents(vars []*sym.Symbol) []sym.Expr { return of(vars, Extent) }

// Coords returns loop variables as coordinates.
func Coords(vars []*sym.Symbol) []sym.Expr { return of(vars, (*sym.Symbol).Expr) }

func of(vars []*sym.Symbol, f func(*sym.Symbol) sym.Expr) []sym.Expr {
	return seq.Map(vars, f)
}

// DefOf returns what computes a data-dependent index, nil for other symbols.
func DefOf(s *sym.Symbol) *Expr {
	e, _ := s.Def.(*Expr)
	return e
}

func isDefined(s *sym.Symbol) bool { return DefOf(s) != nil }

// Indices calls f for every index expression directly in e: coordinates, the
// value of an Index, the extents of a Reduce.
func (e *Expr) Indices(f func(sym.Expr)) {
	switch e.Op {
	case OpIndex:
		f(e.Idx)
	case OpLoad, OpLocal:
		for _, c := range e.Coords {
			f(c)
		}
	case OpReduce:
		for _, v := range e.Vars {
			f(Extent(v))
		}
	}
}

// Walk calls f once for every node below e, itself included, operands before
// users. It goes through the definitions of data-dependent indices.
func Walk(e *Expr, f func(*Expr)) { walk(e, map[*Expr]bool{}, f) }

// Any reports whether f holds for e or a node below it.
func Any(e *Expr, f func(*Expr) bool) bool {
	found := false
	Walk(e, func(e *Expr) { found = found || f(e) })
	return found
}

// Uses reports whether an index in e mentions s.
func (e *Expr) Uses(s *sym.Symbol) bool {
	return Any(e, func(e *Expr) (found bool) {
		e.Indices(func(x sym.Expr) { found = found || x.Uses(s) })
		return found
	})
}

func walk(e *Expr, seen map[*Expr]bool, f func(*Expr)) {
	if seen[e] {
		return
	}
	seen[e] = true
	for _, d := range e.Defs() {
		walk(d, seen, f)
	}
	for _, a := range e.Args {
		walk(a, seen, f)
	}
	f(e)
}

// Defs returns the definitions of the data-dependent indices directly in e.
func (e *Expr) Defs() []*Expr {
	var out []*Expr
	e.Indices(func(x sym.Expr) {
		if !x.AnySymbol(isDefined) { // as in nearly all
			return
		}
		for _, s := range x.Symbols() {
			if d := DefOf(s); d != nil && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	})
	return out
}

// Free computes which symbols expressions depend on and remembers it. The zero
// value is ready for use.
type Free struct {
	exprs map[*Expr][]*sym.Symbol
}

// Of returns the symbols e depends on, in order of first appearance: those
// bound by a Reduce in e left out, data-dependent indices replaced by what
// their definitions depend on. The result must not be modified.
func (fr *Free) Of(e *Expr) []*sym.Symbol {
	if s, ok := fr.exprs[e]; ok {
		return s
	}
	var out []*sym.Symbol
	for _, a := range e.Args {
		out = union(out, fr.Of(a))
	}
	if e.Op == OpReduce {
		out = slices.DeleteFunc(slices.Clone(out), func(s *sym.Symbol) bool {
			return slices.Contains(e.Vars, s)
		})
	}
	e.Indices(func(x sym.Expr) { out = union(out, fr.OfIndex(x)) })
	if fr.exprs == nil {
		fr.exprs = map[*Expr][]*sym.Symbol{}
	}
	fr.exprs[e] = out
	return out
}

// OfIndex is Of for an index expression.
func (fr *Free) OfIndex(x sym.Expr) []*sym.Symbol {
	var out []*sym.Symbol
	for _, s := range x.Symbols() {
		if d := DefOf(s); d != nil {
			out = union(out, fr.Of(d))
		} else {
			out = union(out, []*sym.Symbol{s})
		}
	}
	return out
}

// union returns the symbols of a and those of b that are not in a. It may
// return a or b themselves but changes neither.
func union(a, b []*sym.Symbol) []*sym.Symbol {
	if len(a) == 0 {
		return b
	}
	a = slices.Clip(a)
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

func intersect(a, b []*sym.Symbol) bool {
	return slices.ContainsFunc(a, func(s *sym.Symbol) bool { return slices.Contains(b, s) })
}

// CoordsKey is a string equal for equal coordinates; symbols count by identity.
func CoordsKey(coords []sym.Expr) string {
	var b strings.Builder
	for _, c := range coords {
		fmt.Fprintf(&b, "%s;", c)
		for _, s := range c.Symbols() {
			fmt.Fprintf(&b, "%p,", s)
		}
	}
	return b.String()
}

// Loads returns the numbers of the operands e loads from, ascending.
func Loads(e *Expr) []int {
	var out []int
	Walk(e, func(e *Expr) {
		if e.Op == OpLoad {
			out = append(out, e.Buf)
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}
