package raise

import (
	"fmt"
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// A file marks tensors as dynamic and gives upper bounds of their sizes; which
// dimensions vary, from where on, and how they follow from each other, it does not
// say. The program itself tells: groups.go finds by trials what varies together, and
// conditions.go what the program asks of sizes. The smallest size of a symbol is
// found by trials too. In the end the types that the symbols give are held against
// those of trials: where an operator takes two symbols for equal that are not, or
// one for 1, the dimension that allows it is fixed, or 1 not allowed.

// sizes are the sizes of a method's inputs.
type sizes struct {
	inputs  [][]sym.Expr // parallel to the plan's inputs; nil for scalars
	symbols []*sym.Symbol
	// asserted are the bounds that the program itself asserts, parallel to symbols.
	asserted []span
	read     map[int]span // of numbers, by the instructions that read them from tensors
	ties     map[int]int  // instructions to earlier ones that give the same number or size
}

// sizing finds the sizes of a method.
type sizing struct {
	in   *input
	plan *plan
	*analysis
	axes []axis
	read map[int]span
	ties map[int]int
}

// maxAxes bounds the dimensions that are tried.
const maxAxes = 48

// raise raises the method with the sizes that it finds.
func (s *sizing) raise() *raiser {
	declared := must.Get(s.in.file.Least(s.plan.ExecutionPlan))
	for k, slot := range s.plan.Inputs {
		t := s.plan.tensors[slot]
		if t == nil || !t.dynamic || slices.Index(s.plan.Inputs, slot) != k {
			continue
		}
		for d, n := range t.sizes {
			least := int64(1)
			if declared[k] != nil {
				least = declared[k][d]
			}
			if n > least {
				s.axes = append(s.axes, axis{k, d, least, n})
			}
		}
	}
	if len(s.axes) > maxAxes {
		must.Fail(
			"its inputs have %d dimensions that may vary; at most %d are supported",
			len(s.axes), maxAxes)
	}
	r := must.Get(s.spans())
	if len(s.axes) == 0 {
		return r
	}
	if best := s.symbolic(s.groups()); best != nil {
		return best
	}
	return r
}

// with raises the method with sizes.
func (s *sizing) with(sz *sizes) (*raiser, error) {
	r := newRaiser(s.in, s.plan, s.analysis)
	return r, r.raise(sz)
}

// constant returns the inputs' sizes: the bounds, and what is given for axes.
func (s *sizing) constant(at map[int]int64) *sizes {
	out := &sizes{read: s.read, ties: s.ties}
	for _, slot := range s.plan.Inputs {
		var list []sym.Expr
		if t := s.plan.tensors[slot]; t != nil {
			list = ir.Ints(t.sizes)
		}
		out.inputs = append(out.inputs, list)
	}
	for i, n := range at {
		a := s.axes[i]
		out.inputs[a.input][a.dim] = sym.Int(n)
	}
	return out
}

// try raises the program with sizes for some axes, its dynamic tensors without bounds. It
// returns nil if that fails.
func (s *sizing) try(at map[int]int64) *raiser {
	p := *s.plan
	p.unbounded = true
	r := newRaiser(s.in, &p, s.analysis)
	if r.raise(s.constant(at)) != nil {
		return nil
	}
	return r
}

// symbolic raises the method with a symbol for each group but those whose symbol
// does not mean what trials show. It returns nil if no group is left.
func (s *sizing) symbolic(groups []*group) *raiser {
	groups = s.bounded(groups)
	for _, g := range groups {
		g.lo = s.low(g)
	}
	for len(groups) > 0 {
		r, bad, one := s.check(groups)
		if bad < 0 {
			return s.narrowed(groups, r)
		}
		if one {
			groups[bad].lo++
			if r, again, _ := s.check(groups); again < 0 {
				return s.narrowed(groups, r)
			}
		}
		groups = slices.Delete(groups, bad, bad+1)
	}
	return nil
}

// low returns the smallest number for a group with which the program can be raised,
// the others at their bounds.
func (s *sizing) low(g *group) int64 {
	fits := func(n int64) bool { return s.try(g.at(n)) != nil }
	lo, hi := g.lo, g.hi
	if hi > lo && fits(lo+1) {
		if fits(lo) {
			return lo
		}
		return lo + 1
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if fits(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return hi
}

func (s *sizing) symbols(groups []*group) *sizes {
	out := s.constant(nil)
	for k, g := range groups {
		x := sym.NewSymbol(fmt.Sprintf("s%d", k), g.lo, g.hi)
		out.symbols, out.asserted = append(out.symbols, x), append(out.asserted, g.asserted)
		for _, m := range g.members {
			a := s.axes[m.axis]
			out.inputs[a.input][a.dim] = withNumber(m.size, x.Expr())
		}
	}
	return out
}

// check raises the method with symbols and holds the types of all nodes against
// those with sizes for the symbols. It returns a group for which they differ, -1 if
// none, and whether it does at the least size only.
func (s *sizing) check(groups []*group) (r *raiser, bad int, least bool) {
	sz := s.symbols(groups)
	r, err := s.with(sz)
	if err != nil {
		return nil, len(groups) - 1, false
	}
	same := func(values []int64) bool {
		at := map[int]int64{}
		env := map[*sym.Symbol]int64{}
		for k, g := range groups {
			env[sz.symbols[k]] = values[k]
			maps.Copy(at, g.at(values[k]))
		}
		c := s.try(at)
		return c != nil && sameTypes(r.method, c.method, env)
	}
	values := func() []int64 {
		v := make([]int64, len(groups))
		for k, g := range groups {
			v[k] = g.other(k)
		}
		return v
	}
	if !same(values()) {
		return nil, len(groups) - 1, false
	}
	for k, g := range groups {
		for _, n := range []int64{g.hi, (g.lo + g.hi) / 2, min(g.lo+1, g.hi), g.lo} {
			v := values()
			v[k] = n
			if !same(v) {
				return nil, k, n == s.least(g) && g.lo < g.hi
			}
		}
	}
	v := seq.Map(groups, func(g *group) int64 { return g.lo })
	if len(groups) > 1 && !same(v) { // one alone was tried
		return nil, 0, v[0] == s.least(groups[0]) && v[0] < groups[0].hi
	}
	return r, -1, false
}

// sameTypes reports whether the tensors of one method, symbols replaced, have
// the types of the other's: all, if both have the same nodes, else the outputs.
func sameTypes(m, c *ir.Method, env map[*sym.Symbol]int64) bool {
	x, y := tensors(m.Graph), tensors(c.Graph)
	if !slices.EqualFunc(x, y, func(a, b *ir.Value) bool { return opOf(a) == opOf(b) }) {
		x, y = results(m.Graph), results(c.Graph)
	}
	return slices.EqualFunc(x, y, func(a, b *ir.Value) bool {
		return a.Type.DType == b.Type.DType && slices.EqualFunc(a.Type.Sizes, b.Type.Sizes,
			func(e, n sym.Expr) bool {
				return sameSize(e, n, env)
			})
	})
}

// sameSize reports whether two sizes are equal, the symbols of one replaced.
// Sizes that are known at run time only, which have the same names in both, are
// given several values.
func sameSize(e, n sym.Expr, env map[*sym.Symbol]int64) bool {
	for _, sample := range []int64{0, 1, 2, 3, 7, 40, 1000} {
		value := func(s *sym.Symbol) (int64, bool) {
			if v, ok := env[s]; ok {
				return v, true
			}
			// that they differ from each other
			return sample + int64(s.Name[len(s.Name)-1]-'0'), true
		}
		have, err := e.Eval(value)
		want, err2 := n.Eval(value)
		if err != nil || err2 != nil || have != want {
			return false
		}
		if len(n.Symbols()) == 0 {
			break
		}
	}
	return true
}

// tensors returns the tensors that the nodes of a graph and its regions give.
func tensors(g *ir.Graph) []*ir.Value {
	var out []*ir.Value
	for n := range g.All() {
		for _, v := range n.Outputs {
			if v != nil && v.Type.Kind == ir.TensorKind {
				out = append(out, v)
			}
		}
	}
	return out
}

func results(g *ir.Graph) []*ir.Value {
	var out []*ir.Value
	for _, a := range g.Outputs {
		if ref, ok := a.(ir.Ref); ok && ref.Value.Type.Kind == ir.TensorKind {
			out = append(out, ref.Value)
		}
	}
	return out
}

func opOf(v *ir.Value) string {
	if v.Def == nil {
		return ""
	}
	return v.Def.Op
}
