package ops

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// reduction is a reduction of argument self over a set of dimensions, under
// definition.
type reduction struct {
	c     *Call
	over  []bool   // by dimension of self: reduced
	keep  bool     // reduced dimensions stay with size 1
	in    ir.DType // what elements of self are converted to first
	dt    ir.DType // compute dtype
	out   ir.DType
	coord []sym.Expr    // of an element of self
	vars  []*sym.Symbol // of the result
	red   []*sym.Symbol // reduced over
}

// x returns the element of self in the compute dtype.
func (r *reduction) x() *expr.Expr {
	return expr.Cast(r.dt, expr.Cast(r.in, r.c.Load("self", r.coord...)))
}

// again returns r with reduction variables of its own, for a second reduction
// inside the first.
func (r *reduction) again() *reduction {
	s := *r
	s.coord = make([]sym.Expr, len(r.coord))
	s.red = nil
	for d, e := range r.coord {
		s.coord[d] = e
		if r.over[d] {
			v := sym.NewVar("s"+itoa(d), r.c.Tensor("self").Sizes[d])
			s.red = append(s.red, v)
			s.coord[d] = v.Expr()
		}
	}
	return &s
}

// count returns the number of elements reduced over.
func (r *reduction) count() sym.Expr {
	n := sym.Int(1)
	for d, s := range r.c.Tensor("self").Sizes {
		if r.over[d] {
			n = sym.Mul(n, s)
		}
	}
	return n
}

// size returns the count as a value of the compute dtype.
func (r *reduction) size() *expr.Expr { return expr.Idx(r.dt, r.count()) }

// A reducer describes a family of reductions. The schema's dim argument, int,
// int? or int[]?, tells over what; without one it is everything.
type reducer struct {
	schema string
	// rule gives compute and result dtype from that of self, or the dtype
	// argument if there is one.
	rule rule
	// emptyIsAll: an empty dim list means all dimensions (sum), not none (amax
	// has an own default).
	emptyIsAll bool
	// nonEmpty: the reduced dimensions must hold elements.
	nonEmpty bool
	body     func(r *reduction) []*expr.Expr // one per result
	// dtypes of results beyond the first; InvalidDType: as the elements
	more []ir.DType
	core func(*Builder, *Call) []*ir.Value // in terms of Core ATen
}

func (d reducer) op() entry {
	return entry{Schema: d.schema, Infer: d.infer, Compute: d.compute, Decompose: d.core}
}

// setup finds out over which dimensions c reduces and in what dtypes.
func (d reducer) setup(c *Call) *reduction {
	t, s := c.Tensor("self"), c.Op.sch
	r := &reduction{c: c, keep: s.Index("keepdim") >= 0 && c.Bool("keepdim")}
	switch i := s.Index("dim"); {
	case i < 0:
		r.over = make([]bool, t.Rank())
		for i := range r.over {
			r.over[i] = true
		}
	case s.Args[i].Type.IsList() || !c.Has("dim"):
		r.over = c.dims("dim", t.Rank(), d.emptyIsAll)
	default:
		r.over = make([]bool, t.Rank())
		var k int
		k = c.dim("dim", t.Rank())
		if t.Rank() > 0 {
			r.over[k] = true
		}
	}
	from := t.DType
	if s.Index("dtype") >= 0 {
		from = c.DType("dtype", from)
	}
	var ok bool
	if r.dt, r.out, ok = d.rule(from); !ok {
		panic(c.Errorf("not defined on %s", from))
	}
	if s.Index("dtype") >= 0 && c.Has("dtype") { // what is asked for is not promoted
		r.dt, r.out = accumulator(from), from
	}
	r.in = from
	if n, ok := r.count().Const(); ok && n == 0 && d.nonEmpty {
		if m, ok := r.outNumel().Const(); !ok || m != 0 {
			panic(c.Errorf("reduces over no elements"))
		}
	}
	return r
}

// accumulator returns the dtype in which sums and products of dtype d are kept.
func accumulator(d ir.DType) ir.DType {
	if d == ir.Bool {
		return ir.Int64 // not zero: true
	}
	return opmath(d)
}

func (r *reduction) outSizes() []sym.Expr {
	var sizes []sym.Expr
	for d, s := range r.c.Tensor("self").Sizes {
		switch {
		case !r.over[d]:
			sizes = append(sizes, s)
		case r.keep:
			sizes = append(sizes, sym.Int(1))
		}
	}
	return sizes
}

func (r *reduction) outNumel() sym.Expr { return sym.Mul(r.outSizes()...) }

func (d reducer) infer(c *Call) []ir.Type {
	r := d.setup(c)
	sizes := r.outSizes()
	ts := []ir.Type{ir.TensorOf(r.out, sizes...)}
	for _, dt := range d.more {
		if dt == ir.InvalidDType {
			dt = r.in
		}
		ts = append(ts, ir.TensorOf(dt, sizes...))
	}
	return ts
}

func (d reducer) compute(c *Call) []expr.Tensor {
	r := d.setup(c)
	vars, coords := indexVars(c.Outs[0].Sizes)
	r.vars = vars
	k := 0
	for dim, s := range c.Tensor("self").Sizes {
		if r.over[dim] {
			v := sym.NewVar("r"+itoa(dim), s)
			r.red = append(r.red, v)
			r.coord = append(r.coord, v.Expr())
			if r.keep {
				k++
			}
			continue
		}
		r.coord = append(r.coord, coords[k])
		k++
	}
	bodies := d.body(r)
	ts := make([]expr.Tensor, len(bodies))
	for i, b := range bodies {
		dt := c.Outs[i].DType
		ts[i] = expr.Tensor{DType: dt, Vars: vars, Body: expr.Cast(dt, b)}
	}
	return ts
}

// reductionOps reduce over dimensions.
func reductionOps() []entry {
	sum := func(r *reduction) []*expr.Expr { return exprs(expr.Sum(r.red, r.x())) }
	prod := func(r *reduction) []*expr.Expr { return exprs(expr.Prod(r.red, r.x())) }
	amax := func(r *reduction) []*expr.Expr { return exprs(expr.MaxOf(r.red, r.x())) }
	amin := func(r *reduction) []*expr.Expr { return exprs(expr.MinOf(r.red, r.x())) }
	maxAt := func(r *reduction) []*expr.Expr {
		return exprs(expr.MaxOf(r.red, r.x()), expr.ArgMax(r.red, r.x()))
	}
	minAt := func(r *reduction) []*expr.Expr {
		return exprs(expr.MinOf(r.red, r.x()), expr.ArgMin(r.red, r.x()))
	}
	argmax := func(r *reduction) []*expr.Expr { return exprs(expr.ArgMax(r.red, r.x())) }
	argmin := func(r *reduction) []*expr.Expr { return exprs(expr.ArgMin(r.red, r.x())) }
	anyOf := func(r *reduction) []*expr.Expr {
		return exprs(expr.MaxOf(r.red, expr.Ne(r.x(), like(r.x(), 0))))
	}
	allOf := func(r *reduction) []*expr.Expr {
		return exprs(expr.MinOf(r.red, expr.Ne(r.x(), like(r.x(), 0))))
	}
	index := []ir.DType{ir.Int64}

	var ops []entry
	for _, d := range []reducer{
		{schema: "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", rule: summed,
			body: sum, core: decomposed(func(b *Builder, c *Call) *ir.Value {
				return b.aten("sum.dim_IntList", c.Value("self"), c.dimList(), c.keepdim(),
					dtypeArg(c))
			})},
		{schema: "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, " +
			"ScalarType? dtype=None) -> Tensor", rule: summed, emptyIsAll: true, body: sum},
		{schema: "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, " +
			"ScalarType? dtype=None) -> Tensor", rule: summed, emptyIsAll: true,
			body: func(r *reduction) []*expr.Expr {
				x := r.x()
				return exprs(expr.Sum(r.red, expr.Select(expr.IsNaN(x), like(x, 0), x)))
			}, core: decomposed(func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				if x.Type.DType.IsFloat() {
					x = b.where(b.aten("isnan", x), 0, x, x.Type.DType)
				}
				return b.aten("sum.dim_IntList", x, c.dimList(), c.keepdim(), dtypeArg(c))
			})},
		{schema: "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", rule: summed,
			body: prod},
		{schema: "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, " +
			"ScalarType? dtype=None) -> Tensor", rule: summed, body: prod},
		{schema: "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", rule: inexact,
			body: mean},
		{schema: "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, " +
			"ScalarType? dtype=None) -> Tensor", rule: inexact, emptyIsAll: true, body: mean},
		{schema: "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
			rule: exact, emptyIsAll: true, nonEmpty: true, body: amax},
		{schema: "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
			rule: exact, emptyIsAll: true, nonEmpty: true, body: amin},
		{schema: "aten::max(Tensor self) -> Tensor", rule: exact, nonEmpty: true, body: amax,
			core: decomposed(sameAs("aten.amax.default"))},
		{schema: "aten::min(Tensor self) -> Tensor", rule: exact, nonEmpty: true, body: amin,
			core: decomposed(sameAs("aten.amin.default"))},
		{schema: "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, " +
			"Tensor indices)", rule: exact, nonEmpty: true, body: maxAt, more: index},
		{schema: "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, " +
			"Tensor indices)", rule: exact, nonEmpty: true, body: minAt, more: index},
		{schema: "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
			rule: toInt64, nonEmpty: true, body: argmax},
		{schema: "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
			rule: toInt64, nonEmpty: true, body: argmin},
		{schema: "aten::any(Tensor self) -> Tensor", rule: truth, body: anyOf},
		{schema: "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", rule: truth,
			body: anyOf},
		{schema: "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
			rule: truth, body: anyOf},
		{schema: "aten::all(Tensor self) -> Tensor", rule: truth, body: allOf,
			core: decomposed(allCore("aten.any.default", false))},
		{schema: "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", rule: truth,
			body: allOf, core: decomposed(allCore("aten.any.dim", true))},
		{schema: "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
			rule: truth, body: allOf, core: decomposed(allCore("aten.any.dims", true))},
		{schema: "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", rule: toInt64,
			emptyIsAll: true, body: countNonzero, core: decomposed(countCore)},
		{schema: "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", rule: toInt64,
			body: countNonzero, core: decomposed(countCore)},
		{schema: "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
			rule: toFloat, emptyIsAll: true, body: func(r *reduction) []*expr.Expr {
				// Subtracts the largest element, unless it is infinite.
				s := r.again()
				m := expr.MaxOf(s.red, s.x())
				m = expr.Select(expr.Eq(expr.Abs(m), like(m, inf)), like(m, 0), m)
				sum := expr.Sum(r.red, fn("exp")(expr.Sub(r.x(), m)))
				return exprs(expr.Add(fn("log")(sum), m))
			}, core: decomposed(func(b *Builder, c *Call) *ir.Value {
				d := c.Outs[0].DType
				x := b.cast(c.Value("self"), opmath(d))
				if slices.ContainsFunc(x.Type.Sizes, sym.Expr.IsZero) { // there is no largest element
					return b.cast(b.aten("log", b.aten("sum.dim_IntList", b.aten("exp", x), c.dimList(),
						c.keepdim())), d)
				}
				top := b.aten("amax", x, c.dimList(), true)
				top = b.where(b.aten("isinf", top), 0, top, top.Type.DType)
				sum := b.aten("sum.dim_IntList", b.aten("exp", b.sub(x, top)), c.dimList(), true)
				r := b.add(b.aten("log", sum), top)
				if !c.keepdim() {
					r = b.aten("reshape", r, c.Outs[0].Sizes)
				}
				return b.cast(r, d)
			})},
		{schema: "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, " +
			"bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
			rule: magnitudes, emptyIsAll: true, body: func(r *reduction) []*expr.Expr {
				p := must(r.c.Float("ord"))
				x := expr.Abs(r.x())
				switch {
				case p == inf:
					return exprs(expr.MaxOf(r.red, x))
				case p == -inf:
					return exprs(expr.MinOf(r.red, x))
				case p == 0:
					return exprs(expr.Sum(r.red, expr.Cast(r.dt, expr.Ne(x, like(x, 0)))))
				case p == 1:
					return exprs(expr.Sum(r.red, x))
				case p == 2:
					return exprs(expr.Sqrt(expr.Sum(r.red, expr.Mul(x, x))))
				}
				return exprs(power(expr.Sum(r.red, power(x, like(x, p))), like(x, 1/p)))
			},
			core: decomposed(vectorNormCore)},
	} {
		ops = append(ops, d.op())
	}
	ops = append(ops,
		// aminmax gives both extrema. Without dim it reduces over everything.
		reducer{
			schema: "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, " +
				"Tensor max)",
			rule: exact, nonEmpty: true, more: []ir.DType{ir.InvalidDType},
			body: func(r *reduction) []*expr.Expr {
				return exprs(expr.MinOf(r.red, r.x()), expr.MaxOf(r.red, r.x()))
			},
			core: func(b *Builder, c *Call) []*ir.Value {
				x := c.Value("self")
				return []*ir.Value{
					b.aten("amin", x, c.dimList(), c.keepdim()),
					b.aten("amax", x, c.dimList(), c.keepdim()),
				}
			},
		}.op())
	return append(ops, varianceOps()...)
}

// The rules of reductions.
var (
	// summed adds integers and bool up in int64.
	summed rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		if d.IsInt() || d == ir.Bool {
			d = ir.Int64
		}
		return opmath(d), d, true
	}
	// inexact rejects integers, magnitudes too; of complex numbers it gives real ones.
	inexact rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		return opmath(d), d, d.Part().IsFloat()
	}
	magnitudes rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		return opmath(d), d.Part(), d.Part().IsFloat()
	}
	// exact keeps the dtype of the operand, and nothing is rounded.
	exact rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return d, d, true }
	// toInt64 gives an index or a count.
	toInt64 rule = func(d ir.DType) (ir.DType, ir.DType, bool) { return d, ir.Int64, true }
	// truth gives bool, for uint8 uint8.
	truth rule = func(d ir.DType) (ir.DType, ir.DType, bool) {
		if d == ir.Uint8 {
			return d, d, true
		}
		return d, ir.Bool, true
	}
)

func exprs(es ...*expr.Expr) []*expr.Expr { return es }

// mean rounds the sum to the result's dtype before it divides, as PyTorch does
// on a CPU.
func mean(r *reduction) []*expr.Expr {
	add := expr.Sum
	if MeanInOrder(expr.Extents(r.red)) {
		add = expr.SumInOrder
	}
	sum := expr.Cast(r.out, add(r.red, r.x()))
	return exprs(expr.Div(expr.Cast(r.dt, sum), r.size()))
}

func countNonzero(r *reduction) []*expr.Expr {
	return exprs(expr.Sum(r.red, expr.Cast(ir.Int64, expr.Ne(r.x(), like(r.x(), 0)))))
}

// varianceOps are var and std, alone and with the mean.
func varianceOps() []entry {
	var ops []entry
	for _, f := range []struct {
		name  string
		std   bool
		means bool
	}{
		{"var", false, false}, {"std", true, false}, {"var_mean", false, true},
		{"std_mean", true, true},
	} {
		ret := "Tensor"
		var more []ir.DType
		if f.means {
			ret, more = "(Tensor, Tensor)", []ir.DType{ir.InvalidDType}
		}
		for _, args := range []string{"(Tensor self, bool unbiased=True)",
			".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)",
			".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"} {
			var core func(*Builder, *Call) []*ir.Value
			if f.name != "var" || !strings.HasPrefix(args, ".") {
				core = varianceCore(f.std, f.means)
			}
			ops = append(ops, reducer{
				core:   core,
				schema: "aten::" + f.name + args + " -> " + ret, rule: magnitudes,
				emptyIsAll: true, more: more,
				body: func(r *reduction) []*expr.Expr { return variance(r, f.std, f.means) },
			}.op())
		}
	}
	return ops
}

// variance takes the mean first, then the squares of the distances to it.
func variance(r *reduction, std, withMean bool) []*expr.Expr {
	correction := 1.0
	if s := r.c.Op.sch; s.Index("unbiased") >= 0 {
		if !r.c.Bool("unbiased") {
			correction = 0
		}
	} else if r.c.Has("correction") {
		correction = must(r.c.Float("correction"))
	}
	s := r.again()
	m := expr.Div(expr.Sum(s.red, s.x()), r.size())
	d := expr.Sub(r.x(), m)
	n := expr.Max(expr.Sub(r.size(), like(m, correction)), like(m, 0))
	v := expr.Div(expr.Sum(r.red, expr.Mul(d, d)), n)
	if std {
		v = expr.Sqrt(v)
	}
	if withMean {
		return exprs(v, m)
	}
	return exprs(v)
}

// decomposed gives a reduction a decomposition to Core ATen.
func decomposed(f coreForm) func(*Builder, *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value { return []*ir.Value{f(b, c)} }
}

// keepdim returns the keepdim argument, false where there is none.
func (c *Call) keepdim() bool { return c.Op.sch.Index("keepdim") >= 0 && c.Bool("keepdim") }

// dimList returns the dim argument as a list: empty for all dimensions.
func (c *Call) dimList() ir.Arg {
	if c.Op.sch.Index("dim") < 0 || !c.Has("dim") {
		return ir.List{}
	}
	if list, ok := c.Arg("dim").(ir.List); ok {
		return list
	}
	return ir.List{c.Arg("dim")}
}

func dtypeArg(c *Call) Named {
	if c.Op.sch.Index("dtype") < 0 {
		return Kw("dtype", nil)
	}
	return Kw("dtype", c.Arg("dtype"))
}

// allCore is not any not. For uint8 the result is uint8.
func allCore(op string, dim bool) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		args := []any{b.aten("logical_not", c.Value("self"))}
		if dim {
			args = append(args, c.Arg("dim"), c.keepdim())
		}
		return b.cast(b.aten("logical_not", b.Op(op, args...)), c.Outs[0].DType)
	}
}

func countCore(b *Builder, c *Call) *ir.Value {
	return b.aten("sum.dim_IntList", b.aten("ne.Scalar", c.Value("self"), 0), c.dimList())
}

func vectorNormCore(b *Builder, c *Call) *ir.Value {
	p := must(c.Float("ord"))
	d := c.Outs[0].DType
	x := b.aten("abs", b.cast(c.Value("self"), opmath(d)))
	reduce := func(op string, x *ir.Value) *ir.Value {
		return b.Op(op, x, c.dimList(), c.keepdim())
	}
	var r *ir.Value
	switch p {
	case inf:
		r = reduce("aten.amax.default", x)
	case -inf:
		r = reduce("aten.amin.default", x)
	case 0:
		r = reduce("aten.sum.dim_IntList", b.cast(b.aten("ne.Scalar", x, 0), x.Type.DType))
	case 1:
		r = reduce("aten.sum.dim_IntList", x)
	case 2:
		r = b.aten("sqrt", reduce("aten.sum.dim_IntList", b.mul(x, x)))
	default:
		sum := reduce("aten.sum.dim_IntList", b.aten("pow.Tensor_Scalar", x, p))
		r = b.aten("pow.Tensor_Scalar", sum, 1/p)
	}
	return b.cast(r, d)
}

// varianceCore is var.correction, its root and the mean.
func varianceCore(std, withMean bool) func(b *Builder, c *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		correction := any(1)
		if c.Op.sch.Index("correction") >= 0 {
			correction = c.Arg("correction")
		} else if !c.Bool("unbiased") {
			correction = 0
		}
		x := c.Value("self")
		v := b.aten("var.correction", x, c.dimList(), Kw("correction", correction),
			Kw("keepdim", c.keepdim()))
		if std {
			v = b.aten("sqrt", v)
		}
		if !withMean {
			return []*ir.Value{v}
		}
		return []*ir.Value{v, b.aten("mean.dim", x, c.dimList(), c.keepdim())}
	}
}

// fullCore is a factory as full.
func fullCore(value any) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		v := value
		if v == nil {
			v = c.Arg("fill_value")
		}
		return b.aten("full", c.Outs[0].Sizes, v, Kw("dtype", c.Outs[0].DType))
	}
}

// fullLikeCore is a factory as full_like.
func fullLikeCore(value any) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		args := []any{c.Value("self"), value, Kw("dtype", c.Outs[0].DType)}
		if c.Op.sch.Index("memory_format") >= 0 {
			args = append(args, Kw("memory_format", c.Arg("memory_format")))
		}
		return b.aten("full_like", args...)
	}
}

func arangeCore(b *Builder, c *Call) *ir.Value {
	start := any(0)
	if c.Op.sch.Index("start") >= 0 {
		start = c.Arg("start")
	}
	return b.aten("arange.start_step", start, c.Arg("end"), 1, Kw("dtype", c.Outs[0].DType))
}

func eyeCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0]
	rows := b.aten("arange.start_step", 0, d.Sizes[0])
	cols := b.aten("arange.start_step", 0, d.Sizes[1])
	return b.cast(b.aten("eq.Tensor", b.aten("unsqueeze", rows, 1), cols), d.DType)
}
