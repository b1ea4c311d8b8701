package lower

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// swapped are the elementwise operators that give the same with their operands
// exchanged, under the name they then have.
var swapped = map[string]string{
	"aten.add.Tensor": "aten.add.Scalar", "aten.mul.Tensor": "aten.mul.Scalar",
	"aten.bitwise_and.Tensor": "aten.bitwise_and.Scalar",
	"aten.bitwise_or.Tensor":  "aten.bitwise_or.Scalar",
	"aten.bitwise_xor.Tensor": "aten.bitwise_xor.Scalar",
	"aten.eq.Tensor":          "aten.eq.Scalar", "aten.ne.Tensor": "aten.ne.Scalar",
	"aten.lt.Tensor": "aten.gt.Scalar", "aten.gt.Tensor": "aten.lt.Scalar",
	"aten.le.Tensor": "aten.ge.Scalar", "aten.ge.Tensor": "aten.le.Scalar",
}

// stockNumber is the rule for numbers in the place of tensors: the operator's
// form for a number where there is a kernel for it, else a tensor without
// dimensions.
func stockNumber(b *ops.Builder, n *ir.Node, c *ops.Call,
	_ map[*ir.Value]int) ([]*ir.Value, error) {
	schema := c.Op.ParsedSchema()
	number := func(i int) bool {
		if i >= len(c.Args) || schema.Args[i].Type.Name != "Tensor" {
			return false
		}
		switch a := c.Args[i].(type) {
		case ir.None, ir.List:
			return false
		case ir.Ref:
			return a.Value.Type.Kind != ir.TensorKind
		}
		return true
	}
	plain := func() bool { return schema.Index("alpha") < 0 || isOne(c.Arg("alpha")) }
	rest := func(from int) []any {
		var args []any
		for i := from; i < len(c.Args); i++ {
			args = append(args, ops.Kw(schema.Args[i].Name, c.Args[i]))
		}
		return args
	}
	switch {
	case number(1) && !number(0):
		scalar := strings.TrimSuffix(strings.TrimSuffix(n.Op, ".Tensor"), ".default") + ".Scalar"
		switch n.Op {
		case "aten.div.Tensor_mode":
			scalar = "aten.div.Scalar_mode"
		case "aten.pow.Tensor_Tensor":
			scalar = "aten.pow.Tensor_Scalar"
		case "aten.bitwise_left_shift.Tensor", "aten.bitwise_right_shift.Tensor":
			scalar = n.Op + "_Scalar"
		}
		if _, ok := b.Table.Lookup(scalar); ok && hasStockKernel(scalar) {
			return b.Call(scalar, append([]any{c.Args[0], c.Args[1]}, rest(2)...)...)
		}
	case number(0) && len(c.Args) > 1 && !number(1):
		if op := swapped[n.Op]; op != "" && plain() {
			return b.Call(op, c.Args[1], c.Args[0])
		}
		switch n.Op {
		case "aten.sub.Tensor":
			return b.Call("aten.rsub.Scalar", c.Args[1], c.Args[0], ops.Kw("alpha", c.Arg("alpha")))
		case "aten.pow.Tensor_Tensor":
			return b.Call("aten.pow.Scalar", c.Args[0], c.Args[1])
		}
	}
	args := make([]any, len(c.Args))
	found := false
	for i := range c.Args {
		args[i] = ops.Kw(schema.Args[i].Name, c.Args[i])
		if !number(i) {
			continue
		}
		found = true
		t, err := b.Call("aten.scalar_tensor.default", c.Args[i],
			ops.Kw("dtype", numberType(c, c.Args[i])))
		if err != nil {
			return nil, err
		}
		args[i] = ops.Kw(schema.Args[i].Name, t[0])
	}
	if !found {
		return nil, nil
	}
	return b.Call(n.Op, args...)
}

func isOne(a ir.Arg) bool { return a == ir.Int(1) || a == ir.Float(1) }

// numberType is the dtype of a tensor without dimensions that stands for a
// number in c: the number does not decide the dtype of the result further than
// by its kind.
func numberType(c *ops.Call, a ir.Arg) ir.DType {
	kind := ir.NoneKind
	if r, ok := a.(ir.Ref); ok {
		kind = r.Value.Type.Kind
	}
	_, isBool := a.(ir.BoolArg)
	_, isInt := a.(ir.Int)
	switch {
	case isBool || kind == ir.BoolKind:
		return ir.Bool
	case isInt || kind == ir.IntKind:
		return ir.Int64
	}
	for _, v := range c.Operands() {
		if v.Type.DType == ir.Float64 {
			return ir.Float64
		}
	}
	return ir.Float32
}
