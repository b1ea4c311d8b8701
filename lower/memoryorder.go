package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// InMemoryOrder makes the tensors that m takes and returns row-major tensors of
// their elements as they lie in memory. The orders list dimensions from the
// outermost in memory to the innermost; inputs are parallel to the graph's
// inputs, outputs to the user outputs, and nil is row-major. What is written to
// an input is in the input's order.
func InMemoryOrder(m *ir.Method, inputs, outputs [][]uint8) {
	names := ir.NewNames(m)
	var first []*ir.Node
	for k, order := range inputs {
		if order == nil {
			continue
		}
		logical := m.Graph.Inputs[k]
		given := &ir.Value{Name: logical.Name, Type: inOrder(logical.Type, order)}
		logical.Name = names.Fresh(given.Name + "_logical")
		logical.Def = permuted(logical.Name, given, inverseOrder(order))
		logical.Def.Outputs = []*ir.Value{logical}
		m.Graph.Inputs[k] = given
		first = append(first, logical.Def)
		for i, s := range m.Outputs {
			if s.Kind == ir.UserInputMutation && s.Target == given.Name {
				outputInOrder(m, names, i, order)
			}
		}
	}
	m.Graph.Nodes = append(first, m.Graph.Nodes...)
	at := 0
	for i, s := range m.Outputs {
		if s.Kind != ir.UserOutput {
			continue
		}
		if outputs[at] != nil {
			outputInOrder(m, names, i, outputs[at])
		}
		at++
	}
}

func outputInOrder(m *ir.Method, names *ir.Names, i int, order []uint8) {
	ref, ok := m.Graph.Outputs[i].(ir.Ref)
	if !ok {
		return
	}
	name := names.Fresh("placed")
	n := permuted(name, ref.Value, order)
	v := &ir.Value{Name: name, Type: inOrder(ref.Value.Type, order), Def: n}
	n.Outputs = []*ir.Value{v}
	m.Graph.Nodes = append(m.Graph.Nodes, n)
	m.Graph.Outputs[i] = ir.Ref{Value: v}
}

func permuted(name string, v *ir.Value, order []uint8) *ir.Node {
	dims := make(ir.List, len(order))
	for i, d := range order {
		dims[i] = ir.Int(d)
	}
	return &ir.Node{Name: name, Op: "aten.permute.default",
		Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: v}}, {Name: "dims", Value: dims}}}
}

// inOrder returns the row-major type of a tensor's elements as they lie in
// memory.
func inOrder(t ir.Type, order []uint8) ir.Type {
	sizes := make([]sym.Expr, len(order))
	for i, d := range order {
		sizes[i] = t.Sizes[d]
	}
	return ir.TensorOf(t.DType, sizes...)
}

func inverseOrder(order []uint8) []uint8 {
	out := make([]uint8, len(order))
	for i, d := range order {
		out[d] = uint8(i)
	}
	return out
}
