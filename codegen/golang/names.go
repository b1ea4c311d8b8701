package golang

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"unicode"
)

// camel makes s, in any style, an unexported Go identifier: "conv2d_relu" gives
// "conv2dRelu".
func camel(s string) string {
	var b strings.Builder
	up := false
	for _, r := range s {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = b.Len() > 0
			continue
		case b.Len() == 0 && unicode.IsDigit(r):
			b.WriteByte('v')
		case b.Len() == 0:
			r = unicode.ToLower(r)
		case up:
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "v"
	}
	return b.String()
}

// pascal is camel with an upper-case first letter, an exported identifier.
func pascal(s string) string {
	s = camel(s)
	return strings.ToUpper(s[:1]) + s[1:]
}

// scope is a set of names that are in use.
type scope struct {
	outer *scope
	names map[string]bool
}

func newScope(outer *scope) *scope { return &scope{outer: outer, names: map[string]bool{}} }

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// take returns base, or base2, base3, …, whichever is free, and takes it.
// Keywords and predeclared identifiers are never free.
func (s *scope) take(base string) string {
	name := base
	for i := 2; s.has(name) || reserved(name); i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	s.names[name] = true
	return name
}

func reserved(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || name == "math" || name == "init" || name == "_"
}
