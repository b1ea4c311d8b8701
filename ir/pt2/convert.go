package pt2

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// converter turns one wire program into a method.
type converter struct {
	wire    *wireProgram
	weights *weights
	names   *ir.Names
	symbols map[string]*sym.Symbol
	order   []*sym.Symbol   // in order of first appearance
	sizes   map[string]bool // symbols that are sizes of inputs
	exprs   map[string]sym.Expr
	stored  map[ir.InputSpec]*ir.Value // inputs that have data
}

// method converts the program to a method called name.
func (w *wireProgram) method(name string, ws *weights) (m *ir.Method, warnings []error, err error) {
	m = &ir.Method{Name: name, Graph: &ir.Graph{}}
	c := &converter{
		wire: w, weights: ws, names: ir.NewNames(m),
		symbols: map[string]*sym.Symbol{}, sizes: inputSizes(&w.graph),
		exprs:  map[string]sym.Expr{},
		stored: map[ir.InputSpec]*ir.Value{},
	}
	c.joinGuards()
	if m.Graph, m.Inputs, err = c.graph(&w.graph, w.inputs, true); err != nil {
		return nil, nil, err
	}
	if err = c.outputSpecs(m); err != nil {
		return nil, nil, err
	}
	if m.In, err = c.tree("in_spec", w.inSpec, countInputs(m)); err != nil {
		return nil, nil, err
	}
	if m.Out, err = c.tree("out_spec", w.outSpec, countOutputs(m)); err != nil {
		return nil, nil, err
	}
	warnings = c.guards(m)
	m.Symbols = c.order
	return m, warnings, nil
}

// scope holds the values of the graph being converted. Names in the file are
// unique in their graph only; a sub-graph sees nothing of the graphs around it.
type scope struct {
	wire   *wireGraph
	values map[string]*ir.Value
	rename map[string]string // name in the file to name in the method
	later  map[string]string // name to the node that will define it
}

// graph converts a graph. The top graph has specs for its inputs.
func (c *converter) graph(w *wireGraph, specs []wireSpec,
	top bool) (*ir.Graph, []ir.InputSpec, error) {
	s := &scope{wire: w, values: map[string]*ir.Value{}, rename: map[string]string{},
		later: map[string]string{}}
	if err := c.reserve(s); err != nil {
		return nil, nil, err
	}
	g := &ir.Graph{}
	var inputs []ir.InputSpec
	if top && len(specs) != len(w.inputs) {
		return nil, nil, problem("the graph has %d inputs, its signature %d", len(w.inputs),
			len(specs))
	}
	for i := range w.inputs {
		a := w.inputs[i]
		if top {
			v, spec, err := c.specInput(s, a, specs[i])
			if err != nil {
				return nil, nil, err
			}
			if v != nil {
				g.Inputs, inputs = append(g.Inputs, v), append(inputs, spec)
			}
			continue
		}
		v, err := c.input(s, a, "arg")
		if err != nil {
			return nil, nil, err
		}
		g.Inputs = append(g.Inputs, v)
	}
	for i := range w.nodes {
		n, err := c.node(s, &w.nodes[i])
		if err != nil {
			return nil, nil, atNode(err, &w.nodes[i])
		}
		g.Nodes = append(g.Nodes, n)
	}
	for i := range w.outputs {
		a, err := c.arg(s, &w.outputs[i])
		if err != nil {
			e := asError(err)
			e.Problem = fmt.Sprintf("output %d of the graph: %s", i, e.Problem)
			return nil, nil, e
		}
		if list, ok := a.(ir.List); ok && !top {
			g.Outputs = append(g.Outputs, list...)
		} else {
			g.Outputs = append(g.Outputs, a)
		}
	}
	return g, inputs, nil
}

// reserve gives every value of the graph its name in the method, before any
// sub-graph takes names, and finds names that are defined twice.
func (c *converter) reserve(s *scope) error {
	take := func(name, node string) error {
		if _, dup := s.later[name]; dup {
			return problem("the value %q is defined twice", name)
		}
		s.later[name] = node
		s.rename[name] = c.names.Fresh(name)
		return nil
	}
	for i := range s.wire.inputs {
		if a := &s.wire.inputs[i]; a.name != "" {
			if err := take(a.name, ""); err != nil {
				return err
			}
		}
	}
	for i := range s.wire.nodes {
		n := &s.wire.nodes[i]
		for j := range n.outputs {
			for _, o := range flatten(&n.outputs[j]) {
				if o.name == "" {
					continue
				}
				if err := take(o.name, nodeName(n)); err != nil {
					return atNode(err, n)
				}
			}
		}
	}
	return nil
}

// flatten returns the single results of a node's output: the elements of
// Tensor[] results, the output itself otherwise.
func flatten(a *wireArg) []wireArg {
	if a.list == nil && a.tag != "as_tensors" {
		return []wireArg{*a}
	}
	return a.list
}

// nodeName returns the node's name; torch 2.6 does not write it, its first
// result has it or a name made from it.
func nodeName(n *wireNode) string {
	if n.name != "" {
		return n.name
	}
	if len(n.outputs) > 0 {
		if name := n.outputs[0].name; name != "" && len(n.outputs) == 1 {
			return name
		}
	}
	return ir.OpBase(opName(n.target))
}

// opName turns a target into the name of an operator.
func opName(target string) string {
	return strings.TrimPrefix(target, "torch.ops.")
}

func (c *converter) node(s *scope, w *wireNode) (*ir.Node, error) {
	n := &ir.Node{Op: opName(w.target), Loc: w.loc}
	if n.Op == "" {
		return nil, problem("the node has no target")
	}
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.arg.graph != nil {
			g, _, err := c.graph(in.arg.graph, nil, false)
			if err != nil {
				return nil, err
			}
			n.Regions = append(n.Regions, g)
			continue
		}
		a, err := c.arg(s, &in.arg)
		if err != nil {
			return nil, err
		}
		n.Args = append(n.Args, ir.NamedArg{Name: in.name, Value: a})
	}
	if n.Op == "higher_order.scan" {
		nameScanArgs(n)
	}
	for i := range w.outputs {
		for _, o := range flatten(&w.outputs[i]) {
			var v *ir.Value
			if _, none := o.lit.(ir.None); !none {
				if o.name == "" {
					return nil, problem("result %d is a literal (%s)", len(n.Outputs), o.tag)
				}
				typ, err := c.valueType(s, &o)
				if err != nil {
					return nil, err
				}
				v = &ir.Value{Name: s.rename[o.name], Type: typ, Def: n, Index: len(n.Outputs)}
				s.values[o.name] = v
			}
			n.Outputs = append(n.Outputs, v)
		}
	}
	if n.Op == "higher_order.with_effects" && n.Output(0) != nil {
		n.Outputs[0].Type = ir.Type{Kind: ir.TokenKind}
	}
	n.Name = nodeName(w)
	if v := n.Output(0); v != nil && w.outputs[0].name == n.Name {
		n.Name = v.Name
	} else {
		n.Name = c.names.Fresh(n.Name)
	}
	return n, nil
}

// nameScanArgs gives the scan of torch 2.6, whose operands are init, xs, dim,
// reverse, additional, the form of later versions: init, xs, additional. Its
// extra operands become named arguments at the end.
func nameScanArgs(n *ir.Node) {
	if len(n.Args) != 5 {
		return
	}
	dim, reverse := n.Args[2], n.Args[3]
	dim.Name, reverse.Name = "dim", "reverse"
	n.Args = []ir.NamedArg{n.Args[0], n.Args[1], n.Args[4], dim, reverse}
}

// atNode adds to err which node it is about, unless an inner one is known.
func atNode(err error, n *wireNode) error {
	e := asError(err)
	if e.Node == "" {
		e.Node, e.Op, e.Loc = nodeName(n), opName(n.target), n.loc
	}
	return e
}
