package conform

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/raise"
)

// Programs that ExecuTorch's exporters wrote, raised and interpreted.
func TestReferencePrograms(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const shared = "../../../shared/pte"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the shared cases are not here")
	}
	report, err := Check(t.Context(), []string{shared}, []way.Way{way.Reference{}}, func(m Miss) {
		t.Error(m)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}

// emitted is a way that makes an ExecuTorch program of each model, and runs what
// is raised from that.
type emitted struct{ way.Way }

func (w emitted) Run(ctx context.Context, jobs []way.Job, done func(int, *way.Result)) {
	raised := make([]way.Job, len(jobs))
	for i, j := range jobs {
		raised[i] = j
		raised[i].Calls = slices.Clone(j.Calls)
		raised[i].Open = func() (*ir.Program, io.Closer, error) {
			p, closer, err := j.Open()
			if err != nil {
				return nil, nil, err
			}
			if p, err = emitAndRaise(p); err == nil {
				err = numbersAsTensors(p, raised[i].Calls)
			}
			return p, closer, err
		}
	}
	w.Way.Run(ctx, raised, done)
}

func emitAndRaise(p *ir.Program) (*ir.Program, error) {
	table := ops.Standard()
	if err := lower.ToExecutorch.Run(&lower.Context{Table: table}, p,
		nil); err != nil {
		return nil, err
	}
	out, err := pte.Generate(p, pte.Options{})
	if err != nil {
		return nil, err
	}
	return raise.Program(out.Program, p.Source, table)
}

// numbersAsTensors makes tensors of numbers where a program that was emitted
// takes one: a .pte can only fix a number that it takes.
func numbersAsTensors(p *ir.Program, calls []way.Call) error {
	for c := range calls {
		m := p.Methods[calls[c].Method]
		calls[c].Inputs = slices.Clone(calls[c].Inputs)
		next := 0
		for i, spec := range m.Inputs {
			if spec.Kind != ir.UserInput && spec.Kind != ir.ConstantInput {
				continue
			}
			in := &calls[c].Inputs[next]
			next++
			if spec.Kind == ir.ConstantInput || in.Tensor != nil {
				continue
			}
			d, x := m.Graph.Inputs[i].Type.DType, 0.0
			switch a := in.Scalar.(type) {
			case ir.Int:
				x = float64(a)
			case ir.Float:
				x = float64(a)
			case ir.BoolArg:
				if a {
					x = 1
				}
			default:
				return fmt.Errorf("input %d is %v, the program takes a tensor", i, a)
			}
			*in = tensor.Value{Tensor: &tensor.Tensor{DType: d, Shape: []int64{},
				Data: tensor.Append(nil, d, x)}}
		}
	}
	return nil
}

// unraised are cases with sizes that raising does not find: that a condition chooses, and those
// in a list.
var unraised = map[string]string{"late_sizes_chosen": "a size is 5, not 9",
	"late_sizes_summed": "argument split_sizes is no integer known"}

// What is raised from the programs that etgen writes means what they were made
// from.
func TestReferenceEmitted(t *testing.T) {
	tier.Needs(t, tier.Normal)
	report, err := Check(t.Context(), []string{"../cases"}, []way.Way{emitted{way.Reference{}}},
		func(m Miss) {
			why := unraised[filepath.Base(m.Case)]
			if why == "" || !strings.Contains(m.Problem, why) {
				missed(t)(m)
			}
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
