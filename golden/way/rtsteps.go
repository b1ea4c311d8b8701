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
			s := Step{Kernel: codepte.InstructionName(plan, in)}
			if n := nodes[out.Origins[i][k].Node]; n != nil {
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

// fileSteps are the instructions of each method of a program in a file. Where
// they come from the map beside the file tells, or else the program itself.
func fileSteps(p *pte.Program, path string) ([][]Step, error) {
	debug, err := codepte.DebugBeside(p, path)
	if err != nil {
		return nil, err
	}
	all := make([][]Step, len(p.Plans))
	for i, plan := range p.Plans {
		for c, chain := range plan.Chains {
			for k, in := range chain.Instructions {
				s := Step{Kernel: codepte.InstructionName(plan, in)}
				switch {
				case debug != nil && c == 0:
					if d := debug.Methods[i].Instructions[k]; d.Node != "" || d.File != "" {
						s.From = []native.Origin{{Node: d.Node, Op: d.Op, Loc: ir.Location{File: d.File, Line: d.Line, Module: d.Module}}}
					}
				case k < len(chain.Stacktrace):
					for _, f := range chain.Stacktrace[k] {
						s.From = append(s.From, native.Origin{Loc: ir.Location{File: f.Filename, Line: int(f.Line), Module: f.Name}})
					}
				}
				all[i] = append(all[i], s)
			}
		}
	}
	return all, nil
}
