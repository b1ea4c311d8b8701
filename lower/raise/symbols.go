package raise

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// A file marks tensors as dynamic and gives upper bounds of their sizes; which
// dimensions vary, from where on, and which of them are equal, it does not say.
// That is found by trying: a dimension of an input varies if the program can be
// raised with it larger than its bound and everything else as it is. (Larger,
// since there is no limit to what operators accept, and never 1, which would
// broadcast where the program does not mean it.) Dimensions that do not vary
// alone but together with others of the same bound are one symbol; the rest is
// fixed. The smallest size of a symbol is found the same way. In the end the
// types that the symbols give are held against those of trials: where an
// operator takes two symbols for equal that are not, or one for 1, the dimension
// that allows it is fixed, or 1 not allowed.

// sizes are the sizes of a method's inputs.
type sizes struct {
	inputs  [][]sym.Expr // parallel to the plan's inputs; nil for scalars
	symbols []*sym.Symbol
}

// axis is a dimension of a dynamic input.
type axis struct {
	input, dim int
	bound      int64
}

// sizing finds the sizes of a method.
type sizing struct {
	in   *input
	plan *plan
	flow *flow
	axes []axis
}

// maxAxes bounds the dimensions that are tried.
const maxAxes = 32

func findSizes(in *input, p *plan, f *flow) (*sizes, error) {
	s := &sizing{in: in, plan: p, flow: f}
	for k, slot := range p.Inputs {
		t := p.tensors[slot]
		if t == nil || !t.dynamic || slices.Index(p.Inputs, slot) != k {
			continue
		}
		for d, n := range t.sizes {
			if n > 1 {
				s.axes = append(s.axes, axis{k, d, n})
			}
		}
	}
	if len(s.axes) > maxAxes {
		return nil, fmt.Errorf("its inputs have %d dimensions that may vary; at most %d are supported", len(s.axes), maxAxes)
	}
	fixed := s.constant(nil)
	if len(s.axes) == 0 || s.try(nil) != nil {
		return fixed, nil // what is wrong shows when it is raised
	}
	return s.symbolic(s.groups()), nil
}

// constant returns the inputs' sizes: the bounds, and what is given for axes.
func (s *sizing) constant(at map[int]int64) *sizes {
	out := &sizes{}
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

// try raises the program with sizes for some axes.
func (s *sizing) try(at map[int]int64) error {
	_, err := newRaiser(s.in, s.loose(), s.flow).raise(s.constant(at))
	return err
}

// loose is the plan with no bounds for its dynamic tensors.
func (s *sizing) loose() *plan {
	p := *s.plan
	p.unbounded = true
	return &p
}

// Sizes to try are the bound and one of these, so that symbols with the same
// bound differ.
func larger(bound int64, k int) int64 { return bound + 3 + 2*int64(k) }

// groups returns the axes that vary, those that do so together in one group.
func (s *sizing) groups() [][]int {
	var groups [][]int
	var left []int
	for i, a := range s.axes {
		if s.try(map[int]int64{i: larger(a.bound, 0)}) == nil {
			groups = append(groups, []int{i})
		} else {
			left = append(left, i)
		}
	}
	for len(left) > 0 {
		first := left[0]
		var same, rest []int
		for _, i := range left {
			if s.axes[i].bound == s.axes[first].bound {
				same = append(same, i)
			} else {
				rest = append(rest, i)
			}
		}
		groups = append(groups, s.together(same)...)
		left = rest
	}
	slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	return groups
}

// together splits axes of one bound, none of which varies alone, into those
// that do with others: all, else pairs, to which others are joined.
func (s *sizing) together(same []int) [][]int {
	if len(same) < 2 {
		return nil
	}
	vary := func(group []int) bool {
		at := map[int]int64{}
		for _, i := range group {
			at[i] = larger(s.axes[i].bound, 0)
		}
		return s.try(at) == nil
	}
	var groups [][]int
	for len(same) >= 2 {
		if vary(same) {
			return append(groups, same)
		}
		// The smallest group that varies with the first: leave out one after
		// the other what can be.
		first, found := same[0], []int(nil)
		for _, j := range same[1:] {
			if vary([]int{first, j}) {
				found = []int{first, j}
				break
			}
		}
		var rest []int
		for _, i := range same[1:] {
			if !slices.Contains(found, i) {
				rest = append(rest, i)
			}
		}
		if found != nil {
			groups = append(groups, found)
		}
		same = rest
	}
	return groups
}

// symbolic gives each group a symbol and drops those whose symbol does not mean
// what trials show.
func (s *sizing) symbolic(groups [][]int) *sizes {
	for len(groups) > 0 {
		lows := make([]int64, len(groups))
		for g := range groups {
			lows[g] = s.low(groups, g)
		}
		bad, one := s.check(groups, lows)
		if bad < 0 {
			return s.symbols(groups, lows)
		}
		if one {
			lows[bad] = 2
			if again, _ := s.check(groups, lows); again < 0 {
				return s.symbols(groups, lows)
			}
		}
		groups = slices.Delete(groups, bad, bad+1)
	}
	return s.constant(nil)
}

// low returns the smallest size of a group with which the program can be
// raised, the others at their bounds.
func (s *sizing) low(groups [][]int, g int) int64 {
	bound := s.axes[groups[g][0]].bound
	fits := func(n int64) bool {
		at := map[int]int64{}
		for _, i := range groups[g] {
			at[i] = n
		}
		return s.try(at) == nil
	}
	lo, hi := int64(1), bound
	if bound >= 2 && fits(2) {
		if fits(1) {
			return 1
		}
		return 2
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

func (s *sizing) symbols(groups [][]int, lows []int64) *sizes {
	out := s.constant(nil)
	for g, group := range groups {
		x := sym.NewSymbol(fmt.Sprintf("s%d", g), lows[g], s.axes[group[0]].bound)
		out.symbols = append(out.symbols, x)
		for _, i := range group {
			out.inputs[s.axes[i].input][s.axes[i].dim] = x.Expr()
		}
	}
	return out
}

// check holds the types of all nodes with symbols against those with sizes for
// the symbols. It returns a group for which they differ, -1 if none, and whether
// it does at size 1 only.
func (s *sizing) check(groups [][]int, lows []int64) (bad int, one bool) {
	sz := s.symbols(groups, lows)
	r := newRaiser(s.in, s.plan, s.flow)
	m, err := r.raise(sz)
	if err != nil {
		return len(groups) - 1, false
	}
	same := func(values []int64) bool {
		at := map[int]int64{}
		env := map[*sym.Symbol]int64{}
		for g, group := range groups {
			env[sz.symbols[g]] = values[g]
			for _, i := range group {
				at[i] = values[g]
			}
		}
		c, err := newRaiser(s.in, s.loose(), s.flow).raise(s.constant(at))
		return err == nil && sameTypes(m, c, env)
	}
	values := func() []int64 {
		v := make([]int64, len(groups))
		for g, group := range groups {
			v[g] = larger(s.axes[group[0]].bound, g)
		}
		return v
	}
	if !same(values()) {
		return len(groups) - 1, false
	}
	for g, group := range groups {
		bound := s.axes[group[0]].bound
		for _, n := range []int64{bound, (lows[g] + bound) / 2, min(lows[g]+1, bound), lows[g]} {
			v := values()
			v[g] = n
			if !same(v) {
				return g, n == 1
			}
		}
	}
	if v := slices.Clone(lows); !same(v) {
		return 0, lows[0] == 1
	}
	return -1, false
}

// sameTypes reports whether the tensors of one method, symbols replaced, have
// the types of the other's: all, if both have the same nodes, else the outputs.
func sameTypes(m, c *ir.Method, env map[*sym.Symbol]int64) bool {
	x, y := tensors(m.Graph), tensors(c.Graph)
	if !slices.EqualFunc(x, y, func(a, b *ir.Value) bool { return opOf(a) == opOf(b) }) {
		x, y = results(m.Graph), results(c.Graph)
	}
	return slices.EqualFunc(x, y, func(a, b *ir.Value) bool {
		return a.Type.DType == b.Type.DType && slices.EqualFunc(a.Type.Sizes, b.Type.Sizes, func(e, n sym.Expr) bool {
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
			return sample + int64(s.Name[len(s.Name)-1]-'0'), true // that they differ from each other
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
	g.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for _, v := range n.Outputs {
				if v != nil && v.Type.Kind == ir.TensorKind {
					out = append(out, v)
				}
			}
		}
	})
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
