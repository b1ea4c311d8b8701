package compile

import (
	"fmt"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/plan"
)

// PlanError says that a model file has no memory plan to keep.
type PlanError struct{ path string }

func (e *PlanError) Error() string {
	return fmt.Sprintf("%s is no ExecuTorch program: it has no memory plan to keep",
		foreign.Message(e.path))
}

// AsIs returns the planner that keeps the places which the ExecuTorch program at
// path gives its tensors; see [plan.AsIs]. Data is as for Read.
func AsIs(path string, data ...string) (plan.Planner, error) {
	if f := FormatOf(path); f != ProgramFile && f != BundleFile {
		return nil, &PlanError{path}
	}
	_, memories, open, err := openProgram(path, nil, data)
	if err == nil {
		err = open.Close()
	}
	if err != nil {
		return nil, err
	}
	return asIs(memories), nil
}

func asIs(memories []raise.Memory) plan.AsIs {
	as := plan.AsIs{Methods: map[string]plan.Layout{}}
	for _, m := range memories {
		layout := plan.Layout{Size: m.Size, Places: map[string]plan.Place{}}
		for name, r := range m.Places {
			layout.Places[name] = plan.Place(r)
		}
		as.Methods[m.Method] = layout
	}
	return as
}
