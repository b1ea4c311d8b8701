package native

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// control emits a node with regions. Results of regions first get buffers of
// their own and are then copied to where they belong; forwardCopies removes
// the copies that are not needed. That order is what makes loops right: every
// result of a body exists before a carried value changes.
func (b *builder) control(n *ir.Node) {
	switch n.Op {
	case "higher_order.cond":
		b.cond(n)
	case "higher_order.while_loop":
		b.while(n)
	case "higher_order.scan":
		b.scan(n)
	default:
		must.Fail("control flow %s is not supported", n.Op)
	}
}

// inBlock emits g, then what after emits, into a block of its own.
func (b *builder) inBlock(g *ir.Graph, after func()) (stmts []Stmt) {
	outer := b.block
	b.block = &stmts
	b.graph(g)
	after()
	b.block = outer
	return stmts
}

// region emits g and copies its results to dsts.
func (b *builder) region(g *ir.Graph, dsts []*Buffer, from []Origin) []Stmt {
	return b.inBlock(g, func() {
		srcs := seq.Of(len(dsts), func(i int) *Buffer { return b.result(g.Outputs[i]) })
		b.copyAll(dsts, srcs, from)
	})
}

// copyAll copies srcs to dsts as if at once: what lies in the memory of another
// result than its own is saved first, since writing that one would change it.
func (b *builder) copyAll(dsts, srcs []*Buffer, from []Origin) {
	written := map[*Buffer]int{}
	for _, dst := range dsts {
		written[Root(dst)]++
	}
	for i, src := range srcs {
		others := written[Root(src)]
		if Root(src) == Root(dsts[i]) {
			others--
		}
		if others == 0 {
			continue
		}
		old := *src
		old.Name, old.Root, old.At, old.Storage = src.Name+"_old", nil, sym.Expr{}, Arena
		b.copy(&old, src, from)
		srcs[i] = &old
	}
	for i, dst := range dsts {
		b.copy(dst, srcs[i], from)
	}
}

// tensor returns the tensor that an argument is; what says which argument it is.
func tensor(a ir.Arg, what string) *ir.Value {
	ref, ok := a.(ir.Ref)
	if !ok || ref.Value.Type.Kind != ir.TensorKind {
		must.Fail("%s is no tensor", what)
	}
	return ref.Value
}

// result returns the buffer of a region's output.
func (b *builder) result(a ir.Arg) *Buffer { return b.buffer(tensor(a, "what a region returns")) }

// carry gives a carried value its initial value a.
func (b *builder) carry(dst *Buffer, a ir.Arg, from []Origin) {
	b.initialise(dst, tensor(a, "what a loop carries"), from)
}

// results gives every result of n a buffer, unread ones too, since the regions
// write them.
func (b *builder) results(n *ir.Node) []*Buffer {
	return seq.Map(n.Outputs, b.fresh)
}

func (b *builder) cond(n *ir.Node) {
	pred := tensor(n.Args[0].Value, "the predicate")
	from := []Origin{originOf(n)}
	outs := b.results(n)
	b.emit(&Cond{Pred: b.buffer(pred), From: from, Then: b.region(n.Regions[0], outs, from),
		Else: b.region(n.Regions[1], outs, from)})
}

// while: the results double as the carried values.
func (b *builder) while(n *ir.Node) {
	head, body := n.Regions[0], n.Regions[1]
	from := []Origin{originOf(n)}
	carried := b.results(n)
	inits, ok := n.Args[0].Value.(ir.List)
	if !ok || len(inits) != len(carried) {
		must.Fail("carried values do not match the results")
	}
	for i, a := range inits {
		b.carry(carried[i], a, from)
		b.bufs[head.Inputs[i]], b.bufs[body.Inputs[i]] = carried[i], carried[i]
	}
	w := &While{From: from}
	w.Head = b.inBlock(head, func() { w.Pred = b.result(head.Outputs[0]) })
	w.Body = b.region(body, carried, from)
	b.emit(w)
}

// scan args are the lists init and xs and the bool reverse; the region takes
// the carried values and one slice of each xs along dimension 0, and returns
// the new carried values and one slice of each stacked result.
func (b *builder) scan(n *ir.Node) {
	body := n.Regions[0]
	from := []Origin{originOf(n)}
	inits, _ := n.Arg("init").(ir.List)
	xs, _ := n.Arg("xs").(ir.List)
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	if len(xs) == 0 || len(body.Inputs) != len(inits)+len(xs) {
		must.Fail("the region's parameters do not match the operands")
	}
	outs := b.results(n)
	operands := seq.Map(xs, func(a ir.Arg) *ir.Value { return tensor(a, "an operand") })
	extent := operands[0].Type.Sizes[0]
	f := &For{Var: sym.NewVar("t", extent), Extent: extent, Reverse: bool(reverse), From: from}
	slice := func(of *Buffer, v *ir.Value, name string) *Buffer {
		return viewOf(of, name, v.Type.Sizes, sym.Mul(f.Var.Expr(), numel(v)))
	}
	dsts := make([]*Buffer, len(outs))
	for i, a := range inits {
		b.carry(outs[i], a, from)
		b.bufs[body.Inputs[i]], dsts[i] = outs[i], outs[i]
	}
	for i, v := range operands {
		in := body.Inputs[len(inits)+i]
		b.bufs[in] = slice(b.buffer(v), in, in.Name)
	}
	for i := len(inits); i < len(outs); i++ {
		v := tensor(body.Outputs[i], "what the region returns")
		dsts[i] = slice(outs[i], v, outs[i].Name+"_t")
	}
	f.Body = b.region(body, dsts, from)
	b.emit(f)
}
