package pt2

import (
	"fmt"
	"strings"
)

// python is an expression of the part of Python that guards are written in:
//
//	name, 1, 0.5, 'text', True, None, x[i], x.name, f(x, …), -x, x ** y, x * y, x // y, x / y, x % y,
//	x + y, x - y, x < y and the other comparisons, not x, x and y, x or y
type python struct {
	op   string // "name", "number", "string", "index", "attribute", "call", or the operator
	text string // of a name, number, string or attribute
	args []*python
}

// maxGuardDepth and maxGuardBytes are far above what guards have; PyTorch itself
// cannot parse deeper ones.
const (
	maxGuardDepth = 100
	maxGuardBytes = 1 << 14
)

type pythonParser struct {
	text  string
	pos   int
	token string // the next one, "" at the end
	depth int
	err   error
}

// expression parses the whole text.
func (p *pythonParser) expression() (*python, error) {
	if len(p.text) > maxGuardBytes {
		return nil, fmt.Errorf("it has %d bytes", len(p.text))
	}
	p.next()
	e := p.or()
	if p.err == nil && p.token != "" {
		p.fail("%s is not expected", quoted(p.token))
	}
	return e, p.err
}

func (p *pythonParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), p.pos)
	}
	p.token = "" // ends all loops
}

// operators are the tokens that are not words, numbers or strings, the longer
// first.
var operators = []string{"**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(",
	")", "[", "]", ",", "."}

// next reads a token.
func (p *pythonParser) next() {
	if p.err != nil {
		return
	}
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\n') {
		p.pos++
	}
	rest := p.text[p.pos:]
	if rest == "" {
		p.token = ""
		return
	}
	n := 0
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		n = strings.IndexByte(rest[1:], c) + 2
		if n < 2 || strings.ContainsAny(rest[:n], "\\\n") {
			p.fail("a text that does not end, or has a backslash")
			return
		}
	case isDigit(c):
		n = len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if strings.HasPrefix(rest[n:], ".") {
			n++
			n += len(rest[n:]) - len(strings.TrimLeft(rest[n:], "0123456789"))
		}
		if strings.HasPrefix(rest[n:], "e") {
			k := n + 1
			if k < len(rest) && (rest[k] == '-' || rest[k] == '+') {
				k++
			}
			n = k + len(rest[k:]) - len(strings.TrimLeft(rest[k:], "0123456789"))
		}
	case isLetter(c):
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
	default:
		for _, op := range operators {
			if strings.HasPrefix(rest, op) {
				n = len(op)
				break
			}
		}
		if n == 0 {
			p.fail("%s is not understood", quoted(rest[:1]))
			return
		}
	}
	p.token = rest[:n]
	p.pos += n
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func (p *pythonParser) accept(token string) bool {
	if p.token != token || p.err != nil {
		return false
	}
	p.next()
	return true
}

func (p *pythonParser) expect(token string) {
	if p.err == nil && !p.accept(token) {
		p.fail("%q is missing", token)
	}
}

// list parses operands between operators that are all of one kind.
func (p *pythonParser) list(op string, operand func() *python) *python {
	e := operand()
	if p.token != op {
		return e
	}
	all := &python{op: op, args: []*python{e}}
	for p.accept(op) {
		all.args = append(all.args, operand())
	}
	return all
}

func (p *pythonParser) or() *python {
	if p.depth++; p.depth > maxGuardDepth {
		p.fail("it is nested more than %d times", maxGuardDepth)
	}
	defer func() { p.depth-- }()
	return p.list("or", func() *python { return p.list("and", p.not) })
}

func (p *pythonParser) not() *python {
	negate := false
	for p.accept("not") {
		negate = !negate
	}
	e := p.comparison()
	if negate {
		return &python{op: "not", args: []*python{e}}
	}
	return e
}

func (p *pythonParser) comparison() *python {
	e := p.sum()
	switch op := p.token; op {
	case "==", "!=", "<", "<=", ">", ">=":
		p.next()
		e = &python{op: op, args: []*python{e, p.sum()}}
		switch p.token {
		case "==", "!=", "<", "<=", ">", ">=":
			p.fail("several comparisons in a row")
		}
	}
	return e
}

// left parses left-associative binary operators.
func (p *pythonParser) left(operand func() *python, ops ...string) *python {
	e := operand()
	for {
		found := false
		for _, op := range ops {
			if p.accept(op) {
				e = &python{op: op, args: []*python{e, operand()}}
				found = true
				break
			}
		}
		if !found {
			return e
		}
	}
}

func (p *pythonParser) sum() *python     { return p.left(p.product, "+", "-") }
func (p *pythonParser) product() *python { return p.left(p.sign, "*", "//", "/", "%") }

func (p *pythonParser) sign() *python {
	negate := false
	for p.token == "-" || p.token == "+" {
		negate = negate != (p.token == "-")
		p.next()
	}
	e := p.power()
	if negate {
		return &python{op: "neg", args: []*python{e}}
	}
	return e
}

func (p *pythonParser) power() *python {
	e := p.primary()
	if p.accept("**") {
		if p.depth++; p.depth > maxGuardDepth {
			p.fail("it is nested more than %d times", maxGuardDepth)
		}
		e = &python{op: "**", args: []*python{e, p.sign()}}
		p.depth--
	}
	return e
}

func (p *pythonParser) primary() *python {
	e := p.atom()
	for p.err == nil {
		switch {
		case p.accept("["):
			e = &python{op: "index", args: []*python{e, p.or()}}
			p.expect("]")
		case p.accept("."):
			name := p.token
			if name == "" || !isLetter(name[0]) {
				p.fail("a name is missing after the dot")
				return e
			}
			p.next()
			e = &python{op: "attribute", text: name, args: []*python{e}}
		case p.accept("("):
			e = &python{op: "call", args: []*python{e}}
			for p.err == nil && p.token != ")" {
				e.args = append(e.args, p.or())
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
		default:
			return e
		}
	}
	return e
}

func (p *pythonParser) atom() *python {
	t := p.token
	switch {
	case t == "":
		p.fail("it ends too early")
	case p.accept("("):
		e := p.or()
		p.expect(")")
		return e
	case isLetter(t[0]):
		p.next()
		return &python{op: "name", text: t}
	case isDigit(t[0]):
		p.next()
		return &python{op: "number", text: t}
	case t[0] == '\'' || t[0] == '"':
		p.next()
		return &python{op: "string", text: t[1 : len(t)-1]}
	default:
		p.fail("%s is not expected", quoted(t))
	}
	return &python{op: "name"}
}
