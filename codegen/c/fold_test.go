package c

import (
	"strings"
	"testing"
)

// Lines are broken between words that belong least together, and mean what they did.
func TestFold(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, c := range []struct{ what, text, want string }{
		{"short", "  a\nb\n", "  a\nb\n"}, {"nothing", "", ""},
		{"a call", "    f(" + long + ", g(1, 2), 3, 4, 5, 6, 7, 8, 9);",
			"    f(" + long + ", g(1, 2), 3, 4, 5, 6,\n        7, 8, 9);\n"},
		{"a string", "f(" + long + ", \"a, b, c, d, e, f, g, h, i, j, k\");",
			"f(" + long + ",\n    \"a, b, c, d, e, f, g, h, i, j, k\");\n"},
		{"an error", "#error \"" + long + " is too old for this file: take a newer one\"",
			"#error \"" + long + " is too old for this file: take a newer one\"\n"},
		{"a macro", "#define A(x) f(" + long + ", x, 1, 2, 3, 4, 5, 6)",
			"#define A(x) f(" + long + ", x, 1, 2, 3, \\\n    4, 5, 6)\n"},
		{"a macro that goes on", "#define A(x) \\\n    f(" + long +
			", x, 1, 2, 3, 4, 5, 6, 7, 8); \\\n    b",
			"#define A(x) \\\n    f(" + long + ", x, 1, 2, 3, 4, 5, 6, \\\n        7, 8); \\\n    b\n"},
		{"a comment", "    /* " + long + " which is of some more words */\n    a;",
			"    /* " + long + " which is of some\n       more words */\n    a;\n"},
		{"a comment of several lines", "/*\n * " + long + " which is so long, some more words\n */",
			"/*\n * " + long + " which is so long, some\n * more words\n */\n"},
		{"a comment behind code", "    int " + long + "; /* that is of some more words */",
			"    /* that is of some more words */\n    int " + long + ";\n"},
		{"comments in code and behind it", "int a[] = { /* of a */ " + long +
			" }; /* which is of three */",
			"/* which is of three */\nint a[] = { /* of a */ " + long + " };\n"},
		{"a string like a comment", "a(\"/*\");\nf(" + long + ", g(1, 2), 3, 4, 5, 6, 7, 8, 9, 10);",
			"a(\"/*\");\nf(" + long + ", g(1, 2), 3, 4, 5, 6, 7, 8,\n    9, 10);\n"},
		{"a wide line with such a string", "f(" + long + ", \"/* */\", '\"', g(1, 2), 3, 4, 5, 6, 7);",
			"f(" + long + ", \"/* */\", '\"', g(1, 2), 3,\n    4, 5, 6, 7);\n"},
		{"comments in code", "a = { /* of a */ " + long + ", /* of b, a number */ 2, /* of c */ 3 };",
			"a = { /* of a */ " + long + ",\n    /* of b, a number */ 2, /* of c */ 3 };\n"},
	} {
		const banner = "/* Generated. */\n"
		if got := fold(banner + c.text); got != banner+c.want {
			t.Errorf("%s:\n%s", c.what, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"short = 1;", "short = 1;"},
		{"static void a_long_name(float *restrict out, const float *in, int32_t n)",
			"static void a_long_name(float *restrict out,|const float *in, int32_t n)"},
		{"out[i] = first_function(a, b, c) + second_function(d, e, f);",
			"out[i] = first_function(a, b, c)|+ second_function(d, e, f);"},
		{"out[1000 * i + 100 * j + 10 * k + l] = in[1000 * i + j];",
			"out[1000 * i + 100 * j + 10 * k + l] =|in[1000 * i + j];"},
		{"a_function_with_a_name_as_long_as_a_line(first_argument, other);",
			"a_function_with_a_name_as_long_as_a_line(|first_argument, other);"},
		{"x = condition_of_the_choice ? one_of_the_values : other_value;",
			"x = condition_of_the_choice ? one_of_the_values|: other_value;"},
	} {
		if got := strings.Join(wrap(tc.in, 48), "|"); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}
