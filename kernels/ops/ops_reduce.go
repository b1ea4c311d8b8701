package ops

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
)

// reductionOps reduce over dimensions.
func reductionOps() []Op {
	sum := func(r *reduction) ([]*expr.Expr, error) { return exprs(expr.Sum(r.red, r.x())) }
	prod := func(r *reduction) ([]*expr.Expr, error) { return exprs(expr.Prod(r.red, r.x())) }
	amax := func(r *reduction) ([]*expr.Expr, error) { return exprs(expr.MaxOf(r.red, r.x())) }
	amin := func(r *reduction) ([]*expr.Expr, error) { return exprs(expr.MinOf(r.red, r.x())) }
	maxAt := func(r *reduction) ([]*expr.Expr, error) {
		return exprs(expr.MaxOf(r.red, r.x()), expr.ArgMax(r.red, r.x()))
	}
	minAt := func(r *reduction) ([]*expr.Expr, error) {
		return exprs(expr.MinOf(r.red, r.x()), expr.ArgMin(r.red, r.x()))
	}
	argmax := func(r *reduction) ([]*expr.Expr, error) { return exprs(expr.ArgMax(r.red, r.x())) }
	argmin := func(r *reduction) ([]*expr.Expr, error) { return exprs(expr.ArgMin(r.red, r.x())) }
	anyOf := func(r *reduction) ([]*expr.Expr, error) {
		return exprs(expr.MaxOf(r.red, expr.Ne(r.x(), like(r.x(), 0))))
	}
	allOf := func(r *reduction) ([]*expr.Expr, error) {
		return exprs(expr.MinOf(r.red, expr.Ne(r.x(), like(r.x(), 0))))
	}
	index := []ir.DType{ir.Int64}

	var ops []Op
	for _, d := range []reducer{
		{schema: "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", rule: summed,
			body: sum, core: decomposed(sumCore)},
		{schema: "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", rule: summed, emptyIsAll: true, body: sum},
		{schema: "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", rule: summed, emptyIsAll: true, body: nansum, core: decomposed(nansumCore)},
		{schema: "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", rule: summed,
			body: prod},
		{schema: "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", rule: summed, body: prod},
		{schema: "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", rule: floatOnly,
			body: mean},
		{schema: "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", rule: floatOnly, emptyIsAll: true, body: mean},
		{schema: "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
			rule: exact, emptyIsAll: true, nonEmpty: true, body: amax},
		{schema: "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
			rule: exact, emptyIsAll: true, nonEmpty: true, body: amin},
		{schema: "aten::max(Tensor self) -> Tensor", rule: exact, nonEmpty: true, body: amax,
			core: decomposed(sameAs("aten.amax.default"))},
		{schema: "aten::min(Tensor self) -> Tensor", rule: exact, nonEmpty: true, body: amin,
			core: decomposed(sameAs("aten.amin.default"))},
		{schema: "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", rule: exact, nonEmpty: true, body: maxAt, more: index},
		{schema: "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", rule: exact, nonEmpty: true, body: minAt, more: index},
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
			rule: toFloat, emptyIsAll: true, body: logsumexp, core: decomposed(logsumexpCore)},
		{schema: "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
			rule: floatOnly, emptyIsAll: true, body: vectorNorm,
			core: decomposed(vectorNormCore)},
	} {
		ops = append(ops, d.op())
	}
	ops = append(ops, aminmax())
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
	// exact neither computes nor rounds.
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

func exprs(es ...*expr.Expr) ([]*expr.Expr, error) { return es, nil }

func nansum(r *reduction) ([]*expr.Expr, error) {
	x := r.x()
	return exprs(expr.Sum(r.red, expr.Select(expr.IsNaN(x), like(x, 0), x)))
}

// mean rounds the sum to the result's dtype before it divides, as PyTorch does
// on a CPU.
func mean(r *reduction) ([]*expr.Expr, error) {
	sum := expr.Cast(r.out, expr.Sum(r.red, r.x()))
	return exprs(expr.Div(expr.Cast(r.dt, sum), r.size()))
}

func countNonzero(r *reduction) ([]*expr.Expr, error) {
	return exprs(expr.Sum(r.red, expr.Cast(ir.Int64, expr.Ne(r.x(), like(r.x(), 0)))))
}

// logsumexp subtracts the largest element, unless it is infinite.
func logsumexp(r *reduction) ([]*expr.Expr, error) {
	s := r.again()
	m := expr.MaxOf(s.red, s.x())
	m = expr.Select(expr.Eq(expr.Abs(m), like(m, inf)), like(m, 0), m)
	sum := expr.Sum(r.red, fn("exp")(expr.Sub(r.x(), m)))
	return exprs(expr.Add(fn("log")(sum), m))
}

func vectorNorm(r *reduction) ([]*expr.Expr, error) {
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
}

// aminmax gives both extrema. Without dim it reduces over everything.
func aminmax() Op {
	return reducer{
		schema: "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
		rule:   exact, nonEmpty: true, more: []ir.DType{ir.InvalidDType},
		body: func(r *reduction) ([]*expr.Expr, error) {
			return exprs(expr.MinOf(r.red, r.x()), expr.MaxOf(r.red, r.x()))
		},
		core: aminmaxCore,
	}.op()
}

// varianceOps are var and std, alone and with the mean.
func varianceOps() []Op {
	var ops []Op
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
			var core func(*Builder, *Call) ([]*ir.Value, error)
			if f.name != "var" || !strings.HasPrefix(args, ".") {
				core = varianceCore(f.std, f.means)
			}
			ops = append(ops, reducer{
				core:   core,
				schema: "aten::" + f.name + args + " -> " + ret, rule: floatOnly,
				emptyIsAll: true, more: more,
				body: func(r *reduction) ([]*expr.Expr, error) {
					return variance(r, f.std, f.means)
				},
			}.op())
		}
	}
	return ops
}

// variance takes the mean first, then the squares of the distances to it.
func variance(r *reduction, std, withMean bool) ([]*expr.Expr, error) {
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
