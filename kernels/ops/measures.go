package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// measureOps compare vectors, and are other names of operators.
func measureOps() []entry {
	renamed := func(schema, op string) entry {
		out := derived(schema, sameAs(op))
		out.numbers = true
		return out
	}
	return []entry{
		derived("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				// Divides by norms of at least eps.
				x, y := c.Value("x1"), c.Value("x2")
				d := must(c.Promote("x1", "x2"))
				sizes, ok := Broadcast(x.Type, y.Type)
				c.errorIf(!ok || !d.IsFloat(), "vectors of %s in %s", d, sizesOf{x.Type, y.Type})
				dim := must(c.Int("dim"))
				// Each operand is as long as the result before it is measured, as in PyTorch.
				unit := func(v *ir.Value) *ir.Value {
					v = b.aten("expand", b.cast(v, d), sizes)
					norm := b.aten("linalg_vector_norm", v, 2, []int64{dim}, true)
					return b.div(v, b.aten("clamp", norm, c.Arg("eps")))
				}
				return b.aten("sum.dim_IntList", b.mul(unit(x), unit(y)), []int64{dim})
			}),
		derived("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float "+
			"eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.distance(c, "x1", "x2", c.Bool("keepdim"))
			}),
		derived("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
			sameAs("aten._cdist_forward.default")),
		derived("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				d := must(c.Int("dim"))
				return b.aten("sum.dim_IntList", b.mul(c.Value("x"), c.Value("y")), []int64{d})
			}),
		derived("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
			func(b *Builder, c *Call) *ir.Value { return crossProduct(b, c, "dim") }),
		derived("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, "+
			"Tensor? bias=None) -> Tensor", bilinear),
		isIn(".Tensor_Tensor(Tensor elements, Tensor test_elements"),
		isIn(".Tensor_Scalar(Tensor elements, Scalar test_element"),
		isIn(".Scalar_Tensor(Scalar element, Tensor test_elements"),
		renamed("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", "aten.xlogy.Tensor"),
		renamed("aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
			"aten.xlogy.Scalar_Other"),
		renamed("aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
			"aten.xlogy.Scalar_Self"),
		derived("aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				if must(c.Int("decimals")) == 0 {
					return b.aten("round", c.Value("self"))
				}
				return b.aten("round.decimals", c.Value("self"), Kw("decimals", c.Arg("decimals")))
			}),
	}
}

// isIn compares every element with every one to look for.
func isIn(args string) entry {
	return derived("aten::isin"+args+", *, bool assume_unique=False, bool invert=False) -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			schema := c.Op.sch
			x, tests := c.Args[0], c.Args[1]
			var found *ir.Value
			switch {
			case schema.Args[0].Type.Name != "Tensor":
				found = b.aten("any", b.aten("eq.Scalar", tests, x))
			case schema.Args[1].Type.Name != "Tensor":
				found = b.aten("eq.Scalar", x, tests)
			default:
				found = b.aten("any.dim", b.aten("eq.Tensor", b.aten("unsqueeze", x, -1),
					b.aten("reshape", tests, []int{-1})), -1)
			}
			if c.Bool("invert") {
				found = b.aten("logical_not", found)
			}
			return found
		})
}

// crossProduct rolls both operands one way and the other.
func crossProduct(b *Builder, c *Call, dim string) *ir.Value {
	return crossAlong(b, c, c.dim(dim, c.Tensor("self").Rank()))
}

// crossAlong is the product of the vectors along dimension d.
func crossAlong(b *Builder, c *Call, d int) *ir.Value {
	x, y := c.Value("self"), c.Value("other")
	c.errorIf(x.Type.Rank() != y.Type.Rank() || x.Type.Rank() == 0 || !x.Type.Sizes[d].Is(3) ||
		!y.Type.Sizes[d].Is(3), "the cross product of %s", sizesOf{x.Type, y.Type})
	roll := func(v *ir.Value, by int) *ir.Value { return b.aten("roll", v, []int{by}, []int{d}) }
	return b.sub(b.mul(roll(x, -1), roll(y, -2)), b.mul(roll(x, -2), roll(y, -1)))
}

// bilinear is input1ᵀ·weight·input2 for every output feature.
func bilinear(b *Builder, c *Call) *ir.Value {
	x, y, w := c.Value("input1"), c.Value("input2"), c.Value("weight")
	n := x.Type.Rank() - 1
	c.errorIf(n < 0 || y.Type.Rank() != n+1 || w.Type.Rank() != 3, "%s", sizesOf{x.Type, y.Type,
		w.Type})
	rows := func(v *ir.Value) *ir.Value {
		return b.aten("reshape", v, []sym.Expr{sym.Mul(v.Type.Sizes[:n]...), v.Type.Sizes[n]})
	}
	// Of every row the products of each feature of one with each of the other.
	products := b.mul(b.aten("unsqueeze", rows(x), 2), b.aten("unsqueeze", rows(y), 1))
	both := sym.Mul(w.Type.Sizes[1], w.Type.Sizes[2])
	flat := b.aten("reshape", products, []sym.Expr{sym.Mul(x.Type.Sizes[:n]...), both})
	weight := b.aten("permute", b.aten("reshape", w,
		[]sym.Expr{w.Type.Sizes[0], both}), []int{1, 0})
	out := b.aten("reshape", b.aten("mm", flat, weight),
		append(slices.Clone(x.Type.Sizes[:n]), w.Type.Sizes[0]))
	if c.Has("bias") {
		out = b.add(out, c.Value("bias"))
	}
	return out
}

// distance is the norm of order p of the difference of two arguments, moved by
// eps, along the last dimension.
func (b *Builder) distance(c *Call, x, y string, keep bool) *ir.Value {
	d := b.aten("add.Scalar", b.sub(c.Value(x), c.Value(y)), c.Arg("eps"))
	return b.aten("linalg_vector_norm", d, c.Arg("p"), []int{-1}, keep)
}

// distanceOps measure between rows.
func distanceOps() []entry {
	return []entry{
		// cdistForward is the distance of every row of x1 to every row of x2.
		{
			Schema: "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				a, b := c.Tensor("x1"), c.Tensor("x2")
				c.normOrder()
				c.errorIf(!a.DType.IsFloat() || a.DType != b.DType, "operands of %s and %s",
					a.DType, b.DType)
				m, n := a.Rank(), b.Rank()
				c.errorIf(m < 2 || n < 2 || differ(a.Sizes[m-1], b.Sizes[n-1]), "rows of %s",
					sizesOf{a, b})
				batch, ok := Broadcast(ir.Type{Sizes: a.Sizes[:m-2]}, ir.Type{Sizes: b.Sizes[:n-2]})
				c.errorIf(!ok, "%s do not broadcast", sizesOf{a, b})
				return []ir.Type{ir.TensorOf(a.DType, append(slices.Clone(batch), a.Sizes[m-2],
					b.Sizes[n-2])...)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				p := c.normOrder()
				out := c.Outs[0]
				m := opmath(out.DType)
				batch := len(at) - 2
				k := sym.NewVar("k", c.Tensor("x1").Sizes[c.Tensor("x1").Rank()-1])
				row := func(name string, r sym.Expr) *expr.Expr {
					t := c.Tensor(name)
					lead := t
					lead.Sizes = t.Sizes[:t.Rank()-2]
					return expr.Cast(m, c.Load(name, append(broadcastCoords(lead, out.Sizes[:batch],
						at[:batch]), r, k.Expr())...))
				}
				part, kind, root := normStep(p)
				sum := expr.Reduction(kind, []*sym.Symbol{k},
					part(expr.Sub(row("x1", at[batch]), row("x2", at[batch+1]))))
				return root(sum)
			}),
		}, pdistForward()}
}

// normStep is the part of the p-norm that a component of a difference adds and
// how the parts come together; root ends it.
func normStep(p float64) (part func(*expr.Expr) *expr.Expr, kind expr.ReduceKind,
	root func(*expr.Expr) *expr.Expr) {
	same := func(x *expr.Expr) *expr.Expr { return x }
	switch p {
	case 0:
		return func(x *expr.Expr) *expr.Expr { return expr.Cast(x.DType, expr.Ne(x, like(x, 0))) },
			expr.ReduceSum, same
	case 1:
		return expr.Abs, expr.ReduceSum, same
	case 2:
		return func(x *expr.Expr) *expr.Expr { return expr.Mul(x, x) }, expr.ReduceSum, expr.Sqrt
	case inf:
		return expr.Abs, expr.ReduceMax, func(x *expr.Expr) *expr.Expr {
			return expr.Max(like(x, 0), x)
		}
	}
	return func(x *expr.Expr) *expr.Expr { return power(expr.Abs(x), like(x, p)) }, expr.ReduceSum,
		func(x *expr.Expr) *expr.Expr { return power(x, like(x, 1/p)) }
}

// normOrder returns argument p, not negative.
func (c *Call) normOrder() float64 {
	p := must(c.Float("p"))
	c.errorIf(!(p >= 0), "a norm of order %v", p)
	return p
}

// pdistForward is the distance of every row to each later one, in the order of
// the rows.
func pdistForward() entry {
	return entry{
		Schema: "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			c.normOrder()
			c.errorIf(!t.DType.IsFloat() || t.Rank() != 2, "rows of a %s tensor with %d dimensions",
				t.DType, t.Rank())
			n := t.Sizes[0]
			return []ir.Type{ir.TensorOf(t.DType, sym.FloorDiv(sym.Mul(n, sym.Sub(n, sym.Int(1))),
				sym.Int(2)))}
		},
		Loops: func(c *Call) *loop.Func {
			p := c.normOrder()
			t, out := c.Tensor("self"), c.Outs[0]
			m := opmath(t.DType)
			it := indexDType(sym.Max(t.Numel(), out.Numel()))
			i := sym.NewVar("i", t.Sizes[0])
			j := sym.NewVar("j", sym.Sub(sym.Sub(t.Sizes[0], sym.Int(1)), i.Expr()))
			k := sym.NewVar("k", t.Sizes[1])
			x := func(row sym.Expr) *expr.Expr {
				return expr.Cast(m, expr.At(1, t.DType, sym.RowMajor(t.Sizes,
					[]sym.Expr{row, k.Expr()})))
			}
			part, kind, root := normStep(p)
			d := part(expr.Sub(x(i.Expr()), x(sym.Add(i.Expr(), j.Expr(), sym.Int(1)))))
			acc, at := &expr.Var{Name: "acc", DType: m}, newCounter("at", it)
			next := expr.Add(expr.Get(acc), d)
			if kind == expr.ReduceMax {
				next = expr.Select(expr.Or(expr.IsNaN(d), expr.Gt(d, expr.Get(acc))), d,
					expr.Get(acc))
			}
			bind, place := index("place", at.get(), out.Sizes[0])
			return &loop.Func{Name: "pdist", Bufs: c.buffers(), Body: []loop.Stmt{
				at.start(expr.Int(it, 0)),
				&loop.For{Var: i, Extent: t.Sizes[0],
					Body: []loop.Stmt{&loop.For{Var: j, Extent: expr.Extent(j), Body: []loop.Stmt{
						&loop.Let{Var: acc, Value: expr.Num(m, 0), Mutable: true},
						&loop.For{Var: k, Extent: t.Sizes[1],
							Body: []loop.Stmt{&loop.Assign{Var: acc,
								Value: next}}},
						bind,
						&loop.Store{Buf: 0, At: place, Value: expr.Cast(t.DType,
							root(expr.Get(acc)))},
						at.add(1),
					}}}},
			}}
		},
	}
}
