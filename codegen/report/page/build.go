package page

import (
	"slices"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// New compiles p and tells all of it. It lowers p.
func New(p *ir.Program, opt compile.Options) (_ *Data, err error) {
	defer must.Catch(&err)
	must.Check(ir.Verify(p))
	w := newWeights()
	before := seq.Map(p.Methods, func(m *ir.Method) *grapher { return graphOf(p, m, w) })
	pkg, takes, err := compile.Reported(p, opt)
	if err != nil {
		return nil, err
	}
	w.lowered = true
	np := takes.Of.Native
	d := &Data{Version: Version, Command: foreign.Of(opt.Generator), Takes: takes, Methods: []Method{}}
	code, kernels, lines := codeOf(np, pkg, opt)
	d.Code = code
	for i, m := range p.Methods {
		after := graphOf(p, m, w)
		from := before[i].finder()
		for k := range after.out.Nodes {
			n := &after.out.Nodes[k]
			n.From = from.find(n.Name, place{n.Module, n.Line})
			if i < len(takes.Of.MACs) {
				n.MACs = takes.Of.MACs[i][after.places[k]]
			}
		}
		out := Method{Name: foreign.Of(m.Name), Before: before[i].out, After: after.out, Calls: []Call{}}
		out.memory(np.Methods[i])
		out.calls(np.Methods[i], takes.Methods[i].Layers, after.finder(), kernels, lines)
		d.Methods = append(d.Methods, out)
	}
	d.Weights = w.list
	d.quantization(p, opt.Recipe, before)
	d.delegates(p, opt.Delegation, before)
	return d, nil
}

// Time notes what calls were measured to take: in all, by method, and by the method, the kernel
// and the nodes of a call, each once, in microseconds.
func (d *Data) Time(how string, totals []float64,
	of func(method int, kernel string, nodes []foreign.Text) float64) {
	x := Measured{How: how, Totals: totals, Layers: [][]float64{}}
	for i := range d.Takes.Methods {
		times := []float64{}
		for _, l := range d.Takes.Methods[i].Layers {
			sum, seen := 0.0, map[string]bool{}
			for _, c := range l.Statements {
				var nodes []foreign.Text
				for _, o := range c.From {
					if !o.Node.IsEmpty() && !slices.Contains(nodes, o.Node) {
						nodes = append(nodes, o.Node)
					}
				}
				if key := c.Kernel.Name; !seen[key] { // calls of a layer have the same nodes
					seen[key] = true
					sum += of(i, key, nodes)
				}
			}
			times = append(times, sum)
		}
		x.Layers = append(x.Layers, times)
	}
	d.Measured = append(d.Measured, x)
}

// memory describes the plan of a method.
func (out *Method) memory(m *native.Method) {
	if m.Plan == nil {
		return
	}
	r := must.Get(plan.NewReport(m.Problem, m.Plan))
	mem := &Memory{Buffers: []Buffer{}}
	for k, x := range m.Plan.Memories {
		b := Bank{Name: "arena", Bytes: x.Size, LowerBound: r.Peaks[k].Bytes, Peak: r.Peaks[k].Step}
		if k < len(m.Problem.Banks) {
			b.Name = m.Problem.Banks[k].Name
		}
		mem.Banks = append(mem.Banks, b)
	}
	types := map[plan.BufferID]string{}
	for b, id := range m.Bank {
		types[id] = typeOf(b)
	}
	for i, live := range r.Live {
		b := &m.Problem.Buffers[i]
		mem.Buffers = append(mem.Buffers, Buffer{Name: foreign.Of(b.Name), Type: types[plan.BufferID(i)],
			Bank: b.Memory, Offset: m.Plan.Offsets[i], Bytes: b.Size, Live: append([]plan.Span{}, live...)})
		for _, s := range live {
			mem.Steps = max(mem.Steps, s.Last+1)
		}
	}
	out.Memory = mem
}

// typeOf is the type of a buffer for people to read.
func typeOf(b *native.Buffer) string { return b.DType.Short() + codegen.ShapeText(b.Sizes, nil) }

// calls lists the calls of kernels.
func (out *Method) calls(m *native.Method, layers []report.Layer, nodes *finder,
	kernels map[string]int, lines map[*native.Call]*Lines) {
	layer := map[*native.Call]int{}
	for i := range layers {
		for _, c := range layers[i].Statements {
			layer[c] = i
		}
	}
	eachCall(m.Body, 1, func(c *native.Call, times float64) {
		x := Call{Times: int64(min(times, 1<<53)), Layer: layer[c], Kernel: kernels[c.Kernel.Name],
			Nodes: []int{}, Step: m.Steps[c],
			Lines: lines[c], Arena: []int{}}
		for _, o := range c.From {
			if n, ok := nodes.node(o.Node, placeOf(o.Loc)); ok {
				x.Nodes = append(x.Nodes, n)
			}
		}
		seen := map[*native.Buffer]bool{}
		for i, b := range c.Args {
			root := native.Root(b)
			if id, ok := m.Bank[root]; ok && !slices.Contains(x.Arena, int(id)) {
				x.Arena = append(x.Arena, int(id))
			}
			if seen[b] || c.Kernel.IsScratch(i) {
				continue
			}
			seen[b] = true
			read, written := c.Kernel.Uses(i)
			if read {
				x.Reads += codegen.MaxBytes(b)
			}
			if written {
				x.Writes += codegen.MaxBytes(b)
			}
		}
		out.Calls = append(out.Calls, x)
	})
}

// eachCall calls f with the calls of statements, and how often the loops around each execute it.
func eachCall(stmts []native.Stmt, times float64, f func(*native.Call, float64)) {
	for _, s := range stmts {
		inner := times
		switch s := s.(type) {
		case *native.Call:
			f(s, times)
		case *native.For:
			inner *= expr.Count(s.Extent)
		case *native.Await:
			inner *= float64(s.Extent)
		}
		for _, block := range native.Blocks(s) {
			eachCall(*block, inner, f)
		}
	}
}
