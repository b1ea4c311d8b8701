package layers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// maxRounds is how many iterations of a while_loop keep their values. Of more the first are kept,
// and the last.
const maxRounds = 16

// probe is a value that the program keeps. Of a node in loops it is all iterations' values,
// stacked.
type probe struct {
	value
	at     *ir.Value // what holds it in the graph that keeps it now
	places []int64   // of the node in each of the graphs around it, the outermost first
	levels []level   // the regions around it, the outermost first
	turns  []turn    // of the conditions around it, the innermost first
}

// turn tells which time it is that the condition of a while_loop is computed: before the loop or,
// next, behind the body of an iteration. Inside are how many levels of a probe are in the
// condition.
type turn struct {
	next   bool
	inside int
}

// copied is a node of a condition that a copy stands for.
type copied struct {
	of     *ir.Node
	next   bool // see turn
	within bool // another copy
}

// level is a region that a probe's node stands in.
type level struct {
	loop bool
	// flag is 0 where the region did not run, else 1 + the number of the iteration. It is stacked
	// by the loops down to this one.
	flag *probe
}

// exposer makes outputs of what nodes compute.
type exposer struct {
	method    *ir.Method
	names     *ir.Names
	quantized bool // values that are quantized are kept, and no others
	known     map[*sym.Symbol]bool
	taken     map[string]bool // names of values
	copies    map[*ir.Node]copied
}

// expose makes outputs of the tensors that m's nodes compute, in regions too. First is the index of
// the first of them among the user's outputs.
func expose(m *ir.Method) (first int, probes []*probe) {
	for _, o := range m.Outputs {
		if o.Kind == ir.UserOutput {
			first++
		}
	}
	x := &exposer{method: m, names: ir.NewNames(m), known: map[*sym.Symbol]bool{},
		taken: map[string]bool{}, copies: map[*ir.Node]copied{}}
	for n := range m.Graph.All() {
		x.quantized = x.quantized || rounded(n) != nil
	}
	for _, v := range m.Graph.Inputs {
		for _, s := range v.Type.Sizes {
			for _, s := range s.Symbols() {
				x.known[s] = true
			}
		}
	}
	probes = x.graph(m.Graph)
	for _, p := range probes {
		m.Graph.Outputs = append(m.Graph.Outputs, ir.Ref{Value: p.at})
		m.Outputs = append(m.Outputs, ir.OutputSpec{Kind: ir.UserOutput})
	}
	return first, probes
}

func is(n *ir.Node, word string) bool { return n != nil && strings.Contains(n.Op, word) }

// graph returns the probes of g's nodes and of the regions in it, which give them to g.
func (x *exposer) graph(g *ir.Graph) (probes []*probe) {
	nodes := g.Nodes
	g.Nodes = nil
	for i, n := range nodes {
		own, inner := x.node(n), []*probe(nil)
		switch n.Op {
		case "higher_order.cond":
			inner = around(x.cond(n), 2*i)
		case "higher_order.while_loop":
			before := &ir.Graph{}
			x.condition(before, n)
			inner = x.graph(before)
			for _, p := range inner {
				p.places[0] = place(2*i) - 2*int64(len(before.Nodes)) + p.places[0]/place(1)
			}
			g.Nodes, g.Constants = append(g.Nodes, before.Nodes...), append(g.Constants, before.Constants...)
			inLoop := x.loop(g, n, n.Regions[1], &n.Args[0].Value)
			inner = append(inner, around(inLoop, 2*i)...)
		case ops.ScanOp:
			inner = around(x.loop(g, n, n.Regions[0], &n.Args[0].Value), 2*i)
		}
		g.Nodes = append(g.Nodes, n)
		own = around(own, 2*i+1) // behind what is in n
		if c, ok := x.copies[n]; ok && !c.within {
			for _, p := range slices.Concat(inner, own) {
				p.turns = append(p.turns, turn{c.next, len(p.levels)})
			}
		}
		probes = append(append(probes, inner...), own...)
	}
	return probes
}

// place is the number of a place in a graph. Between two of them is room for the nodes of
// conditions.
func place(i int) int64 { return int64(i) << 20 }

// around makes place i that of the probes in the graph around them.
func around(probes []*probe, i int) []*probe {
	for _, p := range probes {
		p.places = append([]int64{place(i)}, p.places...)
	}
	return probes
}

// rounded returns the node whose value n dequantizes behind what quantized it, nil if n does not.
func rounded(n *ir.Node) *ir.Node {
	for _, word := range []string{".dequantize_", ".quantize_"} {
		if !is(n, word) || len(n.Args) == 0 {
			return nil
		}
		of, _ := n.Args[0].Value.(ir.Ref)
		if of.Value == nil {
			return nil
		}
		n = of.Value.Def
	}
	return n
}

// node returns what n computes, or the value that it dequantizes.
func (x *exposer) node(n *ir.Node) (probes []*probe) {
	of := n // the node whose value it is
	if x.quantized {
		if of = rounded(n); of == nil {
			return nil
		}
	}
	name, key := of.Name, ""
	for c := x.copies[of]; c.of != nil; c = x.copies[c.of] { // a copy may have been copied
		name = c.of.Name
		key += fmt.Sprint(c.next)
	}
	for k, v := range n.Outputs {
		if v == nil || v.Type.Kind != ir.TensorKind || v.Type.DType.IsComplex() {
			continue
		}
		p := &probe{value: value{node: name, op: of.Op, def: of}, at: v}
		if k > 0 {
			p.node = fmt.Sprintf("%s.%d", name, k)
		}
		if x.taken[p.node+" "+key] {
			continue // one more reader's dequantized values
		}
		x.taken[p.node+" "+key] = true
		if of.Loc != (ir.Location{}) {
			p.line = of.Loc.String()
		}
		probes = append(probes, p)
	}
	return probes
}

// emit adds nodes that f makes to g, and returns f's values.
func (x *exposer) emit(g *ir.Graph, f func(b *ops.Builder) []*ir.Value) []*ir.Value {
	var values []*ir.Value
	made, err := ir.BuildGraph(x.names, nil, func(e *ir.Emitter) ([]ir.Arg, error) {
		b := ops.NewBuilder(ops.Standard(), e)
		return nil, b.Do(func() error { values = f(b); return nil })
	})
	must.Check(err)
	g.Nodes = append(g.Nodes, made.Nodes...)
	g.Constants = append(g.Constants, made.Constants...)
	return values
}

// region returns the probes in r, behind a flag that tells that r ran, dense. What has sizes that
// are known in r alone is left out. There are none if r computes nothing.
func (x *exposer) region(r *ir.Graph, loop bool, ran func() *ir.Value) []*probe {
	all := slices.DeleteFunc(x.graph(r), func(p *probe) bool {
		return slices.ContainsFunc(p.at.Type.Sizes, func(e sym.Expr) bool {
			return e.AnySymbol(func(s *sym.Symbol) bool { return !x.known[s] })
		})
	})
	if len(all) == 0 {
		return nil
	}
	flag := &probe{at: ran()}
	for _, p := range all {
		p.levels = append([]level{{loop, flag}}, p.levels...)
		if !p.at.Type.IsContiguous() {
			p.at = x.emit(r, func(b *ops.Builder) []*ir.Value {
				return []*ir.Value{b.Op("aten.clone.default", p.at,
					ops.Kw("memory_format", ir.ContiguousFormat))}
			})[0]
		}
	}
	return append([]*probe{flag}, all...)
}

// cond makes results of n of what its branches compute, zeros of what is in the other one.
func (x *exposer) cond(n *ir.Node) (probes []*probe) {
	var of [2][]*probe
	for i, r := range n.Regions {
		of[i] = x.region(r, false, func() *ir.Value { return x.number(r, 1) })
		probes = append(probes, of[i]...)
	}
	for i, r := range n.Regions {
		for k, list := range of {
			for _, p := range list {
				v := p.at
				if k != i {
					v = x.zeros(r, p.at.Type.DType, p.at.Type.Sizes...)
				}
				r.Outputs = append(r.Outputs, ir.Ref{Value: v})
			}
		}
	}
	for _, p := range probes {
		p.at = x.result(n, len(n.Outputs), p.at.Type.Dense())
	}
	return probes
}

// condition has n, a while_loop, carry whether it goes on: the nodes of its condition come before
// n, which g gets, and behind its body, where their values can be kept.
func (x *exposer) condition(g *ir.Graph, n *ir.Node) {
	c, body := n.Regions[0], n.Regions[1]
	decides, ok := c.Outputs[0].(ir.Ref)
	if !ok || decides.Value.Type.Kind != ir.TensorKind || len(c.Nodes) == 0 {
		return
	}
	for _, v := range c.Constants {
		v.Name = x.names.Fresh(v.Name)
	}
	g.Constants, c.Constants = append(g.Constants, c.Constants...), nil
	computed := func(to *ir.Graph, inputs []ir.Arg, symbols map[*sym.Symbol]*sym.Symbol,
		next bool) ir.Arg {
		of := map[*ir.Value]ir.Arg{}
		for i, v := range c.Inputs {
			of[v] = inputs[i]
		}
		return x.copyNodes(to, c, of, symbols, copied{next: next})[0]
	}
	list := n.Args[0].Value.(ir.List)
	k := len(list)
	n.Args[0].Value = append(slices.Clone(list), computed(g, list, nil, false))
	body.Outputs = slices.Insert(slices.Clone(body.Outputs), k,
		computed(body, body.Outputs, x.renamed(c), true))
	for _, r := range n.Regions {
		r.Inputs = slices.Insert(r.Inputs, k,
			&ir.Value{Name: x.names.Fresh("goes_on"), Type: decides.Value.Type})
	}
	c.Nodes, c.Outputs = nil, []ir.Arg{ir.Ref{Value: c.Inputs[k]}}
	x.result(n, k, decides.Value.Type)
}

// renamed makes a symbol for each that nodes in g make, as the number that an element is: a second
// copy of g has symbols of its own.
func (x *exposer) renamed(g *ir.Graph) map[*sym.Symbol]*sym.Symbol {
	now := map[*sym.Symbol]*sym.Symbol{}
	for n := range g.All() {
		var read []*sym.Symbol
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) { read = append(read, symbolsOf(v.Type)...) })
		}
		for _, v := range n.Outputs {
			if v == nil {
				continue
			}
			for _, s := range symbolsOf(v.Type) {
				if x.known[s] || now[s] != nil || slices.Contains(read, s) {
					continue
				}
				name := s.Name + "_again"
				for slices.ContainsFunc(x.method.Symbols,
					func(s *sym.Symbol) bool { return s.Name == name }) {
					name += "_"
				}
				now[s] = &sym.Symbol{Name: name, Lo: s.Lo, Hi: s.Hi}
				x.method.Symbols = append(x.method.Symbols, now[s])
			}
		}
	}
	return now
}

// symbolsOf are the symbols that t mentions.
func symbolsOf(t ir.Type) (list []*sym.Symbol) {
	t.MapSizes(func(e sym.Expr) sym.Expr {
		list = append(list, e.Symbols()...)
		return e
	})
	return list
}

// copyNodes adds copies of from's nodes, and of what is in them, to a graph, and returns from's
// outputs. Of has what stands for from's values, and gets the copies', symbols what stands for
// symbols. How tells of the copies.
func (x *exposer) copyNodes(to, from *ir.Graph, of map[*ir.Value]ir.Arg,
	symbols map[*sym.Symbol]*sym.Symbol, how copied) []ir.Arg {
	now := func(v *ir.Value) ir.Arg {
		if a := of[v]; a != nil {
			return a
		}
		return ir.Ref{Value: v}
	}
	value := func(v *ir.Value, def *ir.Node) *ir.Value {
		if v == nil {
			return nil
		}
		t := v.Type.MapSizes(func(e sym.Expr) sym.Expr {
			return e.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
				if now := symbols[s]; now != nil {
					return now.Expr(), true
				}
				return sym.Expr{}, false
			})
		})
		w := &ir.Value{Name: x.names.Fresh(v.Name), Type: t, Const: v.Const, Def: def, Index: v.Index}
		of[v] = ir.Ref{Value: w}
		return w
	}
	for _, n := range from.Nodes {
		m := &ir.Node{Name: x.names.Fresh(n.Name), Op: n.Op, Loc: n.Loc}
		for _, a := range n.Args {
			m.Args = append(m.Args, ir.NamedArg{Name: a.Name, Value: ir.MapRefs(a.Value, now)})
		}
		for _, r := range n.Regions {
			region := &ir.Graph{}
			for _, v := range r.Inputs {
				region.Inputs = append(region.Inputs, value(v, nil))
			}
			for _, v := range r.Constants {
				region.Constants = append(region.Constants, value(v, nil))
			}
			region.Outputs = x.copyNodes(region, r, of, symbols, copied{next: how.next, within: true})
			m.Regions = append(m.Regions, region)
		}
		for _, v := range n.Outputs {
			m.Outputs = append(m.Outputs, value(v, m))
		}
		x.copies[m] = copied{n, how.next, how.within}
		to.Nodes = append(to.Nodes, m)
	}
	return seq.Map(from.Outputs, func(a ir.Arg) ir.Arg { return ir.MapRefs(a, now) })
}

// loop makes results of n of what its body computes: of a scan another that is stacked; of a
// while_loop, the number of whose iterations nobody knows, a carried one. Carried, a list, are the
// values that n, of graph g, begins with.
func (x *exposer) loop(g *ir.Graph, n *ir.Node, body *ir.Graph, carried *ir.Arg) []*probe {
	list := (*carried).(ir.List)
	k := len(list)
	outs := slices.Clone(body.Outputs)
	count, next := &ir.Value{Name: x.names.Fresh("round"), Type: ir.TensorOf(ir.Int64)},
		(*ir.Value)(nil)
	probes := x.region(body, true, func() *ir.Value {
		next = x.emit(body, func(b *ops.Builder) []*ir.Value {
			return []*ir.Value{b.Op("aten.add.Scalar", count, 1)}
		})[0]
		return next
	})
	if len(probes) == 0 {
		return nil
	}
	// carry adds a carried value behind those that there are.
	carry := func(init, in, out *ir.Value) *ir.Value {
		list = append(list, ir.Ref{Value: init})
		for _, r := range n.Regions {
			v := in
			if r != body {
				v = &ir.Value{Name: x.names.Fresh("kept"), Type: in.Type}
			}
			r.Inputs = slices.Insert(r.Inputs, k, v)
		}
		outs = slices.Insert(outs, k, ir.Arg(ir.Ref{Value: out}))
		k++
		return x.result(n, k-1, init.Type)
	}
	carry(x.number(g, 0), count, next)
	scan := n.Op == ops.ScanOp
	for _, p := range probes {
		if scan {
			outs = append(outs, ir.Ref{Value: p.at})
			xs := n.Arg("xs").(ir.List)[0].(ir.Ref).Value.Type.Sizes
			p.at = x.result(n, len(n.Outputs), ir.TensorOf(p.at.Type.DType,
				append([]sym.Expr{xs[0]}, p.at.Type.Sizes...)...))
			continue
		}
		all := x.zeros(g, p.at.Type.DType, append([]sym.Expr{sym.Int(maxRounds)}, p.at.Type.Sizes...)...)
		in := &ir.Value{Name: x.names.Fresh("kept"), Type: all.Type}
		out := x.emit(body, func(b *ops.Builder) []*ir.Value {
			at := b.Op("aten.unsqueeze.default", b.Op("aten.clamp.default", count, nil, maxRounds-1), 0)
			return []*ir.Value{b.Op("aten.index_put.default", in, []*ir.Value{at},
				b.Op("aten.unsqueeze.default", p.at, 0))}
		})[0]
		p.at = carry(all, in, out)
	}
	*carried, body.Outputs = list, outs
	return probes
}

// result makes another result of n, in place k.
func (x *exposer) result(n *ir.Node, k int, t ir.Type) *ir.Value {
	v := &ir.Value{Name: x.names.Fresh(n.Name + "_kept"), Type: t, Def: n}
	n.Outputs = slices.Insert(n.Outputs, k, v)
	for i, v := range n.Outputs[k:] {
		if v != nil {
			v.Index = k + i
		}
	}
	return v
}

func (x *exposer) number(g *ir.Graph, n int) *ir.Value {
	return x.emit(g, func(b *ops.Builder) []*ir.Value {
		return []*ir.Value{b.Op("aten.full.default", []int64{}, n, ops.Kw("dtype", ir.Int64))}
	})[0]
}

func (x *exposer) zeros(g *ir.Graph, d ir.DType, sizes ...sym.Expr) *ir.Value {
	return x.emit(g, func(b *ops.Builder) []*ir.Value {
		return []*ir.Value{b.Op("aten.full.default", sizes, 0, ops.Kw("dtype", d))}
	})[0]
}

// moment is when a node computed a value: its places, and iterations between them.
type moment struct {
	value
	when []int64
}

// ran are the values that were computed, in the order of the program, of the tensors that the
// probes' outputs are. Those of iterations have their numbers behind the node's name.
func ran(probes []*probe, outs []*tensor.Tensor) (list []value) {
	of := map[*probe]*tensor.Tensor{}
	for i, p := range probes {
		of[p] = outs[i]
	}
	var all []moment
	for _, p := range probes {
		if p.node != "" {
			all = p.moments(of, 0, nil, nil, all)
		}
	}
	seq.Sort(all, func(x, y moment) int { return slices.Compare(x.when, y.when) })
	for _, m := range all {
		list = append(list, m.value)
	}
	return list
}

// moments adds p's values: of those stacked by the first levels the one at an index, in the
// iterations of these numbers.
func (p *probe) moments(of map[*probe]*tensor.Tensor, level int, at, numbers []int64,
	all []moment) []moment {
	when := append(slices.Clone(numbers), p.places[level])
	if level == len(p.levels) {
		m := moment{value: p.value, when: when}
		m.tensor = element(of[p], at)
		var names []string
		for i := range len(p.levels) + 1 {
			late := int64(0) // it is behind the body
			for _, t := range slices.Backward(p.turns) {
				switch outer := len(p.levels) - t.inside; { // the levels around the condition
				case !t.next && i == outer:
					names = append(names, "0")
				case t.next && i == outer-1:
					late = 1
				}
			}
			if i < len(p.levels) && p.levels[i].loop {
				names = append(names, fmt.Sprint(when[2*i+1]+late))
			}
		}
		if len(names) > 0 {
			m.node = fmt.Sprintf("%s[%s]", p.node, strings.Join(names, ","))
		}
		return append(all, m)
	}
	l := p.levels[level]
	rounds := int64(1)
	if l.loop {
		rounds = of[l.flag].Shape[len(at)]
	}
	for i := range rounds {
		index := at
		if l.loop {
			index = append(slices.Clone(at), i)
		}
		if flag := element(of[l.flag], index); flag != nil {
			n := eval.Get(flag.DType, flag.Data, 0).I
			if n > 0 {
				all = p.moments(of, level+1, index, append(slices.Clone(when), n-1), all)
			}
		}
	}
	return all
}

// element is the part of t at an index.
func element(t *tensor.Tensor, at []int64) *tensor.Tensor {
	data, shape := t.Data, t.Shape
	for _, i := range at {
		size := int64(len(data)) / max(shape[0], 1)
		data, shape = data[i*size:(i+1)*size], shape[1:]
	}
	return &tensor.Tensor{DType: t.DType, Shape: shape, Data: data}
}
