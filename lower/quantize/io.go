package quantize

import (
	"fmt"

	"github.com/etgen/etgen/ir"
)

// IntegerIO is the value of Recipe.IO with which user inputs and outputs are integers.
const IntegerIO = "int8"

// outside makes user inputs and outputs integers: those of float32 that are quantized as soon as
// they are read, or were dequantized last.
func outside(m *ir.Method) error {
	readers := map[*ir.Value][]*ir.Node{}
	for n := range m.Graph.All() {
		for v := range reads(n) {
			readers[v] = append(readers[v], n)
		}
	}
	gone := map[*ir.Node]*ir.Value{}
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind != ir.UserInput || v.Type.Kind != ir.TensorKind ||
			v.Type.DType != ir.Float32 {
			continue
		}
		if rs := readers[v]; len(rs) != 1 || rs[0].Op != decomposed+"quantize_per_tensor.default" {
			return fmt.Errorf("input %s is not quantized: make the recipe with --io=int8", v.Name)
		}
		q := readers[v][0]
		m.Inputs[i].Quantized = paramsIn(q)
		v.Type = q.Outputs[0].Type.Dense()
		gone[q] = v
	}
	rw := &ir.Rewriter{Visit: func(_ *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
		if v := gone[n]; v != nil {
			return []*ir.Value{v}, false, nil
		}
		return nil, true, nil
	}}
	if err := rw.Run(m); err != nil {
		return err
	}
	for i, a := range m.Graph.Outputs {
		ref, ok := a.(ir.Ref)
		if !ok || m.Outputs[i].Kind != ir.UserOutput || ref.Value.Type.Kind != ir.TensorKind ||
			ref.Value.Type.DType != ir.Float32 {
			continue
		}
		dq := ref.Value.Def
		if dq == nil || dq.Op != decomposed+"dequantize_per_tensor.default" {
			return fmt.Errorf("output %d is not quantized: make the recipe with --io=int8", i)
		}
		m.Outputs[i].Quantized = paramsIn(dq)
		m.Graph.Outputs[i] = dq.Arg("input")
	}
	return nil
}

// paramsIn returns scale and zero point of a node that quantizes or dequantizes.
func paramsIn(n *ir.Node) *ir.QParams {
	scale, _ := n.Arg("scale").(ir.Float)
	zero, _ := n.Arg("zero_point").(ir.Int)
	return &ir.QParams{Scale: float64(scale), ZeroPoint: int64(zero)}
}
