package optimize

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/rt"
)

// ports finds out how the inputs and outputs of the program are those of the
// raised method, and makes the method take and give tensors in the order that
// the program has them in memory: compiled methods know row-major ones only.
func (c *code) ports(b *rt.Boundary, m *ir.Method) {
	inputs, outputs := make([][]uint8, len(m.Graph.Inputs)), [][]uint8{}
	user := 0
	for i := range m.Graph.Inputs {
		if k := m.Inputs[i].Kind; k != ir.UserInput && k != ir.ConstantInput {
			continue
		}
		p := port{native: user}
		if user < len(b.Plan.Inputs) {
			p.order = memoryOrder(b.Plan.Values[b.Plan.Inputs[user]])
			inputs[i] = p.order
		}
		c.inputs = append(c.inputs, p)
		user++
	}
	if user != len(b.Plan.Inputs) {
		panic(fmt.Errorf("the raised method has %d inputs, the program %d", user,
			len(b.Plan.Inputs)))
	}
	for _, spec := range m.Outputs {
		if spec.Kind != ir.UserOutput {
			if spec.Kind == ir.UserInputMutation && len(c.outputs) < len(b.Plan.Outputs) {
				c.outputs = append(c.outputs, port{native: -1, done: true})
			}
			continue
		}
		p := port{native: len(outputs)}
		at := len(c.outputs)
		if at >= len(b.Plan.Outputs) {
			panic(fmt.Errorf("the raised method has more outputs than the program"))
		}
		slot := b.Plan.Outputs[at]
		if t, ok := b.Plan.Values[slot].(*pte.Tensor); ok {
			p.order = memoryOrder(t)
			again := slices.Contains(b.Plan.Outputs[:at], slot)
			p.done = again || t.IsConstant()
			p.staged = p.done || slices.Contains(b.Plan.Inputs, slot)
		}
		outputs = append(outputs, p.order)
		c.outputs = append(c.outputs, p)
	}
	if len(c.outputs) != len(b.Plan.Outputs) {
		panic(fmt.Errorf("the raised method has %d outputs, the program %d", len(c.outputs),
			len(b.Plan.Outputs)))
	}
	lower.InMemoryOrder(m, inputs, outputs)
}

// checkPorts checks what the passes left of the ports.
func (c *code) checkPorts(b *rt.Boundary) {
	if len(c.method.Inputs) != len(b.Inputs) {
		panic(fmt.Errorf("the compiled method has %d inputs, the program %d", len(c.method.Inputs),
			len(b.Inputs)))
	}
	for i, p := range c.method.Inputs {
		if t := b.Inputs[i].Tensor; p.Buf != nil && (t == nil || t.DType != p.Buf.DType ||
			len(t.Sizes) != len(p.Type.Sizes)) {
			panic(fmt.Errorf("input %d of the compiled method is not that of the program", i))
		}
		if p.Buf == nil && p.Value == nil {
			panic(fmt.Errorf("input %d of the compiled method is a number", i))
		}
	}
	for i, p := range c.outputs {
		if p.native < 0 {
			continue
		}
		if p.native >= len(c.method.Outputs) {
			panic(fmt.Errorf("output %d is not in the compiled method", i))
		}
		o := c.method.Outputs[p.native]
		if t := b.Outputs[i].Tensor; (o.Buf != nil) != (t != nil) ||
			t != nil && (t.DType != o.Buf.DType || len(t.Sizes) != len(o.Type.Sizes)) {
			panic(fmt.Errorf("output %d of the compiled method is not that of the program", i))
		}
	}
}

// memoryOrder returns the dimensions of a tensor in the order of memory, nil if
// it is row-major or no tensor.
func memoryOrder(v pte.EValue) []uint8 {
	if t, ok := v.(*pte.Tensor); ok && !slices.IsSorted(t.DimOrder) {
		return t.DimOrder
	}
	return nil
}
