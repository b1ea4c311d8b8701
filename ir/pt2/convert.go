package pt2

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
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
	defer must.Catch(&err)
	m = &ir.Method{Name: name, Graph: &ir.Graph{}}
	c := &converter{
		wire: w, weights: ws, names: ir.NewNames(m),
		symbols: map[string]*sym.Symbol{}, sizes: inputSizes(&w.graph),
		exprs:  map[string]sym.Expr{},
		stored: map[ir.InputSpec]*ir.Value{},
	}
	c.joinGuards()
	m.Graph, m.Inputs = c.graph(&w.graph, w.inputs, true)
	c.outputSpecs(m)
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
	top bool) (*ir.Graph, []ir.InputSpec) {
	s := &scope{wire: w, values: map[string]*ir.Value{}, rename: map[string]string{},
		later: map[string]string{}}
	c.reserve(s)
	g := &ir.Graph{}
	var inputs []ir.InputSpec
	if top && len(specs) != len(w.inputs) {
		panic(problem("the graph has %d inputs, its signature %d", len(w.inputs),
			len(specs)))
	}
	for i := range w.inputs {
		a := w.inputs[i]
		if top {
			v, spec := c.specInput(s, a, specs[i])
			if v != nil {
				g.Inputs, inputs = append(g.Inputs, v), append(inputs, spec)
			}
			continue
		}
		v := c.input(s, a, "arg")
		g.Inputs = append(g.Inputs, v)
	}
	for i := range w.nodes {
		atNode(&w.nodes[i], func() { g.Nodes = append(g.Nodes, c.node(s, &w.nodes[i])) })
	}
	for i := range w.outputs {
		var a ir.Arg
		within(func() { a = c.arg(s, &w.outputs[i]) }, "output %d of the graph", i)
		if list, ok := a.(ir.List); ok && !top {
			g.Outputs = append(g.Outputs, list...)
		} else {
			g.Outputs = append(g.Outputs, a)
		}
	}
	return g, inputs
}

// reserve gives every value of the graph its name in the method, before any
// sub-graph takes names, and finds names that are defined twice.
func (c *converter) reserve(s *scope) {
	take := func(name, node string) {
		if _, dup := s.later[name]; dup {
			panic(problem("the value %q is defined twice", name))
		}
		s.later[name] = node
		s.rename[name] = c.names.Fresh(name)
	}
	for i := range s.wire.inputs {
		if a := &s.wire.inputs[i]; a.name != "" {
			take(a.name, "")
		}
	}
	for i := range s.wire.nodes {
		n := &s.wire.nodes[i]
		for j := range n.outputs {
			for _, o := range flatten(&n.outputs[j]) {
				if o.name != "" {
					atNode(n, func() { take(o.name, nodeName(n)) })
				}
			}
		}
	}
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

// edgePrefix is of operators in edge programs.
const edgePrefix = "executorch.exir.dialects.edge.ops."

// opName turns a target into the name of an operator.
func opName(target string) string {
	return strings.TrimPrefix(strings.TrimPrefix(target, edgePrefix), "torch.ops.")
}

func (c *converter) node(s *scope, w *wireNode) *ir.Node {
	n := &ir.Node{Op: opName(w.target), Loc: w.loc}
	if n.Op == "" {
		panic(problem("the node has no target"))
	}
	for i := range w.inputs {
		in := &w.inputs[i]
		if in.arg.graph != nil {
			g, _ := c.graph(in.arg.graph, nil, false)
			n.Regions = append(n.Regions, g)
			continue
		}
		a := c.arg(s, &in.arg)
		name := in.name
		if name == "x" && strings.HasPrefix(n.Op, "math.") {
			name = "a" // as in the functions of _operator: files have Python's name
		}
		n.Args = append(n.Args, ir.NamedArg{Name: name, Value: a})
	}
	if n.Op == "higher_order.scan" {
		nameScanArgs(n)
	}
	for i := range w.outputs {
		for _, o := range flatten(&w.outputs[i]) {
			var v *ir.Value
			if _, none := o.lit.(ir.None); !none {
				if o.name == "" {
					panic(problem("result %d is a literal (%s)", len(n.Outputs), o.tag))
				}
				typ := c.valueType(s, &o)
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
	return n
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

// atNode runs f; what it fails with says which node it is about, unless an inner one is known.
func atNode(n *wireNode, f func()) {
	amend(f, func(e *Error) {
		if e.Node == "" {
			e.Node, e.Op, e.Loc = nodeName(n), opName(n.target), n.loc
		}
	})
}

// arg converts an argument, resolving names in s.
func (c *converter) arg(s *scope, w *wireArg) ir.Arg {
	switch {
	case w.graph != nil:
		panic(problem("a graph inside a list or an output"))
	case w.name != "":
		return ir.Ref{Value: s.lookup(w.name)}
	case w.lit != nil:
		return enumArg(w)
	}
	list := make(ir.List, len(w.list))
	for i := range w.list {
		list[i] = c.arg(s, &w.list[i])
	}
	return list
}

func (s *scope) lookup(name string) *ir.Value {
	if v := s.values[name]; v != nil {
		return v
	}
	if node, ok := s.later[name]; ok {
		panic(problem("uses the value %q before node %q defines it", name, node).
			hint("the graph has a cycle or its nodes are out of order; export the model again"))
	}
	panic(problem("uses the value %q, which nothing defines", name).
		hint("the file is damaged; export the model again"))
}

// enumArg gives literals of enumerations their own types.
func enumArg(w *wireArg) ir.Arg {
	n, _ := w.lit.(ir.Int)
	switch w.tag {
	case "as_scalar_type":
		return ir.DTypeArg(dtypeOf(int64(n)))
	case "as_layout":
		if n < 0 || n > layoutStrided {
			panic(problem("unknown layout number %d", n))
		}
		return ir.LayoutArg(n)
	case "as_memory_format":
		if n < 1 || n > 4 {
			panic(problem("unknown memory format number %d", n))
		}
		return ir.MemoryFormat(n) // same numbers
	}
	return w.lit
}

// The numbers of torch.layout in the export schema.
const layoutStrided = 7

var layoutNames = [...]string{"unknown", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr",
	"sparse_bsc", "mkldnn"}

func layoutName(n int64) string {
	if n >= 0 && n < int64(len(layoutNames)) {
		return layoutNames[n]
	}
	return fmt.Sprintf("number %d", n)
}

// dtypeOf translates the ScalarType numbers of the export schema, which are
// not those of c10.
func dtypeOf(n int64) ir.DType {
	d := knownDType(n)
	if d == ir.InvalidDType {
		panic(problem("unknown dtype number %d", n))
	}
	return d
}

// knownDType is InvalidDType if there is no dtype of the number n.
func knownDType(n int64) ir.DType {
	if n < 0 || n >= int64(len(scalarTypes)) {
		return ir.InvalidDType
	}
	return scalarTypes[n]
}

var scalarTypes = [...]ir.DType{
	1: ir.Uint8, 2: ir.Int8, 3: ir.Int16, 4: ir.Int32, 5: ir.Int64,
	6: ir.Float16, 7: ir.Float32, 8: ir.Float64,
	9: ir.Complex32, 10: ir.Complex64, 11: ir.Complex128,
	12: ir.Bool, 13: ir.BFloat16, 28: ir.Uint16,
	29: ir.Float8E4M3FN, 30: ir.Float8E5M2, 31: ir.Float8E4M3FNUZ, 32: ir.Float8E5M2FNUZ,
	33: ir.Float8E8M0FNU,
	34: ir.Uint32, 35: ir.Uint64,
}

func deviceName(typ string, index int64) ir.Device {
	if index < 0 {
		return ir.Device(typ)
	}
	return ir.Device(fmt.Sprintf("%s:%d", typ, index))
}

// input makes the value of a graph input. base names inputs that are literals.
func (c *converter) input(s *scope, a wireArg, base string) *ir.Value {
	if a.name == "" {
		if a.lit == nil {
			panic(problem("an input of the graph is a list"))
		}
		return &ir.Value{Name: c.names.Fresh(base), Type: literalType(a.lit)}
	}
	v := &ir.Value{Name: s.rename[a.name]}
	within(func() { v.Type = c.valueType(s, &a) }, "input")
	s.values[a.name] = v
	return v
}

// literalType returns the type of a Python constant.
func literalType(a ir.Arg) ir.Type {
	switch a := a.(type) {
	case ir.Int:
		return ir.SymInt(sym.Int(int64(a)))
	case ir.Float:
		return ir.Type{Kind: ir.FloatKind}
	case ir.BoolArg:
		return ir.Type{Kind: ir.BoolKind}
	case ir.Str:
		return ir.Type{Kind: ir.StringKind}
	}
	return ir.Type{Kind: ir.NoneKind}
}

// specInput makes the value and the specification of an input of the whole
// program, with the data of parameters, buffers and constants. The value is
// nil if the input is another name for one made before: strict exports of
// torch 2.6 list a tied parameter twice under the same qualified name.
func (c *converter) specInput(s *scope, a wireArg, w wireSpec) (*ir.Value, ir.InputSpec) {
	spec := ir.InputSpec{Target: w.target}
	base := w.arg.name
	if base == "" {
		base = "arg"
	}
	kind, ok := inputKinds[w.tag]
	if !ok {
		panic(problem("unknown kind of input %q", w.tag))
	}
	if a.name != "" && w.arg.name != a.name {
		panic(problem("the graph's input %q stands where its signature has %q", a.name,
			w.arg.name))
	}
	v := c.input(s, a, base)
	switch spec.Kind = kind; kind {
	case ir.UserInput:
		if a.name == "" {
			spec.Kind, spec.Fixed = ir.ConstantInput, a.lit
		}
	case ir.ConstantInput:
		if spec.Fixed = w.arg.lit; spec.Fixed == nil {
			panic(problem("the constant input %q has no value", w.arg.name))
		}
		// In words: NaN is not equal to itself.
		if a.lit != nil && fmt.Sprint(spec.Fixed) != fmt.Sprint(a.lit) {
			panic(problem("the constant input %q is %v in the graph, and %v in its signature",
				w.arg.name, a.lit, spec.Fixed))
		}
	case ir.Parameter:
		c.data(v, w.target, false)
	case ir.Buffer:
		spec.Persistent = w.persistent
		c.data(v, w.target, !w.persistent)
	case ir.TensorConstant:
		c.data(v, w.target, true)
	case ir.TokenInput:
		v.Type = ir.Type{Kind: ir.TokenKind}
	}
	if v.Const == nil {
		return v, spec
	}
	if first := c.stored[spec]; first != nil {
		if !first.Type.Equal(v.Type) {
			panic(problem("the inputs %q and %q are both %q and differ in type",
				first.Name, v.Name, w.target))
		}
		s.values[a.name] = first
		return nil, spec
	}
	c.stored[spec] = v
	return v, spec
}

var inputKinds = map[string]ir.InputKind{
	"user_input":      ir.UserInput,
	"constant_input":  ir.ConstantInput,
	"parameter":       ir.Parameter,
	"buffer":          ir.Buffer,
	"tensor_constant": ir.TensorConstant,
	"token":           ir.TokenInput,
	"custom_obj":      ir.CustomInput,
}

// data finds the constant that fills v. inConstants tells in which of the two
// stores PyTorch puts it.
func (c *converter) data(v *ir.Value, target string, inConstants bool) {
	var k *ir.Constant
	amend(func() { k = c.weights.find(target, inConstants) }, func(e *Error) {
		e.Node = cmp.Or(e.Node, target)
	})
	t := v.Type
	same := t.Kind == ir.TensorKind && t.DType == k.Type.DType && len(t.Sizes) == len(k.Type.Sizes)
	for i := 0; same && i < len(t.Sizes); i++ {
		same = t.Sizes[i].Equal(k.Type.Sizes[i])
	}
	if !same {
		panic(&Error{Node: target,
			Problem: fmt.Sprintf("the graph wants %v, the stored tensor is %v", t.Dense(),
				k.Type.Dense()),
			Hint: "the weights belong to another model"})
	}
	v.Const = k
}

// outputSpecs gives m its output specifications and checks what they refer to.
func (c *converter) outputSpecs(m *ir.Method) {
	ws := c.wire.outputs
	if len(ws) != len(m.Graph.Outputs) {
		panic(problem("the graph has %d outputs, its signature %d", len(m.Graph.Outputs), len(ws)))
	}
	specs := make([]ir.OutputSpec, len(ws))
	for i, w := range ws {
		kind, ok := outputKinds[w.tag]
		if !ok {
			panic(problem("unknown kind of output %q", w.tag))
		}
		if kind == ir.LossOutput || kind == ir.GradientOutput {
			panic(problem("output %d is a %s: it is a program for training", i, w.tag).
				hint("export the model's forward alone"))
		}
		specs[i] = ir.OutputSpec{Kind: kind, Target: w.target}
		if name := c.wire.graph.outputs[i].name; w.arg.name != name {
			panic(problem("the graph's output %q stands where its signature has %q", name,
				w.arg.name))
		}
	}
	m.Outputs = specs
	for i, target := range m.MutationTargets() {
		if !mutates(specs[i].Kind) {
			continue
		}
		if target == nil {
			panic(problem("output %d writes to %q, which is no input", i, specs[i].Target))
		}
		if _, ok := m.Graph.Outputs[i].(ir.Ref); !ok {
			panic(problem("output %d writes a literal to %q", i, specs[i].Target))
		}
	}
}

var outputKinds = map[string]ir.OutputKind{
	"user_output":            ir.UserOutput,
	"buffer_mutation":        ir.BufferMutation,
	"parameter_mutation":     ir.ParameterMutation,
	"user_input_mutation":    ir.UserInputMutation,
	"token":                  ir.TokenOutput,
	"loss_output":            ir.LossOutput,
	"gradient_to_parameter":  ir.GradientOutput,
	"gradient_to_user_input": ir.GradientOutput,
}

func mutates(k ir.OutputKind) bool {
	return k == ir.BufferMutation || k == ir.ParameterMutation || k == ir.UserInputMutation
}

// countInputs counts the leaves the caller passes.
func countInputs(m *ir.Method) (n int) {
	for _, in := range m.Inputs {
		if in.Kind == ir.UserInput || in.Kind == ir.ConstantInput {
			n++
		}
	}
	return n
}

// countOutputs counts the leaves the caller gets.
func countOutputs(m *ir.Method) (n int) {
	for _, out := range m.Outputs {
		switch out.Kind {
		case ir.UserOutput, ir.LossOutput:
			n++
		}
	}
	return n
}
