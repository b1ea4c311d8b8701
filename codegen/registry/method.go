package registry

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/raise"
)

// method raises the call: its inputs are the operands, then the numbers.
// Tensors in another order than row-major are inputs and outputs as they lie in
// memory.
func (c *call) method(table *ops.Table) *ir.Method {
	m := must.Get(c.raise(table))
	inputs, outputs := make([][]uint8, len(m.Graph.Inputs)), make([][]uint8, len(c.results))
	for k, operand := range c.inputs {
		inputs[k] = c.operands[operand].order
	}
	for k, o := range c.results {
		outputs[k] = o.order
	}
	lower.InMemoryOrder(m, inputs, outputs)
	return m
}

// raise raises the call's plan. A number in a list of sizes is what it has to be
// if no size can vary otherwise.
func (c *call) raise(table *ops.Table) (*ir.Method, error) {
	try := func(c *call) (*ir.Method, error) {
		p, err := raise.Program(&pte.Program{Plans: []*pte.ExecutionPlan{c.plan}},
			"registry", table)
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
	other := c.rebuild()
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
		if _, rest, ok := strings.Cut(text, "("+foreign.Message(c.op.String())+"): "); ok {
			text = rest
		}
		parts = append(parts, fmt.Errorf("%s with arguments (%s): %s", c.where, c.form, text))
	}
	return errors.Join(parts...)
}

// inputOf returns which of the plan's inputs a port is.
func inputOf(name foreign.Text) int {
	k, err := strconv.Atoi(strings.TrimPrefix(name.Raw(), "input_"))
	if err != nil {
		panic("port " + name.String() + " is no input of the plan")
	}
	return k
}

// numberOf returns the number that an input of the plan stands for, -1 if it is
// an operand.
func (c *call) numberOf(input int) int {
	return slices.IndexFunc(c.numbers, func(n number) bool {
		return n.input >= 0 && n.input == input-len(c.inputs)
	})
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
		p.Type = ir.SymInt(size)
		if s := size.Symbols(); len(s) == 1 && size.Equal(s[0].Expr()) {
			p.Sym = s[0]
		}
	}
}
