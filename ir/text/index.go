package text

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir/sym"
)

// Index consumes an index expression as sym.Expr.String writes it: it ends
// before the first token that cannot continue it. symbol gives the symbol of a
// name, or nil.
func (l *Lexer) Index(symbol func(name string) *sym.Symbol) sym.Expr {
	defer func(infix bool) { l.Infix = infix }(l.Infix)
	l.Infix = true
	start := l.Peek().Pos
	end, depth, operand := start, 0, false // operand: one was just read
	operators := []string{"+", "-", "*", "//", "%"}
scan:
	for {
		t := l.Peek()
		switch {
		case t.Is("("):
			if operand && (t.Pos > end || l.Src[end-1] == ')') {
				break scan
			}
			depth++
			operand = false
		case t.Is(")") && depth > 0:
			depth--
			operand = true
		case t.Is(",") && depth > 0, t.Kind == Punct && slices.Contains(operators, t.Text):
			operand = false
		case !operand && (t.Kind == Name || t.Kind == Number):
			operand = true
		default:
			break scan
		}
		l.Pos = t.End
		end = t.End
	}
	if start == end {
		l.Fail(start, "want an index expression, have %v", l.Peek())
	}
	e, err := sym.Parse(l.Src[start:end], symbol)
	if err != nil {
		l.Fail(start, "%v", err)
	}
	return e
}

// Range returns "[lo, hi]" for the bounds of s; inf and -inf are no bound. The
// symbols in them are called by names, which may be nil.
func Range(s *sym.Symbol, names *Names[*sym.Symbol]) string {
	lo, hi := IndexString(s.Lo, names), IndexString(s.Hi, names)
	if s.Lo.Is(math.MinInt64) {
		lo = "-inf"
	}
	if s.Hi.Equal(sym.Inf()) {
		hi = "inf"
	}
	return fmt.Sprintf("[%s, %s]", lo, hi)
}

// Symbol consumes what Range writes and returns a new symbol called name with
// these bounds.
func (l *Lexer) Symbol(name string, symbol func(name string) *sym.Symbol) *sym.Symbol {
	defer func(infix bool) { l.Infix = infix }(l.Infix)
	l.Infix = false // -inf is one token
	s := &sym.Symbol{Name: name, Lo: sym.Int(math.MinInt64), Hi: sym.Inf()}
	bound := func(to *sym.Expr, without string) {
		t := l.Peek()
		if t.Text == without && (t.Kind == Name || t.Kind == Number) {
			l.Pos = t.End
			return
		}
		*to = l.Index(symbol)
	}
	l.Expect("[")
	bound(&s.Lo, "-inf")
	l.Expect(",")
	bound(&s.Hi, "inf")
	l.Expect("]")
	return s
}
