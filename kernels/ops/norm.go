package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// moments returns the mean and the biased variance of x over n elements, in
// two passes. x is called with fresh reduction variables for each pass.
func moments(m ir.DType, n sym.Expr,
	x func() (*expr.Expr, []*sym.Symbol)) (mean, variance *expr.Expr) {
	count := expr.Idx(m, n)
	v, over := x()
	mean = expr.Div(expr.Sum(over, v), count)
	v, over = x()
	d := expr.Sub(v, mean)
	return mean, expr.Div(expr.Sum(over, expr.Mul(d, d)), count)
}

// inverseStd returns 1/sqrt(variance + eps).
func inverseStd(variance *expr.Expr, eps float64) *expr.Expr {
	return rsqrt(expr.Add(variance, like(variance, eps)))
}

// affine returns x·weight + bias, either of which may be nil.
func affine(x, weight, bias *expr.Expr) *expr.Expr {
	if weight != nil {
		x = expr.Mul(x, weight)
	}
	if bias != nil {
		x = expr.Add(x, bias)
	}
	return x
}

// normalised returns the input at coordinates at, less mean and times rstd, with the
// weight and the bias at param.
func (c *Call) normalised(m ir.DType, at []sym.Expr, mean, rstd *expr.Expr,
	param ...sym.Expr) *expr.Expr {
	x := expr.Mul(expr.Sub(expr.Cast(m, c.Load("input", at...)), mean), rstd)
	return affine(x, c.paramAt("weight", m, param...), c.paramAt("bias", m, param...))
}

// paramAt returns element at of an optional parameter in dtype m, or nil.
func (c *Call) paramAt(name string, m ir.DType, at ...sym.Expr) *expr.Expr {
	k := c.Operand(name)
	if k < 0 {
		return nil
	}
	return expr.Cast(m, c.LoadAt(k, at...))
}

// floatInput returns the type of a normalisation's input.
func (c *Call) floatInput() ir.Type {
	t := c.Tensor("input")
	c.errorIf(!t.DType.IsFloat(), "not defined on %s", t.DType)
	return t
}

// param checks that an optional parameter has the given sizes.
func (c *Call) param(name string, sizes ...sym.Expr) {
	k := c.Operand(name)
	if k < 0 {
		return
	}
	if t := c.operands[k].Type; !sameSizes(t.Sizes, sizes) {
		panic(c.Errorf("%s has %s, not %s", name, sizesOf{t}, sizesOf{{Sizes: sizes}}))
	}
}

// statsDType is the dtype of the means a normalisation returns: that of the
// parameters where they are wider than the input.
func (c *Call) statsDType(params ...string) ir.DType {
	for _, p := range params {
		if k := c.Operand(p); k >= 0 {
			return c.operands[k].Type.DType
		}
	}
	return c.Tensor("input").DType
}

// normOps are the normalisations.
func normOps() []entry {
	return []entry{
		nativeLayerNorm(),
		derived("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "+
			"Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				return b.aten("native_layer_norm", c.Value("input"), c.Arg("normalized_shape"),
					c.Arg("weight"), c.Arg("bias"), c.Arg("eps"))
			}),
		rmsNorm().core(rmsNormCore),
		nativeGroupNorm(),
		derived(
			"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "+
				"float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				s := c.channels().Sizes
				return b.aten("native_group_norm", c.Value("input"), c.Arg("weight"),
					c.Arg("bias"), s[0], s[1], sym.Mul(s[2:]...), c.Arg("num_groups"), c.Arg("eps"))
			}),
		batchNormEval(),
		batchNormTrain(
			"aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, "+
				"bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", false),
		batchNormTrain(
			"aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, "+
				"Tensor running_mean, Tensor running_var, bool training, float momentum, "+
				"float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
			true).cores(trainCore),
		batchNorm(),
		// instanceNorm normalises each channel of each sample by itself, or with given
		// statistics.
		entry{
			Schema: "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, " +
				"Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, " +
				"bool cudnn_enabled) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				t := c.channels()
				c.perChannel(t, "weight", "bias", "running_mean", "running_var")
				given := c.Bool("use_input_stats")
				c.errorIf(!given && !(c.Has("running_mean") && c.Has("running_var")),
					"neither statistics nor use_input_stats: there is nothing to normalise with")
				return one(ir.TensorOf(t.DType, t.Sizes...))
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				t := c.Tensor("input")
				eps := must(c.Float("eps"))
				m := opmath(t.DType)
				mean, variance := c.paramAt("running_mean", m, at[1]),
					c.paramAt("running_var", m, at[1])
				if c.Bool("use_input_stats") {
					over := allOf(t.Rank())
					over[0], over[1] = false, false
					mean, variance = moments(m, countOver(t, over), func() (*expr.Expr, []*sym.Symbol) {
						return c.inputOver(m, over, at[0], at[1])
					})
				}
				return c.normalised(m, at, mean, inverseStd(variance, eps), at[1])
			}),
			Writes: instanceNormUpdating,
		}.core(func(b *Builder, c *Call) *ir.Value {
			// Group norm with a channel to each group, or batch norm
			// with the statistics given.
			x := c.Value("input")
			if !c.Bool("use_input_stats") {
				return b.aten("_native_batch_norm_legit_no_training", x, c.Arg("weight"),
					c.Arg("bias"), c.Arg("running_mean"), c.Arg("running_var"), c.Arg("momentum"),
					c.Arg("eps"))
			}
			sizes := x.Type.Sizes
			groups, ok := sizes[1].Const()
			c.errorIf(!ok, "an instance norm of a dynamic number of channels")
			return b.aten("native_group_norm", x, c.Arg("weight"), c.Arg("bias"), sizes[0],
				sizes[1], sym.Mul(sizes[2:]...), groups, c.Arg("eps"))
		}),
	}
}

// trailing returns the number of dimensions of t before those that
// normalized_shape names, which are those of the parameters.
func (c *Call) trailing(t ir.Type) int {
	lead := c.leading(t)
	for _, name := range []string{"weight", "bias"} {
		if c.Op.sch.Index(name) >= 0 {
			c.param(name, t.Sizes[lead:]...)
		}
	}
	return lead
}

// leading returns the number of dimensions of t before those that normalized_shape names.
func (c *Call) leading(t ir.Type) int {
	shape := must(c.SymInts("normalized_shape"))
	lead := t.Rank() - len(shape)
	c.errorIf(lead < 0 || len(shape) == 0 || !sameSizes(t.Sizes[lead:], shape),
		"normalized_shape %s of an input of %s", sizesOf{{Sizes: shape}}, sizesOf{t})
	return lead
}

// overTrailing returns the input at the leading coordinates lead, over all
// trailing ones, in dtype m.
func (c *Call) overTrailing(m ir.DType, lead []sym.Expr) (*expr.Expr, []*sym.Symbol) {
	t := c.Tensor("input")
	at := slices.Clone(lead)
	var over []*sym.Symbol
	for d := len(lead); d < t.Rank(); d++ {
		v := sym.NewVar("r"+itoa(d), t.Sizes[d])
		over = append(over, v)
		at = append(at, v.Expr())
	}
	return expr.Cast(m, c.Load("input", at...)), over
}

func nativeLayerNorm() entry {
	return entry{
		Schema: "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, " +
			"Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) []ir.Type {
			t := c.floatInput()
			lead := c.trailing(t)
			stats := slices.Clone(t.Sizes)
			for d := lead; d < len(stats); d++ {
				stats[d] = sym.Int(1)
			}
			s := ir.TensorOf(c.statsDType("weight", "bias"), stats...)
			return []ir.Type{ir.TensorOf(t.DType, t.Sizes...), s, s}
		},
		Compute: func(c *Call) []expr.Tensor {
			t := c.Tensor("input")
			lead := c.trailing(t)
			eps := must(c.Float("eps"))
			m := opmath(t.DType)
			stats := func(at []sym.Expr) (mean, rstd *expr.Expr) {
				mean, v := moments(m, sym.Mul(t.Sizes[lead:]...),
					func() (*expr.Expr, []*sym.Symbol) { return c.overTrailing(m, at[:lead]) })
				return mean, inverseStd(v, eps)
			}
			return c.elements(func(i int, at []sym.Expr) *expr.Expr {
				mean, rstd := stats(at)
				return [...]*expr.Expr{c.normalised(m, at, mean, rstd, at[lead:]...), mean, rstd}[i]
			})
		},
	}
}

func rmsNorm() entry {
	return entry{
		Schema: "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, " +
			"float? eps=None) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("input")
			c.errorIf(!t.DType.Part().IsFloat(), "not defined on %s", t.DType)
			c.trailing(t)
			return one(ir.TensorOf(t.DType, t.Sizes...))
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			t := c.Tensor("input")
			lead := c.trailing(t)
			m := opmath(t.DType)
			eps := epsilon(m)
			if c.Has("eps") {
				eps = must(c.Float("eps"))
			}
			v, over := c.overTrailing(m, at[:lead])
			mean := expr.Div(expr.Sum(over, expr.Mul(v, v)),
				expr.Idx(m, sym.Mul(t.Sizes[lead:]...)))
			y := expr.Mul(expr.Cast(m, c.Load("input", at...)), inverseStd(mean, eps))
			y = affine(y, c.paramAt("weight", m, at[lead:]...), nil)
			return y
		}),
	}
}

// epsilon returns the difference between 1 and the next value of a float dtype.
func epsilon(d ir.DType) float64 {
	switch d {
	case ir.Float64:
		return 0x1p-52
	case ir.Float16:
		return 0x1p-10
	case ir.BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}

func rmsNormCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("input")
	d := x.Type.DType
	m := opmath(d)
	lead := c.trailing(x.Type)
	eps := epsilon(m.Part())
	if c.Has("eps") {
		eps = must(c.Float("eps"))
	}
	var dims []int
	for k := lead; k < x.Type.Rank(); k++ {
		dims = append(dims, k)
	}
	x = b.cast(x, m)
	mean := b.aten("mean.dim", b.mul(x, x), dims, true)
	y := b.mul(x, b.aten("rsqrt", b.add(mean, eps)))
	if c.Has("weight") {
		y = b.mul(y, b.cast(c.Value("weight"), m))
	}
	return b.cast(y, d)
}

// trainCore is batch norm in training mode, which gives the statistics it
// would leave too.
func trainCore(b *Builder, c *Call) []*ir.Value {
	x, mean, variance := c.Value("input"), c.Value("running_mean"), c.Value("running_var")
	if !c.Bool("training") {
		out := b.Ops("aten._native_batch_norm_legit_no_training.default", x, c.Arg("weight"),
			c.Arg("bias"), mean, variance, c.Arg("momentum"), c.Arg("eps"))
		return append(out, mean, variance)
	}
	out := b.Ops("aten._native_batch_norm_legit.no_stats", x, c.Arg("weight"), c.Arg("bias"), true,
		c.Arg("momentum"), c.Arg("eps"))
	momentum := must(c.Float("momentum"))
	dims := []int{0}
	for d := 2; d < x.Type.Rank(); d++ {
		dims = append(dims, d)
	}
	m := opmath(x.Type.DType)
	x = b.cast(x, m)
	blend := func(old, seen *ir.Value) *ir.Value {
		return b.cast(b.add(b.mul(b.cast(old, m), 1-momentum), b.mul(seen, momentum)),
			old.Type.DType)
	}
	return append(out, blend(mean, b.aten("mean.dim", x, dims)),
		blend(variance, b.aten("var.correction", x, dims, Kw("correction", 1))))
}

// instanceNormUpdating is instance norm in training mode, which writes the means over all samples
// to its running statistics: batch norm with a channel to each of a sample's.
func instanceNormUpdating(b *Builder, c *Call) []*ir.Value {
	if !c.Bool("use_input_stats") || !c.Has("running_mean") || !c.Has("running_var") {
		return nil
	}
	x := c.Value("input")
	s := x.Type.Sizes
	each := func(name string) any {
		if !c.Has(name) {
			return nil
		}
		return b.aten("repeat", c.Value(name), []sym.Expr{s[0]})
	}
	whole := append([]sym.Expr{sym.Int(1), sym.Mul(s[0], s[1])}, s[2:]...)
	vs := b.Ops("aten._native_batch_norm_legit_functional.default", b.reshaped(x, whole...),
		each("weight"), each("bias"), each("running_mean"), each("running_var"), true,
		c.Arg("momentum"), c.Arg("eps"))
	for i, name := range []string{"running_mean", "running_var"} {
		b.Write(c.Value(name), b.aten("mean.dim", b.reshaped(vs[3+i], s[0], s[1]), []int{0}))
	}
	return []*ir.Value{b.reshaped(vs[0], s...)}
}
