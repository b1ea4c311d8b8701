package sym

import (
	"cmp"
	"slices"
	"strconv"
)

// String returns e in Python's notation: "4*s77 + 1", "(i + 3)//2", "i % 4",
// "max(a, b)". Parse reads it back.
func (e Expr) String() string { return string(e.append(nil)) }

// Key returns a text that two expressions share if and only if they are Equal,
// provided that no two symbols share a name.
func (e Expr) Key() string { return e.String() }

// display returns the terms of e without the constant in the order of Terms.
func (e Expr) display() []term {
	if len(e.t) < 2 {
		return e.t
	}
	inOrder := func(x, y term) int {
		if c := len(y.mono) - len(x.mono); c != 0 {
			return c
		}
		if (x.coef < 0) != (y.coef < 0) {
			return cmp.Compare(y.coef, x.coef)
		}
		if x.coef < 0 {
			return cmp.Compare(x.coef, y.coef)
		}
		return cmp.Compare(y.coef, x.coef)
	}
	if slices.IsSortedFunc(e.t, inOrder) {
		return e.t
	}
	out := slices.Clone(e.t)
	slices.SortStableFunc(out, inOrder)
	return out
}

// append appends String to b.
func (e Expr) append(b []byte) []byte {
	if len(e.t) == 0 {
		return strconv.AppendInt(b, e.c, 10)
	}
	for i, t := range e.display() {
		b = t.append(b, i == 0)
	}
	if e.c != 0 {
		b = appendCoef(b, e.c, false)
	}
	return b
}

// append appends the term, with a sign in front unless it is first and positive.
func (t term) append(b []byte, first bool) []byte {
	switch {
	case t.coef == 1 && !first:
		b = append(b, " + "...)
	case t.coef == -1 && first:
		b = append(b, '-')
	case t.coef == -1:
		b = append(b, " - "...)
	case t.coef != 1:
		b = append(appendCoef(b, t.coef, first), '*')
	}
	for i, a := range t.mono {
		if i > 0 {
			b = append(b, '*')
		}
		// A division next to another factor needs parentheses, as it does
		// behind a minus sign: -(i//2) is not (-i)//2.
		group := a.isDivision() && (len(t.mono) > 1 || t.coef != 1)
		if group {
			b = append(b, '(')
		}
		b = a.append(b)
		if group {
			b = append(b, ')')
		}
	}
	return b
}

// appendCoef appends n, with a sign in front that stands between terms unless
// it is first.
func appendCoef(b []byte, n int64, first bool) []byte {
	switch {
	case first:
		return strconv.AppendInt(b, n, 10)
	case n < 0:
		return strconv.AppendUint(append(b, " - "...), -uint64(n), 10)
	}
	return strconv.AppendInt(append(b, " + "...), n, 10)
}

func (a *atom) append(b []byte) []byte {
	switch a.Kind {
	case SymbolAtom:
		return append(b, a.Sym.Name...)
	case FloorDivAtom:
		b = append(a.Args[0].appendOperand(b), "//"...)
		return a.Args[1].appendOperand(b)
	case ModAtom:
		b = append(a.Args[0].appendOperand(b), " % "...)
		return a.Args[1].appendOperand(b)
	case MaxAtom:
		b = append(b, "max("...)
	case MinAtom:
		b = append(b, "min("...)
	default:
		b = append(b, "undefined("...)
	}
	for i, x := range a.Args {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = x.append(b)
	}
	return append(b, ')')
}

// appendOperand appends e in parentheses unless it is a single token or call.
func (e Expr) appendOperand(b []byte) []byte {
	if a := e.only(); len(e.t) == 0 && e.c >= 0 || a != nil && !a.isDivision() {
		return e.append(b)
	}
	return append(e.append(append(b, '(')), ')')
}
