package codegen

import (
	"math"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// Arithmetic is how a language writes integers; T is an expression of it.
type Arithmetic[T any] interface {
	Int(n int64) T
	Symbol(s *sym.Symbol) T
	Negate(x T) T
	// Binary is x op y, where op is one of + - * and, of numbers that are not negative, / %.
	Binary(op string, x, y T) T
	// Floor is the quotient or, with %, the remainder of a division that rounds down.
	Floor(op string, x, y T) T
	// Extremum is the greatest, or the least, of several numbers.
	Extremum(greatest bool, args []T) T
	// Undefined is asked for where arithmetic overflows or divides by zero.
	Undefined() T
}

// Index writes an index expression in a language.
func Index[T any](a Arithmetic[T], e sym.Expr) T {
	if e.Undefined() {
		return a.Undefined()
	}
	terms := e.Terms()
	if len(terms) == 0 {
		return a.Int(0)
	}
	// 3 - i reads better than -i + 3.
	if last := len(terms) - 1; last > 0 && terms[0].Coef < 0 && len(terms[last].Atoms) == 0 &&
		terms[last].Coef > 0 {
		terms = append([]sym.Term{terms[last]}, terms[:last]...)
	}
	var sum T
	for i, t := range terms {
		neg := t.Coef < 0 && t.Coef != math.MinInt64
		if neg {
			t.Coef = -t.Coef
		}
		x := indexTerm(a, t)
		switch {
		case i == 0 && neg:
			sum = a.Negate(x)
		case i == 0:
			sum = x
		case neg:
			sum = a.Binary("-", sum, x)
		default:
			sum = a.Binary("+", sum, x)
		}
	}
	return sum
}

func indexTerm[T any](a Arithmetic[T], t sym.Term) (product T) {
	first := t.Coef == 1 && len(t.Atoms) > 0
	if !first {
		product = a.Int(t.Coef)
	}
	for _, atom := range t.Atoms {
		x := indexAtom(a, atom)
		if !first {
			x = a.Binary("*", product, x)
		}
		product, first = x, false
	}
	return product
}

func indexAtom[T any](a Arithmetic[T], atom sym.Atom) T {
	if atom.Kind == sym.SymbolAtom {
		return a.Symbol(atom.Sym)
	}
	args := seq.Map(atom.Args, func(x sym.Expr) T { return Index(a, x) })
	switch atom.Kind {
	case sym.FloorDivAtom, sym.ModAtom:
		op := "/"
		if atom.Kind == sym.ModAtom {
			op = "%"
		}
		if sym.NonNegative(atom.Args[0]) && sym.NonNegative(atom.Args[1]) {
			return a.Binary(op, args[0], args[1])
		}
		return a.Floor(op, args[0], args[1])
	case sym.MaxAtom, sym.MinAtom:
		return a.Extremum(atom.Kind == sym.MaxAtom, args)
	}
	return a.Undefined()
}
