package raise

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// A program that refuses calls says by that which sizes it takes: sizes that have to
// be equal are one symbol, and bounds are those of its range.

// span is a range of integers, both ends included.
type span struct{ lo, hi int64 }

// unasserted is the span of what the program asserts nothing of.
var unasserted = span{math.MinInt64, math.MaxInt64}

// condition is one that holds wherever the method goes on: e compares with 0 as op
// says.
type condition struct {
	e  sym.Expr
	op string
}

// flipped is what a comparison becomes if it must not hold.
var flipped = map[string]string{"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

var comparisons = map[string]string{
	"_operator.eq": "==", "_operator.ne": "!=", "_operator.lt": "<", "_operator.le": "<=",
	"_operator.gt": ">", "_operator.ge": ">=",
}

// conditions returns what is known of sizes and numbers where all assertions of the
// method hold.
func (r *raiser) conditions() []condition {
	var out []condition
	var add func(a ir.Arg, holds bool)
	add = func(a ir.Arg, holds bool) {
		ref, ok := a.(ir.Ref)
		if !ok || ref.Value.Def == nil {
			return
		}
		n := ref.Value.Def
		switch op := comparisons[n.Op]; {
		case op != "":
			x, isX := known(n.Arg("a"))
			y, isY := known(n.Arg("b"))
			if !holds {
				op = flipped[op]
			}
			if isX && isY {
				out = append(out, condition{sym.Sub(x, y), op})
			}
		case n.Op == "_operator.and_" && holds, n.Op == "_operator.or_" && !holds:
			add(n.Arg("a"), holds)
			add(n.Arg("b"), holds)
		case n.Op == "torch.sym_not":
			add(n.Args[0].Value, !holds)
		}
	}
	for _, ref := range r.asserted {
		add(ref, true)
	}
	return out
}

// known returns the expression of an integer.
func known(a ir.Arg) (sym.Expr, bool) {
	switch a := a.(type) {
	case ir.Int:
		return sym.Int(int64(a)), true
	case ir.Ref:
		return a.Value.Type.Expr, a.Value.Type.HasExpr
	}
	return sym.Expr{}, false
}

// rounds bounds how often what was found is used to find more.
const rounds = 4

// spans finds the ranges of numbers that are read from tensors, and which of them and
// of the sizes that data decides are one. It raises the method with them and its inputs
// as large as they may be.
func (s *sizing) spans() (*raiser, error) {
	for range rounds {
		r, err := s.with(s.constant(nil))
		changed := false
		for _, c := range r.known {
			x, lo, hi, ok := sym.Restrict(c.e, c.op)
			if i, read := r.readBy[x]; ok && read {
				s.read[i], changed = span{lo, hi}, true
			}
			if i, j, ok := r.tied(c); ok {
				s.ties[j], changed = i, true
			}
		}
		if !changed {
			return r, err
		}
	}
	return s.with(s.constant(nil))
}

// tied returns two instructions, the first one first, that give the same number or
// size by a condition.
func (r *raiser) tied(c condition) (i, j int, ok bool) {
	ss := c.e.Symbols()
	if c.op != "==" || len(ss) != 2 {
		return 0, 0, false
	}
	x, y := ss[0].Expr(), ss[1].Expr()
	if !c.e.Equal(sym.Sub(x, y)) && !c.e.Equal(sym.Sub(y, x)) {
		return 0, 0, false
	}
	i, okI := r.decided[ss[0]]
	j, okJ := r.decided[ss[1]]
	return min(i, j), max(i, j), okI && okJ && i != j
}

// bounded returns groups with the bounds that the program asserts. Those whose numbers follow from
// each other by it are one: a number of one alone would not be tried as the program means it.
func (s *sizing) bounded(groups []*group) []*group {
	for _, g := range groups {
		g.lo = s.least(g)
	}
	for range rounds + len(groups) {
		sz := s.symbols(groups)
		r, _ := s.with(sz) // that it may fail is why there are trials
		next := narrower(groups, sz.symbols, r.known)
		if next == nil {
			break
		}
		groups = next
	}
	return groups
}

// narrowed returns the method with the sizes of groups as far as the program takes
// them; r is the method with all of their sizes.
func (s *sizing) narrowed(groups []*group, r *raiser) *raiser {
	for range rounds + len(groups) {
		symbols := r.method.Symbols[:len(groups)]
		next := narrower(groups, symbols, r.known)
		if next == nil {
			break
		}
		less, bad, _ := s.check(next)
		if bad >= 0 {
			break
		}
		groups, r = next, less
	}
	return r
}

// narrower returns groups as conditions restrict or tie them, nil if they are so.
func narrower(groups []*group, symbols []*sym.Symbol, known []condition) []*group {
	if next := restricted(groups, symbols, known); next != nil {
		return next
	}
	return tied(groups, symbols, known)
}

// restricted returns groups with the ranges that conditions leave to their symbols,
// nil if these are the ranges they have.
func restricted(groups []*group, symbols []*sym.Symbol, known []condition) []*group {
	var out []*group
	for _, c := range known {
		x, lo, hi, ok := sym.Restrict(c.e, c.op)
		k := slices.Index(symbols, x)
		if !ok || k < 0 {
			continue
		}
		if out == nil {
			out = slices.Clone(groups)
		}
		g := *out[k]
		if lo > groups[k].lo {
			g.lo, g.asserted.lo = max(g.lo, lo), max(g.lo, lo)
		}
		if hi < groups[k].hi {
			g.hi, g.asserted.hi, g.below = min(g.hi, hi), min(g.hi, hi), true
		}
		if g.lo <= g.hi {
			out[k] = &g
		}
	}
	return out
}

// tied returns groups of which one is joined to another, the sizes of which it
// follows from by a condition; nil if there is none.
func tied(groups []*group, symbols []*sym.Symbol, known []condition) []*group {
	for _, c := range known {
		if c.op != "==" {
			continue
		}
		for k, x := range symbols {
			coef, rest, ok := c.e.Coef(x)
			switch {
			case !ok:
				continue
			case coef.Is(1):
				rest = sym.Neg(rest)
			case !coef.Is(-1):
				continue
			}
			// x is rest.
			from := rest.Symbols()
			if len(from) != 1 {
				continue
			}
			j := slices.Index(symbols, from[0])
			if j < 0 {
				continue
			}
			size := rest.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
				return groupSymbol.Expr(), s == from[0]
			})
			if g := groups[j].joined(groups[k], size); g != nil {
				out := slices.Clone(groups)
				out[j] = g
				return slices.Delete(out, k, k+1)
			}
		}
	}
	return nil
}

// mostRises bounds how many numbers rises tries.
const mostRises = 1000

// rises reports whether an expression of groupSymbol never falls from one number of a group to the
// next, and is more in the end. Of more than mostRises numbers it knows that only by the form.
func (g *group) rises(e sym.Expr) bool {
	first, ok := valueOf(e, g.lo)
	last, okLast := valueOf(e, g.hi)
	if !ok || !okLast || first >= last {
		return false
	}
	if neverFalls(e) {
		return true
	}
	if g.hi-g.lo > mostRises {
		return false
	}
	for n := g.lo; n <= g.hi; n++ {
		next, ok := valueOf(e, n)
		if !ok || next < first {
			return false
		}
		first = next
	}
	return true
}

// rising returns the numbers between which an expression, which does not fall in the group, is
// known not to fall.
func (g *group) rising(e sym.Expr) (from, to int64) {
	if neverFalls(e) {
		return 0, mostCount - 1
	}
	return g.lo, g.hi
}

// neverFalls reports whether an expression is a sum of positive multiples of what never falls by
// its form: symbols, divisions by positive constants, the largest and the smallest of such.
func neverFalls(e sym.Expr) bool {
	for _, t := range e.Terms() {
		switch {
		case len(t.Atoms) == 0:
			continue
		case len(t.Atoms) > 1, t.Coef < 0:
			return false
		}
		a := t.Atoms[0]
		of := a.Args
		switch a.Kind {
		case sym.SymbolAtom, sym.MaxAtom, sym.MinAtom:
		case sym.FloorDivAtom:
			if negative(a.Args[1]) {
				return false
			}
			of = of[:1]
		default:
			return false
		}
		if slices.ContainsFunc(of, func(x sym.Expr) bool { return !neverFalls(x) }) {
			return false
		}
	}
	return true
}

// joined returns g with another group, the number of which is size, of g's. It is nil if no number
// is left, or if size may fall.
func (g *group) joined(h *group, size sym.Expr) *group {
	if mul, _, linear := size.Coef(groupSymbol); linear && negative(mul) || !linear && !g.rises(size) {
		return nil
	}
	from, to := g.rising(size)
	lo, okLo := reaching(size, h.lo, from, to)
	hi, okHi := reaching(size, h.hi+1, from, to)
	if hi--; !okLo || !okHi {
		return nil
	}
	out := &group{lo: max(g.lo, lo), hi: min(g.hi, hi), below: g.below ||
		h.below, asserted: g.asserted}
	out.members = slices.Clone(g.members)
	for _, m := range h.members {
		out.members = append(out.members, member{m.axis, withNumber(m.size, size)})
	}
	seq.Sort(out.members, byAxis)
	if h.asserted.lo != unasserted.lo {
		out.asserted.lo = max(out.asserted.lo, lo)
	}
	if h.asserted.hi != unasserted.hi {
		out.asserted.hi = min(out.asserted.hi, hi)
	}
	if out.lo > out.hi {
		return nil
	}
	return out
}

// negative reports whether a factor is no positive number.
func negative(mul sym.Expr) bool {
	n, ok := mul.Const()
	return !ok || n < 1
}

// assert asserts that a number is within a span, as the program has it: what is known
// of the number may no longer say that it can be another.
func (r *raiser) assert(v ir.Arg, s span) {
	if s.lo != unasserted.lo {
		r.compare("_operator.ge", v, sym.Int(s.lo))
	}
	if s.hi != unasserted.hi {
		r.compare("_operator.le", v, sym.Int(s.hi))
	}
}

// compare asserts how a number compares to another.
func (r *raiser) compare(op string, v ir.Arg, e sym.Expr) {
	n, ok := e.Const()
	var other ir.Arg = ir.Int(n)
	if !ok {
		other = ir.Ref{Value: r.b.SymInt(e)}
	}
	r.require(r.relation(op, v, other))
}

// relation returns the bool that an operator gives of two numbers or bools.
func (r *raiser) relation(op string, a, b ir.Arg) ir.Ref {
	args := []ir.NamedArg{{Name: "a", Value: a}, {Name: "b", Value: b}}
	return ir.Ref{Value: r.b.Emit(op, args, ir.Type{Kind: ir.BoolKind}).Outputs[0]}
}

// Refusal is the message of the assertions that refusals become.
const Refusal = "the program refuses these inputs"

// refusal raises a call of full to a tensor of fixed size that is asked for sizes
// which instructions compute: where they are others, the kernel ends the method.
// It is an assertion that they are the tensor's. (Trials do not fail by it: the
// sizes that are tried need not be allowed.)
func (r *raiser) refusal(role *role, args, outs []int32) (done bool) {
	if role.op != "aten.full.default" || len(outs) != 1 || r.tensors[outs[0]].dynamic {
		return false
	}
	t := r.tensors[outs[0]]
	list, ok := r.Values[args[0]].(pte.IntList)
	if !ok || len(list) != len(t.sizes) {
		return false
	}
	for i, slot := range list {
		s, ok := r.st.scalars[int32(slot)]
		if !ok {
			continue
		}
		done = true
		a := r.scalarArg(s)
		want := ir.Int(t.sizes[i])
		if a == want {
			continue
		}
		if ref, ok := a.(ir.Ref); ok && want == 1 && r.truths[ref.Value].Value != nil {
			r.require(r.truths[ref.Value])
		} else {
			r.require(r.relation("_operator.eq", a, want))
		}
	}
	if !done {
		return false
	}
	r.assign(outs[0], r.b.Op("aten.full.default", t.sizes, 0, kwDType(t.dtype)))
	return true
}

// require asserts a condition.
func (r *raiser) require(cond ir.Ref) {
	r.b.Emit("aten._assert_scalar.default", []ir.NamedArg{
		{Name: "self", Value: cond}, {Name: "assert_msg", Value: ir.Str(Refusal)},
	})
	if r.b.Emitter == r.top {
		r.asserted = append(r.asserted, cond)
	}
}
