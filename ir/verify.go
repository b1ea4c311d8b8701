package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Verify checks the invariants of the package on every method, and that the
// methods' names differ. The error joins all faults, each with the node, its
// operator and location.
func Verify(p *Program) error {
	errs := verifyDelegates(p)
	seen := map[string]bool{}
	for i, m := range p.Methods {
		switch {
		case m == nil:
			errs = append(errs, fmt.Errorf("method %d is nil", i))
			continue
		case m.Name == "":
			errs = append(errs, fmt.Errorf("method %d has no name", i))
		case seen[m.Name]:
			errs = append(errs, fmt.Errorf("two methods are called %s", m.Name))
		}
		seen[m.Name] = true
		errs = append(errs, verifyMethod(p, m))
	}
	return errors.Join(errs...)
}

func verifyMethod(p *Program, m *Method) error {
	vf := &verifier{
		program: p,
		method:  m,
		values:  map[*Value]bool{},
		nodes:   map[*Node]bool{},
		graphs:  map[*Graph]bool{},
		symbols: map[*sym.Symbol]bool{},
	}
	if m.Graph == nil {
		vf.errorf("it has no graph")
		return errors.Join(vf.errs...)
	}
	vf.declared()
	vf.inputs()
	vf.graph(m.Graph, nil)
	vf.outputs()
	return errors.Join(vf.errs...)
}

type verifier struct {
	program *Program // nil if not known
	method  *Method
	node    *Node // the one being checked, for messages
	errs    []error

	values  map[*Value]bool // defined anywhere, out of scope or not
	nodes   map[*Node]bool
	graphs  map[*Graph]bool
	symbols map[*sym.Symbol]bool // declared
}

func (vf *verifier) errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if vf.node != nil {
		err = ErrorAt("", vf.node, err)
	}
	vf.errs = append(vf.errs, fmt.Errorf("method %s: %w", foreign.Message(vf.method.Name), err))
}

// scope is what a graph sees: its own values and, through outer, those of the
// graphs around it.
type scope struct {
	outer  *scope
	values map[string]*Value
	nodes  map[string]*Node
}

func (s *scope) value(name string) *Value {
	for ; s != nil; s = s.outer {
		if v := s.values[name]; v != nil {
			return v
		}
	}
	return nil
}

func (s *scope) node(name string) *Node {
	for ; s != nil; s = s.outer {
		if n := s.nodes[name]; n != nil {
			return n
		}
	}
	return nil
}

func (vf *verifier) declared() {
	names := map[string]bool{}
	for i, s := range vf.method.Symbols {
		switch {
		case s == nil:
			vf.errorf("symbol %d is nil", i)
			continue
		case names[s.Name]:
			vf.errorf("symbol %s is declared twice", s.Name)
		}
		names[s.Name] = true
		vf.symbols[s] = true
	}
}

func (vf *verifier) graph(g *Graph, outer *scope) {
	if vf.graphs[g] {
		vf.errorf("a graph occurs twice as a region")
		return
	}
	vf.graphs[g] = true
	s := &scope{outer, map[string]*Value{}, map[string]*Node{}}
	for _, v := range g.Inputs {
		vf.free(v, s, "input")
		if v != nil && outer != nil && v.Const != nil {
			vf.errorf("input %%%s of a region has constant data", v.Name)
		}
	}
	for _, v := range g.Constants {
		vf.free(v, s, "constant")
		if v != nil && v.Const == nil {
			vf.errorf("constant %%%s has no data", v.Name)
		}
		vf.data(v)
	}
	around := vf.node
	for i, n := range g.Nodes {
		if n == nil {
			vf.errorf("entry %d of a node list is nil", i)
			continue
		}
		vf.node = n
		vf.visit(n, s)
		vf.node = around
	}
	for i, a := range g.Outputs {
		if a == nil {
			vf.errorf("output %d is nil", i)
		}
		vf.uses(a, s, fmt.Sprintf("output %d", i))
	}
}

// free checks a value that no node defines.
func (vf *verifier) free(v *Value, s *scope, what string) {
	if v == nil {
		vf.errorf("an entry of the %s list is nil", what)
		return
	}
	if v.Def != nil {
		vf.errorf("%s %%%s claims to be defined by node %s", what, v.Name, v.Def.Name)
	}
	vf.define(v, s)
}

// define checks a value where it is defined and brings it into scope. It may
// share its name with the node that defines it.
func (vf *verifier) define(v *Value, s *scope) {
	if vf.values[v] {
		vf.errorf("%%%s is defined twice", v.Name)
		return
	}
	vf.values[v] = true
	taken := s.node(v.Name)
	switch {
	case v.Name == "":
		vf.errorf("a value has no name")
	case s.value(v.Name) != nil, taken != nil && taken != v.Def:
		vf.errorf("the name of %%%s is taken where it is defined", v.Name)
	}
	s.values[v.Name] = v
	vf.typ(v.Type, "%"+v.Name)
}

func (vf *verifier) visit(n *Node, s *scope) {
	if vf.nodes[n] {
		vf.errorf("it is in the graph twice")
		return
	}
	vf.nodes[n] = true
	if n.Op == "" {
		vf.errorf("it has no operator")
	}
	if n.Name != "" && (s.node(n.Name) != nil || s.value(n.Name) != nil) {
		vf.errorf("its name is taken where it stands")
	}
	if n.Op == CallDelegate && vf.program != nil {
		if err := callsDelegate(vf.program, n); err != nil {
			vf.errorf("%w", err)
		}
	}
	s.nodes[n.Name] = n
	names := map[string]bool{}
	for i, a := range n.Args {
		what := fmt.Sprintf("argument %d", i)
		if a.Name != "" {
			what = "argument " + a.Name
			if names[a.Name] {
				vf.errorf("%s is given twice", what)
			}
			names[a.Name] = true
		}
		if a.Value == nil {
			vf.errorf("%s is nil", what)
		}
		vf.uses(a.Value, s, what)
	}
	for i, r := range n.Regions {
		if r == nil {
			vf.errorf("region %d is nil", i)
			continue
		}
		vf.graph(r, s)
	}
	vf.arity(n)
	for i, v := range n.Outputs {
		if v == nil {
			continue
		}
		if v.Def != n || v.Index != i {
			vf.errorf("output %d, %%%s, does not point back to it", i, v.Name)
		}
		if v.Const != nil {
			vf.errorf("output %%%s has constant data", v.Name)
		}
		vf.define(v, s)
	}
}

// uses checks the references in an argument.
func (vf *verifier) uses(a Arg, s *scope, what string) {
	switch a := a.(type) {
	case Ref:
		switch {
		case a.Value == nil:
			vf.errorf("%s refers to no value", what)
		case s.value(a.Value.Name) != a.Value && vf.values[a.Value]:
			vf.errorf("%s uses %%%s, which is defined in a region and not visible here", what,
				a.Value.Name)
		case s.value(a.Value.Name) != a.Value:
			vf.errorf("%s uses %%%s before its definition", what, a.Value.Name)
		}
	case List:
		for _, x := range a {
			if x == nil {
				vf.errorf("%s has a nil element", what)
			}
			vf.uses(x, s, what)
		}
	}
}

// inputs checks the specs of the inputs and the data of those that have any.
func (vf *verifier) inputs() {
	m := vf.method
	if len(m.Inputs) != len(m.Graph.Inputs) {
		vf.errorf("%d inputs have %d specs", len(m.Graph.Inputs), len(m.Inputs))
		return
	}
	targets := map[InputSpec]bool{}
	for i, spec := range m.Inputs {
		v := m.Graph.Inputs[i]
		if v == nil {
			continue // graph reports it
		}
		stored := spec.Kind == Parameter || spec.Kind == Buffer || spec.Kind == TensorConstant
		key := InputSpec{Kind: spec.Kind, Target: spec.Target}
		switch {
		case int(spec.Kind) >= len(inputWords):
			vf.errorf("input %%%s has the unknown kind %d", v.Name, spec.Kind)
		case stored && spec.Target == "":
			vf.errorf("%s %%%s has no qualified name", inputWords[spec.Kind], v.Name)
		case stored && targets[key]:
			vf.errorf("%s %q is an input twice", inputWords[spec.Kind], spec.Target)
		case stored && v.Type.Kind != TensorKind:
			vf.errorf("%s %%%s is no tensor", inputWords[spec.Kind], v.Name)
		}
		targets[key] = true
		if v.Const != nil && !stored {
			vf.errorf("input %%%s has constant data but is no parameter, buffer or constant",
				v.Name)
		}
		if (spec.Fixed != nil) != (spec.Kind == ConstantInput) {
			vf.errorf("input %%%s: exactly the inputs of kind ConstantInput have a fixed value",
				v.Name)
		}
		vf.data(v)
	}
}

// outputs checks the specs of the outputs: what they write to exists.
func (vf *verifier) outputs() {
	m := vf.method
	if len(m.Outputs) != len(m.Graph.Outputs) {
		vf.errorf("%d outputs have %d specs", len(m.Graph.Outputs), len(m.Outputs))
		return
	}
	written := map[OutputSpec]bool{}
	targets := m.MutationTargets()
	for i, spec := range m.Outputs {
		if int(spec.Kind) >= len(outputWords) {
			vf.errorf("output %d has the unknown kind %d", i, spec.Kind)
			continue
		}
		if spec.Kind != BufferMutation && spec.Kind != ParameterMutation &&
			spec.Kind != UserInputMutation {
			continue
		}
		if written[spec] {
			vf.errorf("output %d %s %q, and so does one before it", i, outputWords[spec.Kind],
				spec.Target)
		}
		written[spec] = true
		target := targets[i]
		if target == nil {
			vf.errorf("output %d %s %q, which is no such input", i, outputWords[spec.Kind],
				spec.Target)
			continue
		}
		ref, ok := m.Graph.Outputs[i].(Ref)
		switch {
		case !ok:
			vf.errorf("output %d %s %q to a literal", i, outputWords[spec.Kind], spec.Target)
		case ref.Value != nil && !sameElements(ref.Value.Type, target.Type):
			vf.errorf("output %d %s %q, a %v, to a %v", i, outputWords[spec.Kind], spec.Target,
				target.Type, ref.Value.Type)
		}
	}
}

// MutationTargets returns of every output the input that it writes to, nil of those
// that write to none.
func (m *Method) MutationTargets() []*Value {
	inputs := map[OutputSpec]*Value{}
	for i, in := range m.Inputs {
		if i >= len(m.Graph.Inputs) || m.Graph.Inputs[i] == nil {
			continue
		}
		v := m.Graph.Inputs[i]
		var by OutputSpec // what writes to v
		switch in.Kind {
		case Buffer:
			by = OutputSpec{Kind: BufferMutation, Target: in.Target}
		case Parameter:
			by = OutputSpec{Kind: ParameterMutation, Target: in.Target}
		case UserInput:
			by = OutputSpec{Kind: UserInputMutation, Target: v.Name}
		default:
			continue
		}
		if inputs[by] == nil {
			inputs[by] = v
		}
	}
	return seq.Map(m.Outputs, func(spec OutputSpec) *Value { return inputs[spec] })
}

// sameElements reports whether two values have the same kind, dtype and sizes.
func sameElements(t, u Type) bool {
	return t.Kind == u.Kind && t.DType == u.DType && slices.EqualFunc(t.Sizes, u.Sizes,
		sym.Expr.Equal)
}

// data checks that the storage of v's constant holds the view on it.
func (vf *verifier) data(v *Value) {
	if v == nil || v.Const == nil {
		return
	}
	c := v.Const
	vf.typ(c.Type, "the data of %"+v.Name)
	if !sameElements(c.Type, v.Type) {
		vf.errorf("%%%s is a %v, its data a %v", v.Name, v.Type, c.Type)
		return
	}
	if c.Data == nil {
		return
	}
	if err := CheckConstant(c); err != nil {
		vf.errorf("the data of %%%s: %w", v.Name, err)
	}
}

// typ checks that a type is well formed and uses declared symbols only.
func (vf *verifier) typ(t Type, what string) {
	if int(t.Kind) >= len(kindWords) {
		vf.errorf("%s has the unknown kind %d", what, t.Kind)
		return
	}
	tensor := t.Kind == TensorKind
	switch {
	case tensor && (t.DType == InvalidDType || t.DType >= numDTypes):
		vf.errorf("%s has no known dtype", what)
	case tensor && len(t.Strides) != len(t.Sizes):
		vf.errorf("%s has %d sizes and %d strides", what, len(t.Sizes), len(t.Strides))
	case !tensor && (t.DType != InvalidDType || t.Sizes != nil || t.Strides != nil ||
		!t.Offset.IsZero()):
		vf.errorf("%s is no tensor but has a dtype, sizes, strides or offset", what)
	case t.HasExpr && t.Kind != IntKind:
		vf.errorf("%s has a value but is no int", what)
	case t.Class != "" && t.Kind != CustomKind:
		vf.errorf("%s has a class but is no object", what)
	}
	for i, e := range t.Sizes {
		vf.expr(e, true, "size", i, what)
	}
	for i, e := range t.Strides {
		vf.expr(e, true, "stride", i, what)
	}
	vf.expr(t.Offset, true, "offset", 0, what)
	vf.expr(t.Expr, false, "value", 0, what)
}

func (vf *verifier) expr(e sym.Expr, notNegative bool, part string, i int, what string) {
	if e.Undefined() {
		vf.errorf("%s %d of %s is undefined: it overflows or divides by 0", part, i, what)
	}
	if n, ok := e.Const(); ok && n < 0 && notNegative {
		vf.errorf("%s %d of %s is %d", part, i, what, n)
	}
	for _, s := range e.Symbols() {
		if !vf.symbols[s] {
			vf.errorf("%s %d of %s uses the symbol %s, which the method does not declare", part, i,
				what, s.Name)
		}
	}
}

// A control-flow operator hands its operands to each of its regions.
type controlFlow struct {
	regions int
	plain   int // leading operands that the regions do not get
}

func controlFlowOf(op string) (controlFlow, bool) {
	switch strings.TrimPrefix(op, "higher_order.") {
	case "cond":
		return controlFlow{2, 1}, true
	case "while_loop":
		return controlFlow{2, 0}, true
	case "scan", "map_impl":
		return controlFlow{1, 0}, true
	case "wrap_with_set_grad_enabled":
		return controlFlow{1, 1}, true
	case "wrap_with_autocast":
		return controlFlow{1, 4}, true
	}
	return controlFlow{}, false
}

// arity checks that the regions of a control-flow operator take its operands
// and give its results.
func (vf *verifier) arity(n *Node) {
	cf, ok := controlFlowOf(n.Op)
	if !ok {
		return
	}
	if len(n.Regions) != cf.regions {
		vf.errorf("it has %d regions, want %d", len(n.Regions), cf.regions)
		return
	}
	var operands []Arg
	for _, a := range n.Args {
		switch list, ok := a.Value.(List); {
		case ok:
			operands = append(operands, list...)
		case a.Name == "": // named ones are attributes
			operands = append(operands, a.Value)
		}
	}
	if len(operands) < cf.plain {
		vf.errorf("it has %d operands, want at least %d", len(operands), cf.plain)
		return
	}
	operands = operands[cf.plain:]
	loop := strings.HasSuffix(n.Op, "while_loop")
	for i, r := range n.Regions {
		if r == nil {
			continue
		}
		if len(r.Inputs) != len(operands) {
			vf.errorf("region %d has %d inputs for %d operands", i, len(r.Inputs), len(operands))
		} else {
			vf.passed(r, operands, i)
		}
		want := len(n.Outputs)
		if loop && i == 0 {
			want = 1 // the condition
		}
		if len(r.Outputs) != want {
			vf.errorf("region %d returns %d values, want %d", i, len(r.Outputs), want)
		}
	}
	if loop && len(n.Outputs) > len(operands) {
		vf.errorf("it has %d results but carries at most %d values", len(n.Outputs), len(operands))
	}
}

// passed checks that operands fit the inputs of region i in kind and dtype.
func (vf *verifier) passed(r *Graph, operands []Arg, i int) {
	for k, a := range operands {
		ref, ok := a.(Ref)
		in := r.Inputs[k]
		if !ok || ref.Value == nil || in == nil {
			continue
		}
		if t := ref.Value.Type; t.Kind != in.Type.Kind || t.DType != in.Type.DType {
			vf.errorf("region %d takes %%%s, a %v, where the operand is a %v", i, in.Name,
				in.Type, t)
		}
	}
}
