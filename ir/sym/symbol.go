package sym

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// Symbol is a named integer of known range: a dynamic size, a loop variable,
// or a value bound at run time. Identity is the pointer; a Symbol is not copied.
type Symbol struct {
	// Name is an identifier: a letter or underscore, then letters, digits,
	// underscores and dots.
	Name string
	// Lo and Hi are inclusive bounds. They may mention other symbols (a loop
	// variable 0 ≤ i ≤ n-1). A constant Lo of math.MinInt64 and a constant Hi
	// of math.MaxInt64 mean unbounded.
	Lo, Hi Expr
	// Def is what computes the value, opaque to this package: nil for sizes
	// and loop variables.
	Def any

	once sync.Once
	atom atom // the symbol as an atom, made once
	expr Expr // the symbol as an expression, made once
	mono [1]*atom
	term [1]term
}

// serials numbers symbols in order of creation. The number only breaks ties
// between symbols of equal name, so that the order of terms does not depend on
// addresses, and seeds hashes; nothing else reads it.
var serials atomic.Uint64

// NewSymbol returns a symbol with lo ≤ value ≤ hi. A hi of math.MaxInt64 and
// a lo of math.MinInt64 mean unbounded.
func NewSymbol(name string, lo, hi int64) *Symbol {
	return newSymbol(name, Int(lo), Int(hi))
}

// NewVar returns a loop variable with 0 ≤ value < extent.
func NewVar(name string, extent Expr) *Symbol {
	return newSymbol(name, Expr{}, addScaled(extent, Int(1), -1))
}

func newSymbol(name string, lo, hi Expr) *Symbol {
	s := &Symbol{Name: name, Lo: lo, Hi: hi}
	s.Expr()
	return s
}

// Inf is the upper bound of a symbol without one.
func Inf() Expr { return Int(math.MaxInt64) }

// Expr returns the symbol as an expression. The first call fixes its bounds.
func (s *Symbol) Expr() Expr {
	s.once.Do(s.init)
	return s.expr
}

func (s *Symbol) init() {
	id := serials.Add(1)
	bit := uint64(1) << (id & 63)
	lo, _ := s.Lo.Bounds()
	_, hi := s.Hi.Bounds()
	r := clamp(lo, hi)
	s.atom = atom{
		Atom:   Atom{Kind: SymbolAtom, Sym: s},
		serial: id,
		hash:   mix(uint64(SymbolAtom), id),
		uses:   bit,
		deps:   bit | s.Lo.deps() | s.Hi.deps(),
		lo:     r.lo,
		hi:     r.hi,
		size:   1,
	}
	s.mono[0] = &s.atom
	s.term[0] = term{coef: 1, mono: s.mono[:]}
	s.expr = Expr{t: s.term[:]}
}

// compareNames orders names with their digit runs read as numbers: s2 < s10.
func compareNames(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && isDigit(a[i-1]) {
		i--
	}
	x, y := digits(a[i:]), digits(b[i:])
	if x > 0 && y > 0 {
		p, q := strings.TrimLeft(a[i:i+x], "0"), strings.TrimLeft(b[i:i+y], "0")
		if len(p) != len(q) {
			return len(p) - len(q)
		}
		if c := strings.Compare(p, q); c != 0 {
			return c
		}
	}
	return strings.Compare(a[i:], b[i:])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits returns the length of the run of digits s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
