package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
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

// indexer is Go's codegen.Arithmetic. Indices are ints.
type indexer struct{ *printer }

func (p indexer) Int(n int64) text {
	if n < 0 {
		return text{fmt.Sprint(n), precAdd}
	}
	return text{fmt.Sprint(n), precUnary}
}

func (p indexer) Symbol(s *sym.Symbol) text { return text{p.symName(s), precUnary} }

func (p indexer) Negate(x text) text { return text{"-" + x.at(precMul), precMul} }

func (p indexer) Binary(op string, x, y text) text {
	if op == "+" || op == "-" {
		return text{x.at(precAdd) + " " + op + " " + y.at(precMul), precAdd}
	}
	return text{x.at(precMul) + op + y.at(precUnary), precMul}
}

func (p indexer) Floor(op string, x, y text) text {
	fn := p.helper(map[string]string{"/": "FloorDiv", "%": "FloorMod"}[op])
	return text{fmt.Sprintf("%s(%s, %s)", fn, x.s, y.s), precUnary}
}

func (p indexer) Extremum(greatest bool, args []text) text {
	fn := "min"
	if greatest {
		fn = "max"
	}
	list := seq.Map(args, func(x text) string { return x.s })
	return text{fn + "(" + strings.Join(list, ", ") + ")", precUnary}
}

func (p indexer) Undefined() text {
	must.Fail("an index expression is undefined: it overflows or divides by zero")
	return text{}
}
