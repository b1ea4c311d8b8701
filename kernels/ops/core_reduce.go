package ops

import (
	"github.com/etgen/etgen/ir"
)

// decomposed gives a reduction a decomposition to Core ATen.
func decomposed(f coreForm) func(*Builder, *Call) ([]*ir.Value, error) {
	return func(b *Builder, c *Call) ([]*ir.Value, error) { return []*ir.Value{f(b, c)}, nil }
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

func sumCore(b *Builder, c *Call) *ir.Value {
	return b.Op("aten.sum.dim_IntList", c.Value("self"), c.dimList(), c.keepdim(), dtypeArg(c))
}

func nansumCore(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	if x.Type.DType.IsFloat() {
		x = b.where(b.Op("aten.isnan.default", x), 0, x, x.Type.DType)
	}
	return b.Op("aten.sum.dim_IntList", x, c.dimList(), c.keepdim(), dtypeArg(c))
}

// allCore is not any not. For uint8 the result is uint8.
func allCore(op string, dim bool) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		args := []any{b.Op("aten.logical_not.default", c.Value("self"))}
		if dim {
			args = append(args, c.Arg("dim"), c.keepdim())
		}
		return b.cast(b.Op("aten.logical_not.default", b.Op(op, args...)), c.Outs[0].DType)
	}
}

func countCore(b *Builder, c *Call) *ir.Value {
	return b.Op("aten.sum.dim_IntList", b.Op("aten.ne.Scalar", c.Value("self"), 0), c.dimList())
}

func logsumexpCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0].DType
	x := b.cast(c.Value("self"), opmath(d))
	top := b.Op("aten.amax.default", x, c.dimList(), true)
	top = b.where(b.Op("aten.isinf.default", top), 0, top, top.Type.DType)
	sum := b.Op("aten.sum.dim_IntList", b.Op("aten.exp.default", b.sub(x, top)), c.dimList(), true)
	r := b.add(b.Op("aten.log.default", sum), top)
	if !c.keepdim() {
		r = b.Op("aten.reshape.default", r, c.Outs[0].Sizes)
	}
	return b.cast(r, d)
}

func vectorNormCore(b *Builder, c *Call) *ir.Value {
	p := must(c.Float("ord"))
	d := c.Outs[0].DType
	x := b.Op("aten.abs.default", b.cast(c.Value("self"), opmath(d)))
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
		r = reduce("aten.sum.dim_IntList", b.cast(b.Op("aten.ne.Scalar", x, 0), x.Type.DType))
	case 1:
		r = reduce("aten.sum.dim_IntList", x)
	case 2:
		r = b.Op("aten.sqrt.default", reduce("aten.sum.dim_IntList", b.mul(x, x)))
	default:
		sum := reduce("aten.sum.dim_IntList", b.Op("aten.pow.Tensor_Scalar", x, p))
		r = b.Op("aten.pow.Tensor_Scalar", sum, 1/p)
	}
	return b.cast(r, d)
}

func aminmaxCore(b *Builder, c *Call) ([]*ir.Value, error) {
	x := c.Value("self")
	return []*ir.Value{
		b.Op("aten.amin.default", x, c.dimList(), c.keepdim()),
		b.Op("aten.amax.default", x, c.dimList(), c.keepdim()),
	}, nil
}

// varianceCore is var.correction, its root and the mean.
func varianceCore(std, withMean bool) func(b *Builder, c *Call) ([]*ir.Value, error) {
	return func(b *Builder, c *Call) ([]*ir.Value, error) {
		correction := any(1)
		if c.Op.sch.Index("correction") >= 0 {
			correction = c.Arg("correction")
		} else if !c.Bool("unbiased") {
			correction = 0
		}
		x := c.Value("self")
		v := b.Op("aten.var.correction", x, c.dimList(), Kw("correction", correction),
			Kw("keepdim", c.keepdim()))
		if std {
			v = b.Op("aten.sqrt.default", v)
		}
		if !withMean {
			return []*ir.Value{v}, nil
		}
		return []*ir.Value{v, b.Op("aten.mean.dim", x, c.dimList(), c.keepdim())}, nil
	}
}

// fullCore is a factory as full.
func fullCore(value any) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		v := value
		if v == nil {
			v = c.Arg("fill_value")
		}
		return b.Op("aten.full.default", c.Outs[0].Sizes, v, Kw("dtype", c.Outs[0].DType))
	}
}

// fullLikeCore is a factory as full_like.
func fullLikeCore(value any) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		args := []any{c.Value("self"), value, Kw("dtype", c.Outs[0].DType)}
		if c.Op.sch.Index("memory_format") >= 0 {
			args = append(args, Kw("memory_format", c.Arg("memory_format")))
		}
		return b.Op("aten.full_like.default", args...)
	}
}

func arangeCore(b *Builder, c *Call) *ir.Value {
	start := any(0)
	if c.Op.sch.Index("start") >= 0 {
		start = c.Arg("start")
	}
	return b.Op("aten.arange.start_step", start, c.Arg("end"), 1, Kw("dtype", c.Outs[0].DType))
}

func eyeCore(b *Builder, c *Call) *ir.Value {
	d := c.Outs[0]
	rows := b.Op("aten.arange.start_step", 0, d.Sizes[0])
	cols := b.Op("aten.arange.start_step", 0, d.Sizes[1])
	return b.cast(b.Op("aten.eq.Tensor", b.Op("aten.unsqueeze.default", rows, 1), cols), d.DType)
}

// fillCore copies a value without dimensions to the shape of self.
func fillCore(b *Builder, c *Call) *ir.Value {
	v := b.cast(c.Value("value"), c.Outs[0].DType)
	return b.Op("aten.clone.default", b.Op("aten.expand.default", v, c.Outs[0].Sizes))
}
