package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// sum computes an expression from its terms: those with positive coefficients
// first, so that the others can be subtracted.
func (s *sizer) sum(e sym.Expr) (ir.Arg, error) {
	var plus, minus []sym.Term
	for _, t := range e.Terms() {
		if t.Coef < 0 {
			minus = append(minus, t)
		} else {
			plus = append(plus, t)
		}
	}
	var total ir.Arg
	var at sym.Expr
	join := func(op string, t sym.Term, sign int64) error {
		x, v, err := s.product(sym.Term{Coef: sign * t.Coef, Atoms: t.Atoms})
		if err != nil {
			return err
		}
		switch {
		case total == nil:
			total, at = x, v
		case op == "sub":
			at = sym.Sub(at, v)
			total = s.binary(op, at, total, x)
		default:
			at = sym.Add(at, v)
			total = s.binary(op, at, total, x)
		}
		return nil
	}
	for _, t := range plus {
		if err := join("add", t, 1); err != nil {
			return nil, err
		}
	}
	if total == nil {
		total = ir.Int(0)
	}
	for _, t := range minus {
		if err := join("sub", t, -1); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// product computes a term with a positive coefficient, which may be a constant.
func (s *sizer) product(t sym.Term) (ir.Arg, sym.Expr, error) {
	if len(t.Atoms) == 0 {
		return ir.Int(t.Coef), sym.Int(t.Coef), nil
	}
	var out ir.Arg
	var at sym.Expr
	for _, a := range t.Atoms {
		x, v, err := s.atom(a)
		if err != nil {
			return nil, at, err
		}
		if out == nil {
			out, at = x, v
			continue
		}
		at = sym.Mul(at, v)
		out = s.binary("mul", at, out, x)
	}
	if t.Coef != 1 {
		at = sym.Mul(at, sym.Int(t.Coef))
		out = s.binary("mul", at, out, ir.Int(t.Coef))
	}
	return out, at, nil
}

// atom computes a symbol, a quotient, a remainder or an extremum.
func (s *sizer) atom(a sym.Atom) (ir.Arg, sym.Expr, error) {
	join := func(op string, f func(a, b sym.Expr) sym.Expr) (ir.Arg, sym.Expr, error) {
		var out ir.Arg
		var at sym.Expr
		for i, e := range a.Args {
			x, err := s.integer(e)
			if err != nil {
				return nil, at, err
			}
			if i == 0 {
				out, at = x, e
				continue
			}
			at = f(at, e)
			out = s.binary(op, at, out, x)
		}
		return out, at, nil
	}
	switch a.Kind {
	case sym.SymbolAtom:
		e := a.Sym.Expr()
		if v := s.scope.value(e.Key()); v != nil {
			return ir.Ref{Value: v}, e, nil
		}
		if _, ok := s.scope.dim(e.Key()); ok {
			x, err := s.integer(e)
			return x, e, err
		}
		return s.solve(a.Sym)
	case sym.FloorDivAtom:
		return join("floordiv", sym.FloorDiv)
	case sym.ModAtom:
		if nonnegative(a.Args[0]) && nonnegative(a.Args[1]) {
			return join("mod", sym.Mod)
		}
		return s.remainder(a.Args[0], a.Args[1])
	case sym.MaxAtom:
		return join("sym_max", func(a, b sym.Expr) sym.Expr { return sym.Max(a, b) })
	case sym.MinAtom:
		return join("sym_min", func(a, b sym.Expr) sym.Expr { return sym.Min(a, b) })
	}
	return nil, sym.Expr{}, fmt.Errorf("an integer it needs has no value")
}

func nonnegative(e sym.Expr) bool {
	lo, _ := e.Bounds()
	return lo >= 0
}

// remainder computes a mod b by a quotient: the primitive for it truncates.
func (s *sizer) remainder(a, b sym.Expr) (ir.Arg, sym.Expr, error) {
	mod := sym.Mod(a, b)
	x, err := s.integer(a)
	if err != nil {
		return nil, mod, err
	}
	y, err := s.integer(b)
	if err != nil {
		return nil, mod, err
	}
	quotient := sym.FloorDiv(a, b)
	q := s.binary("floordiv", quotient, x, y)
	whole := sym.Mul(quotient, b)
	return s.binary("sub", mod, x, s.binary("mul", whole, q, y)), mod, nil
}

// solve computes a symbol that is no size itself from a tensor's size that is a
// multiple of it and a constant.
func (s *sizer) solve(x *sym.Symbol) (ir.Arg, sym.Expr, error) {
	e := x.Expr()
	for sc := s.scope; sc != nil; sc = sc.outer {
		for _, d := range sc.order {
			size := d.tensor.Type.Sizes[d.dim]
			coef, rest, linear := size.Coef(x)
			k, ok := coef.Const()
			if _, isConst := rest.Const(); !linear || !ok || !isConst || k == 0 {
				continue
			}
			have, err := s.integer(size)
			if err != nil {
				return nil, e, err
			}
			if !rest.IsZero() {
				size = sym.Sub(size, rest)
				n, _ := rest.Const()
				have = s.binary("sub", size, have, ir.Int(n))
			}
			if k != 1 {
				have = s.binary("floordiv", e, have, ir.Int(k))
			}
			return have, e, nil
		}
	}
	return nil, e, fmt.Errorf("the integer %s is the size of no tensor before it", e)
}
