package registry

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/raise"
)

// method raises the call: its inputs are the operands, then the numbers.
// Tensors in another order than row-major are inputs and outputs as they lie in
// memory.
func (c *call) method(table *ops.Table) (*ir.Method, error) {
	m, err := c.raise(table)
	if err != nil {
		return nil, err
	}
	names := ir.NewNames(m)
	var first []*ir.Node
	for k, operand := range c.inputs {
		o := c.operands[operand]
		if o.order == nil {
			continue
		}
		logical := m.Graph.Inputs[k]
		given := &ir.Value{Name: logical.Name, Type: placed(logical.Type, o.order)}
		logical.Name = names.Fresh(given.Name + "_logical")
		logical.Def = permute(logical.Name, given, inverse(o.order))
		logical.Def.Outputs = []*ir.Value{logical}
		m.Graph.Inputs[k] = given
		first = append(first, logical.Def)
		for i, s := range m.Outputs {
			if s.Kind == ir.UserInputMutation && s.Target == given.Name {
				place(m, names, i, o.order)
			}
		}
	}
	m.Graph.Nodes = append(first, m.Graph.Nodes...)
	at := 0
	for i, s := range m.Outputs {
		if s.Kind != ir.UserOutput {
			continue
		}
		if o := c.results[at]; o.order != nil {
			place(m, names, i, o.order)
		}
		at++
	}
	return m, nil
}

// raise raises the call's plan. A number in a list of sizes is what it has to be
// if no size can vary otherwise.
func (c *call) raise(table *ops.Table) (*ir.Method, error) {
	try := func(c *call) (*ir.Method, error) {
		p, err := raise.Program(&pte.Program{Plans: []*pte.ExecutionPlan{c.plan}}, "registry", table)
		if err != nil {
			return nil, c.failure(err)
		}
		return p.Methods[0], nil
	}
	m, err := try(c)
	sizes := slices.ContainsFunc(c.numbers, func(n number) bool { return n.at >= 0 })
	if !sizes || err == nil && len(m.Symbols) > 0 {
		return m, err
	}
	other, err2 := c.rebuild()
	if err2 != nil {
		return m, err
	}
	m2, err2 := try(other)
	if err2 != nil || err == nil && len(m2.Symbols) == 0 {
		return m, err
	}
	other.rebuild = c.rebuild
	*c = *other
	return m2, nil
}

// failure words an error about the call's plan as one about the call.
func (c *call) failure(err error) error {
	var parts []error
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for _, e := range list {
		text := strings.TrimPrefix(e.Error(), "registry: method "+c.name+": ")
		if _, rest, ok := strings.Cut(text, "("+c.op.String()+"): "); ok {
			text = rest
		}
		parts = append(parts, fmt.Errorf("%s with arguments (%s): %s", c.where, c.form, text))
	}
	return errors.Join(parts...)
}

// place makes output i of m the tensor as it lies in memory in an order of
// dimensions.
func place(m *ir.Method, names *ir.Names, i int, order []uint8) {
	ref, ok := m.Graph.Outputs[i].(ir.Ref)
	if !ok {
		return
	}
	name := names.Fresh("placed")
	n := permute(name, ref.Value, order)
	v := &ir.Value{Name: name, Type: placed(ref.Value.Type, order), Def: n}
	n.Outputs = []*ir.Value{v}
	m.Graph.Nodes = append(m.Graph.Nodes, n)
	m.Graph.Outputs[i] = ir.Ref{Value: v}
}

func permute(name string, v *ir.Value, order []uint8) *ir.Node {
	dims := make(ir.List, len(order))
	for i, d := range order {
		dims[i] = ir.Int(d)
	}
	return &ir.Node{Name: name, Op: "aten.permute.default", Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: v}}, {Name: "dims", Value: dims}}}
}

// placed returns the row-major type of a tensor's elements as they lie in
// memory.
func placed(t ir.Type, order []uint8) ir.Type {
	sizes := make([]sym.Expr, len(order))
	for i, d := range order {
		sizes[i] = t.Sizes[d]
	}
	return ir.TensorOf(t.DType, sizes...)
}

func inverse(order []uint8) []uint8 {
	out := make([]uint8, len(order))
	for i, d := range order {
		out[d] = uint8(i)
	}
	return out
}

// inputOf returns which of the plan's inputs a port is.
func inputOf(name string) int {
	k, err := strconv.Atoi(strings.TrimPrefix(name, "input_"))
	if err != nil {
		panic("port " + name + " is no input of the plan")
	}
	return k
}

// numberOf returns the number that an input of the plan stands for, -1 if it is
// an operand.
func (c *call) numberOf(input int) int {
	return slices.IndexFunc(c.numbers, func(n number) bool { return n.input >= 0 && n.input == input-len(c.inputs) })
}

// bindNumbers makes the inputs that stand for sizes parameters.
func (c *call) bindNumbers(m *native.Method) {
	for i := range m.Inputs {
		p := &m.Inputs[i]
		if p.Packs != nil {
			continue
		}
		k := c.numberOf(inputOf(p.Name))
		if k < 0 || c.numbers[k].at < 0 {
			continue
		}
		size := p.Type.Sizes[0]
		p.Buf = nil
		if n, ok := size.Const(); ok {
			c.numbers[k].fixed, c.numbers[k].value = true, n
			p.Type, p.Value = ir.Type{Kind: ir.IntKind}, ir.Int(n)
			continue
		}
		p.Type, p.Sym = ir.SymInt(size), size.Symbols()[0]
	}
}
