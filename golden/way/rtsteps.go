package way

import (
	"math"
	"time"

	"github.com/etgen/etgen/codegen"
	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/ir"
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

// Begin implements [rt.EventTracer].
func (t *stepTracer) Begin(*rt.Event) { t.began = time.Since(t.epoch) }

// End implements [rt.EventTracer].
func (t *stepTracer) End(e *rt.Event, _ error) {
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
			s := Step{Kernel: instructionName(plan, in)}
			if n := nodes[out.Nodes[i][k]]; n != nil {
				s.From = []native.Origin{{Node: n.Name, Op: n.Op, Loc: n.Loc}}
				if len(n.Outputs) > 0 && n.Outputs[0] != nil {
					s.Type = codegen.TypeText(n.Outputs[0].Type, nil)
				}
				if macs, ok := works[i].nodes[n.Name]; ok {
					s.macs = []sym.Expr{macs}
				}
			}
			all[i] = append(all[i], s)
		}
	}
	return all
}

func instructionName(plan *pte.ExecutionPlan, in pte.Instruction) string {
	switch in := in.(type) {
	case pte.KernelCall:
		return plan.Operators[in.Op].String()
	case pte.MoveCall:
		return "MoveCall"
	case pte.JumpFalseCall:
		return "JumpFalseCall"
	case pte.FreeCall:
		return "FreeCall"
	}
	return "DelegateCall"
}
