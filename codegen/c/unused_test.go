package c

import "testing"

// Macros that nothing uses are not defined, nor are comments and conditions left that are
// about them alone.
func TestWithoutUnused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"used", "#define A 1\nint x = A;\n", "#define A 1\nint x = A;\n"},
		{"not used", "int x;\n\n/* What A is:\n   one. */\n#define A 1\n\nint y;\n",
			"int x;\n\nint y;\n"},
		{"in a comment only", "#define A 1\nint x; /* A */\n", "int x; /* A */\n"},
		{"by another that is not used", "#define A 1\n#define B A\nint x;\n", "int x;\n"},
		{"by another that is used", "#define A 1\n#define B A\nint x = B;\n",
			"#define A 1\n#define B A\nint x = B;\n"},
		{"by a condition", "#define A 1\n#if A > 1\nint x;\n#endif\n",
			"#define A 1\n#if A > 1\nint x;\n#endif\n"},
		{"by itself", "#define A A\nint x;\n", "int x;\n"},
		{"over two lines", "#define A(n) \\\n    f(n)\nint x;\n", "int x;\n"},
		{"in all branches", "int x;\n\n/* One or two. */\n#if defined(F)\n#define A 1\n#else\n#define A 2\n#endif\n",
			"int x;\n"},
		{"in one branch", "#if F\n#define A 1\n#define B 1\n#else\n#define B 2\n#endif\nint x = B;\n",
			"#if F\n#define B 1\n#else\n#define B 2\n#endif\nint x = B;\n"},
		{"a default", "#ifndef A\n#define A 1\n#endif\nint x;\n", "int x;\n"},
		{"the comment of two", "/* Sizes. */\n#define A 1\n#define B 2\nint x = B;\n",
			"/* Sizes. */\n#define B 2\nint x = B;\n"},
		{"until it is forgotten", "#define A 1\n#undef A\nint x;\n", "int x;\n"},
		{"nested conditions", "#if F\n#if G\n#define A 1\n#endif\nint x;\n#endif\n",
			"#if F\nint x;\n#endif\n"},
	} {
		if got := withoutUnused(c.text); got != c.want {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
}
