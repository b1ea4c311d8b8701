package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// tokenKind tells the tokens of the text form apart. Punctuation is its own
// kind: the token's text.
type tokenKind uint8

const (
	eofToken tokenKind = iota
	nameToken
	valueToken  // %name; text without the %
	numberToken // text as written
	stringToken // text unquoted
	punctToken
)

type token struct {
	kind tokenKind
	text string
	pos  int // offset of the first byte
	end  int // offset behind the last byte
}

func (t token) String() string {
	switch t.kind {
	case eofToken:
		return "end of text"
	case valueToken:
		return "%" + t.text
	case stringToken:
		return strconv.Quote(t.text)
	}
	return "“" + t.text + "”"
}

func (t token) is(punct string) bool { return t.kind == punctToken && t.text == punct }

// lexer splits the text form into tokens. Blanks, newlines and comments
// separate tokens; comment gives access to the one that carries a location.
type lexer struct {
	file, src string
	pos       int
}

// textError is a fault at a place in the text form.
type textError struct {
	file string
	line int
	msg  string
}

func (e *textError) Error() string { return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.msg) }

// fail aborts the parse; Parse recovers the error.
func (l *lexer) fail(pos int, format string, args ...any) {
	line := 1 + strings.Count(l.src[:min(pos, len(l.src))], "\n")
	panic(&textError{l.file, line, fmt.Sprintf(format, args...)})
}

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// isName reports whether s can be written without quotes where a name is
// expected.
func isName(s string) bool {
	if s == "" || s[0] == '.' || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	return isValueName(s)
}

// isValueName reports whether s can follow % without quotes.
func isValueName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func (l *lexer) skipBlanks() {
	for l.pos < len(l.src) {
		switch l.src[l.pos] {
		case ' ', '\t', '\r', '\n':
			l.pos++
		case '#':
			if i := strings.IndexByte(l.src[l.pos:], '\n'); i >= 0 {
				l.pos += i
			} else {
				l.pos = len(l.src)
			}
		default:
			return
		}
	}
}

// comment consumes and returns the comment in the rest of the line, if the
// line ends in one.
func (l *lexer) comment() string {
	rest, _, _ := strings.Cut(l.src[l.pos:], "\n")
	text, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "#")
	if !ok {
		return ""
	}
	l.pos += len(rest)
	return strings.TrimSpace(text)
}

// peek returns the next token without consuming it.
func (l *lexer) peek() token {
	l.skipBlanks()
	return l.scan(l.pos)
}

func (l *lexer) next() token {
	t := l.peek()
	l.pos = t.end
	return t
}

// scan reads the token that starts at pos.
func (l *lexer) scan(pos int) token {
	if pos >= len(l.src) {
		return token{eofToken, "", pos, pos}
	}
	run := func(from int, ok func(byte) bool) int {
		for from < len(l.src) && ok(l.src[from]) {
			from++
		}
		return from
	}
	switch c := l.src[pos]; {
	case c == '"':
		return l.quoted(stringToken, pos, pos)
	case c == '%' && pos+1 < len(l.src) && l.src[pos+1] == '"':
		return l.quoted(valueToken, pos, pos+1)
	case c == '%':
		end := run(pos+1, isNameByte)
		if end == pos+1 {
			l.fail(pos, "“%%” without a name")
		}
		return token{valueToken, l.src[pos+1 : end], pos, end}
	case '0' <= c && c <= '9' || c == '-' || c == '+':
		end := run(pos+1, func(c byte) bool { return isNameByte(c) || c == '-' || c == '+' })
		return token{numberToken, l.src[pos:end], pos, end}
	case isNameByte(c):
		end := run(pos, isNameByte)
		return token{nameToken, l.src[pos:end], pos, end}
	}
	return token{punctToken, l.src[pos : pos+1], pos, pos + 1}
}

// quoted reads the Go string literal at quote.
func (l *lexer) quoted(kind tokenKind, pos, quote int) token {
	lit, err := strconv.QuotedPrefix(l.src[quote:])
	if err != nil {
		l.fail(pos, "string is not closed or has a bad escape")
	}
	s, err := strconv.Unquote(lit)
	if err != nil {
		l.fail(pos, "bad string %s", lit)
	}
	return token{kind, s, pos, quote + len(lit)}
}

// accept consumes the punctuation p if it is next.
func (l *lexer) accept(p string) bool {
	t := l.peek()
	if t.is(p) {
		l.pos = t.end
		return true
	}
	return false
}

// acceptName consumes the name s if it is next.
func (l *lexer) acceptName(s string) bool {
	t := l.peek()
	if t.kind == nameToken && t.text == s {
		l.pos = t.end
		return true
	}
	return false
}

func (l *lexer) expect(p string) {
	if t := l.next(); !t.is(p) {
		l.fail(t.pos, "want “%s”, have %v", p, t)
	}
}

// want consumes a token of the given kind.
func (l *lexer) want(kind tokenKind, what string) token {
	t := l.next()
	if t.kind != kind {
		l.fail(t.pos, "want %s, have %v", what, t)
	}
	return t
}

// nameOrString consumes a name or a quoted string.
func (l *lexer) nameOrString(what string) string {
	t := l.next()
	if t.kind != nameToken && t.kind != stringToken {
		l.fail(t.pos, "want %s, have %v", what, t)
	}
	return t.text
}

// list calls item for the comma-separated items up to the closing bracket.
func (l *lexer) list(open, shut string, item func()) {
	l.expect(open)
	for i := 0; !l.accept(shut); i++ {
		if i > 0 {
			l.expect(",")
		}
		item()
	}
}

// rawList returns the texts between the brackets, split at the commas that
// are in no inner brackets, with their offsets. What is in them is for
// another parser.
func (l *lexer) rawList(open, shut string) (items []token) {
	l.expect(open)
	depth, start := 0, l.pos
	item := func(end int) {
		text := strings.TrimSpace(l.src[start:end])
		items = append(items, token{nameToken, text, start, end})
	}
	for i := l.pos; i < len(l.src) && l.src[i] != '\n'; i++ {
		switch c := l.src[i]; {
		case depth == 0 && c == shut[0]:
			if item(i); len(items) == 1 && items[0].text == "" {
				items = nil
			}
			l.pos = i + 1
			return items
		case depth == 0 && c == ',':
			item(i)
			start = i + 1
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		}
	}
	l.fail(start, "“%s” is not closed by “%s” in its line", open, shut)
	return nil
}
