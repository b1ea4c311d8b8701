package sym

import "cmp"

// AtomKind tells the forms of an [Atom] apart.
type AtomKind uint8

const (
	SymbolAtom    AtomKind = iota // Sym
	FloorDivAtom                  // Args[0] // Args[1], rounded to minus infinity
	ModAtom                       // Args[0] mod Args[1], with the sign of Args[1]
	MaxAtom                       // the largest of Args, two or more
	MinAtom                       // the smallest of Args, two or more
	UndefinedAtom                 // overflow or division by zero; the whole expression
)

// Atom is an indivisible factor of a term.
type Atom struct {
	Kind AtomKind
	Sym  *Symbol // of a SymbolAtom
	Args []Expr  // of the other kinds; not to be modified
}

// atom is an Atom with what is computed once about it. It is immutable.
type atom struct {
	Atom
	serial uint64 // of a symbol: order of creation
	hash   uint64 // equal atoms have equal hashes
	uses   uint64 // Bloom filter of the symbols inside
	deps   uint64 // the same, with the symbols in their bounds
	lo, hi int64  // constant bounds, see interval
	size   int    // atoms in the tree, saturating at maxSize
	buf    [2]Expr
}

// maxSize is where tree sizes saturate.
const maxSize = 1 << 30

// newAtom returns the atom kind(args...) as an expression, unsimplified.
func newAtom(kind AtomKind, args ...Expr) Expr {
	a := &atom{Atom: Atom{Kind: kind}, size: 1}
	if len(args) <= len(a.buf) {
		a.Args = a.buf[:copy(a.buf[:], args)]
	} else {
		a.Args = args
	}
	a.hash = mix(uint64(kind), uint64(len(args)))
	for _, x := range args {
		a.hash = mix(a.hash, x.hash())
		a.uses |= x.uses()
		a.deps |= x.deps()
		a.size = min(a.size+x.size(), maxSize)
	}
	r := a.interval()
	a.lo, a.hi = r.lo, r.hi
	return Expr{t: []term{{coef: 1, mono: []*atom{a}}}}
}

// mix is a step of a multiplicative hash.
func mix(h, x uint64) uint64 {
	h = (h ^ x) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func (a *atom) isDivision() bool { return a.Kind == FloorDivAtom || a.Kind == ModAtom }

func (a *atom) equal(b *atom) bool {
	if a == b {
		return true
	}
	if a.hash != b.hash || a.Kind != b.Kind || a.Kind == SymbolAtom || len(a.Args) != len(b.Args) {
		return false
	}
	for i := range a.Args {
		if !a.Args[i].Equal(b.Args[i]) {
			return false
		}
	}
	return true
}

// compare is a total order on atoms that does not depend on addresses.
func (a *atom) compare(b *atom) int {
	switch {
	case a == b:
		return 0
	case a.Kind != b.Kind:
		return cmp.Compare(a.Kind, b.Kind)
	case a.Kind == SymbolAtom:
		if c := compareNames(a.Sym.Name, b.Sym.Name); c != 0 {
			return c
		}
		return cmp.Compare(a.serial, b.serial)
	case len(a.Args) != len(b.Args):
		return cmp.Compare(len(a.Args), len(b.Args))
	}
	for i := range a.Args {
		if c := a.Args[i].compare(b.Args[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareMonos orders products: higher degree first, then lexicographically.
// Multiplying two products by a third keeps their order, which division of
// sums relies on.
func compareMonos(a, b []*atom) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	for i := range a {
		if c := a[i].compare(b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func equalMonos(a, b []*atom) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].equal(b[i]) {
			return false
		}
	}
	return true
}

// mulMonos merges two sorted products.
func mulMonos(a, b []*atom) []*atom {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]*atom, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].compare(b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// divMonos returns a/b if the product b divides a.
func divMonos(a, b []*atom) ([]*atom, bool) {
	if len(b) == 0 {
		return a, true
	}
	if len(a) < len(b) {
		return nil, false
	}
	var out []*atom
	for _, x := range a {
		if len(b) > 0 && x.equal(b[0]) {
			b = b[1:]
		} else {
			out = append(out, x)
		}
	}
	return out, len(b) == 0
}

// gcdMonos returns the common factors of two sorted products.
func gcdMonos(a, b []*atom) []*atom {
	var out []*atom
	for len(a) > 0 && len(b) > 0 {
		switch c := a[0].compare(b[0]); {
		case c == 0:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		case c < 0:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return out
}
