package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// A mask among the indices of advanced indexing stands for as many dimensions of
// self as it has, of which it picks the places where it is true. Such a call is
// another operator than the one on tensors of indices: how many places there are
// only the data tells. Binding makes that choice, see Op.variant.

// masked is an indexing by one mask, all other indices being None.
type masked struct {
	mask  *ir.Value
	first int        // dimension of self where the mask begins
	sizes []sym.Expr // of the result; at first the number of places, nil
}

// hasMask reports whether an argument indices holds a mask.
func hasMask(c *Call) bool {
	list, _ := c.Arg("indices").(ir.List)
	return slices.ContainsFunc(list, isMask)
}

func isMask(a ir.Arg) bool {
	r, ok := a.(ir.Ref)
	return ok && r.Value.Type.Kind == ir.TensorKind && (r.Value.Type.DType == ir.Bool ||
		r.Value.Type.DType == ir.Uint8)
}

// maskedOf reads the indices argument of a call that has a mask.
func maskedOf(c *Call) (*masked, error) {
	self, m := c.Tensor("self"), &masked{}
	list, _ := c.Arg("indices").(ir.List)
	for d, a := range list {
		switch _, none := a.(ir.None); {
		case none:
		case isMask(a) && m.mask == nil:
			m.mask, m.first = a.(ir.Ref).Value, d
		default:
			return nil,
				c.Errorf("a mask together with other indices; index by the one, then by the others")
		}
	}
	rank := m.mask.Type.Rank()
	if rank == 0 {
		return nil, c.Errorf("a mask without dimensions; use torch.where instead")
	}
	if rank+len(list)-1 > self.Rank() {
		return nil, c.Errorf("indices for %d dimensions of a tensor with %d", rank+len(list)-1,
			self.Rank())
	}
	for d, n := range m.mask.Type.Sizes {
		if differ(n, self.Sizes[m.first+d]) {
			return nil, c.Errorf("a mask of %s of a tensor of %s",
				describeSizes([]ir.Type{m.mask.Type}), describeSizes([]ir.Type{self}))
		}
	}
	m.sizes = slices.Concat(self.Sizes[:m.first], []sym.Expr{{}}, self.Sizes[m.first+rank:])
	return m, nil
}

// indices gives the indices that select n places, those that the mask picks.
func (m *masked) indices(b *Builder, at *ir.Value) ir.List {
	list := make(ir.List, 0, m.first+m.mask.Type.Rank())
	for range m.first {
		list = append(list, ir.None{})
	}
	for d := range m.mask.Type.Sizes {
		list = append(list, ir.Ref{Value: b.Op("aten.select.int", at, 1, d)})
	}
	return list
}

// maskedIndex is advanced indexing by a mask.
func maskedIndex(schema string) *Op {
	return &Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			m := must(maskedOf(c))
			m.sizes[m.first] = c.counted(0, m.first, m.mask.Type.Numel())
			return []ir.Type{ir.TensorOf(c.Tensor("self").DType, m.sizes...)}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			m := must(maskedOf(c))
			at := b.nonzero(m.mask, c.Outs[0].Sizes[m.first])
			return b.Ops("aten.index.Tensor", c.Value("self"), m.indices(b, at)), nil
		},
	}
}

// maskedPut is index_put with a mask: one value for all places, or one for each.
func maskedPut(schema string) *Op {
	return &Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			m := must(maskedOf(c))
			t, v := c.Tensor("self"), c.Tensor("values")
			if v.DType != t.DType {
				return nil, c.Errorf("values of %s for a tensor of %s", v.DType, t.DType)
			}
			m.sizes[m.first] = m.places(v)
			if !broadcastsTo(v, m.sizes) {
				return nil, c.Errorf("%s do not broadcast",
					describeSizes([]ir.Type{v, {Sizes: m.sizes}}))
			}
			return []ir.Type{likeType(t, t.DType)}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			m := must(maskedOf(c))
			self, v := c.Value("self"), c.Value("values")
			if n := m.places(v.Type); !n.Equal(sym.Int(1)) {
				return b.Ops("aten.index_put.default", self, m.indices(b, b.nonzero(m.mask, n)), v,
					c.Arg("accumulate")), nil
			}
			// The mask and the value stretched to the dimensions of self.
			one := sym.Int(1)
			sizes := slices.Concat(slices.Repeat([]sym.Expr{one}, m.first), m.mask.Type.Sizes,
				slices.Repeat([]sym.Expr{one}, len(m.sizes)-m.first-1))
			where := b.reshaped(m.mask, sizes...)
			if m.mask.Type.DType != ir.Bool {
				where = b.Op("aten.ne.Scalar", where, 0)
			}
			sizes = slices.Concat(slices.Repeat([]sym.Expr{one}, len(m.sizes)-v.Type.Rank()),
				v.Type.Sizes)
			sizes = slices.Insert(sizes, m.first, slices.Repeat([]sym.Expr{one},
				m.mask.Type.Rank()-1)...)
			v = b.reshaped(v, sizes...)
			if c.Bool("accumulate") {
				v = b.add(self, v)
			}
			return b.Ops("aten.where.self", where, v, self), nil
		},
	}
}

// places returns the number of places that values are for, 1 if there is one
// value for all of them.
func (m *masked) places(values ir.Type) sym.Expr {
	if d := values.Rank() - (len(m.sizes) - m.first); d >= 0 {
		return values.Sizes[d]
	}
	return sym.Int(1)
}
