package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// update starts the body of an operator that changes elements of a copy of
// self: buffer 0 is the result and holds self at entry.
func (c *Call) update(name string) *loop.Func {
	f := &loop.Func{Name: name, Bufs: c.buffers()}
	f.Bufs[0].Role, f.Bufs[0].Init = loop.InOut, len(c.Outs)+c.Operand("self")
	return f
}

// flatLoad returns the element of operand k at coords, in loop form.
func (c *Call) flatLoad(k int, coords []sym.Expr) *expr.Expr {
	t := c.operands[k].Type
	return expr.At(len(c.Outs)+k, t.DType, sym.RowMajor(t.Sizes, coords))
}

// merge gives the new value of an element from the old one and what is
// written to it, in the compute dtype.
type merge func(old, x *expr.Expr) *expr.Expr

func replaced(_, x *expr.Expr) *expr.Expr { return x }

func added(old, x *expr.Expr) *expr.Expr {
	if old.DType == ir.Bool {
		return expr.Or(old, x)
	}
	return expr.Add(old, x)
}

func multiplied(old, x *expr.Expr) *expr.Expr {
	if old.DType == ir.Bool {
		return expr.And(old, x)
	}
	return expr.Mul(old, x)
}

// write stores the combination of element at of buffer 0 and x.
func (c *Call) write(at sym.Expr, x *expr.Expr, f merge) loop.Stmt {
	d := c.Outs[0].DType
	m := opmath(d)
	old, wide := expr.Cast(m, expr.At(0, d, at)), expr.Cast(m, x)
	value := f(old, wide)
	if value == wide { // nothing is computed in the compute dtype
		value = x
	}
	return &loop.Store{Buf: 0, At: at, Value: expr.Cast(d, value)}
}

// indexPutEntry writes values to the elements that indices select, later ones
// over earlier ones, or adds them.
//
//go:noinline
func indexPutEntry(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			a := advancedOf(c)
			t, v := c.Tensor("self"), c.Tensor("values")
			c.errorIf(v.DType != t.DType, "values of %s for a tensor of %s", v.DType, t.DType)
			c.errorIf(!broadcastsTo(v, a.sizes), "%s do not broadcast",
				sizesOf{v, {Sizes: a.sizes}})
			return []ir.Type{likeType(t, t.DType)}
		},
		Loops: func(c *Call) *loop.Func {
			a := advancedOf(c)
			f := c.update("index_put")
			how := merge(replaced)
			if c.Bool("accumulate") {
				how = added
			}
			k := c.Operand("values")
			vars, at := indexVars(a.sizes)
			var body []loop.Stmt
			in := a.coords(c, at, func(d int, index *expr.Expr) sym.Expr {
				e, s := c.bindAt("at"+itoa(d), c.flat(index), a.self.Sizes[d], true)
				body = append(body, s)
				return e
			})
			v := c.flatLoad(k, broadcastCoords(c.Tensor("values"), a.sizes, at))
			body = append(body, c.write(sym.RowMajor(a.self.Sizes, in), v, how))
			f.Body = nest(vars, body...)
			return f
		},
		variant: func(c *Call) *entry {
			if hasMask(c) {
				return maskedPut(schema)
			}
			return nil
		},
	}
}

// flat turns loads of operands at coordinates into loads from buffers.
func (c *Call) flat(e *expr.Expr) *expr.Expr {
	return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLoad {
			return e
		}
		return c.flatLoad(e.Buf, e.Coords)
	})
}

// scatterEntry writes to the elements that index names along dim, one for each
// element of index, in row-major order. value gives what is written at coords.
//
//go:noinline
func scatterEntry(schema string, how func(c *Call) merge,
	value func(c *Call, at []sym.Expr) *expr.Expr) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			c.gatherDim()
			how(c)
			t := c.Tensor("self")
			if c.Op.sch.Index("src") >= 0 {
				d := c.Tensor("src").DType
				c.errorIf(d != t.DType, "src of %s for a tensor of %s", d, t.DType)
			}
			return []ir.Type{likeType(t, t.DType)}
		},
		Loops: func(c *Call) *loop.Func {
			t, idx := c.Tensor("self"), c.Tensor("index")
			d := c.gatherDim()
			f := c.update("scatter")
			if idx.Numel().IsZero() {
				return f
			}
			comb := how(c)
			vars, at := indexVars(idx.Sizes)
			in := make([]sym.Expr, t.Rank())
			copy(in, at)
			var body []loop.Stmt
			if t.Rank() > 0 {
				e, s := c.bindAt("at", c.flatLoad(c.Operand("index"), at), t.Sizes[d], false)
				in[d] = e
				body = append(body, s)
			}
			f.Body = nest(vars, append(body, c.write(sym.RowMajor(t.Sizes, in),
				value(c, at), comb))...)
			return f
		},
	}
}

// always makes the how of scatterEntry.
func always(f merge) func(*Call) merge {
	return func(*Call) merge { return f }
}

// namedReduce is the reduce argument of scatter: "add" or "multiply".
func namedReduce(c *Call) merge {
	switch how := c.Str("reduce"); how {
	case "add":
		return added
	case "multiply":
		return multiplied
	default:
		panic(c.Errorf("no reduction is called %q", how))
	}
}

func srcValue(c *Call, at []sym.Expr) *expr.Expr {
	k := c.Operand("src")
	in := make([]sym.Expr, c.operands[k].Type.Rank())
	copy(in, at)
	return c.flatLoad(k, in)
}

func scalarValue(c *Call, _ []sym.Expr) *expr.Expr {
	return c.number(c.Arg("value"), opmath(c.Outs[0].DType))
}

// scatterOps write elements at positions that other tensors hold.
func scatterOps() []entry {
	ops := []entry{
		indexPutEntry(
			"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> " +
				"Tensor"),
		indexPutEntry(
			"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, " +
				"bool accumulate=False) -> Tensor").core(indexPutCore),
		indexPutEntry(
			"aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, " +
				"bool unsafe=False) -> Tensor").core(indexPutCore),
		scatterEntry("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
			always(replaced), srcValue),
		scatterEntry(
			"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
			always(replaced), scalarValue),
		scatterEntry(
			"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, "+
				"str reduce) -> Tensor", namedReduce, srcValue).core(scatterReduceCore),
		scatterEntry(
			"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, "+
				"str reduce) -> Tensor", namedReduce, scalarValue).core(scatterReduceCore),
		scatterEntry("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
			always(added), srcValue),
	}
	return slices.Concat(ops, indexUpdateOps(), viewScatterOps())
}

// maskedScatter writes the elements of source, in order, to the elements of
// self where mask holds.
func maskedScatter() entry {
	return entry{
		Schema: "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			self, mask, src := c.Tensor("self"), c.Tensor("mask"), c.Tensor("source")
			sizes, ok := Broadcast(self, mask)
			c.errorIf(!ok || mask.DType != ir.Bool || src.DType != self.DType,
				"a mask of %s and a source of %s for a tensor of %s: %s", mask.DType, src.DType,
				self.DType, sizesOf{self, mask})
			t := likeType(self, self.DType)
			if len(sizes) != self.Rank() || !sym.AllEqual(sizes, self.Sizes) {
				t = ir.TensorOf(self.DType, sizes...)
			}
			if !src.Numel().IsZero() {
				c.indexes(mask, src.Numel())
			}
			return one(t)
		},
		Loops: func(c *Call) *loop.Func {
			f := &loop.Func{Name: "masked_scatter", Bufs: c.buffers()}
			out, src := c.Outs[0], c.Tensor("source")
			vars, at := indexVars(out.Sizes)
			load := func(name string) *expr.Expr {
				k := c.Operand(name)
				return c.flatLoad(k, broadcastCoords(c.operands[k].Type, out.Sizes, at))
			}
			flat := sym.RowMajor(out.Sizes, at)
			keep := []loop.Stmt{&loop.Store{Buf: 0, At: flat, Value: load("self")}}
			if src.Numel().IsZero() { // PyTorch takes it only where the mask picks none
				f.Body = nest(vars, keep...)
				return f
			}
			next := &expr.Var{Name: "next", DType: ir.Int64}
			from, s := clampedAt("from", expr.Get(next), src.Numel(), false)
			f.Body = append([]loop.Stmt{&loop.Let{Var: next, Value: expr.Int(ir.Int64, 0),
				Mutable: true}}, nest(vars, &loop.If{
				Cond: load("mask"),
				Then: []loop.Stmt{
					s,
					&loop.Store{Buf: 0, At: flat, Value: expr.At(1+c.Operand("source"),
						src.DType, from)},
					&loop.Assign{Var: next, Value: expr.Add(expr.Get(next), expr.Int(ir.Int64, 1))},
				},
				Else: keep,
			})...)
			return f
		},
	}
}

// indexPutCore is index_put under another name.
func indexPutCore(b *Builder, c *Call) *ir.Value {
	return b.aten("index_put", c.Value("self"), c.Arg("indices"), c.Value("values"),
		c.Arg("accumulate"))
}
