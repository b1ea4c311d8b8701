package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/lower/native"
)

// grapher makes the graph of a method.
type grapher struct {
	out     Graph
	weights *weights
	values  map[*ir.Value]int
	places  []report.Place // of nodes
	// quantized are the values that nodes make integers of.
	quantized []Quantized
	// delegates are indices by name.
	delegates map[string]int
}

// graphOf makes the graph of a method.
func graphOf(p *ir.Program, m *ir.Method, w *weights) *grapher {
	g := &grapher{out: Graph{Dialect: string(p.Dialect), Nodes: []Node{}, Values: []Value{}},
		weights: w, values: map[*ir.Value]int{}, delegates: map[string]int{}}
	for i, d := range p.Delegates {
		g.delegates[d.Name] = i
	}
	kinds := map[ir.InputKind]string{ir.Parameter: "parameter", ir.Buffer: "buffer",
		ir.TensorConstant: "constant"}
	for i, v := range m.Graph.Inputs {
		kind := "input"
		if i < len(m.Inputs) && kinds[m.Inputs[i].Kind] != "" {
			kind = kinds[m.Inputs[i].Kind]
		}
		g.value(v, kind)
	}
	g.region(m.Graph, -1, m.Name)
	return g
}

// value returns the index of a value.
func (g *grapher) value(v *ir.Value, kind string) int {
	if i, ok := g.values[v]; ok {
		return i
	}
	x := Value{Name: foreign.Of(v.Name), Type: foreign.Of(v.Type.String()), Kind: kind, Weight: -1}
	if v.Const != nil && kind != "node" {
		x.Weight = g.weights.of(v.Const)
		if kind == "input" {
			x.Kind = "constant"
		}
	}
	g.values[v] = len(g.out.Values)
	g.out.Values = append(g.out.Values, x)
	return g.values[v]
}

// refs are the values of an argument.
func (g *grapher) refs(to []int, a ir.Arg) []int {
	ir.EachRef(a, func(v *ir.Value) {
		if i := g.value(v, "input"); !slices.Contains(to, i) {
			to = append(to, i)
		}
	})
	return to
}

// region adds a graph in a node.
func (g *grapher) region(r *ir.Graph, node int, name string) {
	at := len(g.out.Regions)
	region := Region{Node: node, Name: name, Inputs: []int{}, Outputs: []int{}}
	for _, v := range r.Inputs {
		region.Inputs = append(region.Inputs, g.value(v, "input"))
	}
	g.out.Regions = append(g.out.Regions, region)
	for _, n := range r.Nodes {
		g.node(n, at)
	}
	for _, a := range r.Outputs {
		region.Outputs = g.refs(region.Outputs, a)
	}
	g.out.Regions[at] = region
}

func (g *grapher) node(n *ir.Node, region int) {
	at := len(g.out.Nodes)
	here := placeOf(native.LocationOf(n.Loc))
	x := Node{Name: foreign.Of(n.Name), Op: foreign.Of(n.Op), Region: region, Reads: []int{},
		Makes: []int{}, Module: here.module, Line: here.line}
	var args []string
	for i, a := range n.Args {
		x.Reads = g.refs(x.Reads, a.Value)
		text := ir.ArgString(a.Value)
		if a.Name != "" {
			text = a.Name + "=" + text
		}
		args = append(args, text)
		if name, is := a.Value.(ir.Str); is && i == 0 && n.Op == ir.CallDelegate {
			if d, ok := g.delegates[string(name)]; ok {
				x.Delegate = &d
			}
		}
	}
	x.Args = foreign.Of(strings.Join(args, ", "))
	for _, v := range n.Outputs {
		if v != nil {
			x.Makes = append(x.Makes, g.value(v, "node"))
		}
	}
	g.out.Nodes = append(g.out.Nodes, x)
	g.places = append(g.places, report.Place{Node: x.Name, Loc: native.LocationOf(n.Loc)})
	if q := g.quantizes(n); q != nil {
		g.quantized = append(g.quantized, *q)
	}
	names := map[string][]string{"cond": {"then", "else"},
		"while_loop": {"test", "body"}}[ir.OpBase(n.Op)]
	for i, r := range n.Regions {
		name := fmt.Sprintf("region %d", i)
		if len(n.Regions) == 1 {
			name = "body"
		} else if i < len(names) {
			name = names[i]
		}
		g.region(r, at, name)
	}
}

// place is where nodes are in the model.
type place struct{ module, line foreign.Text }

// finder finds nodes again in another form of a graph.
type finder struct {
	at    map[place][]int
	named map[named]int
}

// named is a name at a place, or at any. Nodes of sibling regions may share a name: it is of none.
type named struct {
	name foreign.Text
	at   place
}

func (g *grapher) finder() *finder {
	f := &finder{map[place][]int{}, map[named]int{}}
	note := func(name named, i int) {
		if _, twice := f.named[name]; twice {
			i = -1
		}
		f.named[name] = i
	}
	for i := range g.out.Nodes {
		n := &g.out.Nodes[i]
		at := place{n.Module, n.Line}
		f.at[at] = append(f.at[at], i)
		note(named{n.Name, place{}}, i)
		if at != (place{}) {
			note(named{n.Name, at}, i)
		}
	}
	return f
}

// node returns the node of a name: at a place, or else the only one.
func (f *finder) node(name foreign.Text, at place) (i int, ok bool) {
	if i, ok = f.named[named{name, at}]; !ok {
		i, ok = f.named[named{name, place{}}]
	}
	return i, ok && i >= 0
}

// mostFrom is how many nodes of a place one made by lowering may come from. Of more nothing is
// said: a place may be all of a model.
const mostFrom = 8

// find returns the nodes that one came from: those of the same place in the model, of which one of
// the same name stands for all. What has no place is known by its name.
func (f *finder) find(name foreign.Text, at place) []int {
	if same, ok := f.named[named{name, at}]; ok && same >= 0 {
		return []int{same}
	}
	if at == (place{}) || len(f.at[at]) > mostFrom {
		return nil
	}
	return f.at[at]
}

// placeOf is the place of a node.
func placeOf(l native.Location) place {
	module := l.Module
	l.Module = foreign.Text{}
	return place{module, foreign.Of(l.String())}
}
