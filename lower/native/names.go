package native

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
)

// maxNamed is how many operators a fused kernel's name lists.
const maxNamed = 4

// kernelName names a kernel after the operators fused in it, views left out
// where there is something better to say.
func kernelName(from []Origin) string {
	var names []string
	for _, o := range from {
		name := strings.Trim(o.Base().Raw(), "_")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed-1], names[len(names)-1])
	}
	return identifier(strings.Join(names, "_"))
}

// docOf says in a line what a kernel computes.
func docOf(from []Origin) foreign.Text {
	ops := make([]string, len(from))
	for i, o := range from {
		ops[i] = strings.TrimPrefix(o.Op.Raw(), "aten.")
	}
	return foreign.Of(strings.Join(ops, ", "))
}

// identifier makes s a C and Go identifier.
func identifier(s string) string { return foreign.Of(s).Identifier() }

// taken are names that are in use.
type taken struct {
	names map[string]bool
	next  map[string]int // by base: numbers below are in use
}

func newTaken(names ...string) *taken {
	t := &taken{names: map[string]bool{}, next: map[string]int{}}
	for _, name := range names {
		t.names[name] = true
	}
	return t
}

// unique returns base or base_2, base_3, …, whichever is not taken, and takes it.
func (t *taken) unique(base string) string {
	name := base
	if t.names[name] {
		i := max(2, t.next[base])
		for ; ; i++ {
			if name = fmt.Sprintf("%s_%d", base, i); !t.names[name] {
				break
			}
		}
		t.next[base] = i + 1
	}
	t.names[name] = true
	return name
}
