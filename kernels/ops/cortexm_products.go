package ops

import (
	"bytes"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	fixed "github.com/etgen/etgen/kernels/math"
)

// cortexMConvolutions accumulate in int32 and rescale by output channel. Padding of four numbers,
// those of rows and columns before the image and behind it, is not ExecuTorch's.
func cortexMConvolutions() []entry {
	const head, window = "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, ",
		"int[] dilation, "
	const tail = "int input_offset, int output_offset, Tensor requantize_multipliers, " +
		"Tensor requantize_shifts, int activation_min, int activation_max, Tensor? scratch=None"
	return []entry{
		int8Conv(cm+"quantized_conv2d"+head+window+tail+") -> Tensor", convDense),
		int8Conv(cm+"quantized_depthwise_conv2d"+head+window+"int depth_multiplier, "+tail+") -> Tensor",
			convDepthwise),
		int8Conv(cm+"quantized_transpose_conv2d"+head+"int[] output_padding, "+window+tail+
			", Tensor? output_scratch=None) -> Tensor", convTransposed),
	}
}

// convKind tells int8 convolutions apart.
type convKind int

const (
	convDense convKind = iota // weight [out, h, w, in/groups]
	// weight [1, h, w, out], channel c of the input makes channels c·m … c·m+m-1
	convDepthwise
	convTransposed // weight [out, h, w, in]
)

// int8Convolution is a call of one, checked.
type int8Convolution struct {
	kind                        convKind
	x, w                        ir.Type
	kern, stride, pad, dilation []sym.Expr
	behind                      []sym.Expr // padding there; pad is that before the image
	out                         []sym.Expr // sizes of the result
	perIn, perOut               sym.Expr   // channels of a group
}

func int8ConvOf(c *Call, kind convKind) *int8Convolution {
	v := &int8Convolution{kind: kind}
	v.x = c.int8Input("input", 4)
	v.w = c.int8Input("weight", 4)
	outPad := zeros(2)
	lists := map[string]*[]sym.Expr{"stride": &v.stride, "dilation": &v.dilation}
	if sides := must(c.SymInts("padding")); len(sides) == 4 && kind != convTransposed {
		v.pad, v.behind = sides[:2], sides[2:]
	} else {
		v.pad = c.spatialArg("padding", 2)
		v.behind = v.pad
	}
	if kind == convTransposed {
		lists["output_padding"] = &outPad
	}
	for _, name := range []string{"stride", "dilation", "output_padding"} {
		if to := lists[name]; to != nil {
			*to = c.spatialArg(name, 2)
		}
	}
	v.kern = v.w.Sizes[1:3]
	channels := v.channels(c)
	v.out = []sym.Expr{v.x.Sizes[0], channels}
	one := sym.Int(1)
	for d := range 2 {
		c.errorIf(sym.Less(v.stride[d], one) || sym.Less(v.dilation[d], one) || sym.Less(v.pad[d],
			sym.Int(0)) || sym.Less(v.behind[d], sym.Int(0)),
			"a stride of %s, a dilation of %s and padding of %s", v.stride[d],
			v.dilation[d], v.pad[d])
		l, reach := v.x.Sizes[2+d], sym.Mul(v.dilation[d], sym.Sub(v.kern[d], one))
		span := sym.Sub(sym.Add(l, v.pad[d], v.behind[d]), sym.Add(reach, one))
		o := sym.Add(sym.FloorDiv(span, v.stride[d]), one)
		if kind == convTransposed {
			o = sym.Add(sym.Mul(sym.Sub(l, one), v.stride[d]), sym.Mul(sym.Int(-2), v.pad[d]),
				reach, outPad[d], one)
			c.errorIf(!v.dilation[d].Is(1),
				"a dilation of %s, which CMSIS-NN does not have transposed", v.dilation[d])
		}
		c.errorIf(sym.Less(o, one), "a kernel of %s does not fit the padded input of %s", v.kern[d],
			l)
		c.need(o)
		v.out = append(v.out, o)
	}
	v.checkParams(c, channels)
	return v
}

// channels checks the channels of input and weight, splits them into groups and
// returns the number of the result's.
func (v *int8Convolution) channels(c *Call) sym.Expr {
	in, w := v.x.Sizes[1], v.w.Sizes
	switch v.kind {
	case convDepthwise:
		m := must(c.Int("depth_multiplier"))
		c.errorIf(m < 1 || !w[0].Is(1) || differ(w[3], sym.Mul(in, sym.Int(m))),
			"%s with a depth multiplier of %d", sizesOf{v.x, v.w}, m)
		v.perIn, v.perOut = sym.Int(1), sym.Int(m)
		return w[3]
	case convTransposed:
		c.errorIf(differ(w[3], in), "%s: groups are not defined", sizesOf{v.x, v.w})
	}
	v.perIn, v.perOut = w[3], w[0]
	if differ(w[3], in) {
		total, ok1 := in.Const()
		per, ok2 := w[3].Const()
		outs, ok3 := w[0].Const()
		c.errorIf(!ok1 || !ok2 || !ok3 || per < 1 || total < 1 || total%per != 0 ||
			outs%(total/per) != 0, "%s do not make groups", sizesOf{v.x, v.w})
		v.perOut = sym.Int(outs / (total / per))
	}
	return w[0]
}

// checkParams checks the tensors that have an int32 for each channel.
func (v *int8Convolution) checkParams(c *Call, channels sym.Expr) {
	for _, name := range []string{"bias", "requantize_multipliers", "requantize_shifts"} {
		c.param(name, channels)
		if k := c.Operand(name); k >= 0 && c.operands[k].Type.DType != ir.Int32 {
			panic(c.Errorf("%s is %s, not int32", name, c.operands[k].Type.DType))
		}
	}
}

// sum returns what element at of the result is made of, without bias: the sum
// of products of weights and of input elements plus off. Elements outside of
// the input are 0 then.
func (v *int8Convolution) sum(c *Call, at []sym.Expr, off *expr.Expr) *expr.Expr {
	var over []*sym.Symbol
	each := func(name string, n sym.Expr) sym.Expr {
		if n.Is(1) {
			return sym.Expr{}
		}
		s := sym.NewVar(name, n)
		over = append(over, s)
		return s.Expr()
	}
	group := sym.Expr{}
	if differ(v.perIn, v.x.Sizes[1]) {
		group = sym.FloorDiv(at[1], v.perOut)
	}
	k := []sym.Expr{each("y", v.kern[0]), each("x", v.kern[1])}
	ci := each("c", v.perIn)
	xs := []sym.Expr{at[0], sym.Add(sym.Mul(group, v.perIn), ci)}
	ws := []sym.Expr{at[1], k[0], k[1], ci}
	if v.kind == convDepthwise {
		ws = []sym.Expr{{}, k[0], k[1], at[1]}
	}
	inside := expr.Bool(true)
	for d := range 2 {
		i := sym.Sub(sym.Add(sym.Mul(at[2+d], v.stride[d]), sym.Mul(k[d], v.dilation[d])), v.pad[d])
		if v.kind == convTransposed {
			i = sym.Sub(sym.Add(at[2+d], v.pad[d]), k[d])
			inside = expr.And(inside, expr.IdxLe(sym.Mod(i, v.stride[d]), sym.Int(0)))
			i = sym.FloorDiv(i, v.stride[d])
		}
		inside = expr.And(inside, expr.InRange(i, sym.Int(0), v.x.Sizes[2+d]))
		xs = append(xs, i)
	}
	x := expr.Select(inside, offset(c.Load("input", xs...), off), expr.Int(ir.Int32, 0))
	return expr.Sum(over, expr.Mul(x, expr.Cast(ir.Int32, c.Load("weight", ws...))))
}

func int8Conv(schema string, kind convKind) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			v := int8ConvOf(c, kind)
			t := ir.TensorOf(ir.Int8, v.out...)
			t.Strides = channelsLastStrides(v.out)
			return []ir.Type{t}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			v := int8ConvOf(c, kind)
			n := c.int32Args("input_offset", "output_offset", "activation_min", "activation_max")
			y := affine(v.sum(c, at, n[0]), nil, c.paramAt("bias", ir.Int32, at[1]))
			y = fixed.Requantize(y, c.Load("requantize_multipliers", at[1]),
				c.Load("requantize_shifts", at[1]))
			return finish(y, n[1], n[2], n[3])
		}),
	}
}

// cortexMProducts multiply matrices; the second one is transposed.
func cortexMProducts() []entry {
	return []entry{
		// int8Linear maps the last dimension of the input. The weight is [out, in].
		//
		// kernel_sum stands for what does not depend on the input, the bias included:
		// input_offset times the sum of a row of the weight. It is there instead of the
		// bias in programs for cores with Helium.
		{
			Schema: cm +
				"quantized_linear(Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, " +
				"int input_offset, int filter_offset, int output_offset, int[] requantize_multipliers, " +
				"int[] requantize_shifts, int activation_max, int activation_min) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				x := c.int8Input("input", 0)
				w := c.int8Input("weights", 2)
				c.errorIf(x.Rank() == 0 || differ(x.Sizes[x.Rank()-1], w.Sizes[1]), "%s do not fit",
					sizesOf{x, w})
				for _, name := range []string{"bias", "kernel_sum"} {
					if k := c.Operand(name); k >= 0 {
						if t := c.operands[k].Type; t.DType != ir.Int32 ||
							differ(t.Numel(), w.Sizes[0]) {
							panic(c.Errorf("%s is %s of %s for %s rows", name, t.DType,
								sizesOf{t}, w.Sizes[0]))
						}
					}
				}
				sizes := append([]sym.Expr(nil), x.Sizes...)
				sizes[x.Rank()-1] = w.Sizes[0]
				return []ir.Type{ir.TensorOf(ir.Int8, sizes...)}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				n := c.int32Args("input_offset", "filter_offset", "output_offset",
					"activation_min", "activation_max")
				scale := c.firstRescale()
				last := len(at) - 1
				row := at[last]
				k := sym.NewVar("k", c.Tensor("weights").Sizes[1])
				in := append([]sym.Expr(nil), at...)
				in[last] = k.Expr()
				x, w := c.Load("input", in...), c.Load("weights", row, k.Expr())
				constant, inOffset := "bias", n[0]
				if c.Has("kernel_sum") {
					constant, inOffset = "kernel_sum", expr.Int(ir.Int32, 0)
				}
				y := expr.Sum([]*sym.Symbol{k}, expr.Mul(offset(x, inOffset), offset(w, n[1])))
				if c.Has(constant) {
					y = expr.Add(y, c.Load(constant, unflatten(row, c.Tensor(constant).Sizes)...))
				}
				return finish(scale.of(y), n[2], n[3], n[4])
			}),
		},
		// int8BatchMatmul multiplies lhs [b, m, k] by rhs [b, n, k], transposed. The
		// zero points of the operands are passed negated: they are added.
		{
			Schema: cm +
				"quantized_batch_matmul(Tensor lhs, int lhs_zero_point, Tensor rhs_transposed, " +
				"int rhs_zero_point, int output_zero_point, int output_multiplier, int output_shift, " +
				"Tensor? scratch=None) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				a := c.int8Input("lhs", 3)
				b := c.int8Input("rhs_transposed", 3)
				c.errorIf(differ(a.Sizes[0], b.Sizes[0]) || differ(a.Sizes[2], b.Sizes[2]),
					"%s do not fit", sizesOf{a, b})
				return []ir.Type{ir.TensorOf(ir.Int8, a.Sizes[0], a.Sizes[1], b.Sizes[1])}
			},
			Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
				n := c.int32Args("lhs_zero_point", "rhs_zero_point", "output_zero_point")
				scale := c.rescaleArg("output")
				k := sym.NewVar("k", c.Tensor("lhs").Sizes[2])
				a, b := c.Load("lhs", at[0], at[1], k.Expr()), c.Load("rhs_transposed", at[0],
					at[2], k.Expr())
				y := expr.Sum([]*sym.Symbol{k}, expr.Mul(offset(a, n[0]), offset(b, n[1])))
				lo, hi := int8Limits()
				return finish(scale.of(y), n[2], lo, hi)
			}),
		}}
}

// firstRescale is the scale of the first elements of requantize_multipliers and
// requantize_shifts: CMSIS-NN's product has one for all rows.
func (c *Call) firstRescale() rescale {
	ms := must(c.Ints("requantize_multipliers"))
	ss := must(c.Ints("requantize_shifts"))
	c.errorIf(len(ms) == 0 || len(ss) == 0, "no requantize_multipliers or requantize_shifts")
	return c.rescaleOf("requantize", ms[0], ss[0])
}

// cortexMPools pool windows of the two last dimensions.
func cortexMPools() []entry {
	const window = "(Tensor input, int[] kernel_size, int[] stride, int[] padding, "
	return []entry{
		int8Pool(cm+"quantized_avg_pool2d"+window+
			"bool ceil_mode=False, int zero_point, int multiplier, int shift, Tensor? scratch=None) -> "+
			"Tensor",
			func(_ *Call, p *pool, x *poolWindow) *expr.Expr { return p.roundedMean(x) }),
		int8Pool(cm+"quantized_max_pool2d"+window+
			"int[] dilation, bool ceil_mode, int input_zero_point, int output_zero_point, "+
			"int activation_min, int activation_max) -> Tensor",
			func(c *Call, _ *pool, x *poolWindow) *expr.Expr {
				lim := c.int32Args("activation_min", "activation_max")
				y := expr.MaxOf(x.over, expr.Select(x.inside, x.x, expr.Int(ir.Int32, -128)))
				return between(y, lim[0], lim[1])
			}),
	}
}

// poolWindow is the element of a window that the variables over select, as int32;
// it may be read if inside holds.
type poolWindow struct {
	over      []*sym.Symbol
	x, inside *expr.Expr
	count     sym.Expr // elements of the window that are inside
}

// window returns the elements of the window of the result's element at.
func (p *pool) window(c *Call, at []sym.Expr) *poolWindow {
	lead := p.x.Rank() - p.n
	w := &poolWindow{inside: expr.Bool(true), count: sym.Int(1)}
	in := append([]sym.Expr(nil), at[:lead]...)
	for d := range p.n {
		k := sym.NewVar("k"+itoa(d), p.kern[d])
		w.over = append(w.over, k)
		start := sym.Sub(sym.Mul(at[lead+d], p.stride[d]), p.pad[d])
		i, n := sym.Add(start, k.Expr()), p.kern[d]
		if p.needsGuard[d] {
			w.inside = expr.And(w.inside, expr.InRange(i, sym.Int(0), p.size(d)))
			n = sym.Sub(sym.Min(sym.Add(start, n), p.size(d)), sym.Max(start, sym.Int(0)))
		}
		in, w.count = append(in, i), sym.Mul(w.count, n)
	}
	w.x = expr.Cast(ir.Int32, c.Load("input", in...))
	return w
}

// roundedMean rounds to the nearest, ties away from zero.
func (p *pool) roundedMean(w *poolWindow) *expr.Expr {
	sum := expr.Sum(w.over, expr.Select(w.inside, w.x, expr.Int(ir.Int32, 0)))
	n := expr.Idx(ir.Int32, w.count)
	half := expr.Idx(ir.Int32, sym.FloorDiv(w.count, sym.Int(2)))
	toward := expr.Select(expr.Gt(sum, expr.Int(ir.Int32, 0)), half, expr.Neg(half))
	lo, hi := int8Limits()
	return between(expr.Div(expr.Add(sum, toward), n), lo, hi)
}

// int8Pool is an entry in which f gives what becomes of a window, an int32.
// Windows count only what is inside of the input.
func int8Pool(schema string, f func(*Call, *pool, *poolWindow) *expr.Expr) entry {
	read := func(c *Call) *pool {
		c.int8Input("input", 4)
		p := poolOfArg(c, "input", 2)
		c.errorIf((!p.dilation[0].Is(1) || !p.dilation[1].Is(1)),
			"a dilation of %s and %s, which CMSIS-NN's pooling does not have", p.dilation[0],
			p.dilation[1])
		return p
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			p := read(c)
			t := p.outType(ir.Int8)
			t.Strides = channelsLastStrides(t.Sizes)
			return []ir.Type{t}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			p := read(c)
			return f(c, p, p.window(c, at))
		}),
	}
}

// FixedMean is the name of the mean in fixed point.
const FixedMean = "etgen.fixed_mean.default"

// fixedMean is the mean of int8 with another scale: the sum of the elements less their zero
// point, shifted up by sum_shift, which int32 holds, is rescaled by what brings the mean to the
// scale. cortex_m has only a mean that keeps the scale, so that there it is a product with
// 2^sum_shift.
func fixedMean() entry {
	return reducer{
		schema: "etgen::fixed_mean(Tensor self, int[] dim, bool keepdim, int zero_point, " +
			"int sum_shift, int output_zero_point, int output_multiplier, int output_shift, " +
			"int activation_min, int activation_max) -> Tensor",
		rule: func(d ir.DType) (ir.DType, ir.DType, bool) {
			return ir.Int32, ir.Int8, d == ir.Int8
		},
		emptyIsAll: true, nonEmpty: true,
		body: func(r *reduction) []*expr.Expr {
			n := r.c.int32Args("zero_point", "output_zero_point", "activation_min",
				"activation_max")
			up := must(r.c.Int("sum_shift"))
			r.c.errorIf(up < 0 || up > 6, "a sum shifted by %d", up)
			y := expr.Sub(expr.Sum(r.red, r.x()), expr.Mul(r.size(), n[0]))
			y = expr.Shl(y, expr.Int(ir.Int32, up))
			return exprs(finish(r.c.rescaleArg("output").of(y), n[1], n[2], n[3]))
		},
		core: decomposed(func(b *Builder, c *Call) *ir.Value {
			x := c.Tensor("self")
			var kept, gone []int
			n := sym.Int(1)
			for d, over := range c.dims("dim", x.Rank(), true) {
				if over {
					gone, n = append(gone, d), sym.Mul(n, x.Sizes[d])
				} else {
					kept = append(kept, d)
				}
			}
			count, known := n.Const()
			c.errorIf(!known, "over %s elements", n)
			ones := b.Constant("ones", &ir.Constant{Type: ir.StaticTensor(ir.Int8, 1, count),
				Data: ir.Bytes(bytes.Repeat([]byte{1 << must(c.Int("sum_shift"))}, int(count)))})
			v := b.aten("reshape", b.aten("permute", c.Value("self"), append(kept, gone...)),
				[]int64{-1, count})
			v = b.Op(cortexMLinear, v, ones, nil, nil, -must(c.Int("zero_point")), 0,
				c.Arg("output_zero_point"), []int64{must(c.Int("output_multiplier"))},
				[]int64{must(c.Int("output_shift"))}, c.Arg("activation_max"),
				c.Arg("activation_min"))
			return b.aten("reshape", v, c.Outs[0].Sizes)
		}),
	}.op()
}

const cortexMLinear = "cortex_m.quantized_linear.default"
