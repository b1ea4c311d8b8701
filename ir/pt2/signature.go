package pt2

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// input makes the value of a graph input. base names inputs that are literals.
func (c *converter) input(s *scope, a wireArg, base string) (*ir.Value, error) {
	if a.name == "" {
		if a.lit == nil {
			return nil, problem("an input of the graph is a list")
		}
		return &ir.Value{Name: c.names.Fresh(base), Type: literalType(a.lit)}, nil
	}
	typ, err := c.valueType(s, &a)
	if err != nil {
		return nil, within(err, "input")
	}
	v := &ir.Value{Name: s.rename[a.name], Type: typ}
	s.values[a.name] = v
	return v, nil
}

// literalType returns the type of a Python constant.
func literalType(a ir.Arg) ir.Type {
	switch a := a.(type) {
	case ir.Int:
		return ir.SymInt(sym.Int(int64(a)))
	case ir.Float:
		return ir.Type{Kind: ir.FloatKind}
	case ir.BoolArg:
		return ir.Type{Kind: ir.BoolKind}
	case ir.Str:
		return ir.Type{Kind: ir.StringKind}
	}
	return ir.Type{Kind: ir.NoneKind}
}

// specInput makes the value and the specification of an input of the whole
// program, with the data of parameters, buffers and constants. The value is
// nil if the input is another name for one made before: strict exports of
// torch 2.6 list a tied parameter twice under the same qualified name.
func (c *converter) specInput(s *scope, a wireArg, w wireSpec) (*ir.Value, ir.InputSpec, error) {
	spec := ir.InputSpec{Target: w.target}
	base := w.arg.name
	if base == "" {
		base = "arg"
	}
	kind, ok := inputKinds[w.tag]
	if !ok {
		return nil, spec, problem("unknown kind of input %q", w.tag)
	}
	if a.name != "" && w.arg.name != a.name {
		return nil, spec, problem("the graph's input %q stands where its signature has %q", a.name,
			w.arg.name)
	}
	v, err := c.input(s, a, base)
	if err != nil {
		return nil, spec, err
	}
	switch spec.Kind = kind; kind {
	case ir.UserInput:
		if a.name == "" {
			spec.Kind, spec.Fixed = ir.ConstantInput, a.lit
		}
	case ir.ConstantInput:
		if spec.Fixed = w.arg.lit; spec.Fixed == nil {
			return nil, spec, problem("the constant input %q has no value", w.arg.name)
		}
	case ir.Parameter:
		err = c.data(v, w.target, false)
	case ir.Buffer:
		spec.Persistent = w.persistent
		err = c.data(v, w.target, !w.persistent)
	case ir.TensorConstant:
		err = c.data(v, w.target, true)
	case ir.TokenInput:
		v.Type = ir.Type{Kind: ir.TokenKind}
	}
	if err != nil || v.Const == nil {
		return v, spec, err
	}
	if first := c.stored[spec]; first != nil {
		if !first.Type.Equal(v.Type) {
			return nil, spec, problem("the inputs %q and %q are both %q and differ in type",
				first.Name, v.Name, w.target)
		}
		s.values[a.name] = first
		return nil, spec, nil
	}
	c.stored[spec] = v
	return v, spec, nil
}

var inputKinds = map[string]ir.InputKind{
	"user_input":      ir.UserInput,
	"constant_input":  ir.ConstantInput,
	"parameter":       ir.Parameter,
	"buffer":          ir.Buffer,
	"tensor_constant": ir.TensorConstant,
	"token":           ir.TokenInput,
	"custom_obj":      ir.CustomInput,
}

// data finds the constant that fills v. inConstants tells in which of the two
// stores PyTorch puts it.
func (c *converter) data(v *ir.Value, target string, inConstants bool) error {
	k, err := c.weights.find(target, inConstants)
	if err != nil {
		e := asError(err)
		if e.Node == "" {
			e.Node = target
		}
		return e
	}
	t := v.Type
	same := t.Kind == ir.TensorKind && t.DType == k.Type.DType && len(t.Sizes) == len(k.Type.Sizes)
	for i := 0; same && i < len(t.Sizes); i++ {
		same = t.Sizes[i].Equal(k.Type.Sizes[i])
	}
	if !same {
		return &Error{Node: target,
			Problem: fmt.Sprintf("the graph wants %v, the stored tensor is %v", t.Dense(),
				k.Type.Dense()),
			Hint: "the weights belong to another model"}
	}
	v.Const = k
	return nil
}

// outputSpecs gives m its output specifications and checks what they refer to.
func (c *converter) outputSpecs(m *ir.Method) error {
	ws := c.wire.outputs
	if len(ws) != len(m.Graph.Outputs) {
		return problem("the graph has %d outputs, its signature %d", len(m.Graph.Outputs), len(ws))
	}
	specs := make([]ir.OutputSpec, len(ws))
	for i, w := range ws {
		kind, ok := outputKinds[w.tag]
		if !ok {
			return problem("unknown kind of output %q", w.tag)
		}
		if kind == ir.LossOutput || kind == ir.GradientOutput {
			return problem("output %d is a %s: it is a program for training", i, w.tag).
				hint("export the model's forward alone")
		}
		specs[i] = ir.OutputSpec{Kind: kind, Target: w.target}
		if name := c.wire.graph.outputs[i].name; w.arg.name != name {
			return problem("the graph's output %q stands where its signature has %q", name,
				w.arg.name)
		}
	}
	m.Outputs = specs
	for i, target := range m.MutationTargets() {
		if !mutates(specs[i].Kind) {
			continue
		}
		if target == nil {
			return problem("output %d writes to %q, which is no input", i, specs[i].Target)
		}
		if _, ok := m.Graph.Outputs[i].(ir.Ref); !ok {
			return problem("output %d writes a literal to %q", i, specs[i].Target)
		}
	}
	return nil
}

var outputKinds = map[string]ir.OutputKind{
	"user_output":            ir.UserOutput,
	"buffer_mutation":        ir.BufferMutation,
	"parameter_mutation":     ir.ParameterMutation,
	"user_input_mutation":    ir.UserInputMutation,
	"token":                  ir.TokenOutput,
	"loss_output":            ir.LossOutput,
	"gradient_to_parameter":  ir.GradientOutput,
	"gradient_to_user_input": ir.GradientOutput,
}

func mutates(k ir.OutputKind) bool {
	return k == ir.BufferMutation || k == ir.ParameterMutation || k == ir.UserInputMutation
}

// countInputs counts the leaves the caller passes.
func countInputs(m *ir.Method) (n int) {
	for _, in := range m.Inputs {
		if in.Kind == ir.UserInput || in.Kind == ir.ConstantInput {
			n++
		}
	}
	return n
}

// countOutputs counts the leaves the caller gets.
func countOutputs(m *ir.Method) (n int) {
	for _, out := range m.Outputs {
		switch out.Kind {
		case ir.UserOutput, ir.LossOutput:
			n++
		}
	}
	return n
}
