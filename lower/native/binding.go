package native

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// Dim is a dynamic number that caller and method tell each other: a dimension
// of an input or output, or an integer input.
type Dim struct {
	Port int // index in Method.Inputs or Method.Outputs
	Axis int // -1: the port itself is the integer
	Size sym.Expr
}

// Binding says how the dynamic sizes of a method follow from its inputs.
type Binding struct {
	In     []Dim   // all dynamic dimensions of inputs, and integer inputs
	Out    []Dim   // all dynamic dimensions of outputs
	Solved []Solve // in this order
	Checks []Dim   // of In: those that must still equal their Size once all is solved
}

// Solve determines a symbol: Sym = (the value of Dim - Rest) / Coef. Rest
// mentions symbols solved before. Sym's bounds are to be checked.
type Solve struct {
	Sym  *sym.Symbol
	Dim  Dim
	Coef int64 // over 0
	Rest sym.Expr
}

// Bare reports whether the symbol is the number itself.
func (s Solve) Bare() bool { return s.Coef == 1 && s.Rest.IsZero() }

// Bind finds out how m's sizes follow from its inputs. It is an error if one
// that an input or the code mentions does not.
func Bind(m *Method) (*Binding, error) {
	b := &Binding{}
	for i, p := range m.Inputs {
		if p.Value != nil {
			continue
		}
		b.In = append(b.In, dims(i, p)...)
	}
	for i, p := range m.Outputs {
		if p.Buf != nil {
			b.Out = append(b.Out, dims(i, p)...)
		}
	}
	known := map[*sym.Symbol]bool{}
	pending := slices.Clone(b.In)
	for {
		i, s := next(pending, known)
		if i < 0 {
			break
		}
		known[s.Sym] = true
		b.Solved = append(b.Solved, s)
		if !s.Bare() {
			b.Checks = append(b.Checks, s.Dim)
		}
		pending = slices.Delete(pending, i, i+1)
	}
	b.Checks = append(b.Checks, pending...)
	for _, d := range pending {
		for _, s := range d.Size.Symbols() {
			if !known[s] {
				return nil,
					fmt.Errorf("method %s: size %s does not follow from the shapes of the inputs",
						m.Name, s.Name)
			}
		}
	}
	slices.SortStableFunc(b.Checks, func(x, y Dim) int {
		if x.Port != y.Port {
			return x.Port - y.Port
		}
		return x.Axis - y.Axis
	})
	return b, nil
}

// dims returns the dynamic numbers of a port. Integer inputs are among them,
// constant ones too: they are checked.
func dims(i int, p Port) []Dim {
	var out []Dim
	switch {
	case p.Buf != nil:
		for a, s := range p.Type.Sizes {
			if _, ok := s.Const(); !ok {
				out = append(out, Dim{Port: i, Axis: a, Size: s})
			}
		}
	case p.Sym != nil:
		out = append(out, Dim{Port: i, Axis: -1, Size: p.Sym.Expr()})
	case p.Var == nil && p.Type.Kind == ir.IntKind && p.Type.HasExpr:
		out = append(out, Dim{Port: i, Axis: -1, Size: p.Type.Expr})
	}
	return out
}

// next returns the dimension to solve next and its solution: the first that is
// a symbol itself, else the first that can be solved at all. The index is -1 if
// there is none.
func next(pending []Dim, known map[*sym.Symbol]bool) (int, Solve) {
	found, how := -1, Solve{}
	for i, d := range pending {
		s, ok := solve(d, known)
		if ok && s.Bare() {
			return i, s
		}
		if ok && found < 0 {
			found, how = i, s
		}
	}
	return found, how
}

// solve solves a dimension for its one unknown symbol, if it has one and is
// linear in it.
func solve(d Dim, known map[*sym.Symbol]bool) (Solve, bool) {
	var unknown *sym.Symbol
	for _, s := range d.Size.Symbols() {
		if known[s] {
			continue
		}
		if unknown != nil {
			return Solve{}, false
		}
		unknown = s
	}
	if unknown == nil {
		return Solve{}, false
	}
	coef, rest, ok := d.Size.Coef(unknown)
	if !ok {
		return Solve{}, false
	}
	n, ok := coef.Const()
	if !ok || n <= 0 {
		return Solve{}, false
	}
	return Solve{Sym: unknown, Dim: d, Coef: n, Rest: rest}, true
}
