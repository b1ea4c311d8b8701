// Package text is what the readable forms that programs print to and parse
// from have in common: the tokens, and errors that name file and line.
package text

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind tells tokens apart.
type Kind uint8

// The kinds of tokens.
const (
	EOF    Kind = iota
	Name        // letters, digits, _ and . that begin with no digit
	Value       // %name; Text is without the %
	Number      // Text as written
	String      // Text unquoted
	Punct       // punctuation
)

// Token is a token and where it stands.
type Token struct {
	Kind Kind
	Text string
	Pos  int // offset of the first byte
	End  int // offset behind the last byte
}

// String returns the token as messages show it.
func (t Token) String() string {
	switch t.Kind {
	case EOF:
		return "end of text"
	case Value:
		return "%" + t.Text
	case String:
		return strconv.Quote(t.Text)
	}
	return "“" + t.Text + "”"
}

// Is reports whether the token is the punctuation p.
func (t Token) Is(p string) bool { return t.Kind == Punct && t.Text == p }

// Lexer splits a text into tokens. Blanks, newlines and comments, from # to the
// end of the line, separate tokens.
type Lexer struct {
	File string // for messages
	Src  string
	Pos  int // offset of what is read next
	// Infix makes + and - operators rather than parts of numbers, and reads
	// the operators of two bytes as one token.
	Infix bool
	depth int
}

// Error is a fault at a place in a text.
type Error struct {
	File string
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// Fail aborts the parse with an error at offset pos; Recover returns it.
func (l *Lexer) Fail(pos int, format string, args ...any) {
	line := 1 + strings.Count(l.Src[:min(pos, len(l.Src))], "\n")
	panic(&Error{l.File, line, fmt.Sprintf(format, args...)})
}

// Recover, deferred by a parser, turns a Fail below it into *err.
func Recover(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

// maxDepth bounds how deep a text nests, so that none can exhaust the stack.
const maxDepth = 500

// Enter is called where a nested construct begins; the function it returns, where it ends.
func (l *Lexer) Enter() func() {
	if l.depth++; l.depth > maxDepth {
		l.Fail(l.Pos, "nested deeper than %d", maxDepth)
	}
	return func() { l.depth-- }
}

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsName reports whether s can be written without quotes where a name is
// expected.
func IsName(s string) bool {
	return IsValueName(s) && s[0] != '.' && !isDigit(s[0])
}

// IsValueName reports whether s can follow % without quotes.
func IsValueName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// Quoted returns s, in quotes if it is no name.
func Quoted(s string) string {
	if IsName(s) {
		return s
	}
	return strconv.Quote(s)
}

// skip returns the offset of the first byte of a token at or behind pos.
func (l *Lexer) skip(pos int) int {
	for pos < len(l.Src) {
		switch l.Src[pos] {
		case ' ', '\t', '\r', '\n':
			pos++
		case '#':
			if i := strings.IndexByte(l.Src[pos:], '\n'); i >= 0 {
				pos += i
			} else {
				pos = len(l.Src)
			}
		default:
			return pos
		}
	}
	return pos
}

// Comment consumes and returns the comment in the rest of the line, if nothing
// else is in it.
func (l *Lexer) Comment() string {
	rest, _, _ := strings.Cut(l.Src[l.Pos:], "\n")
	text, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "#")
	if !ok {
		return ""
	}
	l.Pos += len(rest)
	return strings.TrimSpace(text)
}

// Peek returns the next token without consuming it.
func (l *Lexer) Peek() Token { return l.scan(l.skip(l.Pos)) }

// After returns the token that follows t, without consuming anything.
func (l *Lexer) After(t Token) Token { return l.scan(l.skip(t.End)) }

// Next consumes a token.
func (l *Lexer) Next() Token {
	t := l.Peek()
	l.Pos = t.End
	return t
}

// scan reads the token that starts at pos.
func (l *Lexer) scan(pos int) Token {
	if pos >= len(l.Src) {
		return Token{EOF, "", pos, pos}
	}
	run := func(from int, ok func(byte) bool) int {
		for from < len(l.Src) && ok(l.Src[from]) {
			from++
		}
		return from
	}
	switch c := l.Src[pos]; {
	case c == '"':
		return l.quoted(String, pos, pos)
	case l.Infix && c == '%':
	case c == '%' && pos+1 < len(l.Src) && l.Src[pos+1] == '"':
		return l.quoted(Value, pos, pos+1)
	case c == '%':
		end := run(pos+1, isNameByte)
		if end == pos+1 {
			l.Fail(pos, "“%%” without a name")
		}
		return Token{Value, l.Src[pos+1 : end], pos, end}
	case isDigit(c) && l.Infix:
		end := run(pos+1, isNameByte)
		if prev := l.Src[end-1]; prev == 'e' && end < len(l.Src) && (l.Src[end] == '-' ||
			l.Src[end] == '+') {
			end = run(end+1, isNameByte)
		}
		return Token{Number, l.Src[pos:end], pos, end}
	case isDigit(c), !l.Infix && (c == '-' || c == '+'):
		end := run(pos+1, func(c byte) bool { return isNameByte(c) || c == '-' || c == '+' })
		return Token{Number, l.Src[pos:end], pos, end}
	case isNameByte(c):
		end := run(pos, isNameByte)
		return Token{Name, l.Src[pos:end], pos, end}
	}
	end := pos + 1
	if l.Infix && end < len(l.Src) {
		switch l.Src[pos : end+1] {
		case "==", "!=", "<=", ">=", "<<", ">>", "//":
			end++
		}
	}
	return Token{Punct, l.Src[pos:end], pos, end}
}

// quoted reads the Go string literal at quote.
func (l *Lexer) quoted(kind Kind, pos, quote int) Token {
	lit, err := strconv.QuotedPrefix(l.Src[quote:])
	if err != nil {
		l.Fail(pos, "string is not closed or has a bad escape")
	}
	s, err := strconv.Unquote(lit)
	if err != nil {
		l.Fail(pos, "bad string %s", lit)
	}
	return Token{kind, s, pos, quote + len(lit)}
}

// Accept consumes the punctuation p if it is next.
func (l *Lexer) Accept(p string) bool {
	t := l.Peek()
	if t.Is(p) {
		l.Pos = t.End
		return true
	}
	return false
}

// AcceptName consumes the name s if it is next.
func (l *Lexer) AcceptName(s string) bool {
	t := l.Peek()
	if t.Kind == Name && t.Text == s {
		l.Pos = t.End
		return true
	}
	return false
}

// Expect consumes the punctuation p.
func (l *Lexer) Expect(p string) {
	if t := l.Next(); !t.Is(p) {
		l.Fail(t.Pos, "want “%s”, have %v", p, t)
	}
}

// Keyword consumes the name s.
func (l *Lexer) Keyword(s string) {
	if t := l.Next(); t.Kind != Name || t.Text != s {
		l.Fail(t.Pos, "want “%s”, have %v", s, t)
	}
}

// Want consumes a token of the given kind.
func (l *Lexer) Want(kind Kind, what string) Token {
	t := l.Next()
	if t.Kind != kind {
		l.Fail(t.Pos, "want %s, have %v", what, t)
	}
	return t
}

// NameOrString consumes a name or a quoted string.
func (l *Lexer) NameOrString(what string) string {
	t := l.Next()
	if t.Kind != Name && t.Kind != String {
		l.Fail(t.Pos, "want %s, have %v", what, t)
	}
	return t.Text
}

// Integer consumes a decimal number of 64 bits.
func (l *Lexer) Integer(what string) int64 {
	t := l.Want(Number, what)
	n, err := strconv.ParseInt(t.Text, 10, 64)
	if err != nil {
		l.Fail(t.Pos, "%s is no 64-bit integer", t.Text)
	}
	return n
}

// List calls item for the comma-separated items up to the closing bracket.
func (l *Lexer) List(open, shut string, item func()) {
	l.Expect(open)
	for i := 0; !l.Accept(shut); i++ {
		if i > 0 {
			l.Expect(",")
		}
		item()
	}
}

// RawList returns the texts between the brackets, split at the commas that
// are in no inner brackets, with their offsets. What is in them is for
// another parser.
func (l *Lexer) RawList(open, shut string) (items []Token) {
	l.Expect(open)
	depth, start := 0, l.Pos
	item := func(end int) {
		text := strings.TrimSpace(l.Src[start:end])
		items = append(items, Token{Name, text, start, end})
	}
	for i := l.Pos; i < len(l.Src) && l.Src[i] != '\n'; i++ {
		switch c := l.Src[i]; {
		case depth == 0 && c == shut[0]:
			if item(i); len(items) == 1 && items[0].Text == "" {
				items = nil
			}
			l.Pos = i + 1
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
	l.Fail(start, "“%s” is not closed by “%s” in its line", open, shut)
	return nil
}
