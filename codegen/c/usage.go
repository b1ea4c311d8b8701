package c

import (
	"slices"
	"strings"
)

// usage records the names that stand in what is printed: what prints a name
// calls use. So it is known what of a function's parameters and locals is needed.
type usage struct{ names []string }

// use records that a name is printed; of a member, the struct's.
func (u *usage) use(names ...string) {
	for _, n := range names {
		n, _, _ = strings.Cut(n, "->")
		u.names = append(u.names, n)
	}
}

// forget drops what was recorded since there were mark names: what was printed
// is not part of the text after all. It returns those names.
func (u *usage) forget(mark int) []string {
	names := slices.Clone(u.names[mark:])
	u.names = u.names[:mark]
	return names
}

// used returns the names recorded.
func (u *usage) used() map[string]bool {
	set := make(map[string]bool, len(u.names))
	for _, n := range u.names {
		set[n] = true
	}
	return set
}

// usedWithout returns the names recorded but for those in the declarations of
// locals.
func (u *usage) usedWithout(locals []localText) map[string]bool {
	set := map[string]bool{}
	at := 0
	add := func(to int) {
		for _, n := range u.names[at:to] {
			set[n] = true
		}
	}
	for _, l := range locals {
		add(l.from)
		at = l.to
	}
	add(len(u.names))
	return set
}

// localText is where the declaration of a local stands: in the text, and among
// the names printed.
type localText struct {
	name       string
	start, end int
	from, to   int
}

// unneeded returns the locals that nothing needs: those whose names stand
// nowhere but in the declarations of others like them. A name means what was
// declared last of those that have it, since no local hides another.
func (u *usage) unneeded(locals []localText) []localText {
	means := make([]int, len(u.names)) // by name printed, the local; -1 if it is none
	count := make([]int, len(locals))
	latest := map[string]int{}
	next := 0
	for i, n := range u.names {
		for ; next < len(locals) && locals[next].to <= i; next++ {
			latest[locals[next].name] = next
		}
		means[i] = -1
		if k, ok := latest[n]; ok {
			means[i] = k
			count[k]++
		}
	}
	var out []localText
	for k, l := range slices.Backward(locals) {
		if count[k] > 0 {
			continue
		}
		out = append(out, l)
		for _, m := range means[l.from:l.to] {
			if m >= 0 {
				count[m]--
			}
		}
	}
	slices.Reverse(out)
	return out
}
