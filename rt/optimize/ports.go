package optimize

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/rt"
)

// ports finds out how the inputs and outputs of the program are those of the
// raised method, and makes the method take and give tensors in the order that
// the program has them in memory: compiled methods know row-major ones only.
func (c *code) ports(b *rt.Boundary, m *ir.Method) {
	names := ir.NewNames(m)
	permuted := map[string][]int{} // inputs, by name
	user := 0
	for i, v := range m.Graph.Inputs {
		if k := m.Inputs[i].Kind; k != ir.UserInput && k != ir.ConstantInput {
			continue
		}
		p := port{native: user}
		if user < len(b.Plan.Inputs) {
			p.order = memoryOrder(b.Plan.Values[b.Plan.Inputs[user]])
		}
		if p.order != nil && v.Type.Kind == ir.TensorKind {
			m.Graph.Inputs[i] = reordered(m.Graph, names, v, p.order)
			permuted[m.Graph.Inputs[i].Name] = p.order
		}
		c.inputs = append(c.inputs, p)
		user++
	}
	if user != len(b.Plan.Inputs) {
		panic(fmt.Errorf("the raised method has %d inputs, the program %d", user,
			len(b.Plan.Inputs)))
	}
	next := 0
	for k, spec := range m.Outputs {
		if spec.Kind != ir.UserOutput {
			if order := permuted[spec.Target]; order != nil && spec.Kind == ir.UserInputMutation {
				m.Graph.Outputs[k] = inOrder(m.Graph, names, m.Graph.Outputs[k], order)
			}
			if spec.Kind == ir.UserInputMutation && len(c.outputs) < len(b.Plan.Outputs) {
				c.outputs = append(c.outputs, port{native: -1, done: true})
			}
			continue
		}
		p := port{native: next}
		next++
		at := len(c.outputs)
		if at >= len(b.Plan.Outputs) {
			panic(fmt.Errorf("the raised method has more outputs than the program"))
		}
		slot := b.Plan.Outputs[at]
		if t, ok := b.Plan.Values[slot].(*pte.Tensor); ok {
			p.order = memoryOrder(t)
			if p.order != nil {
				m.Graph.Outputs[k] = inOrder(m.Graph, names, m.Graph.Outputs[k], p.order)
			}
			again := slices.Contains(b.Plan.Outputs[:at], slot)
			p.done = again || t.IsConstant()
			p.staged = p.done || slices.Contains(b.Plan.Inputs, slot)
		}
		c.outputs = append(c.outputs, p)
	}
	if len(c.outputs) != len(b.Plan.Outputs) {
		panic(fmt.Errorf("the raised method has %d outputs, the program %d", len(c.outputs),
			len(b.Plan.Outputs)))
	}
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
func memoryOrder(v pte.EValue) []int {
	t, ok := v.(*pte.Tensor)
	if !ok || slices.IsSorted(t.DimOrder) {
		return nil
	}
	var order []int
	for _, d := range t.DimOrder {
		order = append(order, int(d))
	}
	return order
}

// reordered returns an input that stands for v, its dimensions in the order of
// memory; v becomes a node's result.
func reordered(g *ir.Graph, names *ir.Names, v *ir.Value, order []int) *ir.Value {
	sizes := make([]sym.Expr, len(order))
	back := make(ir.List, len(order))
	for i, d := range order {
		sizes[i] = v.Type.Sizes[d]
		back[d] = ir.Int(i)
	}
	in := &ir.Value{Name: v.Name, Type: ir.TensorOf(v.Type.DType, sizes...)}
	v.Name = names.Fresh(in.Name + "_logical")
	g.Nodes = slices.Insert(g.Nodes, 0, permute(names, in, back, v))
	return in
}

// inOrder returns output a with its dimensions in the order of memory.
func inOrder(g *ir.Graph, names *ir.Names, a ir.Arg, order []int) ir.Arg {
	ref, ok := a.(ir.Ref)
	if !ok || ref.Value.Type.Kind != ir.TensorKind {
		return a
	}
	typ := ref.Value.Type
	sizes, strides := make([]sym.Expr, len(order)), make([]sym.Expr, len(order))
	dims := make(ir.List, len(order))
	for i, d := range order {
		sizes[i], strides[i], dims[i] = typ.Sizes[d], typ.Strides[d], ir.Int(d)
	}
	typ.Sizes, typ.Strides = sizes, strides
	out := &ir.Value{Name: names.Fresh(ref.Value.Name + "_ordered"), Type: typ}
	g.Nodes = append(g.Nodes, permute(names, ref.Value, dims, out))
	return ir.Ref{Value: out}
}

func permute(names *ir.Names, of *ir.Value, dims ir.List, out *ir.Value) *ir.Node {
	n := &ir.Node{Name: names.Fresh("permute"), Op: "aten.permute.default",
		Outputs: []*ir.Value{out}, Args: []ir.NamedArg{
			{Name: "self", Value: ir.Ref{Value: of}}, {Name: "dims", Value: dims},
		}}
	out.Def, out.Index = n, 0
	return n
}
