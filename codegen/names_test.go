package codegen

import "testing"

func TestIdentifier(t *testing.T) {
	for in, want := range map[string]string{
		"x": "x", "layers.0.weight": "layers_0_weight", "3d": "v3d", "": "v", "__x": "x",
		"a--b": "a_b", "é": "v", "x_": "x", "A9": "A9",
	} {
		if got := Identifier(in); got != want {
			t.Errorf("Identifier(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestScope(t *testing.T) {
	outer := NewScope(nil)
	outer.Reserve("for", "x")
	if got := outer.Take("x"); got != "x2" {
		t.Errorf("got %q", got)
	}
	inner := NewScope(outer)
	for i, want := range []string{"x3", "x4", "y1", "y1_2"} {
		if got := inner.Take([]string{"x", "x", "y1", "y1"}[i]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := NewScope(outer).Take("y1"); got != "y1" {
		t.Errorf("a name of a sibling is taken: %q", got)
	}
	if !inner.Has("for") || outer.Has("y1") {
		t.Error("names are not where they were put")
	}
}

func TestTakeAround(t *testing.T) {
	outer := NewScope(nil)
	inner := NewScope(NewScope(outer))
	inner.Take("abs")
	if got := outer.TakeAround("abs"); got != "abs2" {
		t.Errorf("%q hides, or is hidden by, a name inside", got)
	}
	if got := outer.Take("abs"); got != "abs" {
		t.Errorf("got %q", got)
	}
}
