package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// StockForms brings every node to a form that the stock runtime has a kernel
// for: views become copies (or one change of shape), numbers stand where a
// kernel takes a number, casts and copies say the order of dimensions they
// produce. What a kernel refuses of dtypes and shapes is made explicit.
// Tensors must be dense.
var StockForms = Pass{
	Name: "stock-forms",
	Doc:  "bring every operator to a form that ExecuTorch has a kernel for",
	Run: perNode(func(ctx *Context, m *ir.Method) visitor {
		uses := ir.Uses(m.Graph)
		return func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if len(n.Regions) > 0 {
				return nil, true, nil
			}
			c, err := ctx.Table.Bind(n)
			if err != nil {
				return nil, true, nil // OnlyStock reports it
			}
			b := ops.NewBuilder(ctx.Table, e)
			for _, rule := range stockRules {
				vs, err := rule(b, n, c, uses)
				if err != nil {
					return nil, false, err
				}
				if vs == nil {
					continue
				}
				for i, v := range vs {
					if old := n.Output(i); old != nil && v != nil && v.Def != nil && v.Def != n &&
						!isOperand(c, v) {
						v.Type = old.Type
					}
				}
				return vs, false, nil
			}
			return nil, true, nil
		}
	}),
}

// stockRule returns what may stand for n's results, nil if it does not apply.
// Uses counts the references to each value.
type stockRule func(b *ops.Builder, n *ir.Node, c *ops.Call,
	uses map[*ir.Value]int) ([]*ir.Value, error)

var stockRules = []stockRule{stockView, stockCopy, stockNumber, stockItem, stockRoll,
	stockRemainder, stockPad, stockCat, stockPower, stockCumsum, stockConvolution}

// stockCopy is the rule for copies and casts.
func stockCopy(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	switch n.Op {
	case "aten._to_copy.default", "aten.clone.default", "aten.alias_copy.default",
		"aten.detach_copy.default", "aten.lift_fresh_copy.default":
	default:
		return nil, nil
	}
	x := c.Value("self")
	if x.Type.DType == c.Outs[0].DType {
		return []*ir.Value{x}, nil // functional: nobody writes to either
	}
	out := toOrder(b.Names, x, n.Outputs[0].Type)
	out.Loc = n.Loc
	b.Append(out)
	return out.Outputs, nil
}

// stockItem is the rule for reading a 16-bit float as a number, which the
// kernel does not do.
func stockItem(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.item.default" && n.Op != "aten._local_scalar_dense.default" {
		return nil, nil
	}
	x := c.Value("self")
	if d := x.Type.DType; d != ir.Float16 && d != ir.BFloat16 {
		return nil, nil
	}
	t := x.Type
	t.DType = ir.Float32
	wide := toOrder(b.Names, x, t)
	wide.Loc = n.Loc
	b.Append(wide)
	return b.Call("aten._local_scalar_dense.default", wide.Outputs[0])
}

// stockRoll is the rule for rolling a flattened tensor: the kernel wants
// dimensions.
func stockRoll(b *ops.Builder, n *ir.Node, c *ops.Call, _ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.roll.default" {
		return nil, nil
	}
	x := c.Value("self")
	dims, err := c.Ints("dims")
	if err != nil || len(dims) > 0 {
		return nil, err
	}
	if x.Type.Rank() == 1 {
		return b.Call(n.Op, x, c.Arg("shifts"), []int64{0})
	}
	flat, err := call(b, viewCopyOp, x, shapeArg([]sym.Expr{x.Type.Numel()}))
	if err != nil {
		return nil, err
	}
	rolled, err := call(b, n.Op, flat, c.Arg("shifts"), []int64{0})
	if err != nil {
		return nil, err
	}
	return b.Call(viewCopyOp, rolled, shapeArg(x.Type.Sizes))
}

// stockCumsum is the rule for running sums of a tensor without dimensions,
// which the kernel refuses.
func stockCumsum(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.cumsum.default" || c.Outs[0].Rank() > 0 {
		return nil, nil
	}
	row, err := call(b, viewCopyOp, c.Value("self"), []int{1})
	if err != nil {
		return nil, err
	}
	sum, err := call(b, n.Op, row, 0, ops.Kw("dtype", c.Outs[0].DType))
	if err != nil {
		return nil, err
	}
	return b.Call(viewCopyOp, sum, []int{})
}

// stockRemainder is the rule for remainders of integers: the kernels give them
// the sign of the dividend.
func stockRemainder(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	if n.Op != "aten.remainder.Tensor" && n.Op != "aten.remainder.Scalar" {
		return nil, nil
	}
	x, other := c.Value("self"), c.Arg("other")
	if !c.Outs[0].DType.IsInt() || x == nil || x.Type.DType == ir.Bool {
		return nil, nil
	}
	var quotient *ir.Value
	var err error
	product := "aten.mul.Tensor"
	if n.Op == "aten.remainder.Tensor" {
		quotient, err = call(b, "aten.floor_divide.default", x, other)
	} else {
		product = "aten.mul.Scalar"
		quotient, err = call(b, "aten.div.Scalar_mode", x, other, ops.Kw("rounding_mode",
			ir.Str("floor")))
	}
	if err != nil {
		return nil, err
	}
	below, err := call(b, product, quotient, other)
	if err != nil {
		return nil, err
	}
	return b.Call("aten.sub.Tensor", x, below)
}
