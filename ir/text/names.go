package text

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// Names gives what is declared in nested blocks names that are valid and unique
// where they can be seen.
type Names[K comparable] struct {
	of     map[K]string
	taken  map[string]bool
	scopes [][]entry[K]
}

// entry is a name of a scope, and the one it hides of the same thing.
type entry[K comparable] struct {
	key   K
	name  string
	outer string
}

// NewNames returns names of which the given words are none.
func NewNames[K comparable](reserved ...string) *Names[K] {
	n := &Names[K]{of: map[K]string{}, taken: map[string]bool{}, scopes: [][]entry[K]{nil}}
	for _, w := range [...]string{"true", "false", "inf", "nan"} { // constants
		n.taken[w] = true
	}
	for _, w := range reserved {
		n.taken[w] = true
	}
	return n
}

// Open begins a block.
func (n *Names[K]) Open() { n.scopes = append(n.scopes, nil) }

// Close ends the block that was opened last and what it declared.
func (n *Names[K]) Close() {
	top := len(n.scopes) - 1
	for i := len(n.scopes[top]) - 1; i >= 0; i-- {
		e := n.scopes[top][i]
		delete(n.taken, e.name)
		delete(n.of, e.key)
		if e.outer != "" {
			n.of[e.key] = e.outer
		}
	}
	n.scopes = n.scopes[:top]
}

// Declare returns the name that k has until its block ends: name if it is valid
// and free.
func (n *Names[K]) Declare(k K, name string) string {
	name = valid(name)
	free := name
	for i := 2; n.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	n.taken[free] = true
	top := len(n.scopes) - 1
	n.scopes[top] = append(n.scopes[top], entry[K]{k, free, n.of[k]})
	n.of[k] = free
	return free
}

// Of returns the name of k, or other if it has none.
func (n *Names[K]) Of(k K, other string) string {
	if name, ok := n.of[k]; ok {
		return name
	}
	return valid(other)
}

// valid replaces what no name may have.
func valid(s string) string {
	if IsName(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && isNameByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
	if !IsName(s) {
		s = "v" + s
	}
	return s
}

// IndexString returns x with its symbols called by names, which may be nil.
func IndexString(x sym.Expr, names *Names[*sym.Symbol]) string {
	if names == nil {
		return x.String()
	}
	other := map[*sym.Symbol]*sym.Symbol{}
	for _, s := range x.Symbols() {
		if name := names.Of(s, s.Name); name != s.Name {
			other[s] = &sym.Symbol{Name: name, Lo: s.Lo, Hi: s.Hi}
		}
	}
	if len(other) == 0 {
		return x.String()
	}
	return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
		if o := other[s]; o != nil {
			return o.Expr(), true
		}
		return sym.Expr{}, false
	}).String()
}
