package tuned

import (
	"slices"
	"testing"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/templates/c"
)

// Every field of the vocabulary is some descriptor's, each at most once, and none is
// called like a function or a macro of the kernels' texts.
func TestVocabulary(t *testing.T) {
	used, structs := map[string]bool{}, map[string]bool{}
	for _, d := range Descriptors(slices.Concat(Standard(), CMSISNN())) {
		if structs[d.Name] {
			t.Errorf("there are two descriptors %s", d.Name)
		}
		structs[d.Name] = true
		own := map[string]bool{}
		for _, f := range d.Fields {
			if own[f.Name] {
				t.Errorf("%s has field %s twice", d.Name, f.Name)
			}
			own[f.Name], used[f.Name] = true, true
		}
	}
	for name, f := range vocabulary {
		if !used[name] {
			t.Errorf("nobody has field %s", name)
		}
		if f.Doc == "" || f.Doc[len(f.Doc)-1] != '.' {
			t.Errorf("field %s means %q", name, f.Doc)
		}
		if slices.Contains(c.Names(), name) {
			t.Errorf("field %s is called like what a text declares", name)
		}
	}
}

// An instance sets each field of its kernel's descriptor, and no other.
func TestValues(t *testing.T) {
	refused := func(own, given Values) (panics bool) {
		defer func() { panics = recover() != nil }()
		linearParams.params(own, given)
		return false
	}
	one := sym.Int(1)
	for _, c := range []struct {
		name       string
		own, given Values
		refused    bool
	}{
		{"all", Values{"m": one, "n": one, "k": one}, nil, false},
		{"some are given", Values{"m": one}, Values{"n": one, "k": one, "batch": one}, false},
		{"one is missing", Values{"m": one, "n": one}, nil, true},
		{"one more", Values{"m": one, "n": one, "k": one, "batch": one}, nil, true},
	} {
		if got := refused(c.own, c.given); got != c.refused {
			t.Errorf("%s: refused %t", c.name, got)
		}
	}
}
