package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// indexes checks that a dimension of n elements may be indexed by idx: where there
// is an index there must be an element, since it is clamped to the nearest one. A
// dimension whose size data decides has room for its bound, whatever it is.
func (c *Call) indexes(idx ir.Type, n sym.Expr) error {
	if sym.Less(sym.Int(0), n) || idx.Numel().IsZero() || DataDecides(n) {
		return nil
	}
	return c.Errorf("%s index a dimension of %s elements, which may have none",
		describeSizes([]ir.Type{idx}), n)
}

// indexTensor checks that a tensor holds indices.
func (c *Call) indexTensor(name string) (ir.Type, error) {
	t := c.Tensor(name)
	if !t.DType.IsInt() {
		return t, c.Errorf("%s of dtype %s are no indices", name, t.DType)
	}
	return t, nil
}

// advanced is an indexing by a list of tensors, one per leading dimension of
// self, None for those that are kept whole.
type advanced struct {
	self   ir.Type
	at     []int      // operand by dimension of self, -1 for None
	common []sym.Expr // what the index tensors broadcast to
	first  int        // dimension of the result where common stands
	sizes  []sym.Expr // of the result
}

// advancedOf reads the indices argument.
func advancedOf(c *Call) (*advanced, error) {
	a := &advanced{self: c.Tensor("self")}
	list, ok := c.Arg("indices").(ir.List)
	if !ok {
		return nil, c.Errorf("indices is no list")
	}
	k := c.Operand("indices")
	var ts []ir.Type
	var dims []int
	for d, x := range list {
		if _, none := x.(ir.None); none {
			a.at = append(a.at, -1)
			continue
		}
		t := c.operands[k].Type
		if !t.DType.IsInt() {
			return nil, c.Errorf("an index of dtype %s", t.DType)
		}
		a.at = append(a.at, k)
		ts = append(ts, t)
		dims = append(dims, d)
		k++
	}
	if len(a.at) > a.self.Rank() {
		return nil, c.Errorf("%d indices of a tensor with %d dimensions", len(a.at), a.self.Rank())
	}
	for len(a.at) < a.self.Rank() {
		a.at = append(a.at, -1)
	}
	if a.common, ok = Broadcast(ts...); !ok {
		return nil, c.Errorf("%s do not broadcast", describeSizes(ts))
	}
	for d, k := range a.at {
		if k >= 0 {
			check(c.indexes(ir.Type{Sizes: a.common}, a.self.Sizes[d]))
		}
	}
	// Indices that stand together keep their place, others come first.
	if n := len(dims); n > 0 && dims[n-1]-dims[0] == n-1 {
		a.first = dims[0]
	}
	for d, k := range a.at {
		if k < 0 {
			a.sizes = append(a.sizes, a.self.Sizes[d])
		}
	}
	a.sizes = slices.Insert(a.sizes, a.first, a.common...)
	return a, nil
}

// coords returns the coordinates in self of element at of the result; index
// gives the value of an index operand at coordinates of its own.
func (a *advanced) coords(c *Call, at []sym.Expr,
	bind func(d int, index *expr.Expr) sym.Expr) []sym.Expr {
	in := make([]sym.Expr, len(a.at))
	lead := at[a.first : a.first+len(a.common)]
	rest := slices.Concat(at[:a.first], at[a.first+len(a.common):])
	for d, k := range a.at {
		if k < 0 {
			in[d], rest = rest[0], rest[1:]
			continue
		}
		in[d] = bind(d, c.LoadAt(k, broadcastCoords(c.operands[k].Type, a.common, lead)...))
	}
	return in
}

// indexEntry is advanced indexing.
func indexEntry(schema string) Op {
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			a := must(advancedOf(c))
			return []ir.Type{ir.TensorOf(a.self.DType, a.sizes...)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			a := must(advancedOf(c))
			vars, at := indexVars(c.Outs[0].Sizes)
			in := a.coords(c, at, func(d int, index *expr.Expr) sym.Expr {
				return c.boundIndex("at"+itoa(d), index, a.self.Sizes[d], true).Expr()
			})
			return []expr.Tensor{{DType: a.self.DType, Vars: vars, Body: c.Load("self", in...)}},
				nil
		},
		variant: func(c *Call) *Op {
			if hasMask(c) {
				return maskedIndex(schema)
			}
			return nil
		},
	}
}

// indexOps read elements at positions that other tensors hold.
func indexOps() []Op {
	return []Op{
		indexEntry("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"),
		indexEntry("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor").core(
			sameAs("aten.index.Tensor")),
		indexSelect(),
		gather(),
		embedding(),
		take().core(takeCore),
	}
}

func indexSelect() Op {
	return Op{
		Schema: "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			idx := must(c.indexTensor("index"))
			d, err := c.dim("dim", t.Rank())
			if err == nil && idx.Rank() > 1 {
				err = c.Errorf("an index with %d dimensions", idx.Rank())
			}
			if err != nil {
				return nil, err
			}
			sizes := slices.Clone(t.Sizes)
			if len(sizes) > 0 {
				err = c.indexes(idx, sizes[d])
				sizes[d] = idx.Numel()
			}
			return one(ir.TensorOf(t.DType, sizes...), err)
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t, idx := c.Tensor("self"), c.Tensor("index")
			d := must(c.dim("dim", t.Rank()))
			vars, at := indexVars(c.Outs[0].Sizes)
			if len(at) > 0 {
				at = slices.Clone(at)
				at[d] = c.boundIndex("at", c.Load("index", at[d : d+1][:idx.Rank()]...), t.Sizes[d],
					false).Expr()
			}
			return []expr.Tensor{{DType: t.DType, Vars: vars, Body: c.Load("self", at...)}}, nil
		},
	}
}

// gatherDim checks the index of gather and scatter against self, and of scatter
// against what is written.
func (c *Call) gatherDim() (d int, err error) {
	t := c.Tensor("self")
	idx, err := c.indexTensor("index")
	if err != nil {
		return 0, err
	}
	if d, err = c.dim("dim", t.Rank()); err != nil {
		return 0, err
	}
	if max(idx.Rank(), 1) != max(t.Rank(), 1) && !idx.Numel().IsZero() {
		return 0, c.Errorf("an index with %d dimensions of a tensor with %d", idx.Rank(), t.Rank())
	}
	if idx.Numel().IsZero() || t.Rank() == 0 || idx.Rank() == 0 {
		return d, nil
	}
	within := func(u ir.Type, but int) bool {
		for i, n := range idx.Sizes {
			if i != but && !sym.LessEq(n, u.Sizes[i]) {
				return false
			}
		}
		return true
	}
	if !within(t, d) {
		return 0, c.Errorf("an index of %s for a tensor of %s", describeSizes([]ir.Type{idx}),
			describeSizes([]ir.Type{t}))
	}
	if k := c.Op.sch.Index("src"); k >= 0 && c.first[k] >= 0 {
		if src := c.Tensor("src"); src.Rank() != idx.Rank() || !within(src, -1) {
			return 0, c.Errorf("an index of %s for %s of what is written",
				describeSizes([]ir.Type{idx}), describeSizes([]ir.Type{src}))
		}
	}
	return d, c.indexes(idx, t.Sizes[d])
}

func gather() Op {
	return Op{
		Schema: "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			must(c.gatherDim())
			return []ir.Type{ir.TensorOf(c.Tensor("self").DType, c.Tensor("index").Sizes...)}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t, idx := c.Tensor("self"), c.Tensor("index")
			d := must(c.gatherDim())
			vars, at := indexVars(idx.Sizes)
			in := make([]sym.Expr, t.Rank())
			copy(in, at)
			if t.Rank() > 0 && !idx.Numel().IsZero() {
				in[d] = c.boundIndex("at", c.Load("index", at...), t.Sizes[d], false).Expr()
			}
			return []expr.Tensor{{DType: t.DType, Vars: vars, Body: c.Load("self", in...)}}, nil
		},
	}
}

func embedding() Op {
	return Op{
		Schema: "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			w := c.Tensor("weight")
			idx, err := c.indexTensor("indices")
			if err == nil && w.Rank() != 2 {
				err = c.Errorf("a weight with %d dimensions", w.Rank())
			}
			if err == nil {
				err = c.indexes(idx, w.Sizes[0])
			}
			if err != nil {
				return nil, err
			}
			return []ir.Type{ir.TensorOf(w.DType, append(slices.Clone(idx.Sizes), w.Sizes[1])...)},
				nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			w := c.Tensor("weight")
			vars, at := indexVars(c.Outs[0].Sizes)
			n := len(at) - 1
			row := c.boundIndex("row", c.Load("indices", at[:n]...), w.Sizes[0], false).Expr()
			return []expr.Tensor{{DType: w.DType, Vars: vars, Body: c.Load("weight", row, at[n])}},
				nil
		},
	}
}

// take indexes the flattened tensor.
func take() Op {
	return Op{
		Schema: "aten::take(Tensor self, Tensor index) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			idx, err := c.indexTensor("index")
			if err == nil {
				err = c.indexes(idx, c.Tensor("self").Numel())
			}
			return one(ir.TensorOf(c.Tensor("self").DType, idx.Sizes...), err)
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("self")
			vars, at := indexVars(c.Outs[0].Sizes)
			flat := c.boundIndex("at", c.Load("index", at...), t.Numel(), true)
			return []expr.Tensor{{DType: t.DType, Vars: vars, Body: c.Load("self",
				unflatten(flat.Expr(), t.Sizes)...)}}, nil
		},
	}
}
