package c

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// index prints an index expression, in the package's index type.
func (p *printer) index(e sym.Expr) code {
	if len(p.unrolled) > 0 {
		e = e.Subst(func(s *sym.Symbol) (sym.Expr, bool) { x, ok := p.unrolled[s]; return x, ok })
	}
	terms := e.Terms()
	if len(terms) == 0 {
		return intLiteral(0, p.g.idx)
	}
	// 3 - i reads better than -i + 3.
	if last := len(terms) - 1; last > 0 && terms[0].Coef < 0 && len(terms[last].Atoms) == 0 &&
		terms[last].Coef > 0 {
		terms = append([]sym.Term{terms[last]}, terms[:last]...)
	}
	var sum code
	for i, t := range terms {
		neg := t.Coef < 0 && t.Coef != math.MinInt64
		if neg {
			t.Coef = -t.Coef
		}
		x := p.term(t)
		switch {
		case i == 0 && neg:
			sum = negate(x)
		case i == 0:
			sum = x
		case neg:
			sum = join("-", sum, x, p.g.idx)
		default:
			sum = join("+", sum, x, p.g.idx)
		}
	}
	sum.t = p.g.idx
	return sum
}

func (p *printer) term(t sym.Term) code {
	var prod code
	if t.Coef != 1 || len(t.Atoms) == 0 {
		prod = intLiteral(t.Coef, p.g.idx)
	}
	for _, a := range t.Atoms {
		x := p.atom(a)
		if prod.s == "" {
			prod = x
		} else {
			prod = join("*", prod, x, p.g.idx)
		}
	}
	return prod
}

func (p *printer) atom(a sym.Atom) code {
	switch a.Kind {
	case sym.SymbolAtom:
		s, ok := p.syms[a.Sym]
		if !ok {
			p.g.fail(fmt.Errorf("%s: index %s is not known here", p.where, a.Sym.Name))
			return intLiteral(0, p.g.idx)
		}
		p.use(s)
		return name(s, p.g.idx)
	case sym.FloorDivAtom, sym.ModAtom:
		return p.division(a)
	case sym.MaxAtom, sym.MinAtom:
		word, op := "max", ">"
		if a.Kind == sym.MinAtom {
			word, op = "min", "<"
		}
		x := p.index(a.Args[0])
		for _, arg := range a.Args[1:] {
			y := p.index(arg)
			if x.simple() && y.simple() {
				x = ternary(join(op, x, y, tBool), x, y, p.g.idx)
			} else {
				x = call(p.g.helper(word, p.g.idxDType()), p.g.idx, x, y)
			}
		}
		return x
	}
	p.g.fail(fmt.Errorf("%s: an index is undefined: its arithmetic overflows or divides by zero",
		p.where))
	return intLiteral(0, p.g.idx)
}

// division prints a floor division or modulo: as C's operator where both
// operands are certain not to be negative.
func (p *printer) division(a sym.Atom) code {
	x, y := p.index(a.Args[0]), p.index(a.Args[1])
	op, word := "/", "floor_div"
	if a.Kind == sym.ModAtom {
		op, word = "%", "floor_mod"
	}
	if sym.NonNegative(a.Args[0]) && sym.NonNegative(a.Args[1]) {
		return join(op, x, y, p.g.idx)
	}
	return call(p.g.helper(word, p.g.idxDType()), p.g.idx, x, y)
}

// idxDType is the dtype that corresponds to the index type.
func (g *gen) idxDType() ir.DType {
	if g.idx == tI64 {
		return ir.Int64
	}
	return ir.Int32
}
