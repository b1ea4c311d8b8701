package sym

import (
	"errors"
	"fmt"
)

var (
	errOverflow  = errors.New("sym: integer overflow")
	errDivide    = errors.New("sym: division by zero")
	errUndefined = errors.New(
		"sym: undefined expression (overflow or division by zero in its constants)")
)

// Eval computes e with the values of env. It is an error if env lacks a
// symbol, an intermediate result in the order of the canonical form does not
// fit int64, a divisor is zero, or e is undefined.
func (e Expr) Eval(env func(*Symbol) (int64, bool)) (int64, error) {
	sum := e.c
	for _, t := range e.t {
		p := t.coef
		for _, a := range t.mono {
			v, err := a.eval(env)
			if err != nil {
				return 0, err
			}
			var ok bool
			if p, ok = mulOK(p, v); !ok {
				return 0, errOverflow
			}
		}
		var ok bool
		if sum, ok = addOK(sum, p); !ok {
			return 0, errOverflow
		}
	}
	return sum, nil
}

func (a *atom) eval(env func(*Symbol) (int64, bool)) (int64, error) {
	switch a.Kind {
	case SymbolAtom:
		v, ok := env(a.Sym)
		if !ok {
			return 0, fmt.Errorf("sym: no value for %s", a.Sym.Name)
		}
		return v, nil
	case UndefinedAtom:
		return 0, errUndefined
	}
	v, err := a.Args[0].Eval(env)
	if err != nil {
		return 0, err
	}
	for _, x := range a.Args[1:] {
		w, err := x.Eval(env)
		if err != nil {
			return 0, err
		}
		ok := true
		switch a.Kind {
		case FloorDivAtom:
			if w == 0 {
				return 0, errDivide
			}
			v, ok = floorDivOK(v, w)
		case ModAtom:
			if w == 0 {
				return 0, errDivide
			}
			v = mod(v, w)
		case MaxAtom:
			v = max(v, w)
		case MinAtom:
			v = min(v, w)
		}
		if !ok {
			return 0, errOverflow
		}
	}
	return v, nil
}
