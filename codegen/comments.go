package codegen

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

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
