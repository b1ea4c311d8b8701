package ir

import (
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

func (ps *parser) typ() Type {
	t := ps.want(nameToken, "a type")
	if d, ok := ParseDType(t.text); ok && d.Short() == t.text {
		return ps.tensorType(d)
	}
	kind := Kind(max(0, indexOf(kindWords[:], t.text)))
	typ := Type{Kind: kind}
	switch {
	case kind == TensorKind, kind == NoneKind && t.text != kindWords[NoneKind]:
		ps.fail(t.pos, "%s is no type", t.text)
	case kind == CustomKind && ps.accept("("):
		typ.Class = ps.want(stringToken, "the quoted class").text
		ps.expect(")")
	case kind == IntKind && ps.peek().is("("):
		es := ps.exprs("(", ")")
		if len(es) != 1 {
			ps.fail(t.pos, "an int has one value")
		}
		typ.Expr, typ.HasExpr = es[0], true
	}
	return typ
}

func (ps *parser) tensorType(d DType) Type {
	t := Type{Kind: TensorKind, DType: d, Sizes: ps.exprs("[", "]")}
	if pos := ps.pos; ps.peek().is("[") {
		if t.Strides = ps.exprs("[", "]"); len(t.Strides) != len(t.Sizes) {
			ps.fail(pos, "%d strides for %d sizes", len(t.Strides), len(t.Sizes))
		}
	} else {
		t.Strides = Contiguous(t.Sizes)
	}
	if pos := ps.pos; ps.acceptName("offset") {
		es := ps.exprs("(", ")")
		if len(es) != 1 {
			ps.fail(pos, "a tensor has one offset")
		}
		t.Offset = es[0]
	}
	return t
}

// exprs parses a list of expressions over the symbols of the method.
func (ps *parser) exprs(open, shut string) []sym.Expr {
	es := []sym.Expr{}
	for _, item := range ps.rawList(open, shut) {
		es = append(es, ps.expr(item))
	}
	return es
}

// arg parses an argument.
func (ps *parser) arg() Arg {
	defer ps.enter()()
	t := ps.peek()
	switch {
	case t.is("["):
		out := List{}
		ps.list("[", "]", func() { out = append(out, ps.arg()) })
		return out
	case t.kind == valueToken:
		return Ref{ps.use(ps.next())}
	case t.kind == stringToken:
		return Str(ps.next().text)
	case t.kind == numberToken && !isFloatText(t.text):
		return Int(ps.integer("an integer"))
	case t.kind == numberToken:
		return Float(ps.float())
	case t.kind != nameToken:
		ps.fail(t.pos, "want an argument, have %v", t)
	}
	if isFloatText(t.text) {
		return Float(ps.float())
	}
	ps.next()
	return ps.wordArg(t)
}

// wordArg parses the argument that begins with the word t.
func (ps *parser) wordArg(t token) Arg {
	if d, ok := ParseDType(t.text); ok && d.Short() == t.text {
		return DTypeArg(d)
	}
	if i := indexOf(formatWords[:], t.text); i > 0 {
		return MemoryFormat(i)
	}
	switch t.text {
	case "none":
		return None{}
	case "true", "false":
		return BoolArg(t.text == "true")
	}
	ps.expect("(")
	var a Arg
	switch t.text {
	case "complex":
		re := ps.float()
		ps.expect(",")
		a = Complex(complex(re, ps.float()))
	case "layout":
		a = LayoutArg(ps.integer("a layout"))
	case "device":
		a = Device(ps.want(stringToken, "a quoted device").text)
	case "memory_format":
		a = MemoryFormat(ps.byte("a memory format"))
	case "dtype":
		a = DTypeArg(ps.byte("a dtype"))
	case "op":
		a = OpArg(ps.nameOrString("an operator"))
	default:
		ps.fail(t.pos, "want an argument, have %v", t)
	}
	ps.expect(")")
	return a
}

func (ps *parser) byte(what string) uint8 {
	pos := ps.pos
	n := ps.integer(what)
	if n < 0 || n > 255 {
		ps.fail(pos, "%d is not %s", n, what)
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
	t := ps.next()
	x, err := strconv.ParseFloat(t.text, 64)
	if err != nil || t.kind != numberToken && t.kind != nameToken {
		ps.fail(t.pos, "want a float, have %v", t)
	}
	return x
}
