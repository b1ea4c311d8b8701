package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	raise "github.com/etgen/etgen/ir/must"
)

// AutoFunctionalized and AutoFunctionalizedV2 wrap a call of an operator that writes to its
// arguments. Their results are the operator's, then what it leaves in what it wrote to. Of the
// second those are the tensors _all_bases, and an argument x that is written to is
// _all_bases[_x_base_index], or a view of it.
const (
	AutoFunctionalized   = "higher_order.auto_functionalized"
	AutoFunctionalizedV2 = "higher_order.auto_functionalized_v2"
)

// BaseIndex is what the name of an argument has behind it, and "_" before, where
// AutoFunctionalizedV2 says which of _all_bases it is.
const BaseIndex = "_base_index"

// AllBases is the argument of AutoFunctionalizedV2 that lists what is written to.
const AllBases = "_all_bases"

// Of returns the table for p: the standard one with the custom operators of p.
func Of(p *ir.Program) (*Table, error) {
	if len(p.Custom) == 0 {
		return Standard(), nil
	}
	schemas := make([]*aten.Schema, len(p.Custom))
	for i, text := range p.Custom {
		s, err := aten.Parse(text)
		if err != nil {
			return nil, err
		}
		schemas[i] = s
	}
	return Standard().With(schemas...)
}

// Declare finds the custom operators that p calls, and notes their schemas in p: those of declared,
// and of others what the first call of each tells. Such an operator is taken for one that writes to
// no argument, which the program's warnings tell.
func Declare(p *ir.Program, declared ...*aten.Schema) (err error) {
	defer raise.Catch(&err)
	d := &declarer{p: p, found: map[string]bool{}}
	for _, text := range p.Custom {
		name := must(aten.Parse(text)).Name
		d.found[name], d.found[FunctionalForm(name)] = true, true
	}
	for _, s := range declared {
		d.known = append(d.known, s)
		check(customFaultOf(s))
	}
	for _, m := range p.Methods {
		for n := range m.Graph.All() {
			d.node(m, n)
		}
	}
	return nil
}

type declarer struct {
	p     *ir.Program
	known []*aten.Schema
	found map[string]bool
}

// node notes the operator that n calls, if it is a custom one.
func (d *declarer) node(m *ir.Method, n *ir.Node) {
	name, wrapped := n.Op, false
	if n.Op == AutoFunctionalized || n.Op == AutoFunctionalizedV2 {
		for _, a := range n.Args {
			if op, ok := a.Value.(ir.OpArg); ok {
				name, wrapped = string(op), true
			}
		}
	}
	if d.found[name] || !IsCustom(name) || strings.Count(name, ".") != 2 {
		return
	}
	if _, standard := Standard().Lookup(name); standard {
		return
	}
	d.found[name] = true
	i := slices.IndexFunc(d.known, func(s *aten.Schema) bool { return s.Name == name })
	if i >= 0 {
		d.p.Custom = append(d.p.Custom, d.known[i].String())
		return
	}
	file := d.p.Source
	if m.Source != "" {
		file = m.Source
	}
	fail := func(format string, args ...any) {
		check(ir.ErrorAt(file, n, fmt.Errorf("custom operator %s: "+format,
			append([]any{foreign.Message(name)}, args...)...)))
	}
	if wrapped && n.Op == AutoFunctionalized {
		fail("the file does not say to which arguments it writes; declare it with --custom-op")
	}
	s := guess(name, n, wrapped)
	if err := customFault(s); err != nil {
		fail("%w; declare it with --custom-op", err)
	}
	if _, err := aten.Parse(s.String()); err != nil {
		fail("%w; declare it with --custom-op", err)
	}
	d.p.Custom = append(d.p.Custom, s.String())
	if !wrapped {
		d.p.Warnings = append(d.p.Warnings, ir.ErrorAt(file, n, fmt.Errorf(
			"a custom operator that is not declared: it is taken for %s, which writes to no argument; "+
				"declare it with --custom-op", foreign.Message(s.String()))))
	}
}

// guess returns the schema that a call of an operator suggests.
func guess(name string, n *ir.Node, wrapped bool) *aten.Schema {
	s := &aten.Schema{Name: name}
	outs := n.Outputs
	for _, a := range n.Args {
		if _, op := a.Value.(ir.OpArg); op {
			continue
		}
		arg := aten.Param{Name: a.Name, Type: typeOfArg(a.Value)}
		if wrapped {
			if a.Name == AllBases {
				if list, ok := a.Value.(ir.List); ok {
					outs = outs[:max(0, len(outs)-len(list))]
				}
				continue
			}
			if base, ok := strings.CutSuffix(a.Name, BaseIndex); ok {
				arg.Name = strings.TrimPrefix(base, "_")
				arg.Type = &aten.Type{Name: "Tensor", Alias: aten.Alias{
					Set: fmt.Sprintf("a%d", len(s.Args)), Write: true}}
			} else if strings.HasPrefix(a.Name, "_") { // how an argument is a view of a base
				continue
			}
		}
		s.Args = append(s.Args, arg)
	}
	for _, v := range outs {
		if v != nil {
			s.Returns = append(s.Returns, aten.Param{Type: typeOf(v.Type)})
		}
	}
	return s
}

// typeOfArg is the type in a schema of an argument that may be a.
func typeOfArg(a ir.Arg) *aten.Type {
	switch a := a.(type) {
	case ir.Ref:
		return typeOf(a.Value.Type)
	case ir.List:
		elem := &aten.Type{Name: "int"}
		if len(a) > 0 {
			elem = typeOfArg(a[0])
		}
		return &aten.Type{Name: "[]", Elems: []*aten.Type{elem}}
	case ir.Float:
		return &aten.Type{Name: "float"}
	case ir.BoolArg:
		return &aten.Type{Name: "bool"}
	case ir.Str:
		return &aten.Type{Name: "str"}
	case ir.DTypeArg:
		return &aten.Type{Name: "ScalarType"}
	case ir.None:
		return &aten.Type{Name: "Tensor", Optional: true}
	}
	return &aten.Type{Name: "int"}
}

// typeOf is the type in a schema of a value.
func typeOf(t ir.Type) *aten.Type {
	switch t.Kind {
	case ir.TensorKind:
		return &aten.Type{Name: "Tensor"}
	case ir.FloatKind:
		return &aten.Type{Name: "float"}
	case ir.BoolKind:
		return &aten.Type{Name: "bool"}
	}
	return &aten.Type{Name: "SymInt"}
}

// customFaultOf is customFault as an error that names the schema.
func customFaultOf(s *aten.Schema) error {
	if err := customFault(s); err != nil {
		return fmt.Errorf("custom operator %s: %w", foreign.Message(s.String()), err)
	}
	return nil
}
