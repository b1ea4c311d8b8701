package sym

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/must"
)

// Python is an expression of the part of Python that sizes, sympy's srepr of them, and
// guards are written in:
//
//	name, torch.name, 1, 0.5, 'text', True, None, x[i], x.name, f(x, …, key=y), -x, x ** y,
//	x * y, x // y, x / y, x % y, x + y, x - y, x < y and the other comparisons, not x,
//	x and y, x or y
type Python struct {
	// Op is "name", "number", "string", "index", "attribute", "call", "key", or the
	// operator: "neg" and "not" have one operand, "and" and "or" two or more.
	Op   string
	Text string // of a name, number, string, attribute or key
	Args []*Python
	pos  int // of what is behind its first token
}

// Limits on what is parsed, far above what programs contain. Python itself cannot parse
// what is nested deeper.
const (
	maxParseBytes = 1 << 16
	maxParseDepth = 100
)

// ParsePython parses an expression.
func ParsePython(text string) (e *Python, err error) {
	defer must.Catch(&err)
	return parsePython(text), nil
}

func parsePython(text string) *Python {
	p := &pythonParser{text: text}
	if len(text) > maxParseBytes {
		p.fail("expression longer than %d bytes", maxParseBytes)
	}
	p.next()
	e := p.or()
	if p.token != "" {
		p.unexpected()
	}
	return e
}

// quote quotes at most the beginning of a long text.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		return fmt.Sprintf("%+q…", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}

type pythonParser struct {
	text  string
	pos   int
	token string // the next one, "" at the end
	depth int
}

func (p *pythonParser) fail(format string, args ...any) { failAt(p.pos, format, args...) }

func failAt(pos int, format string, args ...any) {
	panic(fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), pos))
}

func (p *pythonParser) unexpected() {
	if p.token == "" {
		p.fail("unexpected end")
	}
	p.fail("unexpected %s", quote(p.token))
}

func (p *pythonParser) node(op, text string, args ...*Python) *Python {
	return &Python{Op: op, Text: text, Args: args, pos: p.pos}
}

// operators are the tokens that are not words, numbers or strings, the longer first.
var operators = []string{"**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%",
	"(", ")", "[", "]", ",", ".", "="}

// next reads a token. Words have points in them, but for one that begins an attribute.
func (p *pythonParser) next() {
	rest := strings.TrimLeft(p.text[p.pos:], " \t\n")
	p.pos = len(p.text) - len(rest)
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
		}
	case isDigit(c):
		n = digits(rest)
		if strings.HasPrefix(rest[n:], ".") {
			n++
			n += digits(rest[n:])
		}
		if strings.HasPrefix(rest[n:], "e") {
			k := n + 1
			if k < len(rest) && (rest[k] == '-' || rest[k] == '+') {
				k++
			}
			n = k + digits(rest[k:])
		}
	case isLetter(c):
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n]) || rest[n] == '.') {
			n++
		}
	default:
		for _, op := range operators {
			if n == 0 && strings.HasPrefix(rest, op) {
				n = len(op)
			}
		}
		if n == 0 {
			p.fail("unexpected %s", quote(rest[:1]))
		}
	}
	p.token = rest[:n]
	p.pos += n
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func (p *pythonParser) accept(token string) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *pythonParser) expect(token string) {
	if !p.accept(token) {
		p.fail("expected %q, found %q", token, p.token)
	}
}

// nested parses what may nest.
func (p *pythonParser) nested(f func() *Python) *Python {
	if p.depth++; p.depth > maxParseDepth {
		p.fail("nested deeper than %d", maxParseDepth)
	}
	e := f()
	p.depth--
	return e
}

// list parses operands between operators that are all of one kind.
func (p *pythonParser) list(op string, operand func() *Python) *Python {
	e := operand()
	if p.token != op {
		return e
	}
	all := p.node(op, "", e)
	for p.accept(op) {
		all.Args = append(all.Args, operand())
	}
	return all
}

func (p *pythonParser) or() *Python {
	return p.nested(func() *Python {
		return p.list("or", func() *Python { return p.list("and", p.not) })
	})
}

func (p *pythonParser) not() *Python {
	negate := false
	for p.accept("not") {
		negate = !negate
	}
	e := p.comparison()
	if negate {
		return p.node("not", "", e)
	}
	return e
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *pythonParser) comparison() *Python {
	e := p.sum()
	if op := p.token; slices.Contains(comparisons, op) {
		p.next()
		e = p.node(op, "", e, p.sum())
		if slices.Contains(comparisons, p.token) {
			p.fail("several comparisons in a row")
		}
	}
	return e
}

// left parses left-associative binary operators.
func (p *pythonParser) left(operand func() *Python, ops ...string) *Python {
	e := operand()
	for slices.Contains(ops, p.token) {
		op := p.token
		p.next()
		e = p.node(op, "", e, operand())
	}
	return e
}

func (p *pythonParser) sum() *Python     { return p.left(p.product, "+", "-") }
func (p *pythonParser) product() *Python { return p.left(p.sign, "*", "//", "/", "%") }

func (p *pythonParser) sign() *Python {
	negate := false
	for p.token == "-" || p.token == "+" {
		negate = negate != (p.token == "-")
		p.next()
	}
	e := p.primary()
	if p.accept("**") {
		e = p.node("**", "", e, p.nested(p.sign))
	}
	if negate {
		return p.node("neg", "", e)
	}
	return e
}

func (p *pythonParser) primary() *Python {
	e := p.atom()
	for {
		switch {
		case p.accept("["):
			e = p.node("index", "", e, p.or())
			p.expect("]")
		case p.accept("."):
			if p.token == "" || !isLetter(p.token[0]) {
				p.unexpected()
			}
			for name := range strings.SplitSeq(p.token, ".") {
				e = p.node("attribute", name, e)
			}
			p.next()
		case p.accept("("):
			e = p.node("call", "", e)
			for p.token != ")" {
				e.Args = append(e.Args, p.argument())
				if !p.accept(",") {
					break
				}
			}
			p.expect(")")
		default:
			return e
		}
	}
}

func (p *pythonParser) argument() *Python {
	x := p.or()
	if x.Op == "name" && p.accept("=") {
		return p.node("key", x.Text, p.or())
	}
	return x
}

func (p *pythonParser) atom() (e *Python) {
	t := p.token
	switch {
	case t == "":
		p.unexpected()
	case p.accept("("):
		e = p.or()
		p.expect(")")
		return e
	case isLetter(t[0]):
		e = p.node("name", t)
	case isDigit(t[0]):
		e = p.node("number", t)
	case t[0] == '\'' || t[0] == '"':
		e = p.node("string", t[1:len(t)-1])
	default:
		p.unexpected()
	}
	p.next()
	return e
}

// fail fails with what is wrong at e.
func (e *Python) fail(format string, args ...any) { failAt(e.pos, format, args...) }

// integer returns the value of digits, with a minus before them if negative is set.
func (e *Python) integer(negative bool) int64 {
	sign := ""
	if negative {
		sign = "-"
	}
	n, err := strconv.ParseInt(sign+e.Text, 10, 64)
	if e.Op != "number" || digits(e.Text) != len(e.Text) {
		e.fail("expected digits")
	}
	if err != nil {
		e.fail("integer %s does not fit 64 bits", quote(e.Text))
	}
	return n
}
