package foreign

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Comment returns the text for the inside of a comment of C or Go. It is of one
// line, neither ends nor begins a block, is no trigraph, and does not end with a
// backslash. What prints it puts a space before it, so that it is no directive;
// the one that gofmt knows behind a space is broken.
func (t Text) Comment() string {
	s := Escape(t.s)
	for _, mark := range [...]string{"*/", "/*", "??", "+build"} {
		for strings.Contains(s, mark) { // "/*/" has several in one another
			s = strings.ReplaceAll(s, mark, mark[:1]+" "+mark[1:])
		}
	}
	return strings.TrimRight(s, `\ `)
}

// GoLiteral returns the text as a string literal of Go.
func (t Text) GoLiteral() string { return strconv.Quote(t.s) }

// GoFormat returns the text for the inside of a format of Go's fmt: what is no
// literal yet.
func (t Text) GoFormat() string { return strings.ReplaceAll(Message(t.s), "%", "%%") }

// XML returns the text for the inside of an XML element or attribute.
func (t Text) XML() string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(Escape(t.s))); err != nil {
		panic(err) // a buffer takes what it is given
	}
	return b.String()
}

// Terminal returns the text for a line of columns on a terminal.
func (t Text) Terminal() string { return Escape(t.s) }

// MarshalJSON implements [json.Marshaler].
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.s) }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &t.s) }

// JSON returns v as indented JSON for a terminal or a file, with a newline at its
// end: what does not print is escaped. Bytes that are no UTF-8 become U+FFFD.
func JSON(v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default: // it can only stand in a string
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// CLiteral returns t as a string literal of C: what is no plain ASCII is its bytes.
func (t Text) CLiteral() string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(t.s) {
		if c := t.s[i]; c < ' ' || c > '~' || strings.IndexByte(`"\?`, c) >= 0 {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
