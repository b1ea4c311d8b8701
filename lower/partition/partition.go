package partition

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower"
)

// PassName is the name of the pass that gives parts of a program to backends.
const PassName = "partition"

// Partition returns the pass that gives parts of a program to backends, which are asked in order.
// The report, which may be nil, becomes what went where.
func Partition(uses []*Use, report *Report) lower.Pass {
	return lower.Pass{Name: PassName, Doc: "give parts of the program to backends",
		Run: func(ctx *lower.Context, p *ir.Program) error {
			return must.Try(func() { partition(ctx, p, uses, report) })
		}}
}

func partition(ctx *lower.Context, p *ir.Program, uses []*Use, report *Report) {
	if report != nil {
		report.Nodes = nil
	}
	names := map[string]bool{}
	for _, d := range p.Delegates {
		names[d.Name] = true
	}
	for _, m := range p.Methods {
		w := newMethod(ctx, p, m)
		for _, use := range uses {
			w.ask(use)
			w.whole(use)
		}
		w.dropDead()
		for _, p := range w.parts {
			for i := 0; p.name == ""; i++ {
				if name := fmt.Sprintf("lowered_module_%d", i+len(names)); !names[name] {
					p.name, names[name] = name, true
				}
			}
		}
		report.add(w)
		for i, d := range w.lower() {
			d.Name = w.parts[i].name
			p.Delegates = append(p.Delegates, d)
		}
	}
}

// dropDead gives nobody parts of which nothing reads a result.
func (w *method) dropDead() {
	w.parts = slices.DeleteFunc(w.parts, func(p *part) bool {
		x := &extractor{w: w, p: p}
		for _, i := range p.nodes {
			if slices.ContainsFunc(p.region.nodes[i].Outputs, x.leaves) {
				return false
			}
		}
		for _, i := range p.nodes {
			p.region.part[i] = -1
		}
		return true
	})
}

// lower puts calls in the place of all parts and returns what the backends made of these.
func (w *method) lower() (delegates []*ir.Delegate) {
	names := ir.NewNames(w.m)
	w.settle()
	kept := w.kept()
	orders := seq.Map(w.graphs, func(r *region) []int { return r.schedule() })
	calls, parts := map[*part]*ir.Node{}, make([]*Part, len(w.parts))
	for i, p := range w.parts {
		parts[i], calls[p] = w.extract(p, names)
	}
	for i, r := range w.graphs {
		var nodes []*ir.Node
		done := map[*part]bool{}
		for _, k := range orders[i] {
			if r.part[k] < 0 {
				nodes = append(nodes, r.nodes[k])
			} else if p := r.of[r.part[k]]; !done[p] {
				done[p] = true
				nodes = append(nodes, calls[p])
			}
		}
		r.ir.Nodes = nodes
	}
	w.drop(kept)
	for i, p := range w.parts {
		delegates = append(delegates, preprocess(p.use, parts[i]))
	}
	return delegates
}

// kept returns the constants and the state that the program still needs. Those that nothing
// read stay too.
func (w *method) kept() map[*ir.Value]bool {
	kept := map[*ir.Value]bool{}
	note := func(v *ir.Value) {
		readers := w.reads[v]
		kept[v] = len(readers) == 0 || slices.ContainsFunc(readers, func(r reader) bool {
			p := r.in()
			return p == nil || !w.inside[held{p, v}]
		})
	}
	for _, v := range w.m.Graph.Inputs {
		note(v)
	}
	for _, r := range w.graphs {
		for _, v := range r.ir.Constants {
			note(v)
		}
	}
	return kept
}

// drop takes out of the method what is not kept.
func (w *method) drop(kept map[*ir.Value]bool) {
	m := w.m
	for i := len(m.Graph.Inputs) - 1; i >= 0; i-- {
		v := m.Graph.Inputs[i]
		if kept[v] || v.Const == nil {
			continue
		}
		if at, ok := w.state[v]; ok {
			m.Outputs = slices.Delete(m.Outputs, at, at+1)
			m.Graph.Outputs = slices.Delete(m.Graph.Outputs, at, at+1)
			for other, k := range w.state {
				if k > at {
					w.state[other] = k - 1
				}
			}
		}
		m.Graph.Inputs = slices.Delete(m.Graph.Inputs, i, i+1)
		m.Inputs = slices.Delete(m.Inputs, i, i+1)
	}
	for _, r := range w.graphs {
		r.ir.Constants = slices.DeleteFunc(r.ir.Constants, func(v *ir.Value) bool { return !kept[v] })
	}
}

// preprocess has a backend make a delegate of a part.
func preprocess(use *Use, p *Part) *ir.Delegate {
	about := use.Backend.About()
	must.In(ir.Verify(p.Program), "part %s for backend %s is not right, which is a defect of etgen",
		p.Name, about.Name)
	out, err := use.Backend.Preprocess(p)
	must.In(err, "backend %s, part %s", about.Name, p.Name)
	return &ir.Delegate{Backend: about.ID, Processed: ir.Bytes(out.Processed), Specs: out.Specs,
		Named: out.Named, Debug: out.Debug}
}
