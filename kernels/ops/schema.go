package ops

import "github.com/etgen/etgen/ir/aten"

// Schema returns the schema of an operator as instructions call it: of an entry
// its own, of an out variant the entry's with the out arguments, of an in-place
// form the entry's with the argument written to marked.
func (t *Table) Schema(name string) (*aten.Schema, bool) {
	if v, ok := aten.OutNamed(name); ok {
		op, ok := t.Lookup(v.Functional)
		if !ok {
			return nil, false
		}
		return v.Schema(op.ParsedSchema()), true
	}
	op, ok := t.Lookup(name)
	if !ok {
		return nil, false
	}
	if f, inPlace := t.Functional(name); inPlace && op.Name() != name {
		s := *op.ParsedSchema()
		s.Name = name
		s.Args = append([]aten.Param(nil), s.Args...)
		if f.Mutated < len(s.Args) {
			typ := *s.Args[f.Mutated].Type
			typ.Alias = aten.Alias{Set: "a", Write: true}
			s.Args[f.Mutated].Type = &typ
		}
		return &s, true
	}
	return op.ParsedSchema(), true
}
