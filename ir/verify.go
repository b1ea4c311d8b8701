package ir

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
)

// Verify checks the invariants of the package on every method, and that the
// methods' names differ. The error joins all faults, each with the node, its
// operator and location.
func Verify(p *Program) error {
	var errs []error
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
		errs = append(errs, VerifyMethod(m))
	}
	return errors.Join(errs...)
}

// VerifyMethod checks the invariants of the package on one method.
func VerifyMethod(m *Method) error {
	vf := &verifier{
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
	method *Method
	node   *Node // the one being checked, for messages
	errs   []error

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
