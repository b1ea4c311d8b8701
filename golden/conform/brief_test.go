package conform

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A message of a compiler or linker is told in one line, each find once and not too many.
func TestBrief(t *testing.T) {
	many := "gcc: exit status 1"
	for i := range 9 {
		many += fmt.Sprintf("\nx.c:3: undefined reference to `f%d'", i)
	}
	for text, want := range map[string]string{
		"one\ntwo": "one",
		"gcc: exit status 1\n/usr/bin/ld: /tmp/a.o: in function `main':\n" +
			"u.c:(.text+0x2): undefined reference to `foo'\n/usr/bin/ld: u.c:(.text+0x9): undefined " +
			"reference to `foo'\nld.lld: error: undefined symbol: bar\n" +
			"collect2: error: ld returned 1 exit status\n": "gcc: exit status 1; " +
			"undefined reference to `foo'; error: undefined symbol: bar",
		"gcc: exit status 1\n/usr/bin/ld: b.o: multiple definition of `f'; a.o: first defined here": "gcc: exit status 1; multiple definition of `f'",
		"gcc: exit status 1\nm.c:2:5: error: unknown type name 'x'\n    2 | x y;":                   "gcc: exit status 1; error: unknown type name 'x'",
		"go build: exit status 1\n# models\n./m.go:3:4: undefined: F\n": "go build: exit status 1; " +
			"m.go:3:4: undefined: F",
		"clang: exit status 1\nUndefined symbols for architecture arm64:\n  \"_foo\", " +
			"referenced from:\n": "clang: exit status 1; \"_foo\", referenced from",
		many: "gcc: exit status 1; undefined reference to `f0'; undefined reference to `f1'; undefined " +
			"reference to `f2'; undefined reference to `f3'; undefined reference to `f4'; undefined " +
			"reference to `f5'; and 3 more",
		"gcc " + strings.Repeat("a.o ", 200) + "-o x: exit status 1\nundefined reference to `f'": "gcc " +
			strings.Repeat("a.o ", 59) + " … " + " " + strings.Repeat("a.o ", 55) + "-o x: exit status 1; " +
			"undefined reference to `f'",
	} {
		if got := Brief(errors.New(text)); got != want {
			t.Errorf("%s\n is told as %s\n      want %s", strings.TrimSpace(text), got, want)
		}
	}
}
