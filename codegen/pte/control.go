package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// results makes a slot for every result of n, unread ones too, since its
// regions write them. types tells those of results that n leaves out.
func (b *builder) results(n *ir.Node, types func(i int) ir.Type, count int) []*slot {
	outs := make([]*slot, count)
	for i := range outs {
		name, t := n.Name, ir.Type{}
		if v := n.Output(i); v != nil {
			name, t = v.Name, v.Type
		} else {
			t = types(i)
		}

		outs[i] = b.resultSlot(name, t)
		if v := n.Output(i); v != nil {
			b.vals[v] = outs[i]
		}
	}
	return outs
}

func (b *builder) resultSlot(name string, t ir.Type) *slot {
	if t.Kind == ir.TensorKind {
		return b.tensorSlot(name, t.Dense())
	}
	return b.number(name, zeroOf(t))
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
func (b *builder) region(n *ir.Node, g *ir.Graph, dsts []*slot) []item {
	return b.inBlock(func() {
		b.graph(g)
		b.loc = n.Loc
		b.give(g, dsts)
	})
}

// give assigns the outputs of g to dsts.
func (b *builder) give(g *ir.Graph, dsts []*slot) {
	var todo []assignment
	for i, dst := range dsts {
		src := b.arg(g.Outputs[i], nil)
		todo = append(todo, assignment{to: dst, from: src})
	}
	b.assign(todo)
}

func (b *builder) cond(n *ir.Node) {
	if len(n.Args) != 1 || len(n.Regions) != 2 {
		panic(fmt.Errorf("it has %d operands and %d regions, want 1 and 2", len(n.Args),
			len(n.Regions)))
	}
	pred := b.arg(n.Args[0].Value, nil)
	then := n.Regions[0]
	outs := b.results(n, func(i int) ir.Type { return typeOf(then.Outputs[i]) },
		len(then.Outputs))
	it := &branch{cond: pred, loc: n.Loc}
	it.then = b.region(n, then, outs)
	it.other = b.region(n, n.Regions[1], outs)
	b.emit(it)
}

// while: the slots of the results are those of the carried values.
func (b *builder) while(n *ir.Node) {
	head, body := n.Regions[0], n.Regions[1]
	inits, ok := n.Args[0].Value.(ir.List)
	if !ok || len(inits) != len(body.Inputs) || len(head.Inputs) != len(inits) {
		panic(fmt.Errorf("what it carries does not match what its regions take"))
	}
	carried := b.carry(n, inits)
	for i, s := range carried {
		b.vals[head.Inputs[i]], b.vals[body.Inputs[i]] = s, s
	}
	it := &loop{tested: true, loc: n.Loc}
	it.test = b.inBlock(func() {
		b.graph(head)
		it.cond = b.arg(head.Outputs[0], nil)
	})
	it.body = b.region(n, body, carried)
	b.emit(it)
}

// carry makes the slots of carried values and gives them their initial values.
func (b *builder) carry(n *ir.Node, inits ir.List) []*slot {
	carried := b.results(n, func(i int) ir.Type { return typeOf(inits[i]) }, len(inits))
	for i, a := range inits {
		b.copy(carried[i], b.arg(a, nil))
	}
	return carried
}
