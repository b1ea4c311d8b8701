package raise

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Whether a dimension of an input varies is found by trying: it does if the program
// can be raised with another size and everything else as it is. Larger than its
// bound tells most, since there is no limit to what operators accept; where the
// program has such a limit (a table that it cuts), smaller. Never 1, which would
// broadcast where the program does not mean it. Those that do not vary alone may do
// so in steps (the size is twice something), or with others, as fast or by multiples.

// axis is a dimension of a dynamic input.
type axis struct {
	input, dim   int
	least, bound int64
}

// group is what follows from one symbol, which is lo to hi.
type group struct {
	members []member
	lo, hi  int64
	// asserted are the bounds that the program itself asserts.
	asserted span
	// below is set if the program only makes sense up to hi.
	below bool
	// doubts say how unlikely it is that the axes vary, see [xnn.Into].
	doubts int
}

// member is an axis and its size, of the group's symbol, which groupSymbol stands for.
type member struct {
	axis int
	size sym.Expr
}

// groupSymbol stands for the number of a group in the sizes of its members.
var groupSymbol = sym.NewSymbol("n", 0, math.MaxInt64)

// multiple is a member of mul*symbol + add elements.
func multiple(axis int, mul, add int64) member {
	return member{axis, sym.Add(sym.Mul(sym.Int(mul), groupSymbol.Expr()), sym.Int(add))}
}

// withNumber returns an expression of groupSymbol with another one in its place.
func withNumber(e, n sym.Expr) sym.Expr {
	return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) { return n, s == groupSymbol })
}

// valueOf is an expression of groupSymbol for a number; ok is false if it has no value there.
func valueOf(e sym.Expr, n int64) (v int64, ok bool) {
	return withNumber(e, sym.Int(n)).Const()
}

// mostCount is the largest number that is looked for.
const mostCount = math.MaxInt32

// reaching returns the smallest number of lo to hi for which e, which does not fall there, is at
// least size, and hi+1 if there is none. It is not ok if e has no value where it is looked at.
func reaching(e sym.Expr, size, lo, hi int64) (n int64, ok bool) {
	ok = true
	at := sort.Search(int(hi-lo+1), func(k int) bool {
		v, is := valueOf(e, lo+int64(k))
		ok = ok && is
		return v >= size
	})
	return lo + int64(at), ok
}

// at returns the sizes of a group's axes for a number.
func (g *group) at(n int64) map[int]int64 {
	at := map[int]int64{}
	for _, m := range g.members {
		size, ok := valueOf(m.size, n)
		if !ok {
			must.Fail("size %v has no value for %d", m.size, n)
		}
		at[m.axis] = size
	}
	return at
}

// least returns the smallest number for which all sizes of a group are at least what
// the file says, or else 1.
func (s *sizing) least(g *group) int64 {
	n := int64(0)
	for _, m := range g.members {
		lo, hi := g.rising(m.size)
		from, ok := reaching(m.size, s.axes[m.axis].least, lo, hi)
		if !ok {
			must.Fail("size %v has no value", m.size)
		}
		n = max(n, from)
	}
	return n
}

// other returns a number to try that is not hi, if there is one. It differs for
// groups with the same bound, by k.
func (g *group) other(k int) int64 {
	if g.below {
		return max(g.lo, g.hi-1-int64(k))
	}
	return g.hi + 3 + 2*int64(k)
}

// Steps and multiples of sizes that are tried.
const maxMultiple = 16

// groups returns the axes that vary, those that do so together in one group. Where not all can,
// the last ones do not.
func (s *sizing) groups() []*group {
	var groups []*group
	var left []int
	for i := range s.axes {
		if g := s.alone(i); g != nil {
			groups = append(groups, g)
		} else {
			left = append(left, i)
		}
	}
	for len(left) > 0 {
		first, others := left[0], left[1:]
		left = others
		g := s.together(first, others)
		if g == nil {
			g = s.beside(first, others, groups)
		}
		if g != nil {
			// beside joins groups to a larger one.
			groups = slices.DeleteFunc(groups, func(h *group) bool {
				return g.has(h.members[0].axis)
			})
			groups = append(groups, g)
			left = slices.DeleteFunc(slices.Clone(others), g.has)
		}
	}
	groups = s.leveled(groups)
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(a.doubts-b.doubts, a.members[0].axis-b.members[0].axis)
	})
	return groups
}

func (g *group) has(axis int) bool {
	return slices.ContainsFunc(g.members, func(m member) bool { return m.axis == axis })
}

// alone returns the group of an axis that varies alone, nil if it does not.
func (s *sizing) alone(i int) *group {
	for step := int64(1); step <= maxMultiple; step++ {
		g := &group{hi: s.axes[i].bound / step, asserted: unasserted,
			members: []member{multiple(i, step, s.axes[i].bound%step)}}
		if g.hi > 0 && s.varies(g) {
			return g
		}
	}
	return nil
}

// together returns a smallest group in which an axis varies, nil if there is none:
// with axes of the same bound, those of the same dimension first, else with others of
// which it is a multiple or a part.
func (s *sizing) together(first int, others []int) *group {
	a := s.axes[first]
	var same, line []int
	for _, i := range others {
		if b := s.axes[i]; b.bound == a.bound {
			same = append(same, i)
			if b.dim == a.dim {
				line = append(line, i)
			}
		}
	}
	for _, i := range same {
		if g := s.group([]int{first, i}, []int64{1, 1}); s.varies(g) {
			return g
		}
	}
	for _, list := range [][]int{line, same} {
		if g := s.smallest(s.joined(first, list)); g != nil {
			return g
		}
	}
	for _, i := range others {
		for k := int64(1); k <= maxMultiple; k++ {
			for _, mul := range [][]int64{{1, k}, {k, 1}} {
				if g := s.group([]int{first, i}, mul); g != nil && s.varies(g) {
					return g
				}
			}
		}
	}
	return s.smallest(s.joined(first, others))
}

// beside returns a smallest group in which an axis varies with others that vary without it, as an
// index does with what it is an index of. It is nil if there is none.
func (s *sizing) beside(first int, others []int, groups []*group) *group {
	hi := s.axes[first].bound
	units := [][]member{{multiple(first, 1, 0)}}
	for _, g := range groups {
		if g.hi == hi {
			units = append(units, g.members)
		}
	}
	for _, i := range others {
		if s.axes[i].bound == hi {
			units = append(units, []member{multiple(i, 1, 0)})
		}
	}
	return s.smallestOf(units, hi, s.varies)
}

// leveled joins a group that cannot be smaller, while others are as large as they may be, to those
// of them with which it can: what an index reads is then as large as the index.
func (s *sizing) leveled(groups []*group) []*group {
	both := func(g *group) bool { return s.varies(g) && s.smaller(g) }
	for k := 0; k < len(groups); k++ {
		g := groups[k]
		if g.below || s.smaller(g) {
			continue
		}
		units := [][]member{g.members}
		for _, h := range groups {
			if h != g && h.hi == g.hi {
				units = append(units, h.members)
			}
		}
		if next := s.smallestOf(units, g.hi, both); next != nil {
			groups = append(slices.DeleteFunc(groups, func(h *group) bool {
				return next.has(h.members[0].axis)
			}), next)
			k = -1
		}
	}
	return groups
}

// smaller reports whether a group can be smaller than it may be, others as large as they may be.
// It returns true for one whose sizes are the smallest there may be.
func (s *sizing) smaller(g *group) bool {
	at := g.at(g.hi - 1)
	for i, n := range at {
		if n < max(s.axes[i].least, 1) {
			return true
		}
	}
	return s.try(at) != nil
}

// byAxis orders members by their axes.
func byAxis(a, b member) int { return a.axis - b.axis }

// joined returns the group of axes that are multiples of the smallest, as their
// bounds have it.
func (s *sizing) joined(first int, others []int) *group {
	axes := append([]int{first}, others...)
	least := s.axes[first].bound
	for _, i := range others {
		least = min(least, s.axes[i].bound)
	}
	mul := seq.Map(axes, func(i int) int64 { return s.axes[i].bound / least })
	return s.group(axes, mul)
}

// group returns the group of axes that are at their bounds at once, nil if it has
// no other sizes.
func (s *sizing) group(axes []int, mul []int64) *group {
	g := &group{asserted: unasserted}
	for k, i := range axes {
		if n := s.axes[i].bound / mul[k]; k == 0 || n < g.hi {
			g.hi = n
		}
	}
	for k, i := range axes {
		g.members = append(g.members, multiple(i, mul[k], s.axes[i].bound-mul[k]*g.hi))
	}
	if g.hi < 1 {
		return nil
	}
	return g
}

// smallest leaves out of a group that varies what its first axis does not need. It
// returns nil if the group does not vary.
func (s *sizing) smallest(g *group) *group {
	if g == nil {
		return nil
	}
	units := seq.Map(g.members, func(m member) []member { return []member{m} })
	return s.smallestOf(units, g.hi, s.varies)
}

// smallestOf returns a group of members that stay together, those left out that the first ones do
// not need to be as asked. It is nil if the group is not so.
func (s *sizing) smallestOf(units [][]member, hi int64, is func(*group) bool) *group {
	of := func(units [][]member) *group {
		return &group{hi: hi, asserted: unasserted, members: slices.Concat(units...)}
	}
	g := of(units)
	if len(units) < 2 || !is(g) {
		return nil
	}
	for all := 0; all != len(units); { // without one, another may be needless
		all = len(units)
		for k := all - 1; k > 0; k-- {
			fewer := slices.Delete(slices.Clone(units), k, k+1)
			if less := of(fewer); is(less) {
				g, units = less, fewer
			}
		}
	}
	seq.Sort(g.members, byAxis)
	return g
}

// varies reports whether the program can be raised with other sizes of a group, and
// notes where these are.
func (s *sizing) varies(g *group) bool {
	// Of two neighbours no more than one is a multiple of something.
	if r := s.try(g.at(g.hi + 3)); r != nil && s.try(g.at(g.hi+4)) != nil {
		g.below, g.doubts = false, r.doubts
		return true
	}
	at := g.at(g.hi - 1)
	for n := range maps.Values(at) {
		if n < 2 {
			return false
		}
	}
	r := s.try(at)
	if g.below = r != nil; g.below {
		g.doubts = r.doubts
	}
	return g.below
}
