package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
)

// view makes the result of a view_copy another shape of its operand's memory.
// That is right because what the operand holds is not changed while the view is
// in use: a node writes only to tensors allocated for it, and where carried
// values, state and inputs are written, no view of the old ones is read later
// (see assign).
//
// Of a dynamic tensor only a run tells the sizes, which et_view gives the view.
func (b *builder) view(n *ir.Node) error {
	ref, ok := n.Arg("self").(ir.Ref)
	if !ok || len(n.Outputs) != 1 || n.Outputs[0] == nil {
		return fmt.Errorf("it has no operand or no result")
	}
	base, err := b.slotOf(ref.Value)
	if err != nil {
		return err
	}
	v := n.Outputs[0]
	s, err := b.tensorSlot(v.Name, v.Type.Dense())
	if err != nil {
		return err
	}
	b.vals[v] = s
	if base.root().tensor.role == constant {
		s.tensor.role, s.tensor.data = constant, base.tensor.data
		return nil
	}
	s.tensor.of = base
	if !s.tensor.dynamic && !base.tensor.dynamic {
		return nil
	}
	size, ok := n.Arg("size").(ir.List)
	if !ok {
		return fmt.Errorf("its size is no list")
	}
	list, err := b.listArg(size, nil)
	if err != nil {
		return fmt.Errorf("its argument size: %w", err)
	}
	s.tensor.dynamic = true // et_view resizes, which static tensors need not allow
	b.emit(&call{op: opView, args: []*slot{base, list, s}, loc: n.Loc})
	return nil
}
