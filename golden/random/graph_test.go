package random

import (
	"fmt"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// runGraph runs a functional method with the interpreter.
func runGraph(table *ops.Table, m *ir.Method, all []way.Call) (out []way.CallResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("interpreter: %v", r)
		}
	}()
	state := map[string]interp.Value{}
	for i, c := range all {
		r, err := callGraph(table, m, c, state)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func callGraph(table *ops.Table, m *ir.Method, c way.Call,
	state map[string]interp.Value) (way.CallResult, error) {
	machine := interp.New(table)
	r := way.CallResult{Mutated: make([]*tensor.Tensor, len(c.Inputs))}
	var args []interp.Value
	user := map[string]int{}
	for i, v := range m.Graph.Inputs {
		spec := m.Inputs[i]
		if spec.Kind == ir.UserInput {
			t := c.Inputs[len(user)].Tensor
			user[v.Name] = len(user)
			args = append(args, interp.Tensor(t.DType, t.Shape, t.Data))
			continue
		}
		x, ok := state[spec.Target]
		if !ok {
			var err error
			if x, err = machine.Get(v); err != nil {
				return r, err
			}
		}
		args = append(args, x)
	}
	outs, err := machine.Graph(m.Graph, args)
	if err != nil {
		return r, err
	}
	for i, spec := range m.Outputs {
		var t *tensor.Tensor
		if outs[i].Kind == ir.TensorKind {
			x := outs[i].Tensor
			t = &tensor.Tensor{DType: x.DType, Shape: x.Sizes, Data: x.Data}
		}
		switch spec.Kind {
		case ir.UserInputMutation:
			r.Mutated[user[spec.Target]] = t
		case ir.BufferMutation:
			state[spec.Target] = outs[i]
		default:
			v := tensor.Value{Tensor: t}
			if t == nil {
				v.Scalar = m.Graph.Outputs[i]
			}
			r.Outputs = append(r.Outputs, v)
		}
	}
	return r, nil
}
