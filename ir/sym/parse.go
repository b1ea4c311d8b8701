package sym

import (
	"fmt"

	"github.com/etgen/etgen/ir/must"
)

// Limits on results, far above what programs contain.
const (
	maxParseTerms = 1 << 8  // summands of any sum
	maxParseSize  = 1 << 14 // atoms in the tree
)

// Parse reads what String writes: integers, names, + - * // %, parentheses,
// max(…), min(…). symbol gives the symbol of a name, or nil if there is none.
func Parse(s string, symbol func(name string) *Symbol) (e Expr, err error) {
	p := &parser{symbol: symbol}
	if err := must.Try(func() { e = p.expr(parsePython(s)) }); err != nil {
		return Expr{}, fmt.Errorf("sym: %w in %s", err, quote(s))
	}
	return e, nil
}

// parser computes what expressions stand for.
type parser struct{ symbol func(name string) *Symbol }

// named returns the symbol of a name.
func (p *parser) named(n *Python) Expr {
	s := p.symbol(n.Text)
	if s == nil {
		n.fail("unknown symbol %s", quote(n.Text))
	}
	return s.Expr()
}

// check refuses results that are too large to work on.
func (n *Python) check(e Expr) Expr {
	if len(e.t) > maxParseTerms || e.size() > maxParseSize {
		n.fail("expression grows too large")
	}
	return e
}

// product multiplies unless the result would be too large.
func (n *Python) product(a, b Expr) Expr {
	if (len(a.t)+1)*(len(b.t)+1) > maxParseTerms {
		n.fail("expression grows too large")
	}
	return n.check(Mul(a, b))
}

func (p *parser) expr(n *Python) Expr {
	switch n.Op {
	case "name":
		return p.named(n)
	case "number":
		return Int(n.integer(false))
	case "neg":
		return p.negative(n.Args[0])
	case "call":
		return n.check(p.call(n))
	}
	if len(n.Args) != 2 {
		n.fail("unexpected %s", quote(n.Op+n.Text))
	}
	x := p.expr(n.Args[0])
	if n.Op == "-" {
		return n.check(Add(x, p.negative(n.Args[1])))
	}
	y := p.expr(n.Args[1])
	switch n.Op {
	case "+":
		return n.check(Add(x, y))
	case "*":
		return n.product(x, y)
	case "//":
		return n.check(FloorDiv(x, y))
	case "%":
		return n.check(Mod(x, y))
	}
	n.fail("unexpected %s", quote(n.Op))
	return Expr{}
}

// negative returns -n. The least integer has a positive part that does not fit.
func (p *parser) negative(n *Python) Expr {
	switch n.Op {
	case "number":
		return Int(n.integer(true))
	case "*":
		return n.product(p.negative(n.Args[0]), p.expr(n.Args[1]))
	}
	return Neg(p.expr(n))
}

func (p *parser) call(n *Python) Expr {
	f := map[string]func(...Expr) Expr{"max": Max, "min": Min,
		"undefined": func(...Expr) Expr { return undefined() }}[n.Args[0].Text]
	if f == nil || n.Args[0].Op != "name" {
		n.fail("unknown function %s", quote(n.Args[0].Text))
	}
	if len(n.Args) == 1 && n.Args[0].Text != "undefined" {
		n.fail("%s of nothing", n.Args[0].Text)
	}
	var args []Expr
	for _, a := range n.Args[1:] {
		args = append(args, p.expr(a))
	}
	return f(args...)
}
