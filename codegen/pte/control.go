package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// results makes a slot for every result of n, unread ones too, since its
// regions write them. types tells those of results that n leaves out.
func (b *builder) results(n *ir.Node, types func(i int) ir.Type, count int) ([]*slot, error) {
	outs := make([]*slot, count)
	for i := range outs {
		name, t := n.Name, ir.Type{}
		if v := n.Output(i); v != nil {
			name, t = v.Name, v.Type
		} else {
			t = types(i)
		}
		var err error
		if outs[i], err = b.resultSlot(name, t); err != nil {
			return nil, err
		}
		if v := n.Output(i); v != nil {
			b.vals[v] = outs[i]
		}
	}
	return outs, nil
}

func (b *builder) resultSlot(name string, t ir.Type) (*slot, error) {
	if t.Kind == ir.TensorKind {
		return b.tensorSlot(name, t.Dense())
	}
	zero, err := zeroOf(t)
	if err != nil {
		return nil, err
	}
	return b.number(name, zero), nil
}

// typeOf returns the type of a region's output.
func typeOf(a ir.Arg) ir.Type {
	switch a := a.(type) {
	case ir.Ref:
		return a.Value.Type
	case ir.Int:
		return ir.SymInt(sym.Int(int64(a)))
	case ir.Float:
		return ir.Type{Kind: ir.FloatKind}
	case ir.BoolArg:
		return ir.Type{Kind: ir.BoolKind}
	}
	return ir.Type{}
}

// region emits g and what gives its outputs to dsts.
func (b *builder) region(n *ir.Node, g *ir.Graph, dsts []*slot) ([]item, error) {
	return b.inBlock(func() error {
		if err := b.graph(g); err != nil {
			return err
		}
		b.loc = n.Loc
		return b.give(g, dsts)
	})
}

// give assigns the outputs of g to dsts.
func (b *builder) give(g *ir.Graph, dsts []*slot) error {
	var todo []assignment
	for i, dst := range dsts {
		src, err := b.arg(g.Outputs[i], nil)
		if err != nil {
			return err
		}
		todo = append(todo, assignment{to: dst, from: src})
	}
	return b.assign(todo)
}

func (b *builder) cond(n *ir.Node) error {
	if len(n.Args) != 1 || len(n.Regions) != 2 {
		return fmt.Errorf("it has %d operands and %d regions, want 1 and 2", len(n.Args),
			len(n.Regions))
	}
	pred, err := b.arg(n.Args[0].Value, nil)
	if err != nil {
		return err
	}
	then := n.Regions[0]
	outs, err := b.results(n, func(i int) ir.Type { return typeOf(then.Outputs[i]) },
		len(then.Outputs))
	if err != nil {
		return err
	}
	it := &branch{cond: pred, loc: n.Loc}
	if it.then, err = b.region(n, then, outs); err != nil {
		return err
	}
	if it.other, err = b.region(n, n.Regions[1], outs); err != nil {
		return err
	}
	b.emit(it)
	return nil
}

// while: the slots of the results are those of the carried values.
func (b *builder) while(n *ir.Node) error {
	head, body := n.Regions[0], n.Regions[1]
	inits, ok := n.Args[0].Value.(ir.List)
	if !ok || len(inits) != len(body.Inputs) || len(head.Inputs) != len(inits) {
		return fmt.Errorf("what it carries does not match what its regions take")
	}
	carried, err := b.carry(n, inits)
	if err != nil {
		return err
	}
	for i, s := range carried {
		b.vals[head.Inputs[i]], b.vals[body.Inputs[i]] = s, s
	}
	it := &loop{tested: true, loc: n.Loc}
	if it.test, err = b.inBlock(func() error {
		if err := b.graph(head); err != nil {
			return err
		}
		it.cond, err = b.arg(head.Outputs[0], nil)
		return err
	}); err != nil {
		return err
	}
	if it.body, err = b.region(n, body, carried); err != nil {
		return err
	}
	b.emit(it)
	return nil
}

// carry makes the slots of carried values and gives them their initial values.
func (b *builder) carry(n *ir.Node, inits ir.List) ([]*slot, error) {
	carried, err := b.results(n, func(i int) ir.Type { return typeOf(inits[i]) }, len(inits))
	if err != nil {
		return nil, err
	}
	for i, a := range inits {
		s, err := b.arg(a, nil)
		if err != nil {
			return nil, err
		}
		b.copy(carried[i], s)
	}
	return carried, nil
}
