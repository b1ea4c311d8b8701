package c

import "strings"

// prec is the precedence of a C operator, higher binding tighter.
type prec uint8

const (
	precTernary prec = iota + 1
	precOrElse
	precAndAlso
	precOr
	precXor
	precAnd
	precEqual
	precCompare
	precShift
	precAdd
	precMul
	precUnary
	precPostfix
)

// code is the text of a C expression.
type code struct {
	s string
	p prec
	t ctype
	// literal: a number whose value is known to the compiler, which then does
	// not warn about narrowing it.
	literal bool
}

// at returns the text in parentheses unless it binds at least as tightly as p.
func (c code) at(p prec) string {
	if c.p < p {
		return "(" + c.s + ")"
	}
	return c.s
}

// simple reports whether the text may stand twice: a name or a number.
func (c code) simple() bool {
	return c.literal || !strings.ContainsAny(c.s, " ([?:+*/%<>&|^!~")
}

// opPrec are the binary operators.
var opPrec = map[string]prec{
	"*": precMul, "/": precMul, "%": precMul, "+": precAdd, "-": precAdd,
	"<<": precShift, ">>": precShift,
	"<": precCompare, "<=": precCompare, ">": precCompare, ">=": precCompare,
	"==": precEqual, "!=": precEqual,
	"&": precAnd, "^": precXor, "|": precOr, "&&": precAndAlso, "||": precOrElse,
}

// join returns a op b of type t, with the parentheses that C needs and those
// without which compilers warn: around what stands beside bit operators,
// shifts and comparisons, and around && beside ||.
func join(op string, a, b code, t ctype) code {
	p := opPrec[op]
	if p != precShift {
		a, b = shortLiteral(a, b), shortLiteral(b, a)
	}
	left, right := p, p+1
	switch p {
	case precShift, precAnd, precXor, precOr:
		left, right = precUnary, precUnary
		if a.p == p && p != precShift && hasOp(a.s, op) {
			left = p
		}
	case precCompare, precEqual:
		left, right = precShift+1, precShift+1
	case precOrElse:
		left, right = precOrElse, precOr
		if a.p == precAndAlso {
			left = precOr
		}
	case precAndAlso:
		left, right = precAndAlso, precOr
	}
	return code{s: a.at(left) + " " + op + " " + b.at(right), p: p, t: t}
}

// shortLiteral writes a small number without its cast if what it meets makes C
// widen it anyway.
func shortLiteral(c, other code) code {
	if n, wide := strings.CutPrefix(c.s, wideLiteral); wide && c.literal && !other.literal &&
		other.t == tU64 {
		c.s, c.p = n+"u", precPostfix
	}
	return c
}

func hasOp(s, op string) bool { return strings.Contains(s, " "+op+" ") }

// cast returns (t)c.
func cast(t ctype, c code) code {
	return code{s: "(" + t.String() + ")" + c.at(precUnary), p: precUnary, t: t}
}

// call returns name(args).
func call(name string, t ctype, args ...code) code {
	list := make([]string, len(args))
	for i, a := range args {
		list[i] = a.s
	}
	return code{s: name + "(" + strings.Join(list, ", ") + ")", p: precPostfix, t: t}
}

// ternary returns c ? a : b.
func ternary(c, a, b code, t ctype) code {
	least := precOrElse
	if c.p == precOr { // compilers want it in parentheses
		least = precUnary
	}
	return code{s: c.at(least) + " ? " + a.at(precOrElse) + " : " + b.at(precTernary),
		p: precTernary, t: t}
}

// negate returns -c.
func negate(c code) code {
	s := c.at(precUnary)
	if strings.HasPrefix(s, "-") {
		s = "(" + s + ")"
	}
	return code{s: "-" + s, p: precUnary, t: promote(c.t, c.t), literal: c.literal}
}

// name returns a name, an element or a call as code.
func name(s string, t ctype) code { return code{s: s, p: precPostfix, t: t} }
