package lower

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
)

// SeparateState decides whose the state is that several methods of a program
// have and one changes: if the program says so each method gets its own, under
// its own name ("decode.cache"); else it is one, which must be of one type and
// begin with the same elements everywhere.
var SeparateState = Pass{
	Name: "separate-state",
	Doc:  "give each method its own state, or check what methods share",
	Run: func(_ *Context, p *ir.Program) error {
		shared := p.SharedState()
		if !p.Apart {
			return checkShared(p, shared)
		}
		for _, m := range p.Methods {
			for i := range m.Inputs {
				if spec := &m.Inputs[i]; spec.Kind.IsState() && shared[spec.Target] {
					spec.Target = m.Name + "." + spec.Target
				}
			}
			for i := range m.Outputs {
				switch spec := &m.Outputs[i]; spec.Kind {
				case ir.BufferMutation, ir.ParameterMutation:
					if shared[spec.Target] {
						spec.Target = m.Name + "." + spec.Target
					}
				}
			}
		}
		p.Apart = false
		return nil
	},
}

// holder is a method's input that is state.
type holder struct {
	method *ir.Method
	value  *ir.Value
}

// checkShared holds the inputs of methods that are one state against each other.
func checkShared(p *ir.Program, shared map[string]bool) error {
	first := map[string]holder{}
	var errs []error
	for _, m := range p.Methods {
		for i, spec := range m.Inputs {
			if !spec.Kind.IsState() || !shared[spec.Target] {
				continue
			}
			h := holder{m, m.Graph.Inputs[i]}
			if old, ok := first[spec.Target]; !ok {
				first[spec.Target] = h
			} else if err := old.same(h); err != nil {
				errs = append(errs, fmt.Errorf("buffer %s cannot be shared: %w", spec.Target, err))
			}
		}
	}
	return errors.Join(errs...)
}

// same reports how two inputs cannot be one state.
func (h holder) same(other holder) error {
	if a, b := h.value.Type.String(), other.value.Type.String(); a != b {
		return fmt.Errorf("it is %s in method %s, %s in %s", a, h.method.Name, b, other.method.Name)
	}
	a, err := h.elements()
	if err != nil {
		return err
	}
	b, err := other.elements()
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("it begins with other elements in method %s than in %s", other.method.Name, h.method.Name)
	}
	return nil
}

// elements returns what the state begins with, nil if nobody says.
func (h holder) elements() ([]byte, error) {
	if h.value.Const == nil || h.value.Const.Data == nil {
		return nil, nil
	}
	return ir.Tensor(h.value.Const)
}
