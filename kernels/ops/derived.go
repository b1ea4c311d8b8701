package ops

import (
	"sync"

	"github.com/etgen/etgen/ir"
)

// derivedOps are composites whose result types are those of what they
// decompose into, as in PyTorch, which has no kernels for them either. They are
// written in the operators of base.
func derivedOps(base [][]Op) []Op {
	all := append(lossOps(), combineOps()...)
	all = append(all, measureOps()...)
	for _, more := range [][]Op{marginLossOps(), quantileOps(), trapezoidOps(), fakeQuantOps(),
		embeddingBagOps(), seldomOps(), linalgOps(), linalgNormOps()} {
		all = append(all, more...)
	}
	table := sync.OnceValues(func() (*Table, error) { return NewTable(base...) })
	for i := range all {
		decompose := all[i].Decompose
		all[i].Infer = func(c *Call) ([]ir.Type, error) {
			t := must(table())
			return typesOf(t, c, decompose)
		}
	}
	return all
}

// derived is a composite with one result.
func derived(schema string, f func(*Builder, *Call) (*ir.Value, error)) Op {
	return Op{Schema: schema, Decompose: func(b *Builder,
		c *Call) ([]*ir.Value, error) {
		v, err := f(b, c)
		return []*ir.Value{v}, err
	}}
}

// typesOf decomposes c for the types of its results only.
func typesOf(t *Table, c *Call, decompose func(*Builder,
	*Call) ([]*ir.Value, error)) ([]ir.Type, error) {
	node := &ir.Node{Name: "composite", Op: c.Op.Name()}
	var types []ir.Type
	err := (&ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
		if n != node {
			return nil, true, nil
		}
		b := NewBuilder(t, e)
		return nil, false, b.Do(func() error {
			vs, err := decompose(b, c)
			for _, v := range vs {
				if err == nil {
					types = append(types, v.Type)
				}
			}
			return err
		})
	}}).Run(&ir.Method{Graph: &ir.Graph{Nodes: []*ir.Node{node}}})
	return types, err
}
