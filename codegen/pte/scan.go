package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
)

// scan counts from 0 to the extent of what it walks; each step takes its
// elements by select_copy, and what it yields et_copy_index puts in place.
func (b *builder) scan(n *ir.Node) error {
	body := n.Regions[0]
	inits, _ := n.Arg("init").(ir.List)
	xs, _ := n.Arg("xs").(ir.List)
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	if len(xs) == 0 || len(body.Inputs) != len(inits)+len(xs) || len(n.Outputs) != len(body.Outputs) {
		return fmt.Errorf("its operands do not match what its region takes and gives")
	}
	walked := make([]*slot, len(xs))
	var extent sym.Expr
	for i, a := range xs {
		var err error
		if walked[i], err = b.arg(a, nil); err != nil {
			return err
		}
		if walked[i].tensor == nil || walked[i].tensor.typ.Rank() == 0 {
			return fmt.Errorf("it walks something without dimensions")
		}
		extent = walked[i].tensor.typ.Sizes[0]
	}
	count := b.extent(walked[0], extent)
	carried, err := b.carry(n, inits)
	if err != nil {
		return err
	}
	for i, s := range carried {
		b.vals[body.Inputs[i]] = s
	}
	stacks, err := b.stacks(n, carried, walked, count)
	if err != nil {
		return err
	}
	c := b.counter(n, count, bool(reverse))
	it := &loop{cond: b.number(n.Name+"_test", pte.Bool(false)), loc: n.Loc}
	lo, _ := extent.Bounds()
	it.tested = lo < 1
	if it.body, err = b.inBlock(func() error {
		if err := b.elements(walked, body.Inputs[len(inits):], c.at); err != nil {
			return err
		}
		if err := b.graph(body); err != nil {
			return err
		}
		b.loc = n.Loc
		for i, s := range stacks {
			y, err := b.arg(body.Outputs[len(inits)+i], nil)
			if err != nil {
				return err
			}
			b.emit(&call{
				op: "executorch_prim.et_copy_index.tensor", args: []*slot{s, y, c.at},
				reads: []*slot{s, y}, writes: []*slot{s}, loc: n.Loc,
			})
		}
		if err := b.give(body, carried); err != nil {
			return err
		}
		b.prims(c.step, c.at, b.literal(pte.Int(1)), c.at)
		if !it.tested {
			b.prims(c.done, c.at, c.limit, it.cond)
		}
		return nil
	}); err != nil {
		return err
	}
	if it.tested {
		if it.test, err = b.inBlock(func() error {
			b.prims(c.more, c.at, c.limit, it.cond)
			return nil
		}); err != nil {
			return err
		}
	}
	b.emit(it)
	return nil
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
		step: "executorch_prim.add.Scalar", more: "executorch_prim.lt.Scalar", done: "executorch_prim.eq.Scalar",
	}
	if !reverse {
		b.emit(&move{from: b.literal(pte.Int(0)), to: c.at, loc: n.Loc})
		return c
	}
	b.prims("executorch_prim.sub.Scalar", count, b.literal(pte.Int(1)), c.at)
	c.limit = b.literal(pte.Int(0))
	c.step, c.more, c.done = "executorch_prim.sub.Scalar", "executorch_prim.ge.Scalar", "executorch_prim.lt.Scalar"
	return c
}

// prims emits an operation on numbers; the last of args is its result.
func (b *builder) prims(op string, args ...*slot) {
	b.emit(&call{op: op, args: args, loc: b.loc})
}

// extent returns the number of steps of a walk over dimension 0 of s.
func (b *builder) extent(s *slot, e sym.Expr) *slot {
	if n, ok := e.Const(); ok {
		return b.literal(pte.Int(n))
	}
	count := b.number(s.name+"_steps", pte.Int(0))
	b.emit(&call{op: "aten.sym_size.int", args: []*slot{s, b.literal(pte.Int(0)), count}, loc: b.loc})
	return count
}

// elements gives each of ins its element of what is walked.
func (b *builder) elements(walked []*slot, ins []*ir.Value, at *slot) error {
	for i, in := range ins {
		s, err := b.tensorSlot(in.Name, in.Type.Dense())
		if err != nil {
			return err
		}
		b.vals[in] = s
		b.emit(&call{
			op: "aten.select_copy.int_out", args: []*slot{walked[i], b.literal(pte.Int(0)), at, s, s},
			reads: []*slot{walked[i]}, writes: []*slot{s}, loc: b.loc,
		})
	}
	return nil
}

// stacks makes the slots that et_copy_index fills for the results of a scan
// that are not carried. It gives the tensor it writes the size that it has
// filled so far, from the front: so that is a slot besides the result's, in the
// same memory, and the result's slot has its full size from the start.
func (b *builder) stacks(n *ir.Node, carried, walked []*slot, count *slot) ([]*slot, error) {
	var fills []*slot
	for _, v := range n.Outputs[len(carried):] {
		s, err := b.tensorSlot(v.Name, v.Type.Dense())
		if err != nil {
			return nil, err
		}
		b.vals[v] = s
		fill, err := b.tensorSlot(v.Name+"_fill", v.Type.Dense())
		if err != nil {
			return nil, err
		}
		fills = append(fills, fill)
		dynamic := s.tensor.dynamic
		fill.tensor.of, fill.tensor.dynamic = s, true
		if !dynamic {
			b.emit(&define{slot: s})
			continue
		}
		sizes := []*slot{count}
		for i, e := range v.Type.Sizes[1:] {
			size, err := b.sizeFrom(e, append(carried, walked...))
			if err != nil {
				return nil, fmt.Errorf("%%%s, dimension %d: %w", v.Name, i+1, err)
			}
			sizes = append(sizes, size)
		}
		for _, s := range []*slot{s, fill} {
			b.emit(&call{
				op: "aten.empty.out", args: []*slot{b.listOf(intList, sizes), b.literal(pte.Null{}), s, s},
				writes: []*slot{s}, loc: n.Loc,
			})
		}
	}
	return fills, nil
}

// sizeFrom returns the slot of a size that one of the tensors has, or an input.
func (b *builder) sizeFrom(e sym.Expr, tensors []*slot) (*slot, error) {
	if n, ok := e.Const(); ok {
		return b.literal(pte.Int(n)), nil
	}
	for _, s := range append(tensors, b.code.inputs...) {
		if s.tensor == nil {
			continue
		}
		for d, size := range s.tensor.typ.Sizes {
			if size.Equal(e) {
				out := b.number(s.name+"_size", pte.Int(0))
				b.prims("aten.sym_size.int", s, b.literal(pte.Int(d)), out)
				return out, nil
			}
		}
	}
	return nil, fmt.Errorf("its size %v is not that of anything the loop takes, so it cannot be stacked", e)
}
