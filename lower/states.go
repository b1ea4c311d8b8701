package lower

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

// SeparateState decides whose the state is that several methods of a program
// have and one changes: if the program says so each method gets its own, under
// its own name ("decode.cache"); else it is one, which must be of one type and
// begin with the same elements everywhere.
var SeparateState = Pass{
	Name: "separate-state",
	Doc:  "give each method its own state, or check what methods share",
	Run: perProgram(func(_ *Context, p *ir.Program) {
		if !p.SeparateState {
			shareConstants(p)
			checkShared(p, p.SharedState())
			return
		}
		shared := p.SharedState()
		for _, m := range p.Methods {
			separate(m, shared)
		}
		p.SeparateState = false
	}),
}

// separate puts the method's name before those of the given targets that are
// state of m.
func separate(m *ir.Method, targets map[string]bool) {
	for i := range m.Inputs {
		if spec := &m.Inputs[i]; spec.Kind.IsState() && targets[spec.Target] {
			spec.Target = m.Name + "." + spec.Target
		}
	}
	for i := range m.Outputs {
		switch spec := &m.Outputs[i]; spec.Kind {
		case ir.BufferMutation, ir.ParameterMutation:
			if targets[spec.Target] {
				spec.Target = m.Name + "." + spec.Target
			}
		}
	}
}

// numbered matches the names that torch.export makes up for constants which are
// no attributes of a module. They are counted anew in every export, so that one
// name is different things in two methods, or may be.
var numbered = regexp.MustCompile(`(^|\.)(lifted_tensor_|_tensor_constant)[0-9]+$`)

// shareConstants decides about constants of methods that share state. A constant
// that another method writes is state here too. One that only has a number is
// each method's own; it is an error if it could as well be that of another.
func shareConstants(p *ir.Program) {
	written := p.Written()
	holders := map[string][]holder{}
	for _, m := range p.Methods {
		for i := range m.Inputs {
			spec := &m.Inputs[i]
			if !written[spec.Target] || !spec.Kind.IsState() && spec.Kind != ir.TensorConstant {
				continue
			}
			if numbered.MatchString(spec.Target) {
				holders[spec.Target] = append(holders[spec.Target], holder{m, m.Graph.Inputs[i]})
			} else if spec.Kind == ir.TensorConstant {
				spec.Kind = ir.Buffer
			}
		}
	}
	var errs []error
	for _, target := range slices.Sorted(maps.Keys(holders)) {
		hs := holders[target]
		for i, h := range hs {
			for _, other := range hs[:i] {
				if must.Try(func() { other.same(h) }) == nil {
					errs = append(errs,
						fmt.Errorf(
							"the constant %s is written, and methods %s and %s may mean one tensor by it or two: "+
								"register it with register_buffer, under a name", target,
							other.method.Name,
							h.method.Name))
				}
			}
			if len(hs) > 1 {
				separate(h.method, map[string]bool{target: true})
			}
		}
	}
	must.Check(errors.Join(errs...))
}

// holder is a method's input that is state.
type holder struct {
	method *ir.Method
	value  *ir.Value
}

// checkShared holds the inputs of methods that are one state against each other.
func checkShared(p *ir.Program, shared map[string]bool) {
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
			} else if err := must.Try(func() { old.same(h) }); err != nil {
				errs = append(errs, fmt.Errorf("buffer %s cannot be shared: %w", spec.Target, err))
			}
		}
	}
	must.Check(errors.Join(errs...))
}

// same reports how two inputs cannot be one state.
func (h holder) same(other holder) {
	if a, b := h.value.Type.String(), other.value.Type.String(); a != b {
		must.Fail("it is %s in method %s, %s in %s", a, foreign.Message(h.method.Name), b,
			foreign.Message(other.method.Name))
	}
	if !bytes.Equal(h.elements(), other.elements()) {
		must.Fail("it begins with other elements in method %s than in %s",
			foreign.Message(other.method.Name), foreign.Message(h.method.Name))
	}
}

// elements returns what the state begins with, nil if nobody says.
func (h holder) elements() []byte {
	if h.value.Const == nil || h.value.Const.Data == nil {
		return nil
	}
	return must.Get(ir.Tensor(h.value.Const))
}

// tieState makes one of buffers that are one tensor under several names: what is
// written by one name is read by the others. The first name stays.
func tieState(m *ir.Method) {
	name := map[string]string{} // of buffers that go, by theirs
	now := map[*ir.Value]*ir.Value{}
	var inputs []*ir.Value
	var specs []ir.InputSpec
	at := map[ir.Blob][]int{} // buffers that stay, by their memory
	for i, v := range m.Graph.Inputs {
		mem := memoryOf(v)
		if m.Inputs[i].Kind == ir.Buffer && mem != nil {
			first := slices.IndexFunc(at[mem], func(k int) bool {
				return v.Type.Equal(inputs[k].Type) &&
					v.Const.Type.Equal(inputs[k].Const.Type)
			})
			if first >= 0 {
				k := at[mem][first]
				now[v], name[m.Inputs[i].Target] = inputs[k], specs[k].Target
				continue
			}
			at[mem] = append(at[mem], len(inputs))
		}
		inputs, specs = append(inputs, v), append(specs, m.Inputs[i])
	}
	if len(now) == 0 {
		return
	}
	m.Graph.Inputs, m.Inputs = inputs, specs
	replaceUses(m.Graph, now, "")
	for i := range m.Outputs {
		if spec := &m.Outputs[i]; spec.Kind == ir.BufferMutation && name[spec.Target] != "" {
			spec.Target = name[spec.Target]
		}
	}
}

// memoryOf returns the stored bytes that an input begins with: inputs that have the same
// share memory in PyTorch. It is nil if there are none.
func memoryOf(v *ir.Value) ir.Blob {
	if v.Const == nil || v.Const.Data == nil || v.Const.Data.Size() == 0 ||
		!reflect.TypeOf(v.Const.Data).Comparable() {
		return nil
	}
	return v.Const.Data
}

// sharers are the inputs of a method by their memory.
type sharers map[ir.Blob][]int

func sharersOf(m *ir.Method) sharers {
	s := sharers{}
	for i, v := range m.Graph.Inputs {
		if mem := memoryOf(v); mem != nil {
			s[mem] = append(s[mem], i)
		}
	}
	return s
}

// alone checks that the memory of input i, which is written, is no other input's too.
func (s sharers) alone(m *ir.Method, i int) {
	for _, k := range s[memoryOf(m.Graph.Inputs[i])] {
		if k != i {
			must.Fail(
				"method %s: it writes to %s, which shares its memory with %s; give them memory of their own",
				foreign.Message(m.Name), foreign.Message(m.Inputs[i].Target),
				foreign.Message(m.Inputs[k].Target))
		}
	}
}

// checkTargets checks what the outputs of m say is written: once each, to memory that no
// other input has and in which each element has a place of its own.
func checkTargets(m *ir.Method) {
	written, shared := map[*ir.Value]bool{}, sharersOf(m)
	at := make(map[*ir.Value]int, len(m.Graph.Inputs))
	for i, v := range m.Graph.Inputs {
		at[v] = i
	}
	for _, v := range m.MutationTargets() {
		i, ok := at[v]
		if !ok {
			continue
		}
		if written[v] {
			must.Fail("method %s: it writes to %s twice, by two names",
				foreign.Message(m.Name), foreign.Message(m.Inputs[i].Target))
		}
		name := m.Inputs[i].Target
		if m.Inputs[i].Kind == ir.UserInput {
			name = v.Name
		}
		if err := must.Try(func() { selfOverlap(v.Type) }); err != nil {
			must.Fail("method %s: %s: %w", foreign.Message(m.Name), foreign.Message(name), err)
		}
		shared.alone(m, i)
		written[v] = true
	}
}
