package portable

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/rt"
)

// interpreted runs a call whose course data decides: how large its results are,
// or how often a loop runs. It allocates.
type interpreted struct {
	v      *variant
	node   *ir.Node
	inputs []*ir.Value
}

func (v *variant) interpreted(n *ir.Node, bound *ops.Call) *interpreted {
	x := &interpreted{v: v, node: n, inputs: bound.Operands()}
	for i, t := range bound.Outs {
		x.node.Outputs = append(x.node.Outputs, &ir.Value{Name: fmt.Sprintf("r%d", i), Type: t,
			Def: x.node, Index: i})
	}
	return x
}

func (x *interpreted) execute(p *call, done <-chan struct{}) (err error) {
	defer must.Catch(&err)
	m := interp.New(p.table)
	m.Done = done
	taken := int64(0)
	m.Reserve = func(n int64) error {
		err := p.c.Reserve(n)
		if err == nil {
			taken += n
		}
		return err
	}
	defer func() { _ = p.c.Reserve(-taken) }()
	for j, value := range x.inputs {
		o := &x.v.operands[j]
		t := o.slot.Tensor
		if t == nil || len(t.Data) != o.bytes {
			return p.noMemory(j)
		}
		data := append([]byte{}, t.Data...)
		if o.order != nil {
			data = p.cache.reordered(o.typ, o.order, data)
		}
		m.Set(value, interp.Tensor(t.DType, t.Sizes, data))
	}
	if err := m.Node(x.node); errors.Is(err, interp.ErrAssert) {
		return fmt.Errorf("%s: %w: %w", p.file, rt.ErrInvalidArgument, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", p.file, err)
	}
	for i, value := range x.node.Outputs {
		got, err := m.Get(value)
		if err != nil {
			return err
		}
		to := p.to[i].Tensor
		if err := to.Resize(got.Tensor.Sizes); err != nil {
			return fmt.Errorf("%s: result %d: %w", p.file, i, err)
		}
		order := orderOf(to)
		data := got.Tensor.Data
		if order != nil {
			l := p.cache.reorder(ir.StaticTensor(to.DType, to.Sizes...), nil, order)
			data = make([]byte, len(data))
			if err := l.run([][]byte{data, got.Tensor.Data}, nil); err != nil {
				return err
			}
		}
		if len(to.Data) != len(data) {
			return fmt.Errorf("%s: result %d of sizes %v has %d bytes of memory, needs %d", p.file,
				i, to.Sizes, len(to.Data), len(data))
		}
		copy(to.Data, data)
	}
	return nil
}
