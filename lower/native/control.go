package native

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// control emits a node with regions. Results of regions first get buffers of
// their own and are then copied to where they belong; forwardCopies removes
// the copies that are not needed. That order is what makes loops right: every
// result of a body exists before a carried value changes.
func (b *builder) control(n *ir.Node) error {
	switch n.Op {
	case "higher_order.cond":
		return b.cond(n)
	case "higher_order.while_loop":
		return b.while(n)
	case "higher_order.scan":
		return b.scan(n)
	}
	return fmt.Errorf("control flow %s is not supported", n.Op)
}

// inBlock emits g, then what after emits, into a block of its own.
func (b *builder) inBlock(g *ir.Graph, after func() error) (stmts []Stmt, err error) {
	outer := b.block
	b.block = &stmts
	defer func() { b.block = outer }()
	if err := b.graph(g); err != nil {
		return nil, err
	}
	err = after()
	return stmts, err
}

// region emits g and copies its results to dsts.
func (b *builder) region(g *ir.Graph, dsts []*Buffer, from []Origin) ([]Stmt, error) {
	return b.inBlock(g, func() error {
		srcs := make([]*Buffer, len(dsts))
		for i := range dsts {
			src, err := b.result(g.Outputs[i])
			if err != nil {
				return err
			}
			srcs[i] = src
		}
		b.copyAll(dsts, srcs, from)
		return nil
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
func tensor(a ir.Arg, what string) (*ir.Value, error) {
	ref, ok := a.(ir.Ref)
	if !ok || ref.Value.Type.Kind != ir.TensorKind {
		return nil, fmt.Errorf("%s is no tensor", what)
	}
	return ref.Value, nil
}

// result returns the buffer of a region's output.
func (b *builder) result(a ir.Arg) (*Buffer, error) {
	v, err := tensor(a, "what a region returns")
	if err != nil {
		return nil, err
	}
	return b.buffer(v), nil
}

// carry gives a carried value its initial value a.
func (b *builder) carry(dst *Buffer, a ir.Arg, from []Origin) error {
	v, err := tensor(a, "what a loop carries")
	if err != nil {
		return err
	}
	return b.initialise(dst, v, from)
}

// results gives every result of n a buffer, unread ones too, since the regions
// write them.
func (b *builder) results(n *ir.Node) []*Buffer {
	bufs := make([]*Buffer, len(n.Outputs))
	for i, v := range n.Outputs {
		bufs[i] = b.fresh(v)
	}
	return bufs
}

func (b *builder) cond(n *ir.Node) error {
	pred, err := tensor(n.Args[0].Value, "the predicate")
	if err != nil {
		return err
	}
	from := []Origin{originOf(n)}
	outs := b.results(n)
	c := &Cond{Pred: b.buffer(pred), From: from}
	if c.Then, err = b.region(n.Regions[0], outs, from); err != nil {
		return err
	}
	if c.Else, err = b.region(n.Regions[1], outs, from); err != nil {
		return err
	}
	b.emit(c)
	return nil
}

// while: the results double as the carried values.
func (b *builder) while(n *ir.Node) error {
	head, body := n.Regions[0], n.Regions[1]
	from := []Origin{originOf(n)}
	carried := b.results(n)
	inits, ok := n.Args[0].Value.(ir.List)
	if !ok || len(inits) != len(carried) {
		return fmt.Errorf("carried values do not match the results")
	}
	for i, a := range inits {
		if err := b.carry(carried[i], a, from); err != nil {
			return err
		}
		b.bufs[head.Inputs[i]], b.bufs[body.Inputs[i]] = carried[i], carried[i]
	}
	w := &While{From: from}
	var err error
	if w.Head, err = b.inBlock(head, func() error {
		w.Pred, err = b.result(head.Outputs[0])
		return err
	}); err != nil {
		return err
	}
	if w.Body, err = b.region(body, carried, from); err != nil {
		return err
	}
	b.emit(w)
	return nil
}

// scan args are the lists init and xs and the bool reverse; the region takes
// the carried values and one slice of each xs along dimension 0, and returns
// the new carried values and one slice of each stacked result.
func (b *builder) scan(n *ir.Node) error {
	body := n.Regions[0]
	from := []Origin{originOf(n)}
	inits, _ := n.Arg("init").(ir.List)
	xs, _ := n.Arg("xs").(ir.List)
	reverse, _ := n.Arg("reverse").(ir.BoolArg)
	if len(xs) == 0 || len(body.Inputs) != len(inits)+len(xs) {
		return fmt.Errorf("the region's parameters do not match the operands")
	}
	outs := b.results(n)
	operands := make([]*ir.Value, len(xs))
	var err error
	for i, a := range xs {
		if operands[i], err = tensor(a, "an operand"); err != nil {
			return err
		}
	}
	extent := operands[0].Type.Sizes[0]
	f := &For{Var: sym.NewVar("t", extent), Extent: extent, Reverse: bool(reverse), From: from}
	slice := func(of *Buffer, v *ir.Value, name string) *Buffer {
		return viewOf(of, name, v.Type.Sizes, sym.Mul(f.Var.Expr(), numel(v)))
	}
	dsts := make([]*Buffer, len(outs))
	for i, a := range inits {
		if err := b.carry(outs[i], a, from); err != nil {
			return err
		}
		b.bufs[body.Inputs[i]], dsts[i] = outs[i], outs[i]
	}
	for i, v := range operands {
		in := body.Inputs[len(inits)+i]
		b.bufs[in] = slice(b.buffer(v), in, in.Name)
	}
	for i := len(inits); i < len(outs); i++ {
		v, err := tensor(body.Outputs[i], "what the region returns")
		if err != nil {
			return err
		}
		dsts[i] = slice(outs[i], v, outs[i].Name+"_t")
	}
	if f.Body, err = b.region(body, dsts, from); err != nil {
		return err
	}
	b.emit(f)
	return nil
}
