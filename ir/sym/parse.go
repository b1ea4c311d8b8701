package sym

import (
	"fmt"
	"math"
	"strconv"
)

// Limits of both parsers, far above what programs contain.
const (
	maxParseBytes = 1 << 16
	maxParseDepth = 100
	maxParseTerms = 1 << 8  // summands of any sum
	maxParseSize  = 1 << 14 // atoms in the tree
)

// Parse reads what String writes: integers, names, + - * // %, parentheses,
// max(…), min(…). symbol gives the symbol of a name, or nil if there is none.
func Parse(s string, symbol func(name string) *Symbol) (Expr, error) {
	p := parser{scanner: scanner{s: s}, symbol: symbol}
	e, err := p.all()
	if err != nil {
		return Expr{}, fmt.Errorf("sym: %w in %s", err, quote(s))
	}
	return e, nil
}

// quote quotes at most the beginning of a long text.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}

// scanner is the part common to both parsers.
type scanner struct {
	s     string
	pos   int
	depth int
}

func (p *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), p.pos)
}

// peek skips blanks and returns the next byte, 0 at the end.
func (p *scanner) peek() byte {
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t' || p.s[p.pos] == '\n') {
		p.pos++
	}
	if p.pos == len(p.s) {
		return 0
	}
	return p.s[p.pos]
}

// accept consumes the token if it comes next.
func (p *scanner) accept(token string) bool {
	p.peek()
	if len(p.s)-p.pos >= len(token) && p.s[p.pos:p.pos+len(token)] == token {
		p.pos += len(token)
		return true
	}
	return false
}

func (p *scanner) expect(token string) error {
	if p.accept(token) {
		return nil
	}
	if p.pos == len(p.s) {
		return p.errorf("expected %q, found the end", token)
	}
	return p.errorf("expected %q, found %q", token, p.s[p.pos])
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// word consumes an identifier; it is empty if none comes next.
func (p *scanner) word() string {
	if !isLetter(p.peek()) {
		return ""
	}
	start := p.pos
	for p.pos < len(p.s) && (isLetter(p.s[p.pos]) || isDigit(p.s[p.pos]) || p.s[p.pos] == '.') {
		p.pos++
	}
	return p.s[start:p.pos]
}

// number consumes digits and returns their value, negated if wanted.
func (p *scanner) number(negate bool) (int64, error) {
	p.peek()
	n := digits(p.s[p.pos:])
	text := p.s[p.pos : p.pos+n]
	u, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil, u > 1<<63, u == 1<<63 && !negate:
		return 0, p.errorf("integer %s does not fit 64 bits", quote(text))
	}
	p.pos += n
	if u == 1<<63 {
		return math.MinInt64, nil
	}
	if negate {
		return -int64(u), nil
	}
	return int64(u), nil
}

func (p *scanner) enter() error {
	if p.depth++; p.depth > maxParseDepth {
		return p.errorf("nested deeper than %d", maxParseDepth)
	}
	return nil
}

// check refuses results that are too large to work on.
func (p *scanner) check(e Expr) error {
	if len(e.t) > maxParseTerms || e.size() > maxParseSize {
		return p.errorf("expression grows too large")
	}
	return nil
}

// product multiplies unless the result would be too large.
func (p *scanner) product(a, b Expr) (Expr, error) {
	if (len(a.t)+1)*(len(b.t)+1) > maxParseTerms {
		return Expr{}, p.errorf("expression grows too large")
	}
	e := Mul(a, b)
	return e, p.check(e)
}

type parser struct {
	scanner
	symbol func(name string) *Symbol
}

func (p *parser) all() (Expr, error) {
	if len(p.s) > maxParseBytes {
		return Expr{}, p.errorf("expression longer than %d bytes", maxParseBytes)
	}
	e, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = p.errorf("unexpected %q", p.peek())
	}
	return e, err
}

func (p *parser) sum() (Expr, error) {
	if err := p.enter(); err != nil {
		return Expr{}, err
	}
	defer func() { p.depth-- }()
	e, err := p.term(p.accept("-"), false)
	for err == nil {
		negate := false
		if p.accept("-") {
			negate = true
		} else if !p.accept("+") {
			break
		}
		var t Expr
		if t, err = p.term(negate, true); err == nil {
			e = Add(e, t)
			err = p.check(e)
		}
	}
	return e, err
}

// term parses factors joined by * // %, which bind equally, leftmost first.
// A minus sign in front belongs to the first factor, as in Python, but the
// binary one to the whole term.
func (p *parser) term(negate, binary bool) (Expr, error) {
	e, err := p.factor(negate)
	all := negate && binary
	for err == nil {
		div, mod := p.accept("//"), false
		if !div {
			mod = p.accept("%")
		}
		if !div && !mod && !p.accept("*") {
			break
		}
		var f Expr
		if f, err = p.factor(p.accept("-")); err != nil {
			break
		}
		switch {
		case div && all:
			e = Neg(FloorDiv(Neg(e), f))
		case div:
			e = FloorDiv(e, f)
		case mod && all:
			e = Neg(Mod(Neg(e), f))
		case mod:
			e = Mod(e, f)
		default:
			if e, err = p.product(e, f); err != nil {
				return Expr{}, err
			}
		}
		err = p.check(e)
	}
	return e, err
}

func (p *parser) factor(negate bool) (Expr, error) {
	if isDigit(p.peek()) {
		n, err := p.number(negate)
		return Int(n), err
	}
	e, err := p.primary()
	if negate {
		e = Neg(e)
	}
	return e, err
}

func (p *parser) primary() (Expr, error) {
	if p.accept("(") {
		e, err := p.sum()
		if err != nil {
			return Expr{}, err
		}
		return e, p.expect(")")
	}
	start := p.pos
	name := p.word()
	if name == "" {
		if p.pos == len(p.s) {
			return Expr{}, p.errorf("unexpected end")
		}
		return Expr{}, p.errorf("unexpected %q", p.s[p.pos])
	}
	if p.accept("(") {
		return p.call(name)
	}
	if s := p.symbol(name); s != nil {
		return s.Expr(), nil
	}
	p.pos = start
	return Expr{}, p.errorf("unknown symbol %s", quote(name))
}

// call parses the arguments of a function and its closing parenthesis.
func (p *parser) call(name string) (Expr, error) {
	if name == "undefined" {
		return undefined(), p.expect(")")
	}
	if name != "max" && name != "min" {
		return Expr{}, p.errorf("unknown function %s", quote(name))
	}
	var args []Expr
	for {
		x, err := p.sum()
		if err != nil {
			return Expr{}, err
		}
		args = append(args, x)
		if !p.accept(",") {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return Expr{}, err
	}
	e := Max(args...)
	if name == "min" {
		e = Min(args...)
	}
	return e, p.check(e)
}
