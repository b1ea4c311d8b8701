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

// join returns a op b of type t. Arithmetic binds tighter than all else, as in
// mathematics; where other operators meet there are parentheses, needed or not. A chain of
// one operator has none, but for comparisons and shifts.
func join(op string, a, b code, t ctype) code {
	p := opPrec[op]
	if p != precShift {
		a, b = shortLiteral(a, b), shortLiteral(b, a)
	}
	left, right := precUnary, precUnary
	switch p {
	case precMul, precAdd:
		left, right = p, p+1
	case precCompare, precEqual:
		left, right = precAdd, precAdd
		if strings.HasPrefix(a.s, "!") { // compilers warn
			left = precPostfix
		}
	case precAnd, precXor, precOr, precAndAlso, precOrElse:
		if a.p == p {
			left = p
		}
	}
	return code{s: a.at(left) + " " + op + " " + b.at(right), p: p, t: t}
}

// anyOf returns the test that one of several holds; without any, an empty text.
func anyOf(tests []code) code {
	var all code
	for i, test := range tests {
		if i == 0 {
			all = test
		} else {
			all = join("||", all, test, tBool)
		}
	}
	return all
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
	last := precAdd
	if b.p == precTernary { // one after the other
		last = precTernary
	}
	return code{s: c.at(precUnary) + " ? " + a.at(precAdd) + " : " + b.at(last),
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
