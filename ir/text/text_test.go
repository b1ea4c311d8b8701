package text

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/sym"
)

func TestNames(t *testing.T) {
	n := NewNames[int]("word")
	steps := []struct {
		do   string // name to declare, or ( and ) for blocks
		key  int
		want string
	}{
		{"a", 1, "a"}, {"a", 2, "a_2"}, {"word", 3, "word_2"}, {"inf", 4, "inf_2"}, {"", 5, "v"},
		{"1.x y", 6, "v1.x_y"},
		{"(", 0, ""}, {"a", 7, "a_3"}, {"b", 1, "b"}, {")", 0, ""}, {"b", 8, "b"}, {"a", 9, "a_3"},
	}
	for _, s := range steps {
		switch s.do {
		case "(":
			n.Open()
		case ")":
			n.Close()
		default:
			if got := n.Declare(s.key, s.do); got != s.want || n.Of(s.key, "") != s.want {
				t.Errorf("%q is called %s, want %s", s.do, got, s.want)
			}
		}
	}
	if n.Of(1, "") != "a" {
		t.Error("a block does not end what it declares")
	}
}

// An index expression ends where nothing continues it.
func TestIndex(t *testing.T) {
	s := map[string]*sym.Symbol{"n": sym.NewSymbol("n", 0, 9), "m": sym.NewSymbol("m", 0, 9)}
	for src, want := range map[string]string{
		"8*n + 1] = 2": "8*n + 1|] = 2", "n strip {": "n|strip {",
		"max(n, 2)*m, 3": "m*max(n, 2)|, 3", "n\n(m)": "n|(m)",
		"-(n // 2) % 3)": "(-(n//2)) % 3|)", "n in [0, 1]": "n|in [0, 1]", "2 - n": "-n + 2|",
	} {
		var err error
		func() {
			defer Recover(&err)
			l := &Lexer{File: "test", Src: src}
			e := l.Index(func(name string) *sym.Symbol { return s[name] })
			if got := e.String() + "|" + strings.TrimSpace(src[l.Pos:]); got != want {
				t.Errorf("%q: %s, want %s", src, got, want)
			}
		}()
		if err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestRange(t *testing.T) {
	n := sym.NewSymbol("n", 0, 9)
	look := func(string) *sym.Symbol { return n }
	for _, want := range []string{"[0, 9]", "[-inf, inf]", "[-3, inf]", "[n, 2*n + 1]", "[-n, n]"} {
		for _, infix := range []bool{false, true} {
			l := &Lexer{File: "test", Src: want, Infix: infix}
			if got := Range(l.Symbol("s", look), nil); got != want || l.Infix != infix {
				t.Errorf("%s became %s", want, got)
			}
		}
	}
}
