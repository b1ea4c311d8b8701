package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// inner is the sum over k < n of a(k)·b(k) in the compute dtype m.
func inner(m ir.DType, n sym.Expr, term func(k sym.Expr) (a, b *expr.Expr)) *expr.Expr {
	k := sym.NewVar("k", n)
	a, b := term(k.Expr())
	return expr.Sum([]*sym.Symbol{k}, expr.Mul(expr.Cast(m, a), expr.Cast(m, b)))
}

// product describes a matrix product: its operands, the sizes of the result
// and what is summed over.
type product struct {
	schema string
	// setup checks the operands and returns the sizes of the result, the extent
	// of the sum, and what is multiplied for element at of the result.
	setup func(c *Call) (sizes []sym.Expr, n sym.Expr)
	term  func(c *Call, at []sym.Expr, k sym.Expr) (a, b *expr.Expr)
	a, b  string // the arguments multiplied: they share a dtype
	// add names the argument that is added after scaling by beta, the product
	// having been scaled by alpha.
	add       string
	decompose func(*Builder, *Call) []*ir.Value
}

func (p product) op() entry {
	return entry{Schema: p.schema, Infer: p.infer, Compute: p.compute, Decompose: p.decompose}
}

func (p product) infer(c *Call) []ir.Type {
	d := c.Tensor(p.a).DType
	if e := c.Tensor(p.b).DType; d != e {
		panic(c.Errorf("the product of %s and %s", d, e))
	}
	c.errorIf(d == ir.Bool, "not defined on %s", d)
	sizes, _ := p.setup(c)
	if p.add != "" && c.Has(p.add) {
		t := c.Tensor(p.add)
		c.errorIf(t.DType != d, "%s of %s added to a product of %s", p.add, t.DType, d)
		c.errorIf(!broadcastsTo(t, sizes), "%s do not broadcast", sizesOf{t, {Sizes: sizes}})
	}
	return []ir.Type{ir.TensorOf(d, sizes...)}
}

func (p product) compute(c *Call) []expr.Tensor {
	_, n := p.setup(c)
	out := c.Outs[0]
	vars, at := indexVars(out.Sizes)
	m := opmath(out.DType)
	y := inner(m, n, func(k sym.Expr) (a, b *expr.Expr) { return p.term(c, at, k) })
	if p.add != "" && c.Has(p.add) {
		z := expr.Cast(m, c.elem(p.add, out.Sizes, at))
		if c.Op.sch.Index("beta") >= 0 {
			beta := c.number(c.Arg("beta"), m)
			y = scaled(y, c.number(c.Arg("alpha"), m))
			if isNumber(beta, 0) { // what is not added may be NaN
				z = nil
			} else {
				z = scaled(z, beta)
			}
		}
		if z != nil {
			y = expr.Add(y, z)
		}
	}
	return []expr.Tensor{{DType: out.DType, Vars: vars, Body: expr.Cast(out.DType, y)}}
}

func scaled(x, by *expr.Expr) *expr.Expr {
	if isNumber(by, 1) {
		return x
	}
	return expr.Mul(by, x)
}

// isNumber reports whether e is the constant x.
func isNumber(e *expr.Expr, x float64) bool {
	if e.Op != expr.OpConst {
		return false
	}
	if e.DType.IsFloat() {
		return e.Float == x
	}
	return float64(e.Int) == x
}

// matrices makes the setup of operands with the given ranks and dimensions
// that must agree: a's last dimension with b's one before the last, or its
// only one, and any before those.
//
//go:noinline
func matrices(a, b string, ra, rb int) func(c *Call) ([]sym.Expr, sym.Expr) {
	return func(c *Call) ([]sym.Expr, sym.Expr) {
		x, y := c.Tensor(a), c.Tensor(b)
		c.errorIf(x.Rank() != ra || y.Rank() != rb,
			"%s and %s have %d and %d dimensions, not %d and %d", a, b, x.Rank(), y.Rank(), ra, rb)
		kx, ky := ra-1, max(rb-2, 0)
		bad := differ(x.Sizes[kx], y.Sizes[ky])
		for d := range ra - 2 {
			bad = bad || differ(x.Sizes[d], y.Sizes[d])
		}
		c.errorIf(bad, "%s do not multiply", sizesOf{x, y})
		sizes := slices.Clone(x.Sizes[:kx])
		if rb >= 2 {
			sizes = append(sizes, y.Sizes[rb-1])
		}
		return sizes, x.Sizes[kx]
	}
}

// contract makes the term of matrices: a[…, i, k]·b[…, k, j].
//
//go:noinline
func contract(a, b string, ra, rb int) func(c *Call, at []sym.Expr,
	k sym.Expr) (*expr.Expr, *expr.Expr) {
	return func(c *Call, at []sym.Expr, k sym.Expr) (*expr.Expr, *expr.Expr) {
		x := append(slices.Clone(at[:ra-1]), k)
		y := append(slices.Clone(at[:max(rb-2, 0)]), k)
		if rb >= 2 {
			y = append(y, at[len(at)-1])
		}
		return c.Load(a, x...), c.Load(b, y...)
	}
}

// matmulOps are the products of vectors, matrices and batches of them.
func matmulOps() []entry {
	plain := func(schema, a, b string, ra, rb int, add string) entry {
		return product{schema: schema, a: a, b: b, add: add, setup: matrices(a, b, ra, rb),
			term: contract(a, b, ra, rb)}.op()
	}
	return []entry{
		plain("aten::mm(Tensor self, Tensor mat2) -> Tensor", "self", "mat2", 2, 2, ""),
		derived("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			x, y := c.Value("self"), c.Value("mat2")
			c.errorIf(x.Type.DType != ir.Int8 || y.Type.DType != ir.Int8, "matrices of %s and %s",
				x.Type.DType, y.Type.DType)
			return b.aten("mm", b.cast(x, ir.Int32), b.cast(y, ir.Int32))
		}),
		plain("aten::bmm(Tensor self, Tensor mat2) -> Tensor", "self", "mat2", 3, 3, ""),
		plain("aten::mv(Tensor self, Tensor vec) -> Tensor", "self", "vec", 2, 1,
			"").core(func(b *Builder, c *Call) *ir.Value {
			y := b.aten("mm", c.Value("self"), b.column(c.Value("vec")))
			return b.aten("squeeze.dim", y, 1)
		}),
		plain("aten::dot(Tensor self, Tensor tensor) -> Tensor", "self", "tensor", 1, 1,
			"").core(dotCore("tensor")),
		plain("aten::vdot(Tensor self, Tensor other) -> Tensor", "self", "other", 1, 1,
			"").core(dotCore("other")),
		plain("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "+
			"Scalar alpha=1) -> Tensor", "mat1", "mat2", 2, 2, "self"),
		plain("aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, "+
			"Scalar alpha=1) -> Tensor", "mat", "vec", 2, 1, "self").core(func(b *Builder,
			c *Call) *ir.Value {
			self := c.Value("self")
			if self.Type.Rank() == 1 {
				self = b.column(self)
			}
			y := b.aten("addmm", self, c.Value("mat"), b.column(c.Value("vec")),
				Kw("beta", c.Arg("beta")), Kw("alpha", c.Arg("alpha")))
			return b.aten("squeeze.dim", y, 1)
		}),
		plain("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "+
			"Scalar alpha=1) -> Tensor", "batch1", "batch2", 3, 3, "self").core(baddbmmCore),
		linearProduct().op(),
		product{schema: chosenSchema, a: "self", b: "mat2", setup: chosenMatrices, term: chosenTerm,
			decompose: func(b *Builder, c *Call) []*ir.Value {
				w := b.aten("index_select", c.Value("mat2"), 0, c.Value("index"))
				y := b.aten("bmm", b.aten("unsqueeze", c.Value("self"), 1), w)
				return []*ir.Value{b.aten("squeeze.dim", y, 1)}
			}}.op(),
		derived("aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, "+
			"ScalarType? out_dtype=None) -> Tensor", groupedMatmul("self", "mat2")),
		derived("transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
			groupedMatmul("input", "weight")),
		derived("aten::matmul(Tensor self, Tensor other) -> Tensor", matmul),
		derived("aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, "+
			"Scalar alpha=1) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			// Sums over batches too: it is a product with the batches side by side.
			x, y := c.Value("batch1"), c.Value("batch2")
			s, u := x.Type.Sizes, y.Type.Sizes
			c.errorIf(len(s) != 3 || len(u) != 3 || differ(s[0], u[0]) || differ(s[2], u[1]),
				"%s do not multiply", sizesOf{x.Type, y.Type})
			x = b.aten("reshape", b.aten("permute", x, []int{1, 0, 2}),
				[]sym.Expr{s[1], sym.Mul(s[0], s[2])})
			y = b.aten("reshape", y, []sym.Expr{sym.Mul(u[0], u[1]), u[2]})
			return b.aten("addmm", c.Value("self"), x, y, Kw("beta", c.Arg("beta")),
				Kw("alpha", c.Arg("alpha")))
		}),
		binaryOuter("aten::outer(Tensor self, Tensor vec2) -> Tensor", "self", "vec2"),
	}
}

// binaryOuter multiplies every element of a vector with every one of another.
func binaryOuter(schema, a, b string) entry {
	return derived(schema, func(bl *Builder, c *Call) *ir.Value {
		x, y := c.Tensor(a), c.Tensor(b)
		c.errorIf(x.Rank() != 1 || y.Rank() != 1, "%d and %d dimensions, not vectors", x.Rank(),
			y.Rank())
		return bl.mul(bl.column(c.Value(a)), c.Value(b))
	})
}

// linearProduct is input · weightᵀ + bias, over the last dimension of input.
func linearProduct() product {
	return product{
		schema: "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
		a:      "input", b: "weight", add: "bias",
		setup: func(c *Call) ([]sym.Expr, sym.Expr) {
			x, w := c.Tensor("input"), c.Tensor("weight")
			c.errorIf(x.Rank() == 0 || w.Rank() != 1 && w.Rank() != 2, "%s do not multiply",
				sizesOf{x, w})
			n := x.Sizes[x.Rank()-1]
			c.errorIf(differ(n, w.Sizes[w.Rank()-1]), "%s do not multiply", sizesOf{x, w})
			return slices.Concat(x.Sizes[:x.Rank()-1], w.Sizes[:w.Rank()-1]), n
		},
		term: func(c *Call, at []sym.Expr, k sym.Expr) (*expr.Expr, *expr.Expr) {
			n := c.Tensor("input").Rank() - 1
			return c.Load("input", append(slices.Clone(at[:n]), k)...),
				c.Load("weight", append(slices.Clone(at[n:]), k)...)
		},
		decompose: linear,
	}
}

// linear folds the leading dimensions into one and multiplies matrices.
func linear(b *Builder, c *Call) []*ir.Value {
	x, w, bias := c.Value("input"), c.Value("weight"), c.Value("bias")
	if w.Type.Rank() == 1 {
		y := b.aten("matmul", x, w)
		if bias != nil {
			y = b.aten("add.Tensor", y, bias)
		}
		return []*ir.Value{y}
	}
	if x.Type.Rank() != 2 {
		x = b.aten("reshape", x, []sym.Expr{sym.Mul(x.Type.Sizes[:x.Type.Rank()-1]...),
			w.Type.Sizes[1]})
	}
	wt := b.aten("permute", w, []int{1, 0})
	var y *ir.Value
	if bias != nil {
		y = b.aten("addmm", bias, x, wt)
	} else {
		y = b.aten("mm", x, wt)
	}
	if c.Outs[0].Rank() != 2 {
		y = b.aten("view", y, c.Outs[0].Sizes)
	}
	return []*ir.Value{y}
}

// batchSizes returns the common sizes of the dimensions before the matrices.
func batchSizes(x, y ir.Type) ([]sym.Expr, bool) {
	lead := func(t ir.Type) ir.Type { return ir.Type{Sizes: t.Sizes[:max(t.Rank()-2, 0)]} }
	return Broadcast(lead(x), lead(y))
}

// matmul brings the product to one of dot, mv, mm and bmm. Matrices are in the last two
// dimensions, the ones before broadcast; a vector is a row on the left and a column on
// the right, and leaves no dimension.
func matmul(b *Builder, c *Call) *ir.Value {
	x, y := c.Value("self"), c.Value("other")
	rx, ry := x.Type.Rank(), y.Type.Rank()
	batch, ok := batchSizes(x.Type, y.Type)
	c.errorIf(!ok || rx == 0 || ry == 0 || differ(x.Type.Sizes[max(rx, 1)-1],
		y.Type.Sizes[max(ry-2, 0)]), "%s do not multiply", sizesOf{x.Type, y.Type})
	k := x.Type.Sizes[rx-1]
	sizes := slices.Concat(batch, x.Type.Sizes[max(rx-2, 0):rx-1], y.Type.Sizes[max(ry-1, 1):])
	switch {
	case rx == 1 && ry == 1:
		return b.aten("dot", x, y)
	case rx == 2 && ry == 1:
		return b.aten("mv", x, y)
	case rx == 1 && ry == 2:
		return b.aten("squeeze.dim", b.aten("mm", b.aten("unsqueeze", x, 0), y), 0)
	case rx == 2 && ry == 2:
		return b.aten("mm", x, y)
	case ry <= 2: // rows of all batches are rows of one matrix
		x = b.aten("reshape", x, []sym.Expr{sym.Mul(x.Type.Sizes[:rx-1]...), k})
		op := "aten.mm.default"
		if ry == 1 {
			op = "aten.mv.default"
		}
		return b.aten("view", b.Op(op, x, y), sizes)
	}
	if rx == 1 {
		x = b.aten("unsqueeze", x, 0)
	}
	flat := func(v *ir.Value) *ir.Value {
		n := v.Type.Rank()
		m := v.Type.Sizes[n-2:]
		if len(batch) == n-2 && len(batch) == 1 && v.Type.Sizes[0].Equal(batch[0]) {
			return v
		}
		v = b.aten("expand", v, slices.Concat(batch, m))
		return b.aten("reshape", v, slices.Concat([]sym.Expr{sym.Mul(batch...)}, m))
	}
	return b.aten("view", b.aten("bmm", flat(x), flat(y)), sizes)
}

// column is a vector as a matrix of one column.
func (b *Builder) column(x *ir.Value) *ir.Value { return b.aten("unsqueeze", x, 1) }

// dotCore is the product of a row and a column.
func dotCore(other string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		y := b.aten("mm", b.aten("unsqueeze", c.Value("self"), 0), b.column(c.Value(other)))
		return b.aten("view", y, []int{})
	}
}

// baddbmmCore is beta·self + alpha·(batch1 × batch2); where beta is 0 self does
// not matter, NaN or not.
func baddbmmCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	y := b.aten("bmm", c.Value("batch1"), c.Value("batch2"))
	is := func(name string, x float64) bool {
		v, err := c.Float(name)
		return err == nil && v == x
	}
	if is("beta", 0) {
		if is("alpha", 1) {
			return y
		}
		return b.cast(b.mul(y, c.Arg("alpha")), d)
	}
	self := c.Value("self")
	if !is("beta", 1) {
		self = b.mul(self, c.Arg("beta"))
	}
	return b.cast(b.aten("add.Tensor", self, y, Kw("alpha", c.Arg("alpha"))), d)
}

// chosenSchema is a product of each row of a matrix with a matrix of its own: mat2[index[i]].
const chosenSchema = "etgen::chosen_mm(Tensor self, Tensor mat2, Tensor index) -> Tensor"

func chosenMatrices(c *Call) ([]sym.Expr, sym.Expr) {
	x, y, index := c.Tensor("self"), c.Tensor("mat2"), c.Tensor("index")
	c.errorIf(x.Rank() != 2 || y.Rank() != 3 || index.Rank() != 1,
		"self, mat2 and index have %d, %d and %d dimensions, not 2, 3 and 1", x.Rank(), y.Rank(),
		index.Rank())
	c.errorIf(!index.DType.IsInt(), "an index of %s", index.DType)
	c.errorIf(differ(x.Sizes[1], y.Sizes[1]) || differ(x.Sizes[0], index.Sizes[0]),
		"%s do not multiply", sizesOf{x, y, index})
	c.needMatrices(y)
	return []sym.Expr{x.Sizes[0], y.Sizes[2]}, x.Sizes[1]
}

// needMatrices needs one matrix of y or more, for a row without one has no product.
func (c *Call) needMatrices(y ir.Type) {
	c.errorIf(y.Sizes[0].IsZero(), "there is no matrix")
	c.need(y.Sizes[0])
}

func chosenTerm(c *Call, at []sym.Expr, k sym.Expr) (a, b *expr.Expr) {
	n := c.Tensor("mat2").Sizes[0]
	which := c.boundIndex("which", c.Load("index", at[0]), n, false)
	return c.Load("self", at[0], k), c.Load("mat2", which.Expr(), k, at[1])
}

// groupedMatmul multiplies runs of rows with a matrix each; offs are the ends of the runs. Rows
// behind the last run are zeros. Without offs it is a product of batches.
func groupedMatmul(rows, matrices string) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		x, w := c.Value(rows), c.Value(matrices)
		for _, name := range []string{"bias", "out_dtype"} {
			c.errorIf(c.Op.sch.Index(name) >= 0 && c.Has(name), "with %s", name)
		}
		c.errorIf(w.Type.Rank() != 3, "matrices with %d dimensions", w.Type.Rank())
		if !c.Has("offs") {
			return b.aten("bmm", x, w)
		}
		c.errorIf(x.Type.Rank() != 2, "rows with %d dimensions", x.Type.Rank())
		c.needMatrices(w.Type)
		ends := c.Value("offs")
		c.errorIf(ends.Type.Rank() != 1 || differ(ends.Type.Sizes[0], w.Type.Sizes[0]),
			"%s of ends and matrices do not fit", sizesOf{ends.Type, w.Type})
		row := b.aten("arange", x.Type.Sizes[0], Kw("dtype", ends.Type.DType))
		group := b.aten("searchsorted.Tensor", ends, row, Kw("right", true))
		last := b.aten("clamp", group, nil, sym.Sub(w.Type.Sizes[0], sym.Int(1)))
		y := b.Op("etgen.chosen_mm.default", x, w, last)
		inside := b.aten("unsqueeze", b.aten("lt.Scalar", group, w.Type.Sizes[0]), 1)
		return b.where(inside, y, 0, y.Type.DType)
	}
}
