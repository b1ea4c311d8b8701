package pte

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// assignment gives slot to what from holds.
type assignment struct{ to, from *slot }

// assign makes all assignments as if at once: a source that another assignment
// overwrites is copied before that, aside if they go in a circle.
func (b *builder) assign(todo []assignment) error {
	todo = slices.DeleteFunc(slices.Clone(todo), func(a assignment) bool { return sameBytes(a.to, a.from) })
	for len(todo) > 0 {
		next := slices.IndexFunc(todo, func(a assignment) bool {
			return !slices.ContainsFunc(todo, func(other assignment) bool {
				return other != a && other.from.root() == a.to.root()
			})
		})
		if next < 0 {
			aside, err := b.like(todo[0].from)
			if err != nil {
				return err
			}
			b.copy(aside, todo[0].from)
			todo[0].from = aside
			continue
		}
		b.copy(todo[next].to, todo[next].from)
		todo = slices.Delete(todo, next, next+1)
	}
	return nil
}

// sameBytes reports whether two slots are one, or the same shape of the same
// memory.
func sameBytes(a, b *slot) bool {
	if a.now() == b.now() {
		return true
	}
	return a.tensor != nil && b.tensor != nil && a.root() == b.root() && alike(a.tensor, b.tensor)
}

// like makes a slot of its own for what s holds.
func (b *builder) like(s *slot) (*slot, error) {
	if s.tensor != nil {
		return b.tensorSlot(s.name+"_copy", s.tensor.typ)
	}
	return b.number(s.name+"_copy", s.value), nil
}

// copy emits what gives to the elements, or the number, of from.
func (b *builder) copy(to, from *slot) {
	switch {
	case from.tensor == nil:
		b.emit(&move{from: from, to: to, loc: b.loc})
	case to.tensor.dynamic:
		// copy.out resizes to what it copies, copy_ does not.
		b.emit(&call{
			op: opCopyOut, args: []*slot{from, from, b.literal(pte.Bool(false)), to, to},
			reads: []*slot{from}, writes: []*slot{to}, copies: true, loc: b.loc,
		})
	default:
		c := &call{
			op: opCopyIn, args: []*slot{to, from, b.literal(pte.Bool(false)), to},
			reads: []*slot{from}, writes: []*slot{to}, copies: true, loc: b.loc,
		}
		b.emit(c)
	}
}

// outputs writes back what the method changes and lists what it returns:
// changed inputs first, then the outputs proper.
func (b *builder) outputs() error {
	m := b.method
	var writes []assignment
	var changed, returned []*slot
	written := map[*slot]bool{}
	for i, spec := range m.Outputs {
		target := m.MutationTarget(spec)
		if target == nil {
			continue
		}
		from, err := b.arg(m.Graph.Outputs[i], nil)
		if err != nil {
			return err
		}
		to := b.vals[target]
		writes = append(writes, assignment{to: to, from: from})
		written[to] = true
		if spec.Kind == ir.UserInputMutation {
			changed = append(changed, to)
		}
	}
	for i, spec := range m.Outputs {
		if spec.Kind == ir.TokenOutput || m.MutationTarget(spec) != nil {
			continue
		}
		s, err := b.arg(m.Graph.Outputs[i], nil)
		if err != nil {
			return err
		}
		if s.tensor != nil && written[s.root()] {
			// The old value, which is about to be overwritten.
			old := s
			if s, err = b.like(old); err != nil {
				return err
			}
			writes = append(writes, assignment{to: s, from: old})
		}
		returned = append(returned, s)
	}
	b.code.outputs = append(changed, returned...)
	return b.assign(writes)
}
