package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// modeOps tell what values are typical.
func modeOps() []entry {
	return []entry{
		nanMedianDim(),
		{
			Schema: "aten::nanmedian(Tensor self) -> Tensor",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				flat := b.aten("reshape", c.Arg("self"), []int64{-1})
				return b.Ops("aten.nanmedian.dim", flat, 0)[:1]
			},
		},
		modeOp(),
		histogram(),
		histogramOf(".bin_ct(Tensor self, int bins=100, *, float[]? range=None"),
		histogramOf(".bins_tensor(Tensor self, Tensor bins, *"),
	}
}

// histogramOf counts elements, or adds up their weights, between edges, which it returns too. The
// last bin has both of its edges.
//
//go:noinline
func histogramOf(args string) entry {
	return entry{
		Schema: "aten::histogram" + args +
			", Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			x := b.reshaped(c.Value("self"), c.Tensor("self").Numel())
			var edges *ir.Value
			if c.Operand("bins") >= 0 {
				edges = c.Value("bins")
			} else {
				edges = b.edges(c, x, must(c.Int("bins")), c.spans(1), 0)
			}
			return []*ir.Value{b.histogram(c, []*ir.Value{x}, []*ir.Value{edges}), edges}
		},
	}
}

// histogramsOf are histograms of points: their last dimension has the coordinates.
func histogramsOf() []entry {
	const (
		given = "(Tensor self, int[] bins, *, float[]? range=None"
		tail  = ", Tensor? weight=None, bool density=False) -> Tensor"
	)
	return []entry{{
		Schema: "aten::_histogramdd_bin_edges" + given + tail + "[]",
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			return b.edgesOf(c, b.coordinates(c))
		},
	},
		derived("aten::_histogramdd_from_bin_cts"+given+tail, func(b *Builder, c *Call) *ir.Value {
			xs := b.coordinates(c)
			return b.histogram(c, xs, b.edgesOf(c, xs))
		}),
		derived("aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *"+tail,
			func(b *Builder, c *Call) *ir.Value {
				xs := b.coordinates(c)
				return b.histogram(c, xs, b.edgesGiven(c, xs))
			}),
		pointsHistogram("(Tensor self, int[] bins", (*Builder).edgesOf),
		pointsHistogram(".int_bins(Tensor self, int bins", (*Builder).edgesOf),
		pointsHistogram(".TensorList_bins(Tensor self, Tensor[] bins", (*Builder).edgesGiven),
	}
}

// pointsHistogram gives the edges too.
//
//go:noinline
func pointsHistogram(args string,
	edgesOf func(b *Builder, c *Call, xs []*ir.Value) []*ir.Value) entry {
	return entry{
		Schema: "aten::histogramdd" + args +
			", float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, " +
			"Tensor[] bin_edges)",
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			xs := b.coordinates(c)
			edges := edgesOf(b, c, xs)
			return append([]*ir.Value{b.histogram(c, xs, edges)}, edges...)
		},
	}
}

// coordinates are those of points, each as a vector.
func (b *Builder) coordinates(c *Call) []*ir.Value {
	x := c.Value("self")
	s := x.Type.Sizes
	c.errorIf(len(s) < 2, "points of %s", sizesOf{x.Type})
	n, ok := s[len(s)-1].Const()
	c.errorIf(!ok || n < 1 || n > 32, "points with %s coordinates", s[len(s)-1])
	x = b.reshaped(x, sym.Mul(s[:len(s)-1]...), sym.Int(n))
	return seq.Map(upTo(int(n)), func(k int) *ir.Value { return b.aten("select.int", x, 1, k) })
}

// edgesGiven are the edges of each coordinate's bins that the call has.
func (b *Builder) edgesGiven(c *Call, xs []*ir.Value) []*ir.Value {
	n, first := len(c.Tensors("bins")), c.Operand("bins")
	c.errorIf(n != len(xs), "%d edges for %d coordinates", n, len(xs))
	return c.operands[first : first+n]
}

// edgesOf are edges for as many bins of each coordinate as the call asks for.
func (b *Builder) edgesOf(c *Call, xs []*ir.Value) (edges []*ir.Value) {
	var bins []int64
	if n, ok := c.Arg("bins").(ir.Int); ok {
		bins = slices.Repeat([]int64{int64(n)}, len(xs))
	} else {
		bins = must(c.Ints("bins"))
	}
	ranges := c.spans(len(xs))
	c.errorIf(len(bins) != len(xs), "%d counts of bins for %d coordinates", len(bins), len(xs))
	for k, x := range xs {
		edges = append(edges, b.edges(c, x, bins[k], ranges, k))
	}
	return edges
}

// histogram counts points, or adds up their weights.
func (b *Builder) histogram(c *Call, xs, edges []*ir.Value) *ir.Value {
	d := xs[0].Type.DType
	c.errorIf(d != ir.Float32 && d != ir.Float64, "not defined on %s", d)
	var place, inside, width *ir.Value
	var sizes []sym.Expr
	for k, x := range xs {
		e := edges[k]
		c.errorIf(e.Type.Rank() != 1 || e.Type.DType != d, "edges of %s", e.Type.DType)
		bins := sym.Sub(e.Type.Sizes[0], sym.Int(1))
		c.need(bins)
		c.errorIf(sym.Less(bins, sym.Int(1)), "%s bins", bins)
		first, last := b.aten("select.int", e, 0, 0), b.aten("select.int", e, 0, -1)
		x = b.aten("contiguous", x)
		at := b.sub(b.aten("searchsorted.Tensor", e, x, Kw("right", true)), b.scalar(1, ir.Int64))
		at = b.aten("clamp", at, 0, sym.Sub(bins, sym.Int(1)))
		in := b.aten("logical_and", b.aten("le.Tensor", first, x), b.aten("le.Tensor", x, last))
		w := b.aten("diff", e)
		if k > 0 {
			at = b.add(b.aten("mul.Scalar", place, bins), at)
			in = b.aten("logical_and", inside, in)
			w = b.mul(b.aten("unsqueeze", width, -1), w)
		}
		place, inside, width, sizes = at, in, w, append(sizes, bins)
	}
	counts := b.cast(inside, d)
	if c.Has("weight") {
		counts = b.where(inside, b.reshaped(c.Value("weight"), xs[0].Type.Numel()), 0, d)
	}
	hist := b.aten("index_add", b.aten("zeros", []sym.Expr{sym.Mul(sizes...)}, Kw("dtype", d)), 0,
		place, counts)
	hist = b.reshaped(hist, sizes...)
	if c.Bool("density") {
		hist = b.div(b.div(hist, b.aten("sum", hist)), width)
	}
	return hist
}

// spans are the ends of n given ranges, nil without.
func (c *Call) spans(n int) (ends []float64) {
	if !c.Has("range") {
		return nil
	}
	list, _ := c.Arg("range").(ir.List)
	c.errorIf(len(list) != 2*n, "a range of %d numbers", len(list))
	for _, a := range list {
		x, ok := a.(ir.Float)
		c.errorIf(!ok, "a range with %v", a)
		ends = append(ends, float64(x))
	}
	return ends
}

// edges are those of bins of equal width in range k of those given; without, from the smallest to
// the largest element. Of no elements they go from 0 to 1.
func (b *Builder) edges(c *Call, x *ir.Value, bins int64, ranges []float64, k int) *ir.Value {
	b.limit(c, bins+1)
	steps := Kw("dtype", x.Type.DType)
	if ranges == nil && x.Type.Numel().IsZero() {
		ranges = make([]float64, 2*k+2)
		ranges[2*k+1] = 1
	}
	if ranges != nil {
		lo, hi := ranges[2*k], ranges[2*k+1]
		c.errorIf(!(lo <= hi), "a range from %v to %v", lo, hi)
		if lo == hi {
			lo, hi = lo-0.5, hi+0.5
		}
		return b.aten("linspace", lo, hi, bins+1, steps)
	}
	c.need(x.Type.Numel())
	lo, hi := b.aten("amin", x), b.aten("amax", x)
	half := b.mul(b.cast(b.aten("eq.Tensor", lo, hi), x.Type.DType), 0.5)
	return b.aten("linspace.Tensor_Tensor", b.sub(lo, half), b.add(hi, half), bins+1, steps)
}

// nanMedianDim is the lower median of the numbers along a dimension, NaN where
// there are none, and its place.
func nanMedianDim() entry {
	r := reducer{schema: "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor " +
		"values, Tensor indices)", rule: exact, nonEmpty: true, more: []ir.DType{ir.Int64}}
	return entry{
		Schema: r.schema,
		Infer:  r.infer,
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			t := c.Tensor("self")
			d := c.dim("dim", t.Rank())
			if t.Rank() == 0 {
				return b.Ops("aten.sort.default", c.Arg("self"), 0)
			}
			if !t.DType.IsFloat() {
				return b.Ops("aten.median.dim", c.Arg("self"), d, c.Arg("keepdim"))
			}
			vs := b.Ops("aten.sort.default", c.Arg("self"), d) // NaN comes last
			numbers := b.aten("logical_not", b.aten("isnan", c.Arg("self")))
			count := b.aten("sum.dim_IntList", numbers, []int{d}, true)
			at := b.aten("bitwise_right_shift.Tensor_Scalar",
				b.sub(count, b.scalar(1, ir.Int64)), 1)
			at = b.aten("clamp", at, 0)
			for i, v := range vs {
				if v = b.aten("gather", v, d, at); !c.Bool("keepdim") {
					v = b.aten("squeeze.dim", v, d)
				}
				vs[i] = v
			}
			return vs
		},
	}
}

// modeOp is the most frequent element along a dimension, the smallest of
// several, and its last place.
func modeOp() entry {
	r := reducer{
		schema: "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, " +
			"Tensor indices)", rule: exact, nonEmpty: true, more: []ir.DType{ir.Int64}}
	return entry{
		Schema: r.schema,
		Infer:  r.infer,
		Loops: func(c *Call) *loop.Func {
			t := c.Tensor("self")
			l := newLines(t, c.dim("dim", t.Rank()))
			it := indexDType(l.length)
			j := sym.NewVar("j", l.length)
			count, most, place := newCounter("count", it), newCounter("most", it),
				newCounter("place", ir.Int64)
			best := &expr.Var{Name: "best", DType: t.DType}
			x := expr.At(2, t.DType, l.at(l.k.Expr()))
			same := expr.Eq(expr.At(2, t.DType, l.at(j.Expr())), x)
			least := comparable(expr.Le)(x, expr.Get(best))
			better := expr.Or(expr.Gt(count.get(), most.get()),
				expr.And(expr.Eq(count.get(), most.get()), least))
			into := sym.Add(sym.Mul(l.o.Expr(), l.inner), l.i.Expr())
			return &loop.Func{Name: "mode", Bufs: c.buffers(), Body: l.each(
				most.start(expr.Int(it, 0)), place.start(expr.Int(ir.Int64, 0)),
				&loop.Let{Var: best, Value: expr.Num(t.DType, 0), Mutable: true},
				l.along(
					count.start(expr.Int(it, 0)),
					&loop.For{Var: j, Extent: l.length,
						Body: []loop.Stmt{count.set(expr.Add(count.get(), expr.Cast(it, same)))}},
					&loop.If{Cond: better, Then: []loop.Stmt{
						most.set(count.get()), place.set(expr.Idx(ir.Int64, l.k.Expr())),
						&loop.Assign{Var: best, Value: x},
					}},
				),
				&loop.Store{Buf: 0, At: into, Value: expr.Get(best)},
				&loop.Store{Buf: 1, At: into, Value: place.get()},
			)}
		},
	}
}

// histogram counts the elements in bins of equal width from min to max; if
// these are equal, from the smallest to the largest element.
func histogram() entry {
	return entry{
		Schema: "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("self")
			n := must(c.Int("bins"))
			c.errorIf(n < 1, "%d bins", n)
			c.errorIf(!t.DType.IsFloat(), "not defined on %s", t.DType)
			return []ir.Type{ir.StaticTensor(t.DType, max(n, 0))}
		},
		Loops: func(c *Call) *loop.Func {
			t, bins := c.Tensor("self"), c.Outs[0].Sizes[0]
			m := opmath(t.DType)
			lo := must(c.Float("min"))
			hi := must(c.Float("max"))
			num := func(x float64) *expr.Expr { return expr.Num(m, x) }
			vlo, vhi := &expr.Var{Name: "lo", DType: m}, &expr.Var{Name: "hi", DType: m}
			get := expr.Get
			i, j, z := sym.NewVar("i", t.Numel()), sym.NewVar("j", t.Numel()), sym.NewVar("z", bins)
			x := func(v *sym.Symbol) *expr.Expr {
				return expr.Cast(m, expr.At(1, t.DType, v.Expr()))
			}
			body := []loop.Stmt{
				&loop.For{Var: z, Extent: bins, Body: []loop.Stmt{&loop.Store{Buf: 0, At: z.Expr(),
					Value: expr.Num(t.DType, 0)}}},
				&loop.Let{Var: vlo, Value: num(lo), Mutable: true},
				&loop.Let{Var: vhi, Value: num(hi), Mutable: true},
			}
			if lo == hi {
				body = append(body,
					&loop.Assign{Var: vlo, Value: num(inf)}, &loop.Assign{Var: vhi,
						Value: num(-inf)},
					&loop.For{Var: j, Extent: t.Numel(), Body: []loop.Stmt{
						&loop.Assign{Var: vlo, Value: expr.Min(x(j), get(vlo))},
						&loop.Assign{Var: vhi, Value: expr.Max(x(j), get(vhi))},
					}},
					&loop.If{Cond: expr.Eq(get(vlo), get(vhi)), Then: []loop.Stmt{
						&loop.Assign{Var: vlo, Value: expr.Sub(get(vlo), num(1))},
						&loop.Assign{Var: vhi, Value: expr.Add(get(vhi), num(1))},
					}})
			}
			where := expr.Div(expr.Mul(expr.Sub(x(i), get(vlo)), expr.Idx(m, bins)),
				expr.Sub(get(vhi), get(vlo)))
			at, bind := clampedAt("bin", expr.Cast(ir.Int64, where), bins, false)
			inside := expr.And(expr.Le(get(vlo), x(i)), expr.Le(x(i), get(vhi)))
			body = append(body, &loop.For{Var: i, Extent: t.Numel(), Body: []loop.Stmt{
				&loop.If{Cond: inside, Then: []loop.Stmt{bind, c.write(at, num(1), added)}},
			}})
			return &loop.Func{Name: "histogram", Bufs: c.buffers(), Body: body}
		},
	}.core(histogramCore)
}

// histogramCore compares the bin of each element with all bins.
func histogramCore(b *Builder, c *Call) *ir.Value {
	d, bins := c.Outs[0].DType, c.Outs[0].Sizes[0]
	if c.Value("self").Type.Numel().IsZero() {
		return b.aten("full", c.Outs[0].Sizes, 0, Kw("dtype", d))
	}
	x := b.cast(b.reshaped(c.Value("self"), c.Value("self").Type.Numel(), sym.Int(1)), opmath(d))
	lo, hi := b.tensor(c, "min", x.Type.DType), b.tensor(c, "max", x.Type.DType)
	if must(c.Float("min")) == must(c.Float("max")) {
		lo, hi = b.aten("amin", x), b.aten("amax", x)
		same := b.cast(b.aten("eq.Tensor", lo, hi), x.Type.DType)
		lo, hi = b.sub(lo, same), b.add(hi, same)
	}
	inside := b.aten("logical_and", b.aten("le.Tensor", lo, x), b.aten("le.Tensor", x, hi))
	bin := b.div(b.mul(b.sub(x, lo), bins), b.sub(hi, lo))
	bin = b.cast(b.where(inside, bin, -1, bin.Type.DType), ir.Int64)
	bin = b.aten("clamp", bin, nil, sym.Sub(bins, sym.Int(1)))
	hit := b.aten("eq.Tensor", bin, b.aten("arange", bins, Kw("dtype", ir.Int64)))
	return b.cast(b.aten("sum.dim_IntList", hit, []int64{0}), d)
}

// quantileOps are quantiles and means, and those that leave out NaN.
func quantileOps() []entry {
	const tail = "int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"
	return []entry{
		derived("aten::quantile(Tensor self, Tensor q, "+tail, quantile(false)),
		derived("aten::quantile.scalar(Tensor self, float q, "+tail, quantile(false)),
		derived("aten::nanquantile(Tensor self, Tensor q, "+tail, quantile(true)),
		derived("aten::nanquantile.scalar(Tensor self, float q, "+tail, quantile(true)),
		derived("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, "+
			"ScalarType? dtype=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			x := c.Value("self")
			total := b.aten("nansum", x, c.Arg("dim"), c.Bool("keepdim"),
				Kw("dtype", c.Arg("dtype")))
			numbers := b.aten("logical_not", b.aten("isnan", x))
			if c.Has("dim") {
				return b.div(total, b.aten("sum.dim_IntList", numbers, c.Arg("dim"),
					c.Bool("keepdim")))
			}
			return b.div(total, b.aten("sum.dim_IntList", numbers, upTo(x.Type.Rank()),
				c.Bool("keepdim")))
		}),
	}
}

// quantile sorts along dim, or all elements, and reads between the two whose
// ranks are around q·(n-1). The quantiles come before the other dimensions. NaN
// in a line makes the result NaN, or, if left out, lessens n.
//
//go:noinline
func quantile(skip bool) func(*Builder, *Call) *ir.Value {
	return func(b *Builder, c *Call) *ir.Value {
		x, keep := c.Value("self"), c.Bool("keepdim")
		rank := x.Type.Rank()
		q, single := b.quantilesAsked(c)
		// The line is the last dimension: x is [others…, n].
		var others []sym.Expr
		d := 0
		if c.Has("dim") && rank > 0 {
			d = c.dim("dim", rank)
			others = slices.Delete(slices.Clone(x.Type.Sizes), d, d+1)
			x = b.aten("movedim.int", x, d, -1)
		} else {
			x = b.aten("reshape", x, []int{-1})
		}
		n := x.Type.Sizes[len(others)]
		c.errorIf(sym.Less(n, sym.Int(1)), "no elements to take a quantile of")
		nan := b.aten("isnan", x)
		least := b.aten("sub.Tensor", b.scalarOf(n), b.scalar(1, ir.Float64))
		var at *ir.Value // ranks, [others…, number of quantiles]
		if skip {
			numbers := b.aten("sum.dim_IntList", b.aten("logical_not", nan), []int{-1}, true)
			at = b.aten("clamp_min",
				b.mul(q, b.aten("sub.Scalar", b.cast(numbers, ir.Float64), 1)), 0)
		} else {
			at = b.where(b.aten("any.dim", nan, -1, true), least, b.mul(q, least), ir.Float64)
		}
		sorted := b.Ops("aten.sort.default", x, -1)[0]
		read := func(rank *ir.Value) *ir.Value {
			return b.aten("gather", sorted, -1, b.cast(rank, ir.Int64))
		}
		low := b.aten("floor", at)
		var y *ir.Value
		switch how := c.Str("interpolation"); how {
		case "lower":
			y = read(low)
		case "higher":
			y = read(b.aten("ceil", at))
		case "nearest":
			y = read(b.aten("round", at))
		case "linear", "midpoint":
			var part any = b.cast(b.sub(at, low), x.Type.DType)
			if how == "midpoint" {
				part = b.scalar(0.5, x.Type.DType)
			}
			from, to := read(low), read(b.aten("ceil", at))
			y = b.aten("lerp.Tensor", from, to, part)
		default:
			panic(c.Errorf("interpolation %q", how))
		}
		y = b.aten("movedim.int", y, -1, 0)
		if keep && c.Has("dim") && rank > 0 {
			y = b.aten("unsqueeze", y, d+1)
		} else if keep {
			y = b.aten("reshape", y, slices.Concat([]int{-1}, slices.Repeat([]int{1}, rank)))
		}
		if single {
			y = b.aten("squeeze.dims", y, []int{0})
		}
		return y
	}
}

// quantilesAsked returns argument q as float64 [k], and whether it is one.
func (b *Builder) quantilesAsked(c *Call) (q *ir.Value, single bool) {
	if c.Operand("q") < 0 {
		x := must(c.Float("q"))
		c.errorIf(!(x >= 0 && x <= 1), "q is %g, not in [0, 1]", x)
		// The number is one of the input's dtype first.
		v := b.cast(b.scalar(x, c.Tensor("self").DType), ir.Float64)
		return b.aten("reshape", v, []int{1}), true
	}
	q = b.cast(c.Value("q"), ir.Float64)
	c.errorIf(q.Type.Rank() > 1, "q with %d dimensions", q.Type.Rank())
	return b.aten("reshape", q, []int{-1}), q.Type.Rank() == 0
}

// scalarOf is a size as a float64 tensor without dimensions.
func (b *Builder) scalarOf(n sym.Expr) *ir.Value {
	return b.aten("scalar_tensor", n, Kw("dtype", ir.Float64))
}

// trapezoidOps integrate along a dimension: half the sum of neighbours by the
// distance between them.
func trapezoidOps() []entry {
	total := func(b *Builder, x *ir.Value, d int) *ir.Value {
		return b.aten("sum.dim_IntList", x, []int{d})
	}
	running := func(b *Builder, x *ir.Value, d int) *ir.Value { return b.aten("cumsum", x, d) }
	return []entry{
		derived("aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
			trapezia(total)),
		derived("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
			trapezia(total)),
		derived("aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", trapezia(total)),
		derived("aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor",
			trapezia(total)),
		derived("aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
			trapezia(running)),
		derived("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
			trapezia(running)),
	}
}

//go:noinline
func trapezia(sum func(*Builder, *ir.Value, int) *ir.Value) func(*Builder,
	*Call) *ir.Value {
	return func(b *Builder, c *Call) *ir.Value {
		y := c.Value("y")
		c.errorIf(y.Type.Rank() == 0, "a tensor without dimensions")
		d := c.dim("dim", y.Type.Rank())
		left := func(v *ir.Value, d int) *ir.Value {
			return b.aten("slice.Tensor", v, d, 0, sym.Sub(v.Type.Sizes[d], sym.Int(1)))
		}
		right := func(v *ir.Value, d int) *ir.Value { return b.aten("slice.Tensor", v, d, 1) }
		pairs := b.add(right(y, d), left(y, d))
		if c.Op.sch.Index("x") < 0 {
			return b.aten("mul.Scalar", sum(b, pairs, d), must(c.Float("dx"))/2)
		}
		x := c.Value("x")
		xd := 0 // one vector for all lines, or as many dimensions as y from the last
		if x.Type.Rank() > 1 {
			if xd = d - (y.Type.Rank() - x.Type.Rank()); xd < 0 {
				panic(c.Errorf("%s do not fit", sizesOf{y.Type, x.Type}))
			}
		} else if x.Type.Rank() == 0 {
			panic(c.Errorf("x without dimensions"))
		}
		c.errorIf(differ(x.Type.Sizes[xd], y.Type.Sizes[d]), "%s places for %s values",
			x.Type.Sizes[xd], y.Type.Sizes[d])
		step := b.sub(right(x, xd), left(x, xd))
		if x.Type.Rank() == 1 {
			shape := seq.Of(y.Type.Rank()-d, func(i int) int { return 1 })
			shape[0] = -1
			step = b.aten("reshape", step, shape)
		}
		return b.aten("mul.Scalar", sum(b, b.mul(pairs, step), d), 0.5)
	}
}
