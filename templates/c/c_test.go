package c

import (
	"slices"
	"testing"
)

// Conditions hold of constants alone.
func TestKnown(t *testing.T) {
	k := &Kernel{Known: map[string]int64{"one": 1, "zero": 0, "six": 6}}
	for _, c := range []struct {
		name      string
		got, want bool
	}{
		{"one is one", k.One("one"), true}, {"six is one", k.One("six"), false},
		{"n is one", k.One("n"), false}, {"zero is zero", k.Is("zero", 0), true},
		{"n is zero", k.Is("n", 0), false}, {"six is a multiple", k.Multiple("six", 3), true},
		{"six is a multiple of four", k.Multiple("six", 4), false},
		{"n is a multiple", k.Multiple("n", 1), false}, {"one is few", k.Few("one"), true},
		{"six are few", k.Few("six"), false}, {"n are few", k.Few("n"), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %t", c.name, c.got)
		}
	}
}

func TestText(t *testing.T) {
	if _, err := Text("none", &Kernel{}); err == nil {
		t.Error("a template that is not there is no error")
	}
}

// Integers are declared where a body begins, but behind the pragma that has to come first.
func TestWithIntegers(t *testing.T) {
	declared := []string{"const int32_t a = 1;", "const int32_t b = 2;"}
	for text, want := range map[string]string{
		"{\n    f();\n}\n": "{\n    const int32_t a = 1;\n    const int32_t b = 2;\n    f();\n}\n",
		"{\n    TILE_CONTRACT\n    f();\n}\n": "{\n    TILE_CONTRACT\n    const int32_t a = 1;\n" +
			"    const int32_t b = 2;\n    f();\n}\n",
	} {
		if got := WithIntegers(text, declared); got != want {
			t.Errorf("got\n%s", got)
		}
		if got := WithIntegers(text, nil); got != text {
			t.Errorf("without integers\n%s", got)
		}
	}
}

// Words of comments are no identifiers.
func TestIdentifiers(t *testing.T) {
	got := Identifiers("a = b; /* c\n d */ e++; /* f */")
	if len(got) != 3 || !got["a"] || !got["b"] || !got["e"] {
		t.Errorf("%v", got)
	}
}

func TestIndent(t *testing.T) {
	const text = `
#define A
/* two
      lines */
{
for (;;) {
a();
/* of
b */
} else {
b = (V){0};
}
}`
	const want = `
#define A
/* two
   lines */
{
    for (;;) {
        a();
        /* of
           b */
    } else {
        b = (V){0};
    }
}
`
	if got := indent(text); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Names has what the templates declare: each of their functions, types and macros
// stands in one of these forms.
func TestNames(t *testing.T) {
	names := Names()
	for _, want := range []string{"TILE_LANES", "DEPTH_CASE", "edges_length", "edges_span", "taps",
		"tile_vec", "sums_four", "slide", "sums_even", "winograd_line"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if slices.Contains(names, "__attribute__") {
		t.Errorf("%q", names)
	}
}
