package c

import (
	"maps"
	"slices"
	"strings"
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
		k := &Kernel{}
		if got := k.WithIntegers(text, declared); got != want {
			t.Errorf("got\n%s", got)
		}
		if got := k.WithIntegers(text, nil); got != text {
			t.Errorf("without integers\n%s", got)
		}
	}
}

// What prints a name records it, unless it stands in a comment or is defined there, and gives
// what templates declare its prefix.
func TestSay(t *testing.T) {
	k := &Kernel{Prefix: "pk", Used: map[string]bool{}}
	const text = "a = taps(b, taps); /* TILE_ROWS\n c */ rows_sum(e);\n#define TILE_COLS f /* g */"
	const want = "a = pk_taps(b, taps); /* PK_TILE_ROWS\n c */ pk_rows_sum(e);\n" +
		"#define PK_TILE_COLS f /* g */"
	if got := k.Say(text); got != want {
		t.Errorf("got\n%s", got)
	}
	used := strings.Join(slices.Sorted(maps.Keys(k.Used)), " ")
	if used != "a b define e f rows_sum taps taps(" {
		t.Errorf("used are %s", used)
	}
}

// A helper uses what those before it declare, and what it declares itself.
func TestHelpers(t *testing.T) {
	lib := library()
	for i, h := range helpers {
		for _, vector := range []bool{false, true} {
			for name := range lib.uses[lib.file(h, vector)] {
				if by := lib.declared[name]; by != "" && !slices.Contains(helpers[:i+1], by) {
					t.Errorf("%s uses %s of %s", h, name, by)
				}
			}
		}
	}
	for _, c := range []struct{ used, want string }{
		{"none", ""}, {"taps", ""}, {"taps(", "taps"},
		{"rows_wide", "tile rows_f32 rows_tile_f32 rows_wide_f32"},
		{"attention_softmax", "tile rows_f32 attention_softmax_f32"},
	} {
		if got := strings.Join(HelpersFor(map[string]bool{c.used: true}, true), " "); got != c.want {
			t.Errorf("%s needs %s", c.used, got)
		}
	}
}

func TestJoined(t *testing.T) {
	const text = `/* a
   + b */
#define C(x) \
    f(x, \
    d)
    f(
        c,
        d);
    e =
        c
        ? 1
        : -2;
    h = i
#ifdef F
        + 1
#endif
        ;
    for (i = 0;
        i < n; i++) {
        /* of */
        *e = 1;
        __asm__("a"
            "b" : "=r"(c),
            "=r"(d));
    }`
	const want = `/* a
+ b */
#define C(x) \
f(x, \
d)
f(c, d);
e = c ? 1 : -2;
h = i
#ifdef F
+ 1
#endif
;
for (i = 0; i < n; i++) {
/* of */
*e = 1;
__asm__("a"
"b" : "=r"(c),
"=r"(d));
}`
	if got := joined(text); got != want {
		t.Errorf("got\n%s", got)
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
#define C(x) \
f(x)
f(c,
d);
e = c
? 1
: 2;
}
#define B(x) \
x`
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
#define C(x) \
    f(x)
    f(c,
        d);
    e = c
        ? 1
        : 2;
}
#define B(x) \
    x
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
