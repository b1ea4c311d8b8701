package lower

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

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
	tied := func(a ir.Arg) ir.Arg {
		return ir.MapRefs(a, func(v *ir.Value) ir.Arg {
			if w := now[v]; w != nil {
				v = w
			}
			return ir.Ref{Value: v}
		})
	}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for i := range n.Args {
				n.Args[i].Value = tied(n.Args[i].Value)
			}
		}
		for i, a := range g.Outputs {
			g.Outputs[i] = tied(a)
		}
	})
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
func (s sharers) alone(m *ir.Method, i int) error {
	for _, k := range s[memoryOf(m.Graph.Inputs[i])] {
		if k != i {
			return fmt.Errorf(
				"method %s: it writes to %s, which shares its memory with %s; give them memory of their own",
				foreign.Message(m.Name), foreign.Message(m.Inputs[i].Target),
				foreign.Message(m.Inputs[k].Target))
		}
	}
	return nil
}

// targetsAlone is alone for what the outputs of m say is written, once each.
func targetsAlone(m *ir.Method) error {
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
			return fmt.Errorf("method %s: it writes to %s twice, by two names",
				foreign.Message(m.Name), foreign.Message(m.Inputs[i].Target))
		}
		if err := shared.alone(m, i); err != nil {
			return err
		}
		written[v] = true
	}
	return nil
}
