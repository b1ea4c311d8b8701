package raise

import (
	"maps"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// counted is a loop that runs for an index 0, 1, … up to a limit, or from
// somewhere down to 0, as far as the instructions tell: the index changes by one
// at the end of each round and is compared with the limit, before the first
// round or after each.
type counted struct {
	index, limit, test int32
	down               bool
	top                bool         // tested before the first round
	inside             int          // of top: the way into the body
	add                int          // the instruction that increases the index
	selects            map[int]bool // instructions that take element index of a tensor
	yields             []int        // instructions that put element index of a tensor
	other              bool         // the index has other uses
}

// step is a counted loop that is being raised.
type step struct {
	of       *counted
	elements map[int]*ir.Value // of selects
	yields   map[int]*ir.Value
}

func (r *raiser) conditionOf(b *block) int32 {
	return r.code[b.jump].Instruction.(pte.JumpFalseCall).Cond
}

// prim returns the arguments of an instruction that calls an operator on
// numbers.
func (r *raiser) prim(i int) (name string, args []int32) {
	in, ok := r.code[i].Instruction.(pte.KernelCall)
	if !ok || r.roles[in.Op].kind != numbers || len(in.Args) != r.roles[in.Op].number.operands+1 {
		return "", nil
	}
	return r.roles[in.Op].number.op, in.Args
}

// findCounted notes whether a loop is counted.
func (r *raiser) findCounted(l *loop) {
	latch, only := r.latch(l)
	if !only {
		return
	}
	c := &counted{add: -1, selects: map[int]bool{}}
	tested := latch
	if inside, ok := l.topTested(); ok {
		c.top, c.inside, tested = true, inside, l.head
		if latch.jump >= 0 {
			return
		}
	} else {
		for _, b := range l.blocks {
			for _, s := range b.next {
				if !l.body[s] && b != latch {
					return
				}
			}
		}
		if latch.jump < 0 {
			return
		}
		for k, s := range latch.next {
			if s == l.head {
				c.inside = k
			}
		}
		if l.body[latch.next[1-c.inside]] {
			return
		}
	}
	c.test = r.conditionOf(tested)
	if !isScalar(r.Values[c.test]) {
		return
	}
	count := r.writeCounts(l)
	test := -1
	for i := tested.first; i < tested.end; i++ {
		if name, args := r.prim(i); args != nil && args[len(args)-1] == c.test {
			if a, b, down, ok := comparison(name, args, c.inside == 0); ok {
				c.index, c.limit, c.down, test = a, b, down, i
			}
		}
	}
	if test < 0 || count[c.test] != 1 || count[c.limit] != 0 || count[c.index] != 1 {
		return
	}
	for i := latch.first; i < latch.end; i++ {
		step := "_operator.add"
		if c.down {
			step = "_operator.sub"
		}
		if name, args := r.prim(i); name == step && args[2] == c.index && args[0] == c.index &&
			r.isOne(args[1]) {
			c.add = i
		}
	}
	if c.add < 0 || !c.top && c.add > test {
		return
	}
	if r.uses(l, c, latch, test) {
		r.counted[l] = c
		for _, i := range c.yields {
			r.yielded[r.code[i].Instruction.(pte.KernelCall).Args[0]] = true
		}
	}
}

// latch returns the block that leads back to the head, if there is one only.
func (r *raiser) latch(l *loop) (*block, bool) {
	var latch *block
	for _, p := range l.head.prev {
		if l.body[p] {
			if latch != nil {
				return nil, false
			}
			latch = p
		}
	}
	return latch, latch != nil
}

// comparison returns index and limit of a test that lets a loop go on while
// index is under limit or, down, not under it; on tells by which outcome it goes
// on.
func comparison(name string, args []int32, on bool) (index, limit int32, down, ok bool) {
	if len(args) != 3 {
		return 0, 0, false, false
	}
	type test struct {
		name string
		on   bool
	}
	switch (test{name, on}) {
	case test{"_operator.lt", true}, test{"_operator.eq", false}:
		return args[0], args[1], false, true
	case test{"_operator.gt", true}:
		return args[1], args[0], false, true
	case test{"_operator.ge", true}, test{"_operator.lt", false}:
		return args[0], args[1], true, true
	}
	return 0, 0, false, false
}

func (r *raiser) writeCounts(l *loop) map[int32]int {
	count := map[int32]int{}
	for _, b := range l.blocks {
		for i := b.first; i < b.end; i++ {
			for _, s := range r.effects[i].writes {
				count[s]++
			}
			if m := r.effects[i].move; m != nil {
				count[m.To]++
			}
		}
	}
	return count
}

// isOne reports whether a value is the integer 1 that nobody changes.
func (r *raiser) isOne(slot int32) bool {
	return r.Values[slot] == pte.EValue(pte.Int(1)) && !r.Changed()[slot]
}

// uses finds what the index of a loop is used for; false if it is used where
// it is not that of the round, or what it puts is used otherwise.
func (r *raiser) uses(l *loop, c *counted, latch *block, test int) bool {
	for _, b := range l.blocks {
		inner := b.loop != l
		for i := b.first; i < b.end; i++ {
			if i == c.add || i == test || !slices.Contains(r.effects[i].reads, c.index) {
				if i != c.add && i != test && r.effects[i].move != nil &&
					r.effects[i].move.From == c.index {
					c.other = true
				}
				continue
			}
			if b == latch && i > c.add {
				return false
			}
			in, _ := r.code[i].Instruction.(pte.KernelCall)
			switch role := r.roles[in.Op]; {
			case role.kind == copyIndex && in.Args[2] == c.index:
				if inner || !b.dominates(latch) || c.top && b == l.head ||
					!r.alone(l, i, in.Args[0]) || !r.inRows(in.Args[0]) || !r.inRows(in.Args[1]) {
					return false
				}
				c.yields = append(c.yields, i)
			case role.op == "aten.select_copy.int" && role.kind == outKind &&
				r.isElement(l, in.Args, c.index):
				c.selects[i] = true
				if c.top && b == l.head {
					c.other = true // it comes again after the loop
				}
			default:
				c.other = true
			}
		}
		if b.jump >= 0 && slices.Contains(r.effects[b.jump].reads, c.index) {
			c.other = true
		}
	}
	return true
}

// inRows reports whether a tensor's elements lie row by row.
func (r *raiser) inRows(slot int32) bool {
	t := r.tensors[slot]
	return t != nil && slices.Equal(t.order, rowMajor(len(t.order)))
}

// isElement reports whether a select takes element index of dimension 0 of a
// tensor that the loop does not change.
func (r *raiser) isElement(l *loop, args []int32, index int32) bool {
	t := r.tensors[args[0]]
	if dim, ok := r.Values[args[1]].(pte.Int); !ok || dim != 0 || args[2] != index || t == nil {
		return false
	}
	return !r.touched(l, -1, args[0], false)
}

// alone reports whether nothing else in the loop reads or writes a tensor's
// place than instruction i.
func (r *raiser) alone(l *loop, i int, slot int32) bool {
	return r.tensors[slot] != nil && !r.tensors[slot].constant && !r.touched(l, i, slot, true)
}

// touched reports whether an instruction of the loop other than one writes a
// tensor's place, or reads it if that counts, or moves the value.
func (r *raiser) touched(l *loop, but int, slot int32, reads bool) bool {
	t := r.tensors[slot]
	for i := range r.code {
		if m := r.effects[i].move; m != nil && m.To == slot {
			return true
		}
	}
	hit := func(list []int32) bool {
		for _, s := range list {
			if u := r.tensors[s]; u != nil && (s == slot || u.place.overlaps(t.place)) &&
				!u.constant {
				return true
			}
		}
		return false
	}
	for _, b := range l.blocks {
		for i := b.first; i < b.end; i++ {
			e := r.effects[i]
			if i != but && (hit(e.writes) || reads && hit(e.reads)) {
				return true
			}
			if m := e.move; m != nil && reads && hit([]int32{m.From}) {
				return true
			}
		}
		if b.jump >= 0 && reads && hit(r.effects[b.jump].reads) {
			return true
		}
	}
	return false
}

// count returns how many rounds a counted loop makes, if that can be told: one
// end is 0 and the other is known to the compiler.
func (r *raiser) count(c *counted) (sym.Expr, bool) {
	first, limit := r.scalar(c.index), r.scalar(c.limit)
	if c.down && first.isExpr {
		first, limit = limit, integer(sym.Add(first.expr, sym.Int(1)))
	}
	if !first.isExpr || !first.expr.IsZero() || !limit.isExpr || limit.expr.Undefined() {
		return sym.Expr{}, false
	}
	if c.top {
		return limit.expr, sym.NonNegative(limit.expr)
	}
	return limit.expr, sym.Less(sym.Int(0), limit.expr)
}

// scan raises a counted loop.
func (r *raiser) scan(l *loop, c *counted, rounds sym.Expr) {
	at := l.lastOf(r.plan)
	written := r.writes(l.blocks)
	// The loop's index and the tensors that it fills are not carried values.
	own := r.live.empty()
	own.add(c.index)
	own.add(c.test)
	filled := make([][]sym.Expr, len(c.yields)) // sizes before the loop
	for k, i := range c.yields {
		slot := r.code[i].Instruction.(pte.KernelCall).Args[0]
		own.add(slot)
		filled[k] = r.sizesOf(r.resolve(slot))
	}
	carry := written.clone()
	own.each(carry.remove)
	r.now = at
	k := r.carried(l, carry, c.top)
	xs, walked := r.walked(c, rounds)
	before := r.st
	r.invalidate(written)
	a := r.flow.newArea(l)
	outer := r.b
	s := &step{of: c, elements: map[int]*ir.Value{}, yields: map[int]*ir.Value{}}
	r.steps = append(r.steps, s)
	views := r.views
	last, yields, err := outer.Scan(k.inits, xs, c.down, func(b *ops.Builder, carried,
		x []*ir.Value) ([]*ir.Value, []*ir.Value) {
		r.b, r.views, r.st = b, map[seenAs]*ir.Value{}, before.clone()
		return r.oneRound(l, c, a, s, k, carried, x, walked)
	})
	must.Check(err)
	r.b, r.views, r.st, r.steps = outer, views, before, r.steps[:len(r.steps)-1]
	r.giveAll(k, last)
	r.st.scalars[c.index] = integer(rounds)
	if c.down {
		r.st.scalars[c.index] = integer(sym.Int(-1))
	}
	r.st.scalars[c.test] = scalar{arg: ir.BoolArg(c.inside != 0)}
	for i, y := range c.yields {
		slot := r.code[y].Instruction.(pte.KernelCall).Args[0]
		r.now = y
		if have := filled[i]; have != nil && !sym.AllEqual(have[1:], yields[i].Type.Sizes[1:]) {
			must.Fail("what it puts has other sizes than the rows of value %d", slot)
		}
		r.assign(slot, yields[i])
		if c.down { // the last put made it one element long
			r.st.sizes[slot] = nil
		}
	}
	if c.top {
		r.instructions(l.head)
	}
}

// walked returns the tensors that a scan goes over, and which of them each
// select takes its element from. The last may be the indices themselves.
func (r *raiser) walked(c *counted, rounds sym.Expr) (xs []*ir.Value, of map[int]int) {
	of = map[int]int{}
	at := map[*ir.Value]int{}
	other := c.other
	for _, i := range slices.Sorted(maps.Keys(c.selects)) {
		var v *ir.Value
		err := must.Try(func() { v = r.read(r.code[i].Instruction.(pte.KernelCall).Args[0]) })
		if err != nil || v.Type.Rank() == 0 || !v.Type.Sizes[0].Equal(rounds) {
			other = true // raised like any other select
			continue
		}
		k, ok := at[v]
		if !ok {
			k = len(xs)
			at[v], xs = k, append(xs, v)
		}
		of[i] = k
	}
	if other || len(xs) == 0 {
		xs = append(xs, r.b.Op("aten.arange.default", rounds, kwDType(ir.Int64)))
		of[c.add] = len(xs) - 1
	}
	return xs, of
}

// oneRound raises one round of a counted loop.
func (r *raiser) oneRound(l *loop, c *counted, a *area, s *step, k *carry, carried, x []*ir.Value,
	walked map[int]int) (next, yields []*ir.Value) {
	for _, v := range append(carried[:len(carried):len(carried)], x...) {
		r.held[v] = true
	}
	r.giveAll(k, carried)
	r.st.scalars[c.test] = scalar{arg: ir.BoolArg(c.inside == 0)} // to go on
	for i, n := range walked {
		s.elements[i] = x[n]
	}
	if v := s.elements[c.add]; v != nil {
		r.st.scalars[c.index] = r.item(v)
	}
	first := l.head
	if c.top {
		r.instructions(l.head)
		first = a.on(l.head.next[c.inside])
	}
	r.walk(a, first, nil)
	r.now = l.lastOf(r.plan)
	next = r.takeAll(k)
	for _, i := range c.yields {
		if s.yields[i] == nil {
			must.Fail("%s was not reached", r.describe(i))
		}
		yields = append(yields, s.yields[i])
	}
	return next, yields
}

// stepCall raises a call that a counted loop around has a meaning for.
func (r *raiser) stepCall(i int, in pte.KernelCall) (done bool) {
	for _, s := range r.steps {
		c := s.of
		if v := s.elements[i]; v != nil && c.selects[i] {
			r.assign(in.Args[3], v)
			return true
		}
		if slices.Contains(c.yields, i) {
			s.yields[i] = r.read(in.Args[1])
			return true
		}
		// The count and the test go with the loop.
		if i == c.add || r.isTest(c, i) {
			return true
		}
	}
	return false
}

func (r *raiser) isTest(c *counted, i int) bool {
	name, args := r.prim(i)
	return name != "" && args[len(args)-1] == c.test
}

// copyIndex is executorch_prim::et_copy_index(to, from, index) outside of a
// counted loop: of a tensor whose sizes do not change.
func (r *raiser) copyIndex(_ *role, args []int32) {
	if !r.inRows(args[0]) || !r.inRows(args[1]) {
		must.Fail("it copies bytes between tensors of another dim order than theirs")
	}
	must.Fail(
		"it puts an element outside of a loop that counts from 0 by 1 to a known limit")
}
