package ops

import (
	"slices"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// convolution is one call of aten::convolution, checked, or of the one that has
// other padding before the input than after it.
type convolution struct {
	x, w                                          ir.Type
	stride, before, after, dilation, outPad, kern []sym.Expr // by spatial dimension
	groups                                        sym.Expr
	transposed                                    bool
	sum                                           ir.DType // of the sums
	integer                                       bool     // operands have zero points
}

// spatialArg returns a list argument with one element per spatial dimension;
// a single one stands for all.
func (c *Call) spatialArg(name string, n int) []sym.Expr {
	es := must(c.SymInts(name))
	if len(es) == 1 && n != 1 {
		es = slices.Repeat(es, n)
	}
	c.errorIf(len(es) != n, "%s has %d elements for %d spatial dimensions", name, len(es), n)
	return es
}

// convOf reads the arguments of a convolution: batch, channels and n spatial
// dimensions.
func convOf(c *Call) *convolution {
	cv := &convolution{x: c.Tensor("input"), w: c.Tensor("weight")}
	has := func(name string) bool { return c.Op.sch.Index(name) >= 0 }
	n := cv.w.Rank() - 2
	c.errorIf(n < 1 || cv.x.Rank() != n+2, "an input with %d dimensions and a weight with %d",
		cv.x.Rank(), cv.w.Rank())
	cv.sum = opmath(cv.x.DType)
	if cv.integer = has("input_zero_point"); cv.integer {
		cv.sum = c.integerSum("input", "weight")
	}
	wanted := cv.x.DType
	if c.Op.Name() == MixedConvolution {
		c.errorIf(!cv.x.DType.IsFloat(), "an input of %s", cv.x.DType)
		wanted = ir.Int8
	}
	c.errorIf(!cv.integer && cv.w.DType != wanted, "an input of %s and a weight of %s",
		cv.x.DType, cv.w.DType)
	cv.kern = cv.w.Sizes[2:]
	type list struct {
		name string
		to   *[]sym.Expr
	}
	lists := [4]list{{"stride", &cv.stride}, {"dilation", &cv.dilation}, {"before", &cv.before},
		{"after", &cv.after}}
	if has("padding") {
		lists[2], lists[3] = list{"padding", &cv.before}, list{"padding", &cv.after}
	}
	for _, l := range lists {
		*l.to = c.spatialArg(l.name, n)
	}
	if has("transposed") {
		cv.transposed, cv.outPad = c.Bool("transposed"), c.spatialArg("output_padding", n)
	}
	for d := range cv.outPad {
		c.errorIf(sym.Less(cv.before[d], sym.Int(0)) || sym.Less(cv.outPad[d], sym.Int(0)),
			"a padding of %s, of the output %s", cv.before[d], cv.outPad[d])
	}
	for d := range n {
		c.errorIf(!sym.Less(sym.Int(0), cv.stride[d]) || !sym.Less(sym.Int(0), cv.dilation[d]),
			"a stride of %s and a dilation of %s", cv.stride[d], cv.dilation[d])
	}
	cv.groups = must(c.SymInt("groups"))
	c.errorIf(!sym.Less(sym.Int(0), cv.groups), "%s groups", cv.groups)
	want := sym.Mul(cv.w.Sizes[1], cv.groups)
	if cv.transposed {
		want = cv.w.Sizes[0]
	}
	c.errorIf(differ(cv.x.Sizes[1], want), "an input of %s channels, the weight is for %s",
		cv.x.Sizes[1], want)
	if g, ok := cv.groups.Const(); ok && differ(sym.Mod(cv.w.Sizes[0], sym.Int(g)), sym.Int(0)) {
		panic(c.Errorf("%s channels do not make %d groups", cv.w.Sizes[0], g))
	}
	if !has("bias") {
		return cv
	}
	c.param("bias", cv.outChannels())
	return cv
}

func (cv *convolution) outChannels() sym.Expr {
	if cv.transposed {
		return sym.Mul(cv.w.Sizes[1], cv.groups)
	}
	return cv.w.Sizes[0]
}

// outType is the type of the result: channels last if the input or the weight
// is.
func (cv *convolution) outType(c *Call) ir.Type {
	sizes := []sym.Expr{cv.x.Sizes[0], cv.outChannels()}
	for d, k := range cv.kern {
		l := cv.x.Sizes[2+d]
		reach := sym.Mul(cv.dilation[d], sym.Sub(k, sym.Int(1)))
		var o sym.Expr
		if cv.transposed {
			o = sym.Add(sym.Mul(sym.Sub(l, sym.Int(1)), cv.stride[d]),
				sym.Neg(sym.Add(cv.before[d], cv.after[d])), reach, cv.outPad[d], sym.Int(1))
		} else {
			o = sym.Add(sym.FloorDiv(sym.Sub(sym.Add(l, cv.before[d], cv.after[d]),
				sym.Add(reach, sym.Int(1))), cv.stride[d]), sym.Int(1))
		}
		c.errorIf(sym.Less(o, sym.Int(0)), "a kernel of %s is larger than the padded input of %s",
			k, l)
		c.need(sym.Add(o, sym.Int(1)))
		sizes = append(sizes, o)
	}
	t := ir.TensorOf(cv.x.DType, sizes...)
	if suggestsChannelsLast(cv.x) || suggestsChannelsLast(cv.w) {
		t.Strides = channelsLastStrides(sizes)
	}
	return t
}

// compute returns element at of the result.
func (cv *convolution) compute(c *Call, at []sym.Expr) *expr.Expr {
	m := cv.sum
	load := func(name string, at []sym.Expr) *expr.Expr {
		if cv.integer {
			return expr.Cast(m, c.lessZero(name, at))
		}
		return expr.Cast(m, c.Load(name, at...))
	}
	var over []*sym.Symbol
	each := func(name string, n sym.Expr) sym.Expr {
		if n.Is(1) {
			return sym.Expr{}
		}
		v := sym.NewVar(name, n)
		over = append(over, v)
		return v.Expr()
	}
	// A group takes perIn channels of the input to perOut of the output.
	perIn, perOut := cv.w.Sizes[1], sym.FloorDiv(cv.w.Sizes[0], cv.groups)
	if cv.transposed {
		perIn, perOut = perOut, perIn
	}
	ci := each("c", perIn)
	group := sym.Expr{}
	if !cv.groups.Is(1) && !perOut.IsZero() {
		group = sym.FloorDiv(at[1], perOut)
	}
	in := sym.Add(sym.Mul(group, perIn), ci)
	xs, ws := []sym.Expr{at[0], in}, []sym.Expr{at[1], ci}
	if cv.transposed {
		ws = []sym.Expr{in, sym.Sub(at[1], sym.Mul(group, perOut))}
	}
	guard := expr.Bool(true)
	for d, n := range cv.kern {
		k := each("k"+itoa(d), n)
		ws = append(ws, k)
		i := sym.Sub(sym.Add(sym.Mul(at[2+d], cv.stride[d]), sym.Mul(k, cv.dilation[d])),
			cv.before[d])
		if cv.transposed {
			i = sym.Sub(sym.Add(at[2+d], cv.before[d]), sym.Mul(k, cv.dilation[d]))
			guard = expr.And(guard, expr.IdxLe(sym.Mod(i, cv.stride[d]), sym.Int(0)))
			i = sym.FloorDiv(i, cv.stride[d])
		}
		guard = expr.And(guard, expr.InRange(i, sym.Int(0), cv.x.Sizes[2+d]))
		xs = append(xs, i)
	}
	x := expr.Select(guard, load("input", xs), expr.Num(m, 0))
	y := expr.Sum(over, expr.Mul(x, load("weight", ws)))
	if c.Op.sch.Index("bias") < 0 {
		return expr.Cast(c.Outs[0].DType, y)
	}
	return affine(y, nil, c.paramAt("bias", m, at[1]))
}

// PaddedConvolution is the convolution that is not transposed with padding of
// its own before and after the input, of which aten::convolution has the one
// where both are the same. Exact says that input and weight are integers that 16 bits hold, whose
// sums of products are exact in any order: they are not to be computed another way.
const PaddedConvolution = "etgen.padded_convolution.default"

// ExactSum is the largest sum of exact products: up to it float32 has all integers.
const ExactSum = 1 << 24

// MixedConvolution is the convolution of floats with a weight of int8, that is not transposed,
// with padding of its own before and after the input.
const MixedConvolution = "etgen.mixed_convolution.default"

const mixedSchema = "etgen::mixed_convolution(Tensor input, Tensor weight, SymInt[] stride, " +
	"SymInt[] before, SymInt[] after, SymInt[] dilation, SymInt groups) -> Tensor"

const paddedSchema = "etgen::padded_convolution(Tensor input, Tensor weight, Tensor? bias, " +
	"SymInt[] stride, SymInt[] before, SymInt[] after, SymInt[] dilation, SymInt groups, " +
	"bool exact=False) -> Tensor"

const convolutionSchema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, " +
	"SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] " +
	"output_padding, SymInt groups) -> Tensor"

// convOps are the convolutions.
func convOps() []entry {
	ops := []entry{
		convEntry(convolutionSchema),
		convEntry("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, " +
			"SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, " +
			"SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, " +
			"bool allow_tf32) -> Tensor").core(convolutionCore),
		convEntry("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, " +
			"SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, " +
			"SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor").core(
			convolutionCore),
	}
	return append(append(ops, convEntry(paddedSchema), convEntry(mixedSchema)), convComposites()...)
}

func convEntry(schema string) entry {
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			cv := convOf(c)
			return one(cv.outType(c))
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			cv := convOf(c)
			return cv.compute(c, at)
		}),
	}
}

// convolutionCore leaves out what does not change the result.
func convolutionCore(b *Builder, c *Call) *ir.Value {
	args := seq.Of(9, func(i int) any { return c.Args[i] })
	return b.aten("convolution", args...)
}

// convComposites are the convolutions of modules: of a fixed number of
// spatial dimensions, with padding given by name, and without a batch.
func convComposites() []entry {
	return []entry{
		convComposite(
			"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "+
				"SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", 1),
		convComposite(
			"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "+
				"str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", 1),
		convComposite(
			"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "+
				"SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", 2),
		convComposite(
			"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, "+
				"1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", 2),
		convComposite(
			"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], "+
				"SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", 3),
		convComposite(
			"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, "+
				"1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", 3),
		convComposite(
			"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "+
				"SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, "+
				"SymInt[1] dilation=[1]) -> Tensor", 1),
		convComposite(
			"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, "+
				"SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], "+
				"SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor", 2),
		convComposite(
			"aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, "+
				"SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, "+
				"0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor", 3),
	}
}

// convCall is a convolution of a module as calls of other entries: pad the
// input, add a batch, convolve, take the batch away.
type convCall struct {
	before  []sym.Expr // constant_pad_nd of the input, nil for none
	padding []sym.Expr
	batched bool
	// of aten::convolution; its input operand has the right type but is not the real one
	call *Call
}

// convComposite is a composite that convolves n spatial dimensions.
func convComposite(schema string, n int) entry {
	plain := convEntry(convolutionSchema)
	convolution := sync.OnceValue(func() *Op {
		return plain.op(nil, must(aten.Parse(convolutionSchema)))
	})
	plan := func(c *Call) *convCall {
		x, w := c.Tensor("input"), c.Tensor("weight")
		c.errorIf(w.Rank() != n+2 || x.Rank() != n+2 && x.Rank() != n+1,
			"an input with %d dimensions and a weight with %d", x.Rank(), w.Rank())
		p := &convCall{batched: x.Rank() == n+2}
		outPad, transposed := ir.Arg(ir.List{ir.Int(0)}), false
		if c.Op.sch.Index("output_padding") >= 0 {
			outPad, transposed = c.Arg("output_padding"), true
		}
		p.pads(c, n, w)
		if p.before != nil {
			x = ir.TensorOf(x.DType, paddedSizes(x.Sizes, p.before)...)
		}
		if !p.batched {
			x = unsqueezed(x, 0).Type
		}
		padding := make(ir.List, n)
		for d, e := range p.padding {
			padding[d] = ir.Ref{Value: &ir.Value{Type: ir.SymInt(e)}}
		}
		node := &ir.Node{Op: "aten.convolution.default", Args: []ir.NamedArg{
			{Name: "input", Value: ir.Ref{Value: &ir.Value{Type: x}}},
			{Name: "weight", Value: c.Arg("weight")}, {Name: "bias", Value: c.Arg("bias")},
			{Name: "stride", Value: c.Arg("stride")}, {Name: "padding", Value: padding},
			{Name: "dilation", Value: c.Arg("dilation")},
			{Name: "transposed", Value: ir.BoolArg(transposed)}, {Name: "output_padding",
				Value: outPad}, {Name: "groups", Value: c.Arg("groups")},
		}}
		p.call = must(bindArgs(convolution(), node))
		p.call.Outs = plain.Infer(p.call)
		for _, n := range p.call.Needs() {
			c.need(n)
		}
		return p
	}
	return entry{
		Schema: schema,
		Infer: func(c *Call) []ir.Type {
			p := plan(c)
			t := p.call.Outs[0]
			if !p.batched {
				t = squeezed(t, firstOf(t.Rank())).Type
			}
			return []ir.Type{t}
		},
		Decompose: func(b *Builder, c *Call) []*ir.Value {
			p := plan(c)
			x := c.Value("input")
			if p.before != nil {
				x = b.aten("constant_pad_nd", x, p.before, 0)
			}
			if !p.batched {
				x = b.aten("unsqueeze", x, 0)
			}
			y := b.aten("convolution", x, c.Arg("weight"), c.Arg("bias"),
				c.Arg("stride"), p.padding, c.Arg("dilation"),
				p.call.Arg("transposed"), p.call.Arg("output_padding"), c.Arg("groups"))
			if !p.batched {
				y = b.aten("squeeze.dim", y, 0)
			}
			return []*ir.Value{y}
		},
	}
}

// firstOf returns the set of the first of n dimensions.
func firstOf(n int) []bool {
	set := make([]bool, n)
	set[0] = true
	return set
}

// pads finds out the padding. PyTorch puts the odd element of "same" behind.
func (p *convCall) pads(c *Call, n int, w ir.Type) {
	if _, named := c.Arg("padding").(ir.Str); !named {
		p.padding = c.spatialArg("padding", n)
		return
	}
	p.padding = make([]sym.Expr, n)
	switch how := c.Str("padding"); how {
	case "valid":
		return
	case "same":
	default:
		panic(c.Errorf("no padding is called %q", how))
	}
	dilation := c.spatialArg("dilation", n)
	before := make([]sym.Expr, 2*n) // from the last dimension on: before, after
	odd := false
	for d := range n {
		total := sym.Mul(dilation[d], sym.Sub(w.Sizes[2+d], sym.Int(1)))
		p.padding[d] = sym.FloorDiv(total, sym.Int(2))
		rest := sym.Sub(total, sym.Mul(sym.Int(2), p.padding[d]))
		before[2*(n-1-d)+1] = rest
		odd = odd || !rest.IsZero()
	}
	if odd {
		p.before = before
	}
}

// paddedSizes returns sizes with pad added: before and after, from the last
// dimension on.
func paddedSizes(sizes, pad []sym.Expr) []sym.Expr {
	out := slices.Clone(sizes)
	for i := 0; i+1 < len(pad); i += 2 {
		d := len(out) - 1 - i/2
		out[d] = sym.Add(out[d], pad[i], pad[i+1])
	}
	return out
}

// unfoldOps take images apart into columns and put them together again.
func unfoldOps() []entry { return []entry{im2col().core(im2colCore), col2im().core(col2imCore)} }

// columns are the arguments of im2col and col2im.
type columns struct {
	kern, dilation, pad, stride []sym.Expr
	blocks                      []sym.Expr // positions of the kernel by dimension
}

func columnsOf(c *Call, image []sym.Expr) *columns {
	cl := &columns{}
	for _, a := range []struct {
		name string
		to   *[]sym.Expr
	}{{"kernel_size", &cl.kern}, {"dilation", &cl.dilation}, {"padding", &cl.pad},
		{"stride", &cl.stride}} {
		*a.to = c.spatialArg(a.name, 2)
	}
	for d := range 2 {
		c.errorIf(!sym.Less(sym.Int(0), cl.stride[d]) || !sym.Less(sym.Int(0), cl.dilation[d]) ||
			!sym.Less(sym.Int(0), cl.kern[d]) || sym.Less(cl.pad[d], sym.Int(0)),
			"kernel %s, stride %s, dilation %s, padding %s", cl.kern[d], cl.stride[d],
			cl.dilation[d], cl.pad[d])
		reach := sym.Add(sym.Mul(cl.dilation[d], sym.Sub(cl.kern[d], sym.Int(1))), sym.Int(1))
		n := sym.Add(sym.FloorDiv(sym.Sub(sym.Add(image[d], sym.Mul(sym.Int(2), cl.pad[d])), reach),
			cl.stride[d]), sym.Int(1))
		c.errorIf(sym.Less(n, sym.Int(1)), "a kernel of %s is larger than the padded image of %s",
			cl.kern[d], image[d])
		c.need(n)
		cl.blocks = append(cl.blocks, n)
	}
	return cl
}

func im2col() entry {
	setup := func(c *Call) *columns {
		t := c.Tensor("self")
		c.errorIf(t.Rank() != 3 && t.Rank() != 4, "an image with %d dimensions", t.Rank())
		return columnsOf(c, t.Sizes[t.Rank()-2:])
	}
	typ := func(c *Call) ir.Type {
		cl := setup(c)
		t := c.Tensor("self")
		n := t.Rank() - 3
		return ir.TensorOf(t.DType, append(slices.Clone(t.Sizes[:n]),
			sym.Mul(t.Sizes[n], sym.Mul(cl.kern...)), sym.Mul(cl.blocks...))...)
	}
	return spread("aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, "+
		"int[2] stride) -> Tensor", typ,
		func(c *Call, at []sym.Expr) ([]sym.Expr, *expr.Expr) {
			cl := setup(c)
			t := c.Tensor("self")
			n := t.Rank() - 3
			row := unflatten(at[n], []sym.Expr{t.Sizes[n], cl.kern[0], cl.kern[1]})
			block := unflatten(at[n+1], cl.blocks)
			in := append(slices.Clone(at[:n]), row[0])
			guard := expr.Bool(true)
			for d := range 2 {
				i := sym.Sub(sym.Add(sym.Mul(block[d], cl.stride[d]),
					sym.Mul(row[1+d], cl.dilation[d])), cl.pad[d])
				guard = expr.And(guard, expr.InRange(i, sym.Int(0), t.Sizes[n+1+d]))
				in = append(in, i)
			}
			return in, guard
		})
}

// col2im adds up what the columns hold for each pixel.
func col2im() entry {
	setup := func(c *Call) (cl *columns, channels sym.Expr, image []sym.Expr) {
		t := c.Tensor("self")
		image = c.spatialArg("output_size", 2)
		cl = columnsOf(c, image)
		k := sym.Mul(cl.kern...)
		c.errorIf(t.Rank() != 2 && t.Rank() != 3 || differ(t.Sizes[max(t.Rank(), 1)-1],
			sym.Mul(cl.blocks...)) || differ(sym.Mod(t.Sizes[max(t.Rank()-2, 0)], k), sym.Int(0)),
			"columns of %s for %s kernel positions of %s elements", sizesOf{t},
			sym.Mul(cl.blocks...), k)
		return cl, sym.FloorDiv(t.Sizes[t.Rank()-2], k), image
	}
	return entry{
		Schema: "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, " +
			"int[2] padding, int[2] stride) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			_, channels, image := setup(c)
			t := c.Tensor("self")
			return []ir.Type{ir.TensorOf(t.DType, slices.Concat(t.Sizes[:t.Rank()-2],
				[]sym.Expr{channels}, image)...)}
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			cl, _, _ := setup(c)
			t := c.Tensor("self")
			m := opmath(t.DType)
			n := t.Rank() - 2
			var over []*sym.Symbol
			var k, block []sym.Expr
			guard := expr.Bool(true)
			for d := range 2 {
				v := sym.NewVar("k"+itoa(d), cl.kern[d])
				over = append(over, v)
				k = append(k, v.Expr())
				x := sym.Sub(sym.Add(at[n+1+d], cl.pad[d]), sym.Mul(v.Expr(), cl.dilation[d]))
				q := sym.FloorDiv(x, cl.stride[d])
				block = append(block, q)
				guard = expr.And(guard, expr.And(expr.IdxLe(sym.Mod(x, cl.stride[d]), sym.Int(0)),
					expr.InRange(q, sym.Int(0), cl.blocks[d])))
			}
			row := sym.Add(sym.Mul(at[n], cl.kern[0], cl.kern[1]), sym.RowMajor(cl.kern[:], k[:]))
			in := append(slices.Clone(at[:n]), row, sym.RowMajor(cl.blocks, block))
			return expr.Sum(over, expr.Select(guard, expr.Cast(m, c.Load("self", in...)),
				expr.Num(m, 0)))
		}),
	}
}
