package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

// String returns the type in the text form, e.g. "f32[s77, 8]".
func (t Type) String() string {
	pr := newPrinter()
	pr.typ(t)
	return pr.buf.String()
}

// ArgString returns a in the text form.
func ArgString(a Arg) string {
	pr := newPrinter()
	pr.arg(a)
	return pr.buf.String()
}

func (pr *printer) typ(t Type) {
	switch {
	case t.Kind == TensorKind:
		pr.str(dtypeText(t.DType))
		pr.exprs(t.Sizes)
		if !denseStrides(t) {
			pr.exprs(t.Strides)
		}
		if !t.Offset.IsZero() {
			pr.printf(" offset(%s)", t.Offset)
		}
	case int(t.Kind) >= len(kindWords):
		pr.printf("kind(%d)", t.Kind)
	default:
		pr.str(kindWords[t.Kind])
		if t.HasExpr {
			pr.printf("(%s)", t.Expr)
		}
		if t.Class != "" {
			pr.printf("(%s)", strconv.Quote(t.Class))
		}
	}
}

// denseStrides reports whether the strides are exactly those that sizes give,
// also where they do not matter.
func denseStrides(t Type) bool {
	want := Contiguous(t.Sizes)
	if len(t.Strides) != len(want) {
		return false
	}
	for i, s := range t.Strides {
		if !s.Equal(want[i]) {
			return false
		}
	}
	return true
}

func (pr *printer) exprs(es []sym.Expr) {
	pr.str("[")
	for i, e := range es {
		if i > 0 {
			pr.str(", ")
		}
		pr.str(e.String())
	}
	pr.str("]")
}

func (pr *printer) arg(a Arg) {
	switch a := a.(type) {
	case nil:
		pr.str("nil")
	case Ref:
		if a.Value == nil {
			pr.str("nil")
		} else {
			pr.str(valueText(a.Value.Name))
		}
	case None:
		pr.str("none")
	case Int:
		pr.printf("%d", int64(a))
	case Float:
		pr.str(floatText(float64(a), 64))
	case BoolArg:
		pr.printf("%t", bool(a))
	case Str:
		pr.str(strconv.Quote(string(a)))
	case Complex:
		pr.printf("complex(%s, %s)", floatText(real(complex128(a)), 64),
			floatText(imag(complex128(a)), 64))
	case DTypeArg:
		pr.str(dtypeText(DType(a)))
	case LayoutArg:
		pr.printf("layout(%d)", int(a))
	case Device:
		pr.printf("device(%s)", strconv.Quote(string(a)))
	case MemoryFormat:
		if a == 0 || int(a) >= len(formatWords) {
			pr.printf("memory_format(%d)", uint8(a))
		} else {
			pr.str(formatWords[a])
		}
	case OpArg:
		pr.printf("op(%s)", nameText(string(a)))
	case List:
		pr.str("[")
		for i, x := range a {
			if i > 0 {
				pr.str(", ")
			}
			pr.arg(x)
		}
		pr.str("]")
	default:
		pr.printf("%T", a)
	}
}

// String returns "file.py:12 in layers.0", or what of it is known.
func (l Location) String() string {
	var s string
	if l.File != "" || l.Line != 0 {
		s = fmt.Sprintf("%s:%d", wordText(l.File), l.Line)
	}
	if l.Module == "" {
		return s
	}
	if s != "" {
		s += " "
	}
	return s + "in " + wordText(l.Module)
}

// wordText quotes s if it could not stand as a word of a comment.
func wordText(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == '"' || !strconv.IsPrint(r)
	}) {
		return strconv.Quote(s)
	}
	return s
}

func dtypeText(d DType) string {
	if d == InvalidDType || d >= numDTypes {
		return d.String()
	}
	return d.Short()
}

func nameText(s string) string { return text.Quoted(s) }

func valueText(s string) string {
	if text.IsValueName(s) {
		return "%" + s
	}
	return "%" + strconv.Quote(s)
}

// floatText returns the shortest text that parses back to x, told from an
// integer by a point, an exponent or letters.
func floatText(x float64, bits int) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
