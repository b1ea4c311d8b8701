package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Some operators have results whose size only the data of their operands
// decides. Infer gives such a size a symbol that ranges up to a bound. The
// operator decomposes into one that counts, the reading of that number, which
// gives the symbol its value, and operators that take the number as an
// argument. So the result's buffer has room for the bound, and everything
// behind works on the actual size as on any other dynamic one.
//
// A graph may record something else for such a size: a number, another size, or the
// symbol of a size that data decided before. Pass define-sizes asserts that it holds.

// Count is a dimension of a result whose size data decides.
type Count struct {
	Result, Dim int
	Most        sym.Expr // which it is never more than, whatever data is; 0: nothing follows
}

// Counts returns the dimensions of results whose sizes data decides. All of them have
// the size of the first one.
func (c *Call) Counts() []Count { return c.counts }

// counted returns size d of the first result, which data decides and which is at most
// bound: what the graph says it is, else a symbol of its own.
func (c *Call) counted(d int, bound sym.Expr) sym.Expr {
	return c.countedUpTo(d, bound, bound)
}

// countedUpTo is counted of a size that nothing bounds: room is made for assumed where the
// graph does not say a bound.
func (c *Call) countedUpTo(d int, bound, assumed sym.Expr) sym.Expr {
	c.counts = append(c.counts, Count{0, d, bound})
	if v := c.node.Output(0); v != nil && v.Type.Kind == ir.TensorKind && d < v.Type.Rank() {
		return v.Type.Sizes[d]
	}
	_, hi := assumed.Bounds()
	return sym.NewSymbol("u0", 0, max(hi, 0)).Expr()
}

// DataDecides reports whether n is the symbol of a size that data decides. PyTorch
// gives these names that begin with a u; the reader sees to it that no size of an
// input has such a name.
func DataDecides(n sym.Expr) bool {
	ss := n.Symbols()
	return len(ss) == 1 && strings.HasPrefix(ss[0].Name, "u") && n.Equal(ss[0].Expr())
}

// number reads a tensor with one element as the size e. That it is a constant is
// asserted here; anything else is for define-sizes.
func (b *Builder) number(x *ir.Value, e sym.Expr) ir.Arg {
	if n, ok := e.Const(); ok {
		b.assert(b.aten("eq.Scalar", x, n), wrongSize)
		return ir.Int(n)
	}
	return ir.Ref{Value: b.Emit("aten.item.default", []ir.NamedArg{{Name: "self",
		Value: ir.Ref{Value: x}}}, ir.SymInt(e)).Outputs[0]}
}

const wrongSize = "data gives the size that the file records"

// assert asserts that a tensor's one element is true.
func (b *Builder) assert(ok *ir.Value, message string) {
	b.Emit("aten._assert_async.msg", []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: ok}},
		{Name: "assert_msg", Value: ir.Str(message)}})
}

// CheckDecided emits the assertion that a number that only the run knows is e, or at most e.
func (b *Builder) CheckDecided(n *ir.Value, op string, e sym.Expr) error {
	return b.Do(func() error {
		_, err := b.Call("aten._assert_scalar.default", b.Op("_operator."+op, n, e), wrongSize)
		return err
	})
}

// dataSizeOps pick elements out by what they are.
func dataSizeOps() []entry {
	return []entry{
		// nonzeroStatic gives the coordinates of the first size elements that are not
		// zero, a row each, and fills up with fill_value.
		{
			Schema: "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				n := must(c.SymInt("size"))
				c.errorIf(sym.Less(n, sym.Int(0)), "%s elements", n)
				return []ir.Type{ir.TensorOf(ir.Int64, n, sym.Int(int64(c.Tensor("self").Rank())))}
			},
			Loops: func(c *Call) *loop.Func {
				t, size := c.Tensor("self"), c.Outs[0].Sizes[0]
				rank := sym.Int(int64(t.Rank()))
				it := indexDType(sym.Max(t.Numel(), size))
				at := newCounter("found", it)
				vars, coords := indexVars(t.Sizes)
				bind, row := index("row", at.get(), size)
				store := []loop.Stmt{bind}
				for d, x := range coords {
					store = append(store, &loop.Store{Buf: 0, At: sym.Add(sym.Mul(row, rank),
						sym.Int(int64(d))), Value: expr.Idx(ir.Int64, x)})
				}
				x := expr.Cast(ir.Bool, expr.At(1, t.DType, sym.RowMajor(t.Sizes, coords)))
				body := []loop.Stmt{&loop.If{Cond: expr.And(x, expr.Lt(at.get(),
					expr.Idx(it, size))), Then: append(store, at.add(1))}}
				for d := len(vars) - 1; d >= 0; d-- {
					body = []loop.Stmt{&loop.For{Var: vars[d], Extent: t.Sizes[d], Body: body}}
				}
				r, k := sym.NewVar("r", size), sym.NewVar("k", rank)
				rest := &loop.For{Var: r, Extent: size, Body: []loop.Stmt{&loop.If{
					Cond: expr.Ge(expr.Idx(it, r.Expr()), at.get()),
					Then: []loop.Stmt{&loop.For{Var: k, Extent: rank, Body: []loop.Stmt{
						&loop.Store{Buf: 0, At: sym.Add(sym.Mul(r.Expr(), rank), k.Expr()),
							Value: c.number(c.Arg("fill_value"), ir.Int64)},
					}}},
				}}}
				f := &loop.Func{Name: "nonzero", Bufs: c.buffers()}
				if t.Rank() > 0 {
					f.Body = append([]loop.Stmt{at.start(expr.Int(it, 0))}, append(body, rest)...)
				}
				return f
			},
			// Elements write their numbers to rows: what is zero, and what finds no row, to one
			// row more than there are.
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				t, size, fill := c.Tensor("self"), c.Outs[0].Sizes[0], c.Arg("fill_value")
				if t.Rank() == 0 {
					return []*ir.Value{b.aten("full", c.Outs[0].Sizes, fill, Kw("dtype", ir.Int64))}
				}
				found := b.aten("ne.Scalar", b.flattened(c.Value("self"), t.Sizes), 0)
				row := b.sub(b.aten("cumsum", b.cast(found, ir.Int64), 0), 1)
				row = b.aten("clamp", b.where(found, row, size, ir.Int64), Kw("max", size))
				none := b.aten("full", []sym.Expr{sym.Add(size, sym.Int(1))}, -1, Kw("dtype", ir.Int64))
				rows := b.aten("scatter.src", none, 0, row, b.aten("arange", t.Numel()))
				rows = b.aten("slice.Tensor", rows, 0, 0, size)
				filled := b.aten("lt.Scalar", rows, 0)
				coords := make([]*ir.Value, t.Rank())
				for d, rest := len(coords)-1, rows; d >= 0; d-- {
					n := sym.Max(t.Sizes[d], sym.Int(1)) // nothing is found where a size is 0
					coords[d] = b.where(filled, fill, b.aten("remainder.Scalar", rest, n), ir.Int64)
					rest = b.aten("div.Scalar_mode", rest, n, Kw("rounding_mode", "floor"))
				}
				return []*ir.Value{b.aten("stack", coords, 1)}
			},
		},
		nonzeroOp("aten::nonzero(Tensor self) -> Tensor"),
		nonzeroOp("aten::argwhere(Tensor self) -> Tensor"),
		{
			Schema: "aten::nonzero_numpy(Tensor self) -> Tensor[]",
			Infer: func(c *Call) []ir.Type {
				t := c.Tensor("self")
				at := ir.TensorOf(ir.Int64, c.counted(0, t.Numel()))
				return slices.Repeat([]ir.Type{at}, max(t.Rank(), 1))
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				x := c.Value("self")
				if x.Type.Rank() == 0 {
					x = b.aten("unsqueeze", x, 0)
				}
				return b.Ops("aten.unbind.int", b.nonzero(x, c.Outs[0].Sizes[0]), 1)
			},
		},
		repeatEach(),
		{
			Schema: "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t, m := c.Tensor("self"), c.Tensor("mask")
				c.errorIf(m.DType != ir.Bool, "a mask of %s", m.DType)
				sizes, ok := Broadcast(t, m)
				c.errorIf(!ok, "%s do not broadcast", sizesOf{t, m})
				return []ir.Type{ir.TensorOf(t.DType, c.counted(0, sym.Mul(sizes...)))}
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				sizes, _ := Broadcast(c.Tensor("self"), c.Tensor("mask"))
				at := b.nonzero(b.flattened(c.Value("mask"), sizes), c.Outs[0].Sizes[0])
				at = b.aten("select.int", at, 1, 0)
				return []*ir.Value{b.aten("index_select", b.flattened(c.Value("self"), sizes), 0,
					at)}
			},
		},
		// repeatPositions gives each position in repeats as often as the number there
		// says, size results in all.
		{
			Schema: "etgen::repeat_positions(Tensor repeats, SymInt size) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.indexTensor("repeats")
				c.errorIf(t.Rank() != 1, "repeats with %d dimensions, not one", t.Rank())
				return []ir.Type{ir.TensorOf(t.DType, must(c.SymInt("size")))}
			},
			Loops: func(c *Call) *loop.Func {
				t, size := c.Tensor("repeats"), c.Outs[0].Sizes[0]
				at, left := newCounter("at", ir.Int64), newCounter("left", ir.Int64)
				k := sym.NewVar("k", t.Sizes[0])
				bind, place := index("place", at.get(), size)
				fill := sym.NewVar("z", size)
				return &loop.Func{Name: "repeat_positions", Bufs: c.buffers(), Body: []loop.Stmt{
					at.start(expr.Int(ir.Int64, 0)),
					&loop.For{Var: k, Extent: t.Sizes[0], Body: []loop.Stmt{
						left.start(expr.Cast(ir.Int64, expr.At(1, t.DType, k.Expr()))),
						&loop.While{
							Cond: expr.And(expr.Gt(left.get(), expr.Int(ir.Int64, 0)),
								expr.Lt(at.get(), expr.Idx(ir.Int64, size))),
							Body: []loop.Stmt{
								bind,
								&loop.Store{Buf: 0, At: place, Value: expr.Cast(t.DType,
									expr.Idx(ir.Int64, k.Expr()))},
								at.add(1), left.add(-1),
							}},
					}},
					&loop.For{Var: fill, Extent: size, Body: []loop.Stmt{&loop.If{
						Cond: expr.Ge(expr.Idx(ir.Int64, fill.Expr()), at.get()),
						Then: []loop.Stmt{&loop.Store{Buf: 0, At: fill.Expr(),
							Value: expr.Int(t.DType, 0)}},
					}}},
				}}
			},
		},
		repeatInterleave(),
	}
}

func nonzeroOp(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			n := c.counted(0, t.Numel())
			out := ir.TensorOf(ir.Int64, n, sym.Int(int64(t.Rank())))
			// PyTorch finds coordinates a dimension at a time
			out.Strides = []sym.Expr{sym.Int(1), n}
			return []ir.Type{out}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			x := c.Value("self")
			count := b.aten("sum", b.aten("ne.Scalar", x, 0))
			size := b.number(count, c.Outs[0].Sizes[0])
			return []*ir.Value{b.aten("nonzero_static", x, Kw("size", size))}
		},
	}
}

// nonzero gives the coordinates of the n elements of x that are not zero.
func (b *Builder) nonzero(x *ir.Value, n sym.Expr) *ir.Value {
	out := ir.TensorOf(ir.Int64, n, sym.Int(int64(x.Type.Rank())))
	// PyTorch finds coordinates a dimension at a time
	out.Strides = []sym.Expr{sym.Int(1), n}
	return b.Emit("aten.nonzero.default", []ir.NamedArg{{Name: "self",
		Value: ir.Ref{Value: x}}}, out).Outputs[0]
}

// flattened gives the elements of x, broadcast to sizes, in one dimension.
func (b *Builder) flattened(x *ir.Value, sizes []sym.Expr) *ir.Value {
	return b.aten("reshape", b.aten("expand", x, sizes), []int64{-1})
}

// maxRepeated bounds the results of repeat_interleave where nothing else does.
const maxRepeated = 1 << 20

func repeatInterleave() entry {
	schema := "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor"
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.indexTensor("repeats")
			c.errorIf(t.Rank() != 1, "repeats with %d dimensions, not one", t.Rank())
			if !c.Has("output_size") {
				return []ir.Type{ir.TensorOf(t.DType, c.countedUpTo(0, sym.Int(0), sym.Int(maxRepeated)))}
			}
			return []ir.Type{ir.TensorOf(t.DType, must(c.SymInt("output_size")))}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			total := b.aten("sum", c.Arg("repeats"))
			size := b.number(total, c.Outs[0].Sizes[0])
			return b.Ops("etgen.repeat_positions.default", c.Arg("repeats"), size)
		},
	}
}

// repeatEach repeats each element of a tensor, or each slice along dim, as often as repeats says.
func repeatEach() entry {
	// operands are the tensor, the dimension and how often each slice comes.
	operands := func(c *Call) (t ir.Type, d int, repeats ir.Type) {
		t, repeats = c.Tensor("self"), c.indexTensor("repeats")
		if c.Has("dim") {
			d = c.dim("dim", t.Rank())
		}
		if !c.Has("dim") || t.Rank() == 0 {
			t = ir.TensorOf(t.DType, t.Numel())
		}
		c.errorIf(repeats.Rank() > 1 || !repeats.Numel().Is(1) && differ(repeats.Numel(), t.Sizes[d]),
			"%s for %s slices", sizesOf{repeats}, t.Sizes[d])
		return t, d, repeats
	}
	return entry{
		Schema: "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, " +
			"SymInt? output_size=None) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t, d, _ := operands(c)
			sizes := slices.Clone(t.Sizes)
			if c.Has("output_size") {
				sizes[d] = must(c.SymInt("output_size"))
			} else {
				sizes[d] = c.countedUpTo(d, sym.Int(0), sym.Int(maxRepeated))
			}
			return one(ir.TensorOf(t.DType, sizes...))
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			t, d, _ := operands(c)
			repeats := b.aten("expand", b.reshaped(c.Value("repeats"), c.Tensor("repeats").Numel()),
				t.Sizes[d:d+1])
			size := b.number(b.aten("sum", repeats), c.Outs[0].Sizes[d])
			at := b.Op("etgen.repeat_positions.default", repeats, size)
			return []*ir.Value{b.aten("index_select", b.reshaped(c.Value("self"), t.Sizes...), d, at)}
		},
	}
}
