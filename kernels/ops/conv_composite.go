package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
)

// convComposites are the convolutions of modules: of a fixed number of
// spatial dimensions, with padding given by name, and without a batch.
func convComposites() []Op {
	return []Op{
		convComposite(
			"aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", 1),
		convComposite(
			"aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor", 1),
		convComposite(
			"aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", 2),
		convComposite(
			"aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor", 2),
		convComposite(
			"aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", 3),
		convComposite(
			"aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor", 3),
		convComposite(
			"aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor", 1),
		convComposite(
			"aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor", 2),
		convComposite(
			"aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor", 3),
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
func convComposite(schema string, n int) Op {
	sch, err := aten.Parse(convolutionSchema)
	if err != nil {
		sch = nil // TestStandard fails on the entry itself
	}
	entry := convEntry(convolutionSchema)
	entry.sch = sch
	plan := func(c *Call) (*convCall, error) {
		x, w := c.Tensor("input"), c.Tensor("weight")
		if w.Rank() != n+2 || x.Rank() != n+2 && x.Rank() != n+1 {
			return nil, c.Errorf("an input with %d dimensions and a weight with %d",
				x.Rank(), w.Rank())
		}
		p := &convCall{batched: x.Rank() == n+2}
		outPad, transposed := ir.Arg(ir.List{ir.Int(0)}), false
		if c.Op.sch.Index("output_padding") >= 0 {
			outPad, transposed = c.Arg("output_padding"), true
		}
		check(p.pads(c, n, w))
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
		p.call = must(bindArgs(&entry, node))
		p.call.Outs, err = entry.Infer(p.call)
		for _, n := range p.call.Needs() {
			c.need(n)
		}
		return p, err
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			p := must(plan(c))
			t := p.call.Outs[0]
			if !p.batched {
				t = squeezed(t, firstOf(t.Rank())).Type
			}
			return []ir.Type{t}, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			p := must(plan(c))
			x := c.Value("input")
			if p.before != nil {
				x = b.Op("aten.constant_pad_nd.default", x, p.before, 0)
			}
			if !p.batched {
				x = b.Op("aten.unsqueeze.default", x, 0)
			}
			y := b.Op("aten.convolution.default", x, c.Arg("weight"), c.Arg("bias"),
				c.Arg("stride"), p.padding, c.Arg("dilation"),
				p.call.Arg("transposed"), p.call.Arg("output_padding"), c.Arg("groups"))
			if !p.batched {
				y = b.Op("aten.squeeze.dim", y, 0)
			}
			return []*ir.Value{y}, nil
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
func (p *convCall) pads(c *Call, n int, w ir.Type) (err error) {
	if _, named := c.Arg("padding").(ir.Str); !named {
		p.padding, err = c.spatialArg("padding", n)
		return err
	}
	p.padding = make([]sym.Expr, n)
	switch how := c.Str("padding"); how {
	case "valid":
		return nil
	case "same":
	default:
		return c.Errorf("no padding is called %q", how)
	}
	dilation := must(c.spatialArg("dilation", n))
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
	return nil
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
