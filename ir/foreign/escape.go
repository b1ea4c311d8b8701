package foreign

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Escape replaces all that does not print, control characters of both sets, marks
// that turn the direction of writing, separators of lines, and bytes that are no
// UTF-8, with escapes of Go: \x1b, \u202e, \n.
func Escape(s string) string { return escape(s, "") }

// Lines is Escape for several lines with columns: it leaves newlines and tabs.
func Lines(s string) string { return escape(s, "\n\t") }

func escape(s, keep string) string {
	if plain(s, keep) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[0])|0x100, 16)[1:])
		case strconv.IsPrint(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// plain reports whether s has nothing to escape.
func plain(s, keep string) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
		if !strconv.IsPrint(r) && !strings.ContainsRune(keep, r) {
			return false
		}
	}
	return true
}

// maxMessage is how much of a text a message shows, in bytes.
const maxMessage = 200

// Message returns s for messages: as it is if it is one word that prints, else in
// quotation marks, with escapes. Of a long text it has the beginning.
func Message(s string) string {
	more := ""
	if len(s) > maxMessage {
		s, more = s[:maxMessage], "…"
		for !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && len(s) > maxMessage-utf8.UTFMax {
			s = s[:len(s)-1]
		}
	}
	if s == "" || strings.ContainsAny(s, " \"\\") || !plain(s, "") {
		s = strconv.Quote(s)
	}
	return s + more
}
