// Package foreign holds text that somebody else wrote: names, paths and messages
// that come out of a model file, and the file's own name. Whoever wrote them may
// want them to be read as code, as a directive, as commands of a terminal.
//
// A [Text] is no string, so nothing can print it by mistake. It has one way out for
// each place of each language that etgen writes, and the text that comes out is
// harmless there and only there. [Text.Raw] gives it away as it is, for what
// compares names, looks them up or stores them; golden/structure lists its users
// and sees to it that no printer is among them.
package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/seq"
)

// Text is text that somebody else wrote. Equal texts are ==.
type Text struct{ s string }

// Of makes a Text of what stands in a file.
func Of(s string) Text { return Text{s} }

// Join joins texts with what stands between them.
func Join(list []Text, between string) Text {
	raw := seq.Map(list, func(t Text) string { return t.s })
	return Text{strings.Join(raw, between)}
}

// Format makes a Text of several, as fmt.Sprintf does.
func Format(format string, args ...any) Text {
	raw := make([]any, len(args))
	for i, a := range args {
		raw[i] = a
		if t, ok := a.(Text); ok {
			raw[i] = t.s
		}
	}
	return Text{fmt.Sprintf(format, raw...)}
}

// Behind returns the text behind the first mark, or all of the text if it has none.
func (t Text) Behind(mark string) Text {
	if _, rest, ok := strings.Cut(t.s, mark); ok {
		return Text{rest}
	}
	return t
}

// Raw returns the text as it is, which is fit for no output.
func (t Text) Raw() string { return t.s }

// Compare orders texts by their bytes.
func Compare(a, b Text) int { return strings.Compare(a.s, b.s) }

// IsEmpty reports whether nothing is there.
func (t Text) IsEmpty() bool { return t.s == "" }

// String returns the text for messages: as [Message] has it.
func (t Text) String() string { return Message(t.s) }

// Format implements [fmt.Formatter]: every verb gives what String returns, within
// the width asked for, so that no verb gives away what Raw does.
func (t Text) Format(f fmt.State, _ rune) {
	s := t.String()
	if width, ok := f.Width(); ok {
		if f.Flag('-') {
			width = -width
		}
		s = fmt.Sprintf("%*s", width, s)
	}
	_, _ = f.Write([]byte(s)) // an error is fmt's to see
}

// maxIdentifier is how long an identifier gets, in bytes.
const maxIdentifier = 120

// Identifier returns a word of ASCII letters, digits and underscores that begins
// with no digit. Different texts may give the same word, and the word may mean
// something in a language: a scope of that language makes it unique. Of a long
// text it is the beginning, and a hash of all of it.
func (t Text) Identifier() string {
	s := t.s
	long := len(s) > maxIdentifier
	if long {
		s = s[:maxIdentifier-1-2*hashBytes]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, s)
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "v" + s
	}
	if long {
		sum := sha256.Sum256([]byte(t.s))
		s += "_" + hex.EncodeToString(sum[:hashBytes])
	}
	return s
}

// hashBytes is how much of a hash tells two long texts apart.
const hashBytes = 4
