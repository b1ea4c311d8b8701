package codegen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// Identifier makes s an identifier of C and Go: other characters than ASCII
// letters and digits become underscores, none of them at the start or doubled.
func Identifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.TrimRight(b.String(), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "v" + name
	}
	return name
}

// NameError says that what etgen makes cannot be called so, and how it can.
type NameError struct{ Name, What, Why string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q cannot be the name of %s: %s: take %s_model", e.Name, e.What, e.Why,
		Identifier(e.Name))
}

// devices are what Windows takes for a device, whatever extension is behind it.
const devices = `con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9
lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`

// IsDevice reports whether Windows opens a device for files called name.EXTENSION.
func IsDevice(name string) bool {
	return slices.Contains(strings.Fields(devices), strings.ToLower(name))
}

// CheckFileName returns a *NameError if files called name.EXTENSION could not be opened
// on every system.
func CheckFileName(name string) error {
	if IsDevice(name) {
		return &NameError{name, "files", "Windows takes them for a device"}
	}
	return nil
}

// Scope is a set of names in use, nested as blocks are.
type Scope struct {
	outer *Scope
	names map[string]bool
	inner map[string]bool // names that scopes inside have, or had
	next  map[string]int  // by base, the number to try next: lower ones are taken here or around
}

// NewScope returns a scope inside outer, which may be nil.
func NewScope(outer *Scope) *Scope {
	return &Scope{outer: outer, names: map[string]bool{}, inner: map[string]bool{},
		next: map[string]int{}}
}

// Reserve marks names as taken.
func (s *Scope) Reserve(names ...string) {
	for _, n := range names {
		s.names[n] = true
		for o := s.outer; o != nil; o = o.outer {
			o.inner[n] = true
		}
	}
}

// Has reports whether name is taken here or in a scope around.
func (s *Scope) Has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// Take returns Identifier(base), with a number behind it if that is taken, and
// takes it.
func (s *Scope) Take(base string) string { return s.take(base, s.Has) }

// TakeAround is Take for what is needed in a scope inside, from which it must be
// seen: no name is taken that one of them has.
func (s *Scope) TakeAround(base string) string {
	return s.take(base, func(name string) bool { return s.Has(name) || s.inner[name] })
}

func (s *Scope) take(base string, taken func(string) bool) string {
	base = Identifier(base)
	name := base
	if taken(name) {
		i := 2
		for around := s; around != nil; around = around.outer {
			i = max(i, around.next[base])
		}
		for ; ; i++ {
			if name = fmt.Sprintf("%s%s%d", base, separator(base), i); !taken(name) {
				break
			}
		}
		s.next[base] = i + 1
	}
	s.Reserve(name)
	return name
}

// separator stands between a name and a number: "t2", but "x1_2".
func separator(base string) string {
	if last := base[len(base)-1]; last >= '0' && last <= '9' {
		return "_"
	}
	return ""
}

// TypeText describes a value's type in comments, e.g. "float32 [1, 28, 28]";
// dim words a dynamic size.
func TypeText(t ir.Type, dim func(sym.Expr) string) string {
	switch t.Kind {
	case ir.TensorKind:
		return t.DType.String() + " " + ShapeText(t.Sizes, dim)
	case ir.IntKind:
		return "int"
	case ir.FloatKind:
		return "float"
	case ir.BoolKind:
		return "bool"
	}
	return "none"
}

// ShapeText is "[1, 28, 28]".
func ShapeText(sizes []sym.Expr, dim func(sym.Expr) string) string {
	list := make([]string, len(sizes))
	for i, s := range sizes {
		if _, ok := s.Const(); ok || dim == nil {
			list[i] = s.String()
		} else {
			list[i] = dim(s)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// OriginText says in a line where a statement comes from: the Python line,
// else the module, and the operators, e.g. "lenet.py:14: conv2d, relu". It is
// "" if nothing is known.
func OriginText(from []native.Origin) foreign.Text {
	var parts []foreign.Text
	for i := 0; i < len(from); {
		place := placeText(from[i].Loc)
		var ops []foreign.Text
		for ; i < len(from) && placeText(from[i].Loc) == place; i++ {
			if op := from[i].Base(); len(ops) == 0 || ops[len(ops)-1] != op {
				ops = append(ops, op)
			}
		}
		text := foreign.Join(ops, ", ")
		if !place.IsEmpty() {
			text = foreign.Format("%s: %s", place, text)
		}
		parts = append(parts, text)
	}
	return foreign.Join(parts, "; ")
}

// LayerTexts name a graph node by the Python line, else the module, and its operator, e.g.
// "lenet.py:14 relu"; and for less room.
func LayerTexts(o native.Origin) []foreign.Text {
	place, op := placeText(o.Loc), o.Base()
	if place.IsEmpty() || op.IsEmpty() {
		return []foreign.Text{foreign.Join([]foreign.Text{place, op}, "")}
	}
	return []foreign.Text{foreign.Format("%s %s", place, op), place, op}
}

func placeText(l native.Location) foreign.Text {
	if !l.File.IsEmpty() {
		return foreign.Format("%s:%d", l.File, l.Line)
	}
	return l.Module
}

// ClampText says what a method does with an index that is out of range; "" if it
// has none or finds them.
func ClampText(m *native.Method) string {
	if len(m.Clamps) == 0 {
		return ""
	}
	return "An index out of range counts as the nearest that is in range, in " +
		strings.Join(m.Clamps, ", ") +
		"; etgen --checked makes it an error."
}
