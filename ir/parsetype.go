package ir

import (
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

func (ps *parser) typ() Type {
	t := ps.Want(text.Name, "a type")
	if d, ok := ParseDType(t.Text); ok && d.Short() == t.Text {
		return ps.tensorType(d)
	}
	kind := Kind(max(0, indexOf(kindWords[:], t.Text)))
	typ := Type{Kind: kind}
	switch {
	case kind == TensorKind, kind == NoneKind && t.Text != kindWords[NoneKind]:
		ps.Fail(t.Pos, "%s is no type", t.Text)
	case kind == CustomKind && ps.Accept("("):
		typ.Class = ps.Want(text.String, "the quoted class").Text
		ps.Expect(")")
	case kind == IntKind && ps.Peek().Is("("):
		es := ps.exprs("(", ")")
		if len(es) != 1 {
			ps.Fail(t.Pos, "an int has one value")
		}
		typ.Expr, typ.HasExpr = es[0], true
	}
	return typ
}

func (ps *parser) tensorType(d DType) Type {
	t := Type{Kind: TensorKind, DType: d, Sizes: ps.exprs("[", "]")}
	if pos := ps.Pos; ps.Peek().Is("[") {
		if t.Strides = ps.exprs("[", "]"); len(t.Strides) != len(t.Sizes) {
			ps.Fail(pos, "%d strides for %d sizes", len(t.Strides), len(t.Sizes))
		}
	} else {
		t.Strides = Contiguous(t.Sizes)
	}
	if pos := ps.Pos; ps.AcceptName("offset") {
		es := ps.exprs("(", ")")
		if len(es) != 1 {
			ps.Fail(pos, "a tensor has one offset")
		}
		t.Offset = es[0]
	}
	return t
}

// exprs parses a list of expressions over the symbols of the method.
func (ps *parser) exprs(open, shut string) []sym.Expr {
	es := []sym.Expr{}
	for _, item := range ps.RawList(open, shut) {
		es = append(es, ps.expr(item))
	}
	return es
}

// arg parses an argument.
func (ps *parser) arg() Arg {
	defer ps.Enter()()
	t := ps.Peek()
	switch {
	case t.Is("["):
		out := List{}
		ps.List("[", "]", func() { out = append(out, ps.arg()) })
		return out
	case t.Kind == text.Value:
		return Ref{ps.use(ps.Next())}
	case t.Kind == text.String:
		return Str(ps.Next().Text)
	case t.Kind == text.Number && !isFloatText(t.Text):
		return Int(ps.Integer("an integer"))
	case t.Kind == text.Number:
		return Float(ps.float())
	case t.Kind != text.Name:
		ps.Fail(t.Pos, "want an argument, have %v", t)
	}
	if isFloatText(t.Text) {
		return Float(ps.float())
	}
	ps.Next()
	return ps.wordArg(t)
}

// wordArg parses the argument that begins with the word t.
func (ps *parser) wordArg(t text.Token) Arg {
	if d, ok := ParseDType(t.Text); ok && d.Short() == t.Text {
		return DTypeArg(d)
	}
	if i := indexOf(formatWords[:], t.Text); i > 0 {
		return MemoryFormat(i)
	}
	switch t.Text {
	case "none":
		return None{}
	case "true", "false":
		return BoolArg(t.Text == "true")
	}
	ps.Expect("(")
	var a Arg
	switch t.Text {
	case "complex":
		re := ps.float()
		ps.Expect(",")
		a = Complex(complex(re, ps.float()))
	case "layout":
		a = LayoutArg(ps.Integer("a layout"))
	case "device":
		a = Device(ps.Want(text.String, "a quoted device").Text)
	case "memory_format":
		a = MemoryFormat(ps.byte("a memory format"))
	case "dtype":
		a = DTypeArg(ps.byte("a dtype"))
	case "op":
		a = OpArg(ps.NameOrString("an operator"))
	default:
		ps.Fail(t.Pos, "want an argument, have %v", t)
	}
	ps.Expect(")")
	return a
}

func (ps *parser) byte(what string) uint8 {
	pos := ps.Pos
	n := ps.Integer(what)
	if n < 0 || n > 255 {
		ps.Fail(pos, "%d is not %s", n, what)
	}
	return uint8(n)
}

// isFloatText reports whether a number or word is a float.
func isFloatText(s string) bool {
	switch s {
	case "inf", "-inf", "nan":
		return true
	}
	return strings.IndexByte("+-0123456789", s[0]) >= 0 && strings.ContainsAny(s, ".e")
}

func (ps *parser) float() float64 {
	t := ps.Next()
	x, err := strconv.ParseFloat(t.Text, 64)
	if err != nil || t.Kind != text.Number && t.Kind != text.Name {
		ps.Fail(t.Pos, "want a float, have %v", t)
	}
	return x
}
