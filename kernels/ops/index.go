package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// indexes checks that a dimension of n elements may be indexed by idx: where there
// is an index there must be an element, since it is clamped to the nearest one. A
// dimension whose size data decides has room for its bound, whatever it is.
func (c *Call) indexes(idx ir.Type, n sym.Expr) {
	if sym.Less(sym.Int(0), n) || idx.Numel().IsZero() || DataDecides(n) {
		return
	}
	panic(c.Errorf("%s index a dimension of %s elements, which may have none", sizesOf{idx}, n))
}

// indexTensor checks that a tensor holds indices.
func (c *Call) indexTensor(name string) ir.Type {
	t := c.Tensor(name)
	c.errorIf(!t.DType.IsInt(), "%s of dtype %s are no indices", name, t.DType)
	return t
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
func advancedOf(c *Call) *advanced {
	a := &advanced{self: c.Tensor("self")}
	list, ok := c.Arg("indices").(ir.List)
	c.errorIf(!ok, "indices is no list")
	k := c.Operand("indices")
	var ts []ir.Type
	var dims []int
	for d, x := range list {
		if _, none := x.(ir.None); none {
			a.at = append(a.at, -1)
			continue
		}
		t := c.operands[k].Type
		c.errorIf(!t.DType.IsInt(), "an index of dtype %s", t.DType)
		a.at = append(a.at, k)
		ts = append(ts, t)
		dims = append(dims, d)
		k++
	}
	c.errorIf(len(a.at) > a.self.Rank(), "%d indices of a tensor with %d dimensions", len(a.at),
		a.self.Rank())
	for len(a.at) < a.self.Rank() {
		a.at = append(a.at, -1)
	}
	if a.common, ok = Broadcast(ts...); !ok {
		panic(c.Errorf("%s do not broadcast", sizesOf(ts)))
	}
	for d, k := range a.at {
		if k >= 0 {
			c.indexes(ir.Type{Sizes: a.common}, a.self.Sizes[d])
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
	return a
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
func indexEntry(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			a := advancedOf(c)
			return []ir.Type{ir.TensorOf(a.self.DType, a.sizes...)}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			a := advancedOf(c)
			in := a.coords(c, at, func(d int, index *expr.Expr) sym.Expr {
				return c.boundIndex("at"+itoa(d), index, a.self.Sizes[d], true).Expr()
			})
			return c.Load("self", in...)
		}),
		variant: func(c *Call) *entry {
			if hasMask(c) {
				return maskedIndex(schema)
			}
			return nil
		},
	}
}

// indexOps read elements at positions that other tensors hold.
func indexOps() []entry {
	return []entry{
		indexEntry("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"),
		indexEntry("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor").core(
			sameAs("aten.index.Tensor")),
		{
			Schema: "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("self")
				idx := c.indexTensor("index")
				d := c.dim("dim", t.Rank())
				c.errorIf(idx.Rank() > 1, "an index with %d dimensions", idx.Rank())
				sizes := slices.Clone(t.Sizes)
				if len(sizes) > 0 {
					c.indexes(idx, sizes[d])
					sizes[d] = idx.Numel()
				}
				return []ir.Type{ir.TensorOf(t.DType, sizes...)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				t, idx := c.Tensor("self"), c.Tensor("index")
				d := c.dim("dim", t.Rank())
				if len(at) > 0 {
					at = slices.Clone(at)
					at[d] = c.boundIndex("at", c.Load("index", at[d : d+1][:idx.Rank()]...),
						t.Sizes[d], false).Expr()
				}
				return c.Load("self", at...)
			}),
		},
		{
			Schema: "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				c.gatherDim()
				return []ir.Type{ir.TensorOf(c.Tensor("self").DType, c.Tensor("index").Sizes...)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				t, idx := c.Tensor("self"), c.Tensor("index")
				d := c.gatherDim()
				in := make([]sym.Expr, t.Rank())
				copy(in, at)
				if t.Rank() > 0 && !idx.Numel().IsZero() {
					in[d] = c.boundIndex("at", c.Load("index", at...), t.Sizes[d], false).Expr()
				}
				return c.Load("self", in...)
			}),
		},
		embedding(),
		derived("aten::take(Tensor self, Tensor index) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			c.indexTensor("index") // a position in the flattened tensor
			self := c.Value("self")
			return b.aten("index.Tensor", b.reshaped(self, self.Type.Numel()),
				[]*ir.Value{c.Value("index")})
		}),
	}
}

// gatherDim checks the index of gather and scatter against self, and of scatter
// against what is written.
func (c *Call) gatherDim() (d int) {
	t := c.Tensor("self")
	idx := c.indexTensor("index")
	d = c.dim("dim", t.Rank())
	c.errorIf(max(idx.Rank(), 1) != max(t.Rank(), 1) && !idx.Numel().IsZero(),
		"an index with %d dimensions of a tensor with %d", idx.Rank(), t.Rank())
	if idx.Numel().IsZero() || t.Rank() == 0 || idx.Rank() == 0 {
		return d
	}
	within := func(u ir.Type, but int) bool {
		for i, n := range idx.Sizes {
			if i != but && !sym.LessEq(n, u.Sizes[i]) {
				return false
			}
		}
		return true
	}
	c.errorIf(!within(t, d), "an index of %s for a tensor of %s", sizesOf{idx}, sizesOf{t})
	if k := c.Op.sch.Index("src"); k >= 0 && c.first[k] >= 0 {
		if src := c.Tensor("src"); src.Rank() != idx.Rank() || !within(src, -1) {
			panic(c.Errorf("an index of %s for %s of what is written", sizesOf{idx}, sizesOf{src}))
		}
	}
	c.indexes(idx, t.Sizes[d])
	return d
}

func embedding() entry {
	return entry{
		Schema: "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, " +
			"bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			w := c.Tensor("weight")
			idx := c.indexTensor("indices")
			c.errorIf(w.Rank() != 2, "a weight with %d dimensions", w.Rank())
			c.indexes(idx, w.Sizes[0])
			return []ir.Type{ir.TensorOf(w.DType, append(slices.Clone(idx.Sizes), w.Sizes[1])...)}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			w := c.Tensor("weight")
			n := len(at) - 1
			row := c.boundIndex("row", c.Load("indices", at[:n]...), w.Sizes[0], false).Expr()
			return c.Load("weight", row, at[n])
		}),
	}
}

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
func maskedOf(c *Call) *masked {
	self, m := c.Tensor("self"), &masked{}
	list, _ := c.Arg("indices").(ir.List)
	for d, a := range list {
		switch _, none := a.(ir.None); {
		case none:
		case isMask(a) && m.mask == nil:
			m.mask, m.first = a.(ir.Ref).Value, d
		default:
			panic(c.Errorf(
				"a mask together with other indices; index by the one, then by the others"))
		}
	}
	rank := m.mask.Type.Rank()
	c.errorIf(rank == 0, "a mask without dimensions; use torch.where instead")
	c.errorIf(rank+len(list)-1 > self.Rank(), "indices for %d dimensions of a tensor with %d",
		rank+len(list)-1, self.Rank())
	for d, n := range m.mask.Type.Sizes {
		c.errorIf(differ(n, self.Sizes[m.first+d]), "a mask of %s of a tensor of %s",
			sizesOf{m.mask.Type}, sizesOf{self})
	}
	m.sizes = slices.Concat(self.Sizes[:m.first], []sym.Expr{{}}, self.Sizes[m.first+rank:])
	return m
}

// indices gives the indices that select n places, those that the mask picks.
func (m *masked) indices(b *Builder, at *ir.Value) ir.List {
	list := make(ir.List, 0, m.first+m.mask.Type.Rank())
	for range m.first {
		list = append(list, ir.None{})
	}
	for d := range m.mask.Type.Sizes {
		list = append(list, ir.Ref{Value: b.aten("select.int", at, 1, d)})
	}
	return list
}

// maskedIndex is advanced indexing by a mask.
func maskedIndex(schema string) *entry {
	return &entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			m := maskedOf(c)
			m.sizes[m.first] = c.counted(m.first, m.mask.Type.Numel())
			return []ir.Type{ir.TensorOf(c.Tensor("self").DType, m.sizes...)}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			m := maskedOf(c)
			at := b.nonzero(m.mask, c.Outs[0].Sizes[m.first])
			return b.Ops("aten.index.Tensor", c.Value("self"), m.indices(b, at))
		},
	}
}

// maskedPut is index_put with a mask: one value for all places, or one for each.
func maskedPut(schema string) *entry {
	return &entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			m := maskedOf(c)
			t, v := c.Tensor("self"), c.Tensor("values")
			c.errorIf(v.DType != t.DType, "values of %s for a tensor of %s", v.DType, t.DType)
			m.sizes[m.first] = m.places(v)
			c.errorIf(!broadcastsTo(v, m.sizes), "%s do not broadcast",
				sizesOf{v, {Sizes: m.sizes}})
			return []ir.Type{likeType(t, t.DType)}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			m := maskedOf(c)
			self, v := c.Value("self"), c.Value("values")
			if n := m.places(v.Type); !n.Equal(sym.Int(1)) {
				return b.Ops("aten.index_put.default", self, m.indices(b, b.nonzero(m.mask, n)), v,
					c.Arg("accumulate"))
			}
			// The mask and the value stretched to the dimensions of self.
			one := sym.Int(1)
			sizes := slices.Concat(slices.Repeat([]sym.Expr{one}, m.first), m.mask.Type.Sizes,
				slices.Repeat([]sym.Expr{one}, len(m.sizes)-m.first-1))
			where := b.reshaped(m.mask, sizes...)
			if m.mask.Type.DType != ir.Bool {
				where = b.aten("ne.Scalar", where, 0)
			}
			sizes = slices.Concat(slices.Repeat([]sym.Expr{one}, len(m.sizes)-v.Type.Rank()),
				v.Type.Sizes)
			sizes = slices.Insert(sizes, m.first, slices.Repeat([]sym.Expr{one},
				m.mask.Type.Rank()-1)...)
			v = b.reshaped(v, sizes...)
			if c.Bool("accumulate") {
				v = b.add(self, v)
			}
			return b.Ops("aten.where.self", where, v, self)
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

// AssertIndex is the operator that says that indices are within their bounds:
// self is one bool, assert_msg what is wrong if it does not hold. Where PyTorch
// would raise an error of an index, kernels take the nearest element; this is how
// a program asks for the error.
const AssertIndex = "etgen.assert_index.default"

const assertIndexSchema = "etgen::assert_index(Tensor self, str assert_msg) -> ()"

// Index is a tensor operand whose elements an operator takes for positions along
// a dimension.
type Index struct {
	Operand int      // index in Operands
	Size    sym.Expr // of the dimension
	Wrap    bool     // negative ones count from the end
}

// Indices returns the operands of c that hold indices, in the order in which the
// definition reads them. An operator that is defined by others has none.
func (c *Call) Indices() []Index {
	integers := slices.ContainsFunc(c.operands, func(v *ir.Value) bool {
		return v.Type.DType.IsInt()
	})
	if !integers || c.Op.Compute == nil && c.Op.Loops == nil {
		return nil
	}
	reading := *c
	reading.indices = &[]Index{}
	if c.Op.Compute != nil {
		if _, err := c.Op.Compute(&reading); err != nil {
			return nil // who compiles the call reports it
		}
	} else if _, err := c.Op.Loops(&reading); err != nil {
		return nil
	}
	return *reading.indices
}

// noteIndex notes that an element of an operand is an index, for Indices. What is
// computed otherwise is in bounds, or clamped by what the operator means. first
// is the number of operand 0 among the buffers that index loads from.
func (c *Call) noteIndex(index *expr.Expr, first int, n sym.Expr, wrap bool) {
	if c.indices == nil {
		return
	}
	for index.Op == expr.OpCast && index.Args[0].DType.IsInt() {
		index = index.Args[0]
	}
	if index.Op == expr.OpLoad && index.Buf >= first {
		*c.indices = append(*c.indices, Index{index.Buf - first, n, wrap})
	}
}

// boundIndex turns an index read from an operand into a coordinate of a dimension
// of size n; wrap lets negative ones count from the end.
func (c *Call) boundIndex(name string, index *expr.Expr, n sym.Expr, wrap bool) *sym.Symbol {
	c.noteIndex(index, 0, n, wrap)
	return clampedIndex(name, index, n, wrap)
}

// bindAt is boundIndex in loop form: it also returns the statement that computes
// the coordinate.
func (c *Call) bindAt(name string, index *expr.Expr, n sym.Expr, wrap bool) (sym.Expr, loop.Stmt) {
	c.noteIndex(index, len(c.Outs), n, wrap)
	return clampedAt(name, index, n, wrap)
}

// clampedIndex makes a number a coordinate of a dimension of size n. Where it is
// outside, the nearest element is taken, so that no kernel leaves its buffers.
func clampedIndex(name string, index *expr.Expr, n sym.Expr, wrap bool) *sym.Symbol {
	return expr.Bind(name, indexValue(index, n, wrap), n)
}

// clampedAt is clampedIndex in loop form.
func clampedAt(name string, index *expr.Expr, n sym.Expr, wrap bool) (sym.Expr, loop.Stmt) {
	s := sym.NewVar(name, n)
	return s.Expr(), &loop.LetIndex{Sym: s, Value: indexValue(index, n, wrap)}
}

func indexValue(index *expr.Expr, n sym.Expr, wrap bool) *expr.Expr {
	i := expr.Cast(ir.Int64, index)
	size, zero := expr.Idx(ir.Int64, n), expr.Int(ir.Int64, 0)
	if wrap {
		i = expr.Select(expr.Lt(i, zero), expr.Add(i, size), i)
	}
	return expr.Max(expr.Min(i, expr.Sub(size, expr.Int(ir.Int64, 1))), zero)
}

// CheckIndex emits the assertion that all elements of index are positions of a
// dimension; message is what is wrong if they are not.
func (b *Builder) CheckIndex(index *ir.Value, x Index, message string) error {
	return b.Do(func() error {
		var lo any = 0
		if x.Wrap {
			lo = sym.Neg(x.Size)
		}
		outside := b.aten("logical_or", b.aten("lt.Scalar", index, lo),
			b.aten("ge.Scalar", index, x.Size))
		inside := b.aten("logical_not", b.aten("any", outside))
		_, err := b.Call(AssertIndex, inside, message)
		return err
	})
}

// CheckSize emits the assertion that a size an operator needs is over 0.
func (b *Builder) CheckSize(size sym.Expr, op string) error {
	return b.Do(func() error {
		_, err := b.Call("aten._assert_scalar.default", b.Op("_operator.ge", size, 1),
			op+" needs "+size.String()+" > 0")
		return err
	})
}
