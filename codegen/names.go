package codegen

import (
	"fmt"
	"slices"
	"strings"
)

// Identifier makes s an identifier of C and Go: other characters than ASCII
// letters and digits become underscores, none of them at the start or doubled.
func Identifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.TrimRight(b.String(), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "v" + name
	}
	return name
}

// NameError says that what etgen makes cannot be called so, and how it can.
type NameError struct{ Name, What, Why string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q cannot be the name of %s: %s: take %s_model", e.Name, e.What, e.Why,
		Identifier(e.Name))
}

// devices are what Windows takes for a device, whatever extension is behind it.
const devices = `con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9
lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`

// IsDevice reports whether Windows opens a device for files called name.EXTENSION.
func IsDevice(name string) bool {
	return slices.Contains(strings.Fields(devices), strings.ToLower(name))
}

// CheckFileName returns a *NameError if files called name.EXTENSION could not be opened
// on every system.
func CheckFileName(name string) error {
	if IsDevice(name) {
		return &NameError{name, "files", "Windows takes them for a device"}
	}
	return nil
}

// Scope is a set of names in use, nested as blocks are.
type Scope struct {
	outer *Scope
	names map[string]bool
	inner map[string]bool // names that scopes inside have, or had
	next  map[string]int  // by base, the number to try next: lower ones are taken here or around
}

// NewScope returns a scope inside outer, which may be nil.
func NewScope(outer *Scope) *Scope {
	return &Scope{outer: outer, names: map[string]bool{}, inner: map[string]bool{},
		next: map[string]int{}}
}

// Reserve marks names as taken.
func (s *Scope) Reserve(names ...string) {
	for _, n := range names {
		s.names[n] = true
		for o := s.outer; o != nil; o = o.outer {
			o.inner[n] = true
		}
	}
}

// Has reports whether name is taken here or in a scope around.
func (s *Scope) Has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// Take returns Identifier(base), with a number behind it if that is taken, and
// takes it.
func (s *Scope) Take(base string) string { return s.take(base, s.Has) }

// TakeAround is Take for what is needed in a scope inside, from which it must be
// seen: no name is taken that one of them has.
func (s *Scope) TakeAround(base string) string {
	return s.take(base, func(name string) bool { return s.Has(name) || s.inner[name] })
}

func (s *Scope) take(base string, taken func(string) bool) string {
	base = Identifier(base)
	name := base
	if taken(name) {
		i := 2
		for around := s; around != nil; around = around.outer {
			i = max(i, around.next[base])
		}
		for ; ; i++ {
			if name = fmt.Sprintf("%s%s%d", base, separator(base), i); !taken(name) {
				break
			}
		}
		s.next[base] = i + 1
	}
	s.Reserve(name)
	return name
}

// separator stands between a name and a number: "t2", but "x1_2".
func separator(base string) string {
	if last := base[len(base)-1]; last >= '0' && last <= '9' {
		return "_"
	}
	return ""
}
