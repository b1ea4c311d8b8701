package lower

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// FoldPadding makes zeros that were put unevenly around the spatial dimensions
// of an image part of the convolution that reads them, which becomes one with
// padding of its own on each side. Simplify does so for even ones, for which
// PyTorch has an operator.
var FoldPadding = Pass{
	Name: "fold-padding",
	Doc:  "make uneven zero padding part of the convolution that reads it",
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		s := &simplifier{table: ctx.Table}
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if n.Op != "aten.convolution.default" || n.Output(0) == nil {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil || c.Bool("transposed") || !c.Outs[0].DType.IsFloat() {
				return nil, true, nil
			}
			args, err := s.padded(c)
			if err != nil || args == nil {
				return nil, true, err
			}
			v := ops.NewBuilder(ctx.Table, e).Emit(ops.PaddedConvolution, args,
				n.Outputs[0].Type).Outputs[0]
			return []*ir.Value{v}, false, nil
		}
	}),
}

// padded returns the arguments of the padded convolution that does what c and
// the padding of its input do, nil if its input is not padded.
func (s *simplifier) padded(c *ops.Call) ([]ir.NamedArg, error) {
	spatial := c.Outs[0].Rank() - 2
	pad := s.definition(c.Value("input"))
	if pad == nil {
		return nil, nil
	}
	before, after, ok := zeroPadding(pad, spatial)
	own, err := c.Ints("padding")
	if !ok || err != nil {
		return nil, nil // or sizes are not known
	}
	if len(own) == 1 {
		own = slices.Repeat(own, spatial)
	}
	for d := range own {
		before[d] += own[d]
		after[d] += own[d]
	}
	args := []ir.NamedArg{{Name: "input", Value: ir.Ref{Value: pad.Value("self")}}}
	for _, name := range []string{"weight", "bias", "stride"} {
		args = append(args, ir.NamedArg{Name: name, Value: c.Arg(name)})
	}
	first, err := ops.ToArg(before)
	if err != nil {
		return nil, err
	}
	last, err := ops.ToArg(after)
	if err != nil {
		return nil, err
	}
	return append(args, ir.NamedArg{Name: "before", Value: first}, ir.NamedArg{Name: "after",
		Value: last},
		ir.NamedArg{Name: "dilation", Value: c.Arg("dilation")}, ir.NamedArg{Name: "groups",
			Value: c.Arg("groups")}), nil
}
