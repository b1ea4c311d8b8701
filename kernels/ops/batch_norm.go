package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// channels returns the type of a normalisation's input, whose dimension 1
// holds the channels.
func (c *Call) channels() (ir.Type, error) {
	t, err := c.floatInput()
	if err == nil && t.Rank() < 2 {
		err = c.Errorf("the input has %d dimensions, too few for channels", t.Rank())
	}
	return t, err
}

// perChannel checks the parameters that have one element per channel.
func (c *Call) perChannel(t ir.Type, names ...string) error {
	for _, name := range names {
		if err := c.param(name, t.Sizes[1]); err != nil {
			return err
		}
	}
	return nil
}

// batchNormEval normalises with given statistics.
func batchNormEval() Op {
	params := []string{"weight", "bias", "running_mean", "running_var"}
	return Op{
		Schema: "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.channels())
			check(c.perChannel(t, params...))
			none := ir.StaticTensor(c.Tensor("running_mean").DType, 0)
			return []ir.Type{batchNormType(t), none, none}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("input")
			eps := must(c.Float("eps"))
			m := opmath(t.DType)
			vars, at := indexVars(t.Sizes)
			ch := at[1]
			scale := inverseStd(c.paramAt("running_var", m, ch), eps)
			if w := c.paramAt("weight", m, ch); w != nil {
				scale = expr.Mul(scale, w)
			}
			x := expr.Sub(expr.Cast(m, c.Load("input", at...)), c.paramAt("running_mean", m, ch))
			y := affine(x, scale, c.paramAt("bias", m, ch))
			out := []expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Cast(t.DType, y)}}
			for range 2 {
				vars, _ := indexVars(c.Outs[1].Sizes)
				out = append(out, expr.Tensor{DType: c.Outs[1].DType, Vars: vars,
					Body: expr.Num(c.Outs[1].DType, 0)})
			}
			return out, nil
		},
	}
}

// batchNormType is the type of the normalised input: channels last if it is.
func batchNormType(t ir.Type) ir.Type {
	u := ir.TensorOf(t.DType, t.Sizes...)
	if suggestsChannelsLast(t) {
		u.Strides = channelsLastStrides(t.Sizes)
	}
	return u
}

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
func batchNorm() Op {
	typ := func(c *Call) (ir.Type, error) {
		t, err := c.channels()
		if err == nil {
			err = c.perChannel(t, "weight", "bias", "running_mean", "running_var")
		}
		return batchNormType(t), err
	}
	op := composite("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
		typ, func(b *Builder, c *Call) *ir.Value {
			x, w, bias, momentum, eps := c.Value("input"), c.Arg("weight"), c.Arg("bias"),
				c.Arg("momentum"), c.Arg("eps")
			if c.Bool("training") {
				if c.Has("running_mean") {
					check(
						c.Errorf(
							"it writes to its running statistics, which only functionalisation can say"))
				}
				return b.Op("aten._native_batch_norm_legit.no_stats", x, w, bias, true,
					momentum, eps)
			}
			return b.Op("aten._native_batch_norm_legit_no_training.default", x, w, bias,
				c.Arg("running_mean"), c.Arg("running_var"), momentum, eps)
		})
	op.Writes = func(b *Builder, c *Call) ([]*ir.Value, error) {
		vs := b.batchNormKeeping(c)
		return vs[:min(1, len(vs))], nil
	}
	return op
}

// batchNormKeeping is batch norm in training mode, which writes its running
// statistics; it returns nothing for calls that do not.
func (b *Builder) batchNormKeeping(c *Call) []*ir.Value {
	if !c.Bool("training") || !c.Has("running_mean") || !c.Has("running_var") {
		return nil
	}
	mean, variance := c.Value("running_mean"), c.Value("running_var")
	vs := b.Ops("aten._native_batch_norm_legit_functional.default", c.Value("input"),
		c.Arg("weight"), c.Arg("bias"), mean, variance, true, c.Arg("momentum"), c.Arg("eps"))
	b.Write(mean, vs[3])
	b.Write(variance, vs[4])
	return vs[:3]
}

// instanceNorm normalises each channel of each sample by itself, or with given
// statistics.
func instanceNorm() Op {
	return Op{
		Schema: "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
		Infer: func(c *Call) ([]ir.Type, error) {
			t, err := c.channels()
			if err == nil {
				err = c.perChannel(t, "weight", "bias", "running_mean", "running_var")
			}
			switch {
			case err != nil:
			case c.Bool("use_input_stats") && c.Has("running_mean"):
				err =
					c.Errorf(
						"an instance norm in training mode updates its statistics; export the model after model.eval()")
			case !c.Bool("use_input_stats") && !(c.Has("running_mean") && c.Has("running_var")):
				err =
					c.Errorf(
						"neither statistics nor use_input_stats: there is nothing to normalise with")
			}
			return one(ir.TensorOf(t.DType, t.Sizes...), err)
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("input")
			eps := must(c.Float("eps"))
			m := opmath(t.DType)
			vars, at := indexVars(t.Sizes)
			mean, variance := c.paramAt("running_mean", m, at[1]),
				c.paramAt("running_var", m, at[1])
			if c.Bool("use_input_stats") {
				over := allOf(t.Rank())
				over[0], over[1] = false, false
				mean, variance = moments(m, countOver(t, over), func() (*expr.Expr, []*sym.Symbol) {
					return c.inputOver(m, over, at[0], at[1])
				})
			}
			x := expr.Mul(expr.Sub(expr.Cast(m, c.Load("input", at...)), mean),
				inverseStd(variance, eps))
			y := affine(x, c.paramAt("weight", m, at[1]), c.paramAt("bias", m, at[1]))
			return []expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Cast(t.DType, y)}}, nil
		},
	}
}

// groupsOf returns the number of groups and the channels in each.
func (c *Call) groupsOf(t ir.Type, arg string) (n int64, per sym.Expr, err error) {
	if n, err = c.Int(arg); err != nil {
		return
	}
	if n <= 0 || differ(sym.Mod(t.Sizes[1], sym.Int(max(n, 1))), sym.Int(0)) {
		err = c.Errorf("%s channels do not make %d groups", t.Sizes[1], n)
		return
	}
	c.need(t.Sizes[1])
	return n, sym.FloorDiv(t.Sizes[1], sym.Int(n)), c.perChannel(t, "weight", "bias")
}

func nativeGroupNorm() Op {
	return Op{
		Schema: "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := must(c.channels())
			n, _ := must2(c.groupsOf(t, "group"))
			check(c.restatesInput(t))
			s := ir.TensorOf(c.statsDType("weight", "bias"), t.Sizes[0], sym.Int(n))
			return []ir.Type{batchNormType(t), s, s}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t := c.Tensor("input")
			_, per := must2(c.groupsOf(t, "group"))
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
			vars, at := indexVars(t.Sizes)
			mean, rstd := stats(at[0], sym.FloorDiv(at[1], per))
			x := expr.Mul(expr.Sub(expr.Cast(m, c.Load("input", at...)), mean), rstd)
			y := affine(x, c.paramAt("weight", m, at[1]), c.paramAt("bias", m, at[1]))
			out := []expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Cast(t.DType, y)}}
			for i := 1; i <= 2; i++ {
				d := c.Outs[i].DType
				vars, at := indexVars(c.Outs[i].Sizes)
				mean, rstd := stats(at[0], at[1])
				out = append(out, expr.Tensor{DType: d, Vars: vars,
					Body: expr.Cast(d, []*expr.Expr{mean, rstd}[i-1])})
			}
			return out, nil
		},
	}
}

func groupNorm() Op {
	typ := func(c *Call) (ir.Type, error) {
		t, err := c.channels()
		if err == nil {
			_, _, err = c.groupsOf(t, "num_groups")
		}
		return batchNormType(t), err
	}
	return composite(
		"aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
		typ, func(b *Builder, c *Call) *ir.Value {
			s := c.Tensor("input").Sizes
			return b.Op("aten.native_group_norm.default", c.Value("input"), c.Arg("weight"),
				c.Arg("bias"),
				s[0], s[1], sym.Mul(s[2:]...), c.Arg("num_groups"), c.Arg("eps"))
		})
}

// batchNormGiven is batch norm that in training writes to its running
// statistics; outside of training it is batchNormEval.
func batchNormGiven() Op {
	eval := "aten._native_batch_norm_legit_no_training.default"
	return Op{
		Schema: "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
		Infer: func(c *Call) ([]ir.Type, error) {
			if c.Bool("training") {
				ts, err := batchNormTrain("", true).Infer(c)
				return ts[:min(3, len(ts))], err
			}
			return batchNormEval().Infer(c)
		},
		Writes: func(b *Builder, c *Call) ([]*ir.Value, error) {
			return b.batchNormKeeping(c), nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			if c.Bool("training") {
				return nil,
					c.Errorf(
						"it writes to its running statistics, which only functionalisation can say")
			}
			return b.Ops(eval, c.Arg("input"), c.Arg("weight"), c.Arg("bias"),
				c.Arg("running_mean"), c.Arg("running_var"), c.Arg("momentum"), c.Arg("eps")), nil
		},
	}
}

// batchNormTrain normalises with the statistics of the batch itself and
// returns them; with running statistics it also returns those brought up to
// date, the variance without bias. Outside of training it takes the running
// statistics, and the others have no elements.
func batchNormTrain(schema string, running bool) Op {
	params := []string{"weight", "bias"}
	if running {
		params = append(params, "running_mean", "running_var")
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			t, err := c.channels()
			if err == nil {
				err = c.perChannel(t, params...)
			}
			if err == nil && !c.Bool("training") && !running {
				err =
					c.Errorf("neither statistics nor training: there is nothing to normalise with")
			}
			if err != nil {
				return nil, err
			}
			s := ir.TensorOf(c.statsDType("weight", "bias"), t.Sizes[1])
			if !c.Bool("training") {
				s = ir.StaticTensor(s.DType, 0)
			}
			out := []ir.Type{batchNormType(t), s, s}
			if running {
				out = append(out, c.Tensor("running_mean").Dense(), c.Tensor("running_var").Dense())
			}
			return out, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
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
			vars, at := indexVars(t.Sizes)
			mean, variance := stats(at[1])
			x := expr.Mul(expr.Sub(expr.Cast(m, c.Load("input", at...)), mean),
				inverseStd(variance, eps))
			y := affine(x, c.paramAt("weight", m, at[1]), c.paramAt("bias", m, at[1]))
			out := []expr.Tensor{{DType: t.DType, Vars: vars, Body: expr.Cast(t.DType, y)}}
			for i := 1; i < len(c.Outs); i++ {
				d := c.Outs[i].DType
				vars, at := indexVars(c.Outs[i].Sizes)
				mean, variance := stats(at[0])
				update := func(name string, now *expr.Expr) *expr.Expr {
					old := expr.Mul(expr.Num(m, 1-momentum), c.paramAt(name, m, at[0]))
					return expr.Add(old, expr.Mul(expr.Num(m, momentum), now))
				}
				var body *expr.Expr
				switch {
				case i <= 2 && !training:
					body = expr.Num(m, 0)
				case i == 1 || i == 3 && !training:
					body = mean
				case i == 4 && !training:
					body = variance
				case i == 2:
					body = inverseStd(variance, eps)
				case i == 3:
					body = update("running_mean", mean)
				default:
					unbiased := expr.Div(expr.Mul(variance, expr.Idx(m, n)),
						expr.Idx(m, sym.Sub(n, sym.Int(1))))
					body = update("running_var", unbiased)
				}
				out = append(out, expr.Tensor{DType: d, Vars: vars, Body: expr.Cast(d, body)})
			}
			return out, nil
		},
	}
}
