package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// channels returns the type of a normalisation's input, whose dimension 1
// holds the channels.
func (c *Call) channels() ir.Type {
	t := c.floatInput()
	c.errorIf(t.Rank() < 2, "the input has %d dimensions, too few for channels", t.Rank())
	return t
}

// perChannel checks the parameters that have one element per channel.
func (c *Call) perChannel(t ir.Type, names ...string) {
	for _, name := range names {
		c.param(name, t.Sizes[1])
	}
}

// batchNormEval normalises with given statistics.
func batchNormEval() entry {
	params := []string{"weight", "bias", "running_mean", "running_var"}
	return entry{
		Schema: "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, " +
			"Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, " +
			"float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) []ir.Type {
			t := c.channels()
			c.perChannel(t, params...)
			none := ir.StaticTensor(c.Tensor("running_mean").DType, 0)
			return []ir.Type{batchNormType(t), none, none}
		},
		Compute: func(c *Call) []expr.Tensor {
			t := c.Tensor("input")
			eps := must(c.Float("eps"))
			m := opmath(t.DType)
			return c.elements(func(i int, at []sym.Expr) *expr.Expr {
				if i > 0 {
					return expr.Num(c.Outs[i].DType, 0)
				}
				ch := at[1]
				scale := inverseStd(c.paramAt("running_var", m, ch), eps)
				scale = affine(scale, c.paramAt("weight", m, ch), nil)
				x := expr.Cast(m, c.Load("input", at...))
				return affine(expr.Sub(x, c.paramAt("running_mean", m, ch)), scale,
					c.paramAt("bias", m, ch))
			})
		},
	}
}

// batchNormType is the type of the normalised input: channels last if it is.
func batchNormType(t ir.Type) ir.Type { return inFormatOf(t, t.DType, t.Sizes) }

// countOver returns the number of elements in the marked dimensions of t.
func countOver(t ir.Type, over []bool) sym.Expr {
	n := sym.Int(1)
	for d, s := range t.Sizes {
		if over[d] {
			n = sym.Mul(n, s)
		}
	}
	return n
}

// inputOver returns the input over all values of the marked dimensions, at the
// coordinates fixed in the others.
func (c *Call) inputOver(m ir.DType, over []bool, fixed ...sym.Expr) (*expr.Expr, []*sym.Symbol) {
	t := c.Tensor("input")
	at := make([]sym.Expr, t.Rank())
	var vars []*sym.Symbol
	k := 0
	for d, s := range t.Sizes {
		if !over[d] {
			at[d] = fixed[k]
			k++
			continue
		}
		v := sym.NewVar("r"+itoa(d), s)
		vars = append(vars, v)
		at[d] = v.Expr()
	}
	return expr.Cast(m, c.Load("input", at...)), vars
}

// batchNorm is the composite of modules.
func batchNorm() entry {
	op := derived("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, "+
		"Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, "+
		"bool cudnn_enabled) -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			x, w, bias, momentum, eps := c.Value("input"), c.Arg("weight"), c.Arg("bias"),
				c.Arg("momentum"), c.Arg("eps")
			if c.Bool("training") {
				c.errorIf(c.Has("running_mean"),
					"it writes to its running statistics, which only functionalisation can say")
				return b.aten("_native_batch_norm_legit.no_stats", x, w, bias, true, momentum, eps)
			}
			return b.aten("_native_batch_norm_legit_no_training", x, w, bias,
				c.Arg("running_mean"), c.Arg("running_var"), momentum, eps)
		})
	op.Infer = func(c *Call) []ir.Type {
		t := c.channels()
		c.perChannel(t, "weight", "bias", "running_mean", "running_var")
		return one(batchNormType(t))
	}
	op.Writes = func(b *Builder, c *Call) []*ir.Value {
		vs := b.batchNormKeeping(c)
		return vs[:min(1, len(vs))]
	}
	return op
}

// batchNormKeeping is batch norm in training mode, which writes its running
// statistics; it returns nothing for calls that do not.
func (b *Builder) batchNormKeeping(c *Call) []*ir.Value {
	if !c.Bool("training") || !c.Has("running_mean") || !c.Has("running_var") {
		return nil
	}
	return b.batchNormUpdating(c)
}

// batchNormUpdating is batch norm in training mode, which writes its running statistics.
func (b *Builder) batchNormUpdating(c *Call) []*ir.Value {
	mean, variance := c.Value("running_mean"), c.Value("running_var")
	vs := b.Ops("aten._native_batch_norm_legit_functional.default", c.Value("input"),
		c.Arg("weight"), c.Arg("bias"), mean, variance, true, c.Arg("momentum"), c.Arg("eps"))
	b.Write(mean, vs[3])
	b.Write(variance, vs[4])
	return vs[:3]
}

// groupsOf returns the number of groups and the channels in each.
func (c *Call) groupsOf(t ir.Type, arg string) (n int64, per sym.Expr) {
	n = must(c.Int(arg))
	c.errorIf(n <= 0 || differ(sym.Mod(t.Sizes[1], sym.Int(max(n, 1))), sym.Int(0)),
		"%s channels do not make %d groups", t.Sizes[1], n)
	c.need(t.Sizes[1])
	c.perChannel(t, "weight", "bias")
	return n, sym.FloorDiv(t.Sizes[1], sym.Int(n))
}

func nativeGroupNorm() entry {
	return entry{
		Schema: "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, " +
			"SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) []ir.Type {
			t := c.channels()
			n, _ := c.groupsOf(t, "group")
			c.restatesInput(t)
			s := ir.TensorOf(c.statsDType("weight", "bias"), t.Sizes[0], sym.Int(n))
			return []ir.Type{batchNormType(t), s, s}
		},
		Compute: func(c *Call) []expr.Tensor {
			t := c.Tensor("input")
			_, per := c.groupsOf(t, "group")
			eps := must(c.Float("eps"))
			m := opmath(t.DType)
			over := allOf(t.Rank())
			over[0], over[1] = false, false
			stats := func(sample, group sym.Expr) (mean, rstd *expr.Expr) {
				mean, v := moments(m, sym.Mul(per, countOver(t, over)),
					func() (*expr.Expr, []*sym.Symbol) {
						ch := sym.NewVar("r1", per)
						x, vars := c.inputOver(m, over, sample, sym.Add(sym.Mul(group, per),
							ch.Expr()))
						return x, append([]*sym.Symbol{ch}, vars...)
					})
				return mean, inverseStd(v, eps)
			}
			return c.elements(func(i int, at []sym.Expr) *expr.Expr {
				if i == 0 {
					mean, rstd := stats(at[0], sym.FloorDiv(at[1], per))
					return c.normalised(m, at, mean, rstd, at[1])
				}
				mean, rstd := stats(at[0], at[1])
				return []*expr.Expr{mean, rstd}[i-1]
			})
		},
	}
}

// batchNormGiven is batch norm that in training writes to its running statistics, if it has them;
// outside of training it is batchNormEval.
func batchNormGiven(schema string) entry {
	eval := "aten._native_batch_norm_legit_no_training.default"
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			if c.Bool("training") {
				ts := batchNormTrain("", c.Has("running_mean")).Infer(c)
				return ts[:min(3, len(ts))]
			}
			c.errorIf(!c.Has("running_mean") || !c.Has("running_var"),
				"neither statistics nor training: there is nothing to normalise with")
			return batchNormEval().Infer(c)
		},
		Writes: func(b *Builder, c *Call) []*ir.Value { return b.batchNormKeeping(c) },
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			if c.Bool("training") && !c.Has("running_mean") {
				return b.Ops("aten._native_batch_norm_legit.no_stats", c.Arg("input"),
					c.Arg("weight"), c.Arg("bias"), true, c.Arg("momentum"), c.Arg("eps"))
			}
			c.errorIf(c.Bool("training"),
				"it writes to its running statistics, which only functionalisation can say")
			return b.Ops(eval, c.Arg("input"), c.Arg("weight"), c.Arg("bias"),
				c.Arg("running_mean"), c.Arg("running_var"), c.Arg("momentum"), c.Arg("eps"))
		},
	}
}

// reserved puts the memory that PyTorch's kernels reserve, of which the CPU's take none, behind the
// first three results.
func (b *Builder) reserved(vs []*ir.Value) []*ir.Value {
	none := b.aten("empty.memory_format", []int{0}, Kw("dtype", ir.Uint8))
	return slices.Insert(vs, 3, none)
}

// updatedBatchNormOps are batch norm in training mode with a result that is reserved.
func updatedBatchNormOps() []entry {
	return []entry{
		{
			Schema: "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, " +
				"Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, " +
				"Tensor, Tensor, Tensor)",
			Infer: func(c *Call) []ir.Type {
				t := c.channels()
				c.perChannel(t, "weight", "bias", "running_mean", "running_var")
				s := ir.TensorOf(c.statsDType("weight", "bias"), t.Sizes[1])
				return []ir.Type{batchNormType(t), s, s, ir.StaticTensor(ir.Uint8, 0)}
			},
			Writes: func(b *Builder, c *Call) []*ir.Value {
				return b.reserved(b.batchNormUpdating(c))
			},
		},
		{
			Schema: "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, " +
				"Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, " +
				"Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				return b.reserved(b.Ops("aten._native_batch_norm_legit_functional.default",
					c.Arg("input"), c.Arg("weight"), c.Arg("bias"), c.Arg("running_mean"),
					c.Arg("running_var"), true, c.Arg("momentum"), c.Arg("eps")))
			},
		},
	}
}

// batchNormTrain normalises with the statistics of the batch itself and
// returns them; with running statistics it also returns those brought up to
// date, the variance without bias. Outside of training it takes the running
// statistics, and the others have no elements.
//
//go:noinline
func batchNormTrain(schema string, running bool) entry {
	params := []string{"weight", "bias"}
	if running {
		params = append(params, "running_mean", "running_var")
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			t := c.channels()
			c.perChannel(t, params...)
			c.errorIf(!c.Bool("training") && !running,
				"neither statistics nor training: there is nothing to normalise with")
			s := ir.TensorOf(c.statsDType("weight", "bias"), t.Sizes[1])
			if !c.Bool("training") {
				s = ir.StaticTensor(s.DType, 0)
			}
			out := []ir.Type{batchNormType(t), s, s}
			if running {
				out = append(out, c.Tensor("running_mean").Dense(), c.Tensor("running_var").Dense())
			}
			return out
		},
		Compute: func(c *Call) []expr.Tensor {
			t := c.Tensor("input")
			eps := must(c.Float("eps"))
			momentum := must(c.Float("momentum"))
			m := opmath(t.DType)
			over := allOf(t.Rank())
			over[1] = false
			n := countOver(t, over)
			stats := func(ch sym.Expr) (mean, variance *expr.Expr) {
				return moments(m, n, func() (*expr.Expr, []*sym.Symbol) {
					return c.inputOver(m, over, ch)
				})
			}
			training := c.Bool("training")
			if !training {
				stats = func(ch sym.Expr) (mean, variance *expr.Expr) {
					return c.paramAt("running_mean", m, ch), c.paramAt("running_var", m, ch)
				}
			}
			return c.elements(func(i int, at []sym.Expr) *expr.Expr {
				if i == 0 {
					mean, variance := stats(at[1])
					return c.normalised(m, at, mean, inverseStd(variance, eps), at[1])
				}
				mean, variance := stats(at[0])
				update := func(name string, now *expr.Expr) *expr.Expr {
					old := expr.Mul(expr.Num(m, 1-momentum), c.paramAt(name, m, at[0]))
					return expr.Add(old, expr.Mul(expr.Num(m, momentum), now))
				}
				switch {
				case i <= 2 && !training:
					return expr.Num(m, 0)
				case i == 1 || i == 3 && !training:
					return mean
				case i == 4 && !training:
					return variance
				case i == 2:
					return inverseStd(variance, eps)
				case i == 3:
					return update("running_mean", mean)
				}
				unbiased := expr.Div(expr.Mul(variance, expr.Idx(m, n)),
					expr.Idx(m, sym.Sub(n, sym.Int(1))))
				return update("running_var", unbiased)
			})
		},
	}
}
