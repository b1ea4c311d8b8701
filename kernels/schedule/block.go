package schedule

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// block is a run of statements under construction: the function's body, the
// body of a loop, or an arm of a Select. Statements are only ever appended, and
// a loop is appended to the block around it once its body is done: what its
// body needs from outside stands before it by then.
type block struct {
	parent *block
	v      *sym.Symbol // the loop's variable; nil of the function's body and of arms
	guard  bool        // an arm: evaluated only if chosen
	stmts  []loop.Stmt

	values  map[*expr.Expr]*expr.Expr // what is known here: a node's local
	indices map[*sym.Symbol]bool      // data-dependent indices known here
	uses    map[*expr.Expr]int        // how many places below use a node
	sure    map[*expr.Expr]bool       // evaluated whenever the block runs
	reduces []*expr.Expr              // the reductions among sure, in order
	choices []*expr.Expr              // the Selects likewise
}

func (s *scheduler) newBlock(parent *block, v *sym.Symbol, guard bool, roots []*expr.Expr) *block {
	b := &block{
		parent: parent, v: v, guard: guard,
		values: map[*expr.Expr]*expr.Expr{}, indices: map[*sym.Symbol]bool{},
		uses: map[*expr.Expr]int{}, sure: map[*expr.Expr]bool{},
	}
	for _, r := range roots {
		b.count(r)
		s.certain(r, b.sure, func(e *expr.Expr) {
			switch e.Op {
			case expr.OpReduce:
				b.reduces = append(b.reduces, e)
			case expr.OpSelect:
				b.choices = append(b.choices, e)
			}
		})
	}
	return b
}

// unsure notes that nothing need be evaluated when the block runs.
func (b *block) unsure() { b.sure, b.reduces, b.choices = map[*expr.Expr]bool{}, nil, nil }

// count adds a use of e.
func (b *block) count(e *expr.Expr) {
	b.uses[e]++
	if b.uses[e] > 1 {
		return
	}
	for _, a := range e.Args {
		b.count(a)
	}
	for _, d := range definitions(e) {
		b.count(d)
	}
}

// certain adds to sure what is evaluated whenever e is, and calls f for each
// of these nodes.
func (s *scheduler) certain(e *expr.Expr, sure map[*expr.Expr]bool, f func(*expr.Expr)) {
	if sure[e] {
		return
	}
	sure[e] = true
	f(e)
	for _, d := range definitions(e) {
		s.certain(d, sure, f)
	}
	switch e.Op {
	case expr.OpSelect:
		s.certain(e.Args[0], sure, f)
		for _, x := range s.inBothArms(e) {
			if !sure[x] {
				sure[x] = true
				f(x)
			}
		}
	case expr.OpReduce:
		if !slices.ContainsFunc(e.Vars, maybeEmpty) {
			s.certain(e.Args[0], sure, f)
		}
	default:
		for _, a := range e.Args {
			s.certain(a, sure, f)
		}
	}
}

// inBothArms returns what a Select evaluates whichever arm it chooses.
func (s *scheduler) inBothArms(e *expr.Expr) []*expr.Expr {
	if list, ok := s.both[e]; ok {
		return list
	}
	other := map[*expr.Expr]bool{}
	s.certain(e.Args[2], other, func(*expr.Expr) {})
	var list []*expr.Expr
	s.certain(e.Args[1], map[*expr.Expr]bool{}, func(x *expr.Expr) {
		if other[x] {
			list = append(list, x)
		}
	})
	s.both[e] = list
	return list
}

// maybeEmpty reports whether a loop may have no iteration.
func maybeEmpty(v *sym.Symbol) bool { return !sym.NonNegative(v.Hi) }

// value returns what e is in b or around it, nil if it has no local yet.
func (b *block) value(e *expr.Expr) *expr.Expr {
	for ; b != nil; b = b.parent {
		if v := b.values[e]; v != nil {
			return v
		}
	}
	return nil
}

func (b *block) knows(s *sym.Symbol) bool {
	for ; b != nil; b = b.parent {
		if b.indices[s] {
			return true
		}
	}
	return false
}

// binds reports whether b or a block around it is the loop over v.
func (b *block) binds(v *sym.Symbol) bool {
	for ; b != nil; b = b.parent {
		if b.v == v {
			return true
		}
	}
	return false
}

// definitions returns what computes the data-dependent indices directly in e.
func definitions(e *expr.Expr) []*expr.Expr {
	var out []*expr.Expr
	for _, s := range dataIndices(e) {
		out = append(out, expr.DefOf(s))
	}
	return out
}

// dataIndices returns the data-dependent indices directly in e.
func dataIndices(e *expr.Expr) []*sym.Symbol {
	var out []*sym.Symbol
	e.Indices(func(x sym.Expr) {
		if !x.AnySymbol(func(s *sym.Symbol) bool { return expr.DefOf(s) != nil }) {
			return // as in nearly all
		}
		for _, s := range x.Symbols() {
			if expr.DefOf(s) != nil && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	})
	return out
}
