package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower"
)

// walk is a scan in the making.
type walk struct {
	node    *ir.Node
	body    *ir.Graph
	xs      []*slot // what is walked, along dimension 0
	count   *slot   // of steps
	carried []*slot
	fills   []*slot // what et_copy_index fills with what the body yields
	reverse bool
	tested  bool // the count may be 0
}

// scan counts over what it walks; each step takes its elements by select_copy,
// and what it yields et_copy_index puts in place.
func (b *builder) scan(n *ir.Node) {
	w := &walk{node: n, body: n.Regions[0]}
	inits, _ := n.Arg("init").(ir.List)
	xs, _ := n.Arg("xs").(ir.List)
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	if len(xs) == 0 || len(w.body.Inputs) != len(inits)+len(xs) ||
		len(n.Outputs) != len(w.body.Outputs) {
		panic(fmt.Errorf("its operands do not match what its region takes and gives"))
	}
	w.reverse = bool(reverse)
	for _, a := range xs {
		x := b.arg(a, nil)
		if x.tensor == nil || len(x.tensor.sizes) == 0 {
			panic(fmt.Errorf("it walks something without dimensions"))
		}
		w.xs = append(w.xs, x)
	}
	steps := w.xs[0].tensor.typ.Sizes[0]
	lo, _ := steps.Bounds()
	w.count, w.tested = b.extent(w.xs[0], steps), lo < 1

	w.carried = b.carry(n, inits)
	for i, s := range w.carried {
		b.vals[w.body.Inputs[i]] = s
	}
	flips := b.stacks(w)
	b.emit(b.steps(w))
	for _, f := range flips {
		b.flip(f.to, f.from)
	}
}

// steps makes the loop.
func (b *builder) steps(w *walk) *loop {
	n := w.node
	c := b.counter(n, w.count, w.reverse)
	it := &loop{tested: w.tested, cond: b.number(n.Name+"_test", pte.Bool(false)), loc: n.Loc}

	it.body = b.inBlock(func() {
		b.elements(w, c.at)
		b.graph(w.body)
		b.loc = n.Loc
		for i, s := range w.fills {
			y := b.arg(w.body.Outputs[len(w.carried)+i], nil)
			b.emit(&call{
				op: opSetIndex, args: []*slot{s, y, c.at},
				reads: []*slot{s, y}, writes: []*slot{s}, loc: n.Loc,
			})
		}
		b.give(w.body, w.carried)
		b.prims(c.step, c.at, b.literal(pte.Int(1)), c.at)
		if !w.tested {
			b.prims(c.done, c.at, c.limit, it.cond)
		}
	})
	if w.tested {
		it.test = b.inBlock(func() { b.prims(c.more, c.at, c.limit, it.cond) })
	}
	return it
}

// stacks makes the slots that et_copy_index fills for the results that are not
// carried. It gives the tensor it writes the size that it has filled so far,
// from the front.
//
// If the size of the result is fixed that is a slot besides the result's, in the
// same memory, so that who uses the result sees a tensor of fixed size whatever
// the order it was filled in. Else it is the result's slot itself and must be
// filled from the front: a walk from the end walks the flipped operands forward,
// and its results are to be flipped back.
func (b *builder) stacks(w *walk) (flips []assignment) {
	results := w.node.Outputs[len(w.carried):]
	dynamic := false
	for _, v := range results {
		_, static := v.Type.StaticSizes()
		dynamic = dynamic || !static
	}
	flipped := dynamic && w.reverse
	if flipped {
		w.reverse = false
		for i, x := range w.xs {
			w.xs[i] = b.like(x)
			b.flip(w.xs[i], x)
		}
	}
	for i, v := range results {
		s := b.tensorSlot(v.Name, v.Type.Dense())
		b.vals[v] = s
		fill := s
		if !s.tensor.dynamic || flipped {
			fill = b.tensorSlot(v.Name+"_fill", v.Type.Dense())
			fill.tensor.dynamic = true
		}
		if flipped {
			flips = append(flips, assignment{to: s, from: fill})
		} else if fill != s {
			fill.tensor.of = s
		}
		w.fills = append(w.fills, fill)
		b.empty(w, len(w.carried)+i, fill)
	}
	return flips
}

// empty gives the slot that result i fills its full size, and tells that what is in its
// memory does not matter any more.
func (b *builder) empty(w *walk, i int, s *slot) {
	sizes := []*slot{w.count}
	for d, e := range s.tensor.typ.Sizes {
		n, ok := e.Const()
		switch {
		case d == 0:
		case ok:
			sizes = append(sizes, b.literal(pte.Int(n)))
		default:
			sizes = append(sizes, b.arg(w.node.Arg(lower.StackedSize(i, d)), nil))
		}
	}
	b.emit(&call{
		op: opEmpty, args: []*slot{b.listOf(intList, sizes), b.literal(pte.Null{}), s, s},
		writes: []*slot{s}, loc: b.loc,
	})
}

// flip emits what turns dimension 0 round.
func (b *builder) flip(to, from *slot) {
	b.emit(&call{
		op: opFlip, args: []*slot{from, b.listOf(intList, []*slot{b.literal(pte.Int(0))}), to, to},
		reads: []*slot{from}, writes: []*slot{to}, loc: b.loc,
	})
}

// counter is how a scan counts: at goes by step until done, as long as more,
// with respect to limit.
type counter struct {
	at, limit        *slot
	step, more, done string
}

// counter emits what starts the count of n's steps: from 0 up, or from the last
// down.
func (b *builder) counter(n *ir.Node, count *slot, reverse bool) counter {
	c := counter{
		at: b.number(n.Name+"_at", pte.Int(0)), limit: count,
		step: opAdd, more: opLess, done: opEqual,
	}
	if !reverse {
		b.emit(&move{from: b.literal(pte.Int(0)), to: c.at, loc: n.Loc})
		return c
	}
	b.prims(opSub, count, b.literal(pte.Int(1)), c.at)
	c.limit = b.literal(pte.Int(0))
	c.step, c.more, c.done = opSub, opAtLeast, opLess
	return c
}

// prims emits an operation on numbers; the last of args is its result.
func (b *builder) prims(op string, args ...*slot) {
	c := &call{op: op, args: args, loc: b.loc}
	for _, s := range args { // a tensor of which the size is asked is there then
		c.reads = append(c.reads, tensorsIn(s)...)
	}
	b.emit(c)
}

// extent returns the number of steps of a walk over dimension 0 of s.
func (b *builder) extent(s *slot, e sym.Expr) *slot {
	if n, ok := e.Const(); ok {
		return b.literal(pte.Int(n))
	}
	count := b.number(s.name+"_steps", pte.Int(0))
	b.prims(opSizeOf, s, b.literal(pte.Int(0)), count)
	return count
}

// elements gives the body its elements of what is walked.
func (b *builder) elements(w *walk, at *slot) {
	for i, in := range w.body.Inputs[len(w.carried):] {
		s := b.tensorSlot(in.Name, in.Type.Dense())
		b.vals[in] = s
		b.emit(&call{
			op: opElement, args: []*slot{w.xs[i], b.literal(pte.Int(0)), at, s, s},
			reads: []*slot{w.xs[i]}, writes: []*slot{s}, loc: b.loc,
		})
	}
}
