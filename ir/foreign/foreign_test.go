package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const nasty = "a\x1b[31m\u202e\u0085\xff\n*/?" + "?/"

func TestWays(t *testing.T) {
	for _, c := range []struct{ what, got, want string }{
		{"comment", Of(nasty).Comment(), `a\x1b[31m\u202e\u0085\xff\n* /? ?/`},
		{"comment that overlaps", Of("*/*/*").Comment(), "* / * / *"},
		{"comment with a backslash", Of(`C:\ \`).Comment(), "C:"},
		{"comment for gofmt", Of("+build x").Comment(), "+ build x"},
		{"Go", Of(nasty).GoLiteral(), `"a\x1b[31m\u202e\u0085\xff\n*/??/"`},
		{"format", Of("50%").GoFormat(), "50%%"},
		{"XML", Of("<a&\x00>").XML(), `&lt;a&amp;\x00&gt;`},
		{"terminal", Of("a\tb\x1bé").Terminal(), `a\tb\x1bé`},
		{"message of a word", Of("layers.0.attn").String(), "layers.0.attn"},
		{"message", Of("a b").String(), `"a b"`},
		{"message of nothing", Of("").String(), `""`},
		{"fmt", fmt.Sprintf("%s|%v|%q|%x|%-8s|%#v", Of("a\n"), Of("b"), Of("c"), Of("d"), Of("e"),
			Of("f\x1b")), `"a\n"|b|c|d|e       |"f\x1b"`},
		{"identifier", Of("layers.0-é").Identifier(), "layers_0__"},
		{"identifier of nothing", Of("").Identifier(), "v"},
		{"identifier of a number", Of("1").Identifier(), "v1"},
		{"join", Join([]Text{Of("a"), Of("\n")}, ", ").Raw(), "a, \n"},
		{"format", Format("%s:%d", Of("a\n"), 3).Raw(), "a\n:3"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
}

// Long texts that begin alike give identifiers that differ; messages of them are
// short.
func TestLong(t *testing.T) {
	long := strings.Repeat("ab", 5000)
	a, b := Of(long+"a").Identifier(), Of(long+"b").Identifier()
	if a == b || len(a) != maxIdentifier || len(b) != maxIdentifier {
		t.Errorf("%s and %s", a, b)
	}
	if n := len(Of(strings.Repeat("é\n", 5000)).String()); n > 3*maxMessage {
		t.Errorf("a message of %d bytes", n)
	}
}

func TestTerminal(t *testing.T) {
	text := "é\x1b[2J\n\tx\u202e…\xe2\x80"
	var b bytes.Buffer
	w := NewTerminal(&b)
	if _, err := io.Copy(w, iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "é\\x1b[2J\n\tx\\u202e…\\xe2\\x80"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// JSON gives back what went in, where it is UTF-8, and has nothing that does not
// print.
func TestJSON(t *testing.T) {
	in := map[string]Text{"a\u009b": Of("\u202e\x1b\U000e0041<é")}
	data, err := JSON(in)
	if err != nil {
		t.Fatal(err)
	}
	if Lines(string(data)) != string(data) {
		t.Errorf("%q", data)
	}
	var out map[string]Text
	if err := json.Unmarshal(data, &out); err != nil || out["a\u009b"] != in["a\u009b"] {
		t.Errorf("%q: %v, %v", data, out, err)
	}
}

func FuzzComment(f *testing.F) {
	for _, s := range []string{nasty, "*/*/", "/*/", "??" + "?/", "\\", "*\n/", "+build"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Of(s).Comment()
		for _, bad := range []string{"*/", "/*", "??", "\n", "\r", "+build"} {
			if strings.Contains(c, bad) {
				t.Errorf("%q has %q", c, bad)
			}
		}
		if strings.HasSuffix(c, `\`) || Lines(c) != c {
			t.Errorf("%q", c)
		}
		id := Of(s).Identifier()
		if id == "" || len(id) > maxIdentifier+1 ||
			strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
				"" {
			t.Errorf("%q", id)
		}
	})
}
