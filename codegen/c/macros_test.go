package c

import "testing"

func TestSpecialised(t *testing.T) {
	known := func() macros { return macros{"HERE": {defined: true}, "GONE": {}} }
	for _, c := range []struct{ name, text, want string }{
		{"decided", "#if defined(HERE)\na\n#else\nb\n#endif\n", "a\n"},
		{"in a chain",
			"#if defined(GONE)\na\n#elif defined(HERE) && !defined(GONE)\nb\n#elif defined(OPEN)\nc\n#else\nd\n#endif\ne\n", "b\ne\n"},
		{"not known",
			"#if defined(OPEN)\na\n#elif defined(GONE)\nb\n#elif defined(HERE)\nc\n#else\nd\n#endif\n", "#if defined(OPEN)\na\n#else\nc\n#endif\n"},
		{"known first", "#if defined(GONE)\na\n#elif OPEN > 2 /* why */\nb\n#endif\n",
			"#if OPEN > 2\nb\n#endif\n"},
		{"one side decides",
			"#if defined(OPEN) && defined(GONE)\na\n#endif\n#if OPEN || defined(HERE)\nb\n#endif\n",
			"b\n"},
		{"numbers", "#if defined(HERE)\n#define N 8\n#else\n#define N 4\n#endif\n#if N > 4 && (N == 8 || N < 2)\na\n#endif\n", "#define N 8\na\n"},
		{"may be defined", "#ifdef OPEN\n#define N 8\n#endif\n#if N > 4\na\n#endif\n",
			"#ifdef OPEN\n#define N 8\n#endif\n#if N > 4\na\n#endif\n"},
		{"undefined again", "#define N 8\n#undef N\n#ifndef N\na\n#endif\n",
			"#define N 8\n#undef N\na\n"},
		{"inside what is left out",
			"#ifdef GONE\n#if OPEN\na\n#else\nb\n#endif\n#define N 1\n#endif\n#if N\nc\n#endif\n",
			"#if N\nc\n#endif\n"},
		{"some sides are known",
			"#if OPEN || defined(GONE) || defined(ELSE)\na\n#elif (OPEN > 2 || defined(GONE)) && defined(HERE)\nb\n#endif\n",
			"#if OPEN || defined(ELSE)\na\n#elif OPEN > 2\nb\n#endif\n"},
		{"known in parentheses", "#if ELSE && (defined(GONE) || A || B)\na\n#endif\n",
			"#if ELSE && (A || B)\na\n#endif\n"},
		{"no expression of integers", "#if F(1)\na\n#endif\n", "#if F(1)\na\n#endif\n"},
	} {
		if got := specialised(c.text, known()); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.name, got, c.want)
		}
	}
}
