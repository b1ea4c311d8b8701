package xnn

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Passes implements partition.Transformer.
func (Backend) Passes() []lower.Pass {
	return []lower.Pass{{Name: "xnnpack-numbers",
		Doc: "numbers that the run computes become operands for XNNPACK, tensors without dimensions",
		Run: numbersToTensors}}
}

// takesTensor are the operators of a tensor and a number, with those of two tensors.
var takesTensor = map[string]string{
	"aten.add.Tensor": "aten.add.Tensor", "aten.add.Scalar": "aten.add.Tensor",
	"aten.sub.Tensor": "aten.sub.Tensor", "aten.sub.Scalar": "aten.sub.Tensor",
	"aten.mul.Tensor": "aten.mul.Tensor", "aten.mul.Scalar": "aten.mul.Tensor",
	"aten.div.Tensor": "aten.div.Tensor", "aten.div.Scalar": "aten.div.Tensor",
}

// numbersToTensors makes a tensor of a number that the run computes, where a node that is taken
// otherwise has one. Of float16 the number would be rounded before the node, which it is not.
func numbersToTensors(ctx *lower.Context, p *ir.Program) (err error) {
	defer must.Catch(&err)
	for _, m := range p.Methods {
		rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			y, err := withTensor(ops.NewBuilder(ctx.Table, e), n)
			if y == nil {
				return nil, true, err
			}
			return []*ir.Value{y}, false, err
		}}
		must.Check(rw.Run(m))
	}
	return nil
}

// withTensor emits a node with a tensor in place of its number. It returns nil if there is none.
func withTensor(b *ops.Builder, n *ir.Node) (y *ir.Value, err error) {
	defer must.Catch(&err)
	op := takesTensor[n.Op]
	if op == "" {
		return nil, nil
	}
	c, err := b.Table.Bind(n)
	if err != nil {
		return nil, nil
	}
	number, ok := c.Arg("other").(ir.Ref)
	self, refuse := c.Value("self"), rules[n.Op].refuse
	if !ok || number.Value.Type.Kind == ir.TensorKind || self == nil ||
		self.Type.DType != ir.Float32 || c.Outs[0].DType != ir.Float32 ||
		self.Type.Rank() == 0 || unfit(self.Type) != "" || refuse != nil && refuse(c) != "" {
		return nil, nil
	}
	return b.Op(op, self, b.Op("aten.scalar_tensor.default", number,
		ops.Kw("dtype", ir.Float32))), nil
}
