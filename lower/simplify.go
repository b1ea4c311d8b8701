package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Simplify merges nodes that follow each other: two permutations of dimensions
// into one, two changes of shape into one, zero padding into the convolution
// or average pooling that reads it. Tensors must be dense.
var Simplify = Pass{
	Name: "simplify",
	Doc:  "merge consecutive permutes and views, and padding into convolutions and pools",
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		s := &simplifier{table: ctx.Table}
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			c, err := ctx.Table.Bind(n)
			if err != nil || len(n.Regions) > 0 || len(n.Outputs) != 1 || n.Outputs[0] == nil {
				return nil, true, nil
			}
			b := ops.NewBuilder(ctx.Table, e)
			for _, rule := range []rule{s.permutes, s.reshapes, s.padding} {
				v, err := rule(b, n, c)
				if err != nil {
					return nil, false, err
				}
				if v != nil {
					v.Type = n.Outputs[0].Type
					return []*ir.Value{v}, false, nil
				}
			}
			return nil, true, nil
		}
	}),
}

// rule returns what may stand for n's result, nil if the rule does not apply.
type rule func(b *ops.Builder, n *ir.Node, c *ops.Call) (*ir.Value, error)

type simplifier struct{ table *ops.Table }

// definition returns the bound node that defines v, nil if there is none.
func (s *simplifier) definition(v *ir.Value) *ops.Call {
	if v == nil || v.Def == nil || len(v.Def.Regions) > 0 || len(v.Def.Outputs) != 1 {
		return nil
	}
	c, err := s.table.Bind(v.Def)
	if err != nil {
		return nil
	}
	return c
}

// view returns the operand that c, a view with one result, shows, and how.
func view(c *ops.Call) (*ir.Value, *placement) {
	if c == nil || c.Op.View == nil || len(c.Outs) != 1 {
		return nil, nil
	}
	views, err := c.Op.View(c)
	if err != nil || len(views) != 1 {
		return nil, nil
	}
	x := c.Operands()[views[0].Of]
	return x, place(c.Outs[0].Sizes, x.Type.Sizes, views[0].Map)
}

func (s *simplifier) permutes(b *ops.Builder, n *ir.Node, c *ops.Call) (*ir.Value, error) {
	x, p := view(c)
	if p == nil {
		return nil, nil
	}
	outer, ok := p.permuted()
	if !ok {
		return nil, nil
	}
	if x, p = view(s.definition(x)); p == nil {
		return nil, nil
	}
	inner, ok := p.permuted()
	if !ok {
		return nil, nil
	}
	both := make([]int, len(outer))
	identity := true
	for i, d := range outer {
		both[i] = inner[d]
		identity = identity && both[i] == i
	}
	if identity {
		return x, nil
	}
	return call(b, "aten.permute.default", x, both)
}

func (s *simplifier) reshapes(b *ops.Builder, n *ir.Node, c *ops.Call) (*ir.Value, error) {
	x, p := view(c)
	if p == nil || !p.whole() {
		return nil, nil
	}
	if x, p = view(s.definition(x)); p == nil || !p.whole() {
		return nil, nil
	}
	if sym.AllEqual(x.Type.Sizes, n.Outputs[0].Type.Sizes) {
		return x, nil
	}
	return call(b, "aten.view.default", x, n.Outputs[0].Type.Sizes)
}

// padding makes zeros that were put evenly around the spatial dimensions part
// of the padding of the convolution or average pooling that reads them.
func (s *simplifier) padding(b *ops.Builder, n *ir.Node, c *ops.Call) (*ir.Value, error) {
	input, spatial := "input", 0
	switch n.Op {
	case "aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default":
		spatial = c.Outs[0].Rank() - 2
	case "aten.convolution.default":
		if c.Bool("transposed") {
			return nil, nil
		}
		spatial = c.Outs[0].Rank() - 2
	case "aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default":
		input = "self"
		spatial = int(ir.OpBase(n.Op)[len("avg_pool")] - '0')
		if c.Bool("ceil_mode") || !c.Bool("count_include_pad") {
			return nil, nil
		}
	default:
		return nil, nil
	}
	x := c.Value(input)
	pad := s.definition(x)
	if pad == nil || x.Type.Rank() <= spatial {
		return nil, nil
	}
	amounts, after, ok := zeroPadding(pad, spatial)
	if !ok || !slices.Equal(amounts, after) {
		return nil, nil
	}
	old, err := c.Ints("padding")
	if err != nil {
		return nil, nil
	}
	if len(old) == 1 {
		old = slices.Repeat(old, spatial)
	}
	if len(old) != spatial {
		return nil, nil
	}
	for d := range old {
		old[d] += amounts[d]
	}
	if input == "self" { // pools take at most half a window of padding
		kernel, err := c.Ints("kernel_size")
		if err != nil {
			return nil, nil
		}
		if len(kernel) == 1 {
			kernel = slices.Repeat(kernel, spatial)
		}
		for d := range kernel {
			if 2*old[d] > kernel[d] {
				return nil, nil
			}
		}
	}
	args := slices.Clone(n.Args)
	out := &ir.Node{Op: n.Op, Args: args}
	for i, p := range c.Op.ParsedSchema().Args { // all by name
		if i < len(args) && args[i].Name == "" {
			args[i].Name = p.Name
		}
	}
	list, err := ops.ToArg(old)
	if err != nil {
		return nil, err
	}
	out.SetArg("padding", list)
	out.SetArg(input, ir.Ref{Value: pad.Value("self")})
	return b.Emit(out.Op, out.Args, n.Outputs[0].Type).Outputs[0], nil
}

// zeroPadding returns how many zeros c puts before and after each of the last
// spatial dimensions.
func zeroPadding(c *ops.Call, spatial int) (before, after []int64, ok bool) {
	switch c.Op.Name() {
	case "aten.pad.default":
		if c.Str("mode") != "constant" {
			return nil, nil, false
		}
	case "aten.constant_pad_nd.default":
	default:
		return nil, nil, false
	}
	if c.Has("value") {
		if v, err := c.Float("value"); err != nil || v != 0 {
			return nil, nil, false
		}
	}
	pads, err := c.Ints("pad")
	if err != nil || len(pads) > 2*spatial || len(pads)%2 != 0 {
		return nil, nil, false
	}
	before, after = make([]int64, spatial), make([]int64, spatial)
	for i := 0; i < len(pads); i += 2 {
		if pads[i] < 0 || pads[i+1] < 0 {
			return nil, nil, false
		}
		before[spatial-1-i/2], after[spatial-1-i/2] = pads[i], pads[i+1]
	}
	return before, after, true
}
