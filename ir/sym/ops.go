package sym

import "slices"

// Add returns the sum of xs.
func Add(xs ...Expr) Expr {
	var r Expr
	for _, x := range xs {
		r = addScaled(r, x, 1)
	}
	return recombine(r)
}

// Sub returns a - b.
func Sub(a, b Expr) Expr { return recombine(addScaled(a, b, -1)) }

// Neg returns -a.
func Neg(a Expr) Expr { return mulTerm(a, -1, nil) }

// Mul returns the product of xs, expanded.
func Mul(xs ...Expr) Expr {
	r := Int(1)
	for _, x := range xs {
		r = mul(r, x)
	}
	return recombine(r)
}

// CeilDiv returns a/b rounded to plus infinity.
func CeilDiv(a, b Expr) Expr {
	if positive(b) { // the form without negative numbers
		return FloorDiv(addScaled(addScaled(a, b, 1), Int(1), -1), b)
	}
	return Neg(FloorDiv(Neg(a), b))
}

// Max returns the largest of xs; that of none is undefined.
func Max(xs ...Expr) Expr { return extremum(MaxAtom, xs) }

// Min returns the smallest of xs; that of none is undefined.
func Min(xs ...Expr) Expr { return extremum(MinAtom, xs) }

// maxCompared is up to how many operands of Max and Min are compared pairwise.
const maxCompared = 16

func extremum(kind AtomKind, xs []Expr) Expr {
	if x, ok := constantExtremum(kind, xs); ok {
		return x
	}
	args := make([]Expr, 0, len(xs))
	for _, x := range xs {
		if x.Undefined() {
			return x
		}
		if a := x.only(); a != nil && a.Kind == kind {
			args = append(args, a.Args...)
		} else {
			args = append(args, x)
		}
	}
	slices.SortStableFunc(args, Expr.compare)
	args = slices.CompactFunc(args, Expr.Equal)
	if len(args) <= maxCompared {
		args = undominated(kind, args)
	}
	switch len(args) {
	case 0:
		return undefined()
	case 1:
		return args[0]
	}
	return newAtom(kind, args...)
}

// constantExtremum is extremum of numbers.
func constantExtremum(kind AtomKind, xs []Expr) (x Expr, ok bool) {
	for i, y := range xs {
		switch {
		case len(y.t) > 0:
			return x, false
		case i == 0 || (y.c > x.c) == (kind == MaxAtom):
			x = y
		}
	}
	return x, len(xs) > 0
}

// undominated drops the operands that another one is provably beyond.
func undominated(kind AtomKind, args []Expr) []Expr {
	kept := args[:0]
next:
	for i, x := range args {
		for _, y := range args[i+1:] {
			if beyond(kind, y, x) {
				continue next
			}
		}
		for _, y := range kept {
			if beyond(kind, y, x) {
				continue next
			}
		}
		kept = append(kept, x)
	}
	return kept
}

func beyond(kind AtomKind, y, x Expr) bool {
	if kind == MaxAtom {
		return LessEq(x, y)
	}
	return LessEq(y, x)
}

// Subst returns e with every symbol for which f gives a replacement replaced
// by it, simplified anew. f may be asked for a symbol more than once. Bounds of
// symbols are not touched.
func (e Expr) Subst(f func(*Symbol) (Expr, bool)) Expr {
	r, _ := e.subst(f)
	return r
}

func (e Expr) subst(f func(*Symbol) (Expr, bool)) (Expr, bool) {
	var sum Expr // of the changed terms
	var same []term
	changed := false
	for i, t := range e.t {
		p, ok := t.subst(f)
		switch {
		case ok && !changed:
			changed = true
			same = append(make([]term, 0, len(e.t)-1), e.t[:i]...)
			sum = p
		case ok:
			sum = addScaled(sum, p, 1)
		case changed:
			same = append(same, t)
		}
	}
	if !changed {
		return e, false
	}
	return recombine(addScaled(Expr{c: e.c, t: same}, sum, 1)), true
}

func (t term) subst(f func(*Symbol) (Expr, bool)) (Expr, bool) {
	changed := false
	var p Expr
	for i, a := range t.mono {
		x, ok := a.subst(f)
		switch {
		case ok && !changed:
			changed = true
			p = mulTerm(x, t.coef, t.mono[:i:i])
		case ok:
			p = mul(p, x)
		case changed:
			p = mulTerm(p, 1, t.mono[i:i+1:i+1])
		}
	}
	return p, changed
}

func (a *atom) subst(f func(*Symbol) (Expr, bool)) (Expr, bool) {
	if a.Kind == SymbolAtom {
		return f(a.Sym)
	}
	var args []Expr
	for i, x := range a.Args {
		y, ok := x.subst(f)
		if ok && args == nil {
			args = slices.Clone(a.Args)
		}
		if ok {
			args[i] = y
		}
	}
	if args == nil {
		return Expr{}, false
	}
	return Atom{Kind: a.Kind, Args: args}.Expr(), true
}

// Expr returns a as an expression, simplified.
func (a Atom) Expr() Expr {
	switch a.Kind {
	case SymbolAtom:
		return a.Sym.Expr()
	case FloorDivAtom:
		return FloorDiv(a.Args[0], a.Args[1])
	case ModAtom:
		return Mod(a.Args[0], a.Args[1])
	case UndefinedAtom:
		return undefined()
	}
	return extremum(a.Kind, a.Args)
}
