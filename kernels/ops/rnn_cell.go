package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// cellOps are single steps of recurrent networks.
func cellOps() []Op {
	return []Op{
		cellStep("aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
			cell{gates: 4, state: 2, merge: true, step: lstmStep}),
		cellStep("aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
			cell{gates: 3, state: 1, step: gruStep}),
		cellStep("aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
			cell{gates: 1, state: 1, merge: true, step: simpleStep("aten.tanh.default")}),
		cellStep("aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
			cell{gates: 1, state: 1, merge: true, step: simpleStep("aten.relu.default")}),
	}
}

func cellStep(schema string, cl cell) Op {
	state := func(c *Call) []*ir.Value {
		k := c.Operand("hx")
		if k < 0 {
			return nil
		}
		if list, ok := c.Arg("hx").(ir.List); ok {
			return c.operands[k : k+len(list)]
		}
		return c.operands[k : k+1]
	}
	return Op{
		Schema: schema,
		Infer: func(c *Call) ([]ir.Type, error) {
			x, wi, wh, hs := c.Tensor("input"), c.Tensor("w_ih"), c.Tensor("w_hh"), state(c)
			if len(hs) != cl.state || x.Rank() != 2 || wi.Rank() != 2 || wh.Rank() != 2 {
				return nil, c.Errorf("%d tensors of state, an input with %d dimensions",
					len(hs), x.Rank())
			}
			var out []ir.Type
			for _, h := range hs {
				t := h.Type
				if t.Rank() != 2 || differ(t.Sizes[0], x.Sizes[0]) ||
					differ(t.Sizes[1], wh.Sizes[1]) ||
					differ(x.Sizes[1], wi.Sizes[1]) || differ(wi.Sizes[0], wh.Sizes[0]) ||
					differ(wh.Sizes[0], sym.Mul(t.Sizes[1], sym.Int(cl.gates))) {
					return nil, c.Errorf("%s do not fit as input, state and weights",
						describeSizes([]ir.Type{x, t, wi, wh}))
				}
				out = append(out, t.Dense())
			}
			return out, nil
		},
		Decompose: func(b *Builder, c *Call) ([]*ir.Value, error) {
			bias, hiddenBias := c.Value("b_ih"), c.Value("b_hh")
			if cl.merge && hiddenBias != nil {
				if bias != nil {
					hiddenBias = b.Op("aten.add.Tensor", bias, hiddenBias)
				}
				bias, hiddenBias = hiddenBias, nil
			}
			x := b.Op("aten.linear.default", c.Value("input"), c.Value("w_ih"), bias)
			weight := b.Op("aten.permute.default", c.Value("w_hh"), []int{1, 0})
			return cl.step(b, x, state(c), weight, hiddenBias), nil
		},
	}
}
