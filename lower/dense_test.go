package lower_test

import (
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// An input and an output with channels innermost in memory are row-major
// tensors of their elements in that order.
func TestInMemoryOrder(t *testing.T) {
	names := ir.NewNames(&ir.Method{Graph: &ir.Graph{}})
	x := &ir.Value{Name: names.Fresh("x"), Type: ir.StaticTensor(ir.Float32, 1, 2, 3, 4)}
	g, err := ir.BuildGraph(names, []*ir.Value{x}, func(e *ir.Emitter) ([]ir.Arg, error) {
		y, err := ops.NewBuilder(ops.Standard(), e).Call("aten.relu.default", x)
		if err != nil {
			return nil, err
		}
		return []ir.Arg{ir.Ref{Value: y[0]}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Inputs = []*ir.Value{x}
	m := &ir.Method{Name: "forward", Graph: g, Inputs: []ir.InputSpec{{}},
		Outputs: []ir.OutputSpec{{}}}
	order := []uint8{0, 2, 3, 1}
	lower.InMemoryOrder(m, [][]uint8{order}, [][]uint8{order})
	if err := ir.Verify(&ir.Program{Methods: []*ir.Method{m}}); err != nil {
		t.Fatal(err)
	}
	out := m.Graph.Outputs[0].(ir.Ref).Value
	for _, v := range []*ir.Value{m.Graph.Inputs[0], out} {
		if want := ir.StaticTensor(ir.Float32, 1, 3, 4, 2); !v.Type.Equal(want) {
			t.Errorf("%s is %v, want %v", v.Name, v.Type, want)
		}
	}
	if n := len(m.Graph.Nodes); n != 3 || m.Graph.Nodes[1].Output(0).Type.Rank() != 4 {
		t.Errorf("%d nodes", n)
	}
}
