package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// delegate emits the call of a delegate. Its arguments are the node's, then its results, each of
// which is a tensor that the backend writes: the order of ExecuTorch.
func (b *builder) delegate(n *ir.Node) {
	name, ok := ir.Str(""), false
	if len(n.Args) > 0 {
		name, ok = n.Args[0].Value.(ir.Str)
	}
	d := b.program.DelegateNamed(string(name))
	if !ok || d == nil {
		must.Fail("the program has no delegate %s", foreign.Message(string(name)))
	}
	if d.Told > 0 {
		must.Fail("only delegate %s knows the sizes of its results, which a .pte does not say: compile "+
			"to C or Go", foreign.Message(d.Name))
	}
	c := &call{delegate: d, node: n.Name, loc: n.Loc}
	for i, a := range n.Args[1:] {
		s := must.At(func() *slot { return b.arg(a.Value, nil) }, "its argument %d", i)
		c.args = append(c.args, s)
		c.reads = append(c.reads, tensorsIn(s)...)
	}
	for i, v := range n.Outputs {
		if v == nil || v.Type.Kind != ir.TensorKind {
			must.Fail("its result %d is no tensor", i)
		}
		s := b.tensorSlot(v.Name, v.Type.Dense())
		b.vals[v] = s
		c.args, c.writes = append(c.args, s), append(c.writes, s)
	}
	b.emit(c)
}

// delegates are the delegates of a plan, one for each call, and the named data of all plans.
type delegates struct {
	named map[string]string // digests by keys
	data  []ir.NamedData
	// inline puts payloads into the flatbuffer.
	inline bool
}

// add returns what a plan says of d.
func (ds *delegates) add(d *ir.Delegate) pte.Delegate {
	for _, n := range d.Named {
		digest := must.At(func() string { return digestOf(n.Data) },
			"named data %s", foreign.Message(n.Key))
		switch known, ok := ds.named[n.Key]; {
		case !ok:
			ds.named[n.Key] = digest
			ds.data = append(ds.data, n)
		case known != digest:
			panic(fmt.Errorf("two delegates have different data called %s", foreign.Message(n.Key)))
		}
	}
	return pte.Delegate{ID: d.Backend, Processed: d.Processed, Specs: d.Specs,
		Inline: ds.inline || d.Processed.Size() == 0}
}
