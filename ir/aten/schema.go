package aten

import (
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
)

// Schema is a parsed ATen schema line.
type Schema struct {
	Name    string // as nodes name the operator: "aten.add.Tensor", "aten.relu.default"
	Args    []Param
	Returns []Param // names may be ""
	VarArgs bool    // the arguments end in "..."
}

// Param is an argument or a result of a schema.
type Param struct {
	Name       string
	Type       *Type
	KwOnly     bool
	HasDefault bool
	Default    ir.Arg // nil without default
}

// Scratch reports whether the parameter is memory to a kernel: nothing in it is read, and
// what is left in it nobody needs.
func (p *Param) Scratch() bool {
	return strings.HasSuffix(p.Name, "scratch") // or output_scratch
}

// Type is a type as schemas write it. Lists are "[]" and tuples "()"
// over Elems; Dict, Future and the like are themselves over Elems.
type Type struct {
	Name     string // "Tensor", "int", "SymInt", "Scalar", "ScalarType", "[]", …
	Elems    []*Type
	Optional bool
	Size     int // of a list: the 2 of int[2], 0 if free
	Alias    Alias
}

// Alias is an alias annotation: (a), (a!), (a -> *), (b|a).
type Alias struct {
	Set   string // "a", "a|b", "*"; "" for none
	Write bool
	After string // the set after the call where it differs
}

// IsList reports whether t is a list.
func (t *Type) IsList() bool { return t.Name == "[]" }

// Base returns the element type of a list, t itself otherwise.
func (t *Type) Base() *Type {
	if t.IsList() {
		return t.Elems[0]
	}
	return t
}

// Mutates reports whether the call writes to an argument of type t.
func (t *Type) Mutates() bool { return t.Alias.Write || t.IsList() && t.Elems[0].Mutates() }

// String returns t as schemas write it.
func (t *Type) String() string {
	var b strings.Builder
	switch {
	case t.IsList():
		b.WriteString(t.Elems[0].String() + "[")
		if t.Size > 0 {
			b.WriteString(strconv.Itoa(t.Size))
		}
		b.WriteString("]")
	case len(t.Elems) > 0 || t.Name == "()":
		if t.Name != "()" {
			b.WriteString(t.Name)
		}
		parts := seq.Map(t.Elems, func(e *Type) string { return e.String() })
		b.WriteString("(" + strings.Join(parts, ", ") + ")")
	default:
		b.WriteString(t.Name)
	}
	if a := t.Alias; a.Set != "" {
		b.WriteString("(" + a.Set)
		if a.Write {
			b.WriteString("!")
		}
		if a.After != "" {
			b.WriteString(" -> " + a.After)
		}
		b.WriteString(")")
	}
	if t.Optional {
		b.WriteString("?")
	}
	return b.String()
}

// Index returns the position of the argument called name, -1 if there is none.
func (s *Schema) Index(name string) int {
	for i := range s.Args {
		if s.Args[i].Name == name {
			return i
		}
	}
	return -1
}

// Mutates reports whether the operator writes to an argument.
func (s *Schema) Mutates() bool {
	return slices.ContainsFunc(s.Args, func(a Param) bool { return a.Type.Mutates() })
}

// String returns the schema in the form Parse reads.
func (s *Schema) String() string {
	var b strings.Builder
	ns, rest, _ := strings.Cut(s.Name, ".")
	b.WriteString(ns + "::" + strings.TrimSuffix(rest, ".default") + "(")
	kw := false
	for i, a := range s.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		if a.KwOnly && !kw {
			b.WriteString("*, ")
			kw = true
		}
		b.WriteString(a.Type.String() + " " + a.Name)
		if a.HasDefault {
			b.WriteString("=" + formatDefault(a.Type, a.Default))
		}
	}
	if s.VarArgs {
		if len(s.Args) > 0 {
			b.WriteString(", ")
		}
		b.WriteString("...")
	}
	b.WriteString(") -> ")
	rets := make([]string, len(s.Returns))
	for i, r := range s.Returns {
		rets[i] = r.Type.String()
		if r.Name != "" {
			rets[i] += " " + r.Name
		}
	}
	if len(rets) == 1 && s.Returns[0].Name == "" && s.Returns[0].Type.Base().Name != "()" {
		b.WriteString(rets[0])
	} else {
		b.WriteString("(" + strings.Join(rets, ", ") + ")")
	}
	return b.String()
}
