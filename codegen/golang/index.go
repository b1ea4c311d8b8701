package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// Precedences of Go's operators, weakest first.
const (
	precAny = iota
	precOr
	precAnd
	precCompare
	precAdd
	precMul
	precUnary
)

// paren puts s, whose outermost operator has precedence have, in parentheses if
// at least want is needed.
func paren(s string, have, want int) string {
	if have < want {
		return "(" + s + ")"
	}
	return s
}

// indexer prints index expressions. They are ints.
type indexer struct {
	name   func(*sym.Symbol) string
	helper func(name string) string // a function of the support code
}

// print returns e as Go text that stands where precedence prec is needed.
func (x *indexer) print(e sym.Expr, prec int) string {
	if n, ok := e.Const(); ok {
		return paren(fmt.Sprint(n), negPrec(n), prec)
	}
	if e.Undefined() {
		fail("an index expression overflows")
	}
	var b strings.Builder
	terms := e.Terms()
	for i, t := range terms {
		text := x.term(t)
		switch {
		case i == 0:
			b.WriteString(text)
		case strings.HasPrefix(text, "-"):
			b.WriteString(" - " + text[1:])
		default:
			b.WriteString(" + " + text)
		}
	}
	have := precAdd
	if len(terms) == 1 {
		have = precMul
		if t := terms[0]; t.Coef == 1 && len(t.Atoms) == 1 && t.Atoms[0].Kind != sym.FloorDivAtom &&
			t.Atoms[0].Kind != sym.ModAtom {
			have = precUnary
		}
	}
	return paren(b.String(), have, prec)
}

func negPrec(n int64) int {
	if n < 0 {
		return precAdd
	}
	return precUnary
}

// term returns a product; its minus sign, if it has one, comes first.
func (x *indexer) term(t sym.Term) string {
	if len(t.Atoms) == 0 {
		return fmt.Sprint(t.Coef)
	}
	var factors []string
	for i, a := range t.Atoms {
		prec := precMul
		if i > 0 || t.Coef != 1 && t.Coef != -1 {
			prec = precUnary // a*(b/c) is not a*b/c
		}
		factors = append(factors, x.atom(a, prec))
	}
	s := strings.Join(factors, "*")
	switch t.Coef {
	case 1:
		return s
	case -1:
		return "-" + s
	}
	return fmt.Sprintf("%d*%s", t.Coef, s)
}

func (x *indexer) atom(a sym.Atom, prec int) string {
	switch a.Kind {
	case sym.SymbolAtom:
		return x.name(a.Sym)
	case sym.FloorDivAtom, sym.ModAtom:
		op, helper := "/", "FloorDiv"
		if a.Kind == sym.ModAtom {
			op, helper = "%", "FloorMod"
		}
		if sym.NonNegative(a.Args[0]) && sym.NonNegative(a.Args[1]) {
			return paren(x.print(a.Args[0], precMul)+op+x.print(a.Args[1], precUnary),
				precMul, prec)
		}
		return fmt.Sprintf("%s(%s, %s)", x.helper(helper), x.print(a.Args[0], precAny),
			x.print(a.Args[1], precAny))
	case sym.MaxAtom, sym.MinAtom:
		fn := "max"
		if a.Kind == sym.MinAtom {
			fn = "min"
		}
		args := make([]string, len(a.Args))
		for i, arg := range a.Args {
			args[i] = x.print(arg, precAny)
		}
		return fn + "(" + strings.Join(args, ", ") + ")"
	}
	fail("an index expression is undefined")
	return ""
}
