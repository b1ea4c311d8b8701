package way

import (
	"math"
	"slices"
	"time"

	"github.com/etgen/etgen/codegen"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/rt"
)

// stepTracer counts the instructions of one method.
type stepTracer struct {
	epoch  time.Time
	began  time.Duration
	cost   time.Duration // of reading the clock
	counts *stepCounts
}

func newStepTracer() *stepTracer {
	t := &stepTracer{epoch: time.Now(), cost: math.MaxInt64}
	for range 64 {
		before := time.Since(t.epoch)
		t.cost = min(t.cost, time.Since(t.epoch)-before)
	}
	return t
}

// Begin implements [rt.EventTracer]. Events of a delegate's own are part of its instruction.
func (t *stepTracer) Begin(e *rt.Event) {
	if e.Delegate == "" {
		t.began = time.Since(t.epoch)
	}
}

// End implements [rt.EventTracer].
func (t *stepTracer) End(e *rt.Event, _ error) {
	if e.Delegate != "" {
		return
	}
	took := max(time.Since(t.epoch)-t.began-t.cost, 0)
	t.counts.calls[e.Instruction]++
	t.counts.row(t.counts.runs - 1)[e.Instruction] += uint64(took)
}

// programSteps are the instructions of each method of p, which out was made of.
// Their chain is the only one.
func programSteps(p *ir.Program, out *codepte.Output, works []*work) [][]Step {
	all := make([][]Step, len(p.Methods))
	for i, m := range p.Methods {
		plan, nodes := out.Program.Plans[i], nodesOf(m)
		for k, in := range plan.Chains[0].Instructions {
			s := Step{Kernel: plan.InstructionName(in)}
			if n := nodes[out.Origins[i][k].Node]; n != nil {
				s.From = []native.Origin{{Node: foreign.Of(n.Name), Op: foreign.Of(n.Op),
					Loc: native.LocationOf(n.Loc)}}
				if len(n.Outputs) > 0 && n.Outputs[0] != nil {
					s.Type = codegen.TypeText(n.Outputs[0].Type, nil)
				}
				if macs, ok := works[i].nodes[n.Name]; ok {
					s.macs = []sym.Expr{macs}
				}
			}
			if inside := insideOf(out.Origins[i][k]); len(inside) > 0 {
				s.From = inside
			}
			all[i] = append(all[i], s)
		}
	}
	return all
}

// fileSteps are the instructions of each method of a program in a file. Where
// they come from the map beside the file tells, or else the program itself.
func fileSteps(p *pte.Program, path string, warn func(error)) ([][]Step, error) {
	origins, err := codepte.OriginsBeside(p, path, warn)
	if err != nil {
		return nil, err
	}
	all := make([][]Step, len(p.Plans))
	for i, plan := range p.Plans {
		for _, chain := range plan.Chains {
			for _, in := range chain.Instructions {
				from := origins[i][len(all[i])]
				s := Step{Kernel: plan.InstructionName(in)}
				op := s.Kernel
				if call, ok := in.(pte.KernelCall); ok {
					op, s.Type = plan.Operators[call.Op].NodeName(), writes(plan, call)
				}
				s.From = []native.Origin{{Node: foreign.Of(from.Node), Op: foreign.Of(op),
					Loc: native.LocationOf(from.Loc)}}
				if inside := insideOf(from); len(inside) > 0 {
					s.From = inside
				}
				all[i] = append(all[i], s)
			}
		}
	}
	return all, nil
}

// insideOf are the nodes in a delegate that an instruction runs.
func insideOf(from codepte.Origin) (all []native.Origin) {
	for _, n := range from.Inside() {
		all = append(all, native.Origin{Node: foreign.Of(n.Node), Op: foreign.Of(n.Op),
			Loc: native.LocationOf(n.Loc)})
	}
	return all
}

// locate gives the instructions of a program the places that their steps have.
func locate(p *pte.Program, steps [][]Step) {
	for i, plan := range p.Plans {
		for _, chain := range plan.Chains {
			chain.Stacktrace = nil
			for k := range chain.Instructions {
				var frames []pte.Frame
				for _, o := range steps[i][k].From {
					frames = append(frames, pte.Frame{Filename: o.Loc.File.Raw(),
						Line: int32(o.Loc.Line), Name: o.Loc.Module.Raw()})
				}
				chain.Stacktrace = append(chain.Stacktrace, frames)
			}
			steps[i] = steps[i][len(chain.Instructions):]
		}
	}
}

// writes describes the last tensor that an instruction of a plan that was
// verified is given: what it writes.
func writes(plan *pte.ExecutionPlan, call pte.KernelCall) string {
	for _, a := range slices.Backward(call.Args) {
		t, ok := plan.Values[a].(*pte.Tensor)
		if !ok {
			continue
		}
		d, known := t.ScalarType.DType()
		if !known {
			return t.TypeString()
		}
		sizes := make([]int64, len(t.Sizes))
		for i, n := range t.Sizes {
			sizes[i] = int64(n)
		}
		return codegen.TypeText(ir.StaticTensor(d, sizes...), nil)
	}
	return ""
}
