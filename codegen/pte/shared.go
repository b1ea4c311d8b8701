package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
)

// sharedMemory is the memory id of state that several methods have: what lies in
// it is the host's to give to all of them, as ExecuTorch's exporter has it.
const sharedMemory = 2

// sharedState is a tensor that one method leaves something in for others.
type sharedState struct {
	name   string
	offset int64
}

// sharedArena is the memory of all shared state, laid out once for the program.
type sharedArena struct {
	at   map[string]*sharedState // by qualified name
	size int64
}

func sharedOf(p *ir.Program) (*sharedArena, error) {
	a := &sharedArena{at: map[string]*sharedState{}}
	shared := p.SharedState()
	for _, m := range p.Methods {
		for i, spec := range m.Inputs {
			if !shared[spec.Target] || a.at[spec.Target] != nil {
				continue
			}
			t, err := newTensor(m.Graph.Inputs[i].Type)
			if err != nil {
				return nil, fmt.Errorf("buffer %s: %w", spec.Target, err)
			}
			a.at[spec.Target] = &sharedState{name: spec.Target, offset: a.size}
			a.size = (a.size + t.bytes + alignment - 1) / alignment * alignment
		}
	}
	return a, nil
}

// in reports whether a method has shared state.
func (a *sharedArena) in(m *ir.Method) bool {
	for _, spec := range m.Inputs {
		if a.at[spec.Target] != nil {
			return true
		}
	}
	return false
}
