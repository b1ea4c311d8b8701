package c

import (
	"regexp"
	"strings"
)

var comments = regexp.MustCompile(`(?s)/\*.*?\*/`)

// Identifiers returns the words in texts that templates give, but for comments.
func Identifiers(texts ...string) map[string]bool {
	set := map[string]bool{}
	for _, text := range texts {
		text = comments.ReplaceAllString(text, " ")
		start := -1
		for i := 0; i <= len(text); i++ {
			word := i < len(text) && isWord(text[i])
			switch {
			case word && start < 0:
				start = i
			case !word && start >= 0:
				set[text[start:i]] = true
				start = -1
			}
		}
	}
	return set
}

// Prefixed returns a template's text with the prefix of a package before the names of
// functions, types and macros that the templates declare: lower case, and a macro's upper.
// A word of plain English is the name of a function, not of a local or in a comment, where
// it is called.
func Prefixed(text, prefix string) string {
	declared := map[string]bool{}
	for _, name := range Names() {
		declared[name] = true
	}
	var b strings.Builder
	start := -1
	for i := 0; i <= len(text); i++ {
		word := i < len(text) && isWord(text[i])
		if word && start < 0 {
			start = i
		} else if !word && start >= 0 {
			name := text[start:i]
			called := i < len(text) && text[i] == '('
			if declared[name] && (called || strings.Contains(name, "_")) {
				name = PrefixedName(name, prefix)
			}
			b.WriteString(name)
			start = -1
		}
		if !word && i < len(text) {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// PrefixedName is what Prefixed makes of a name.
func PrefixedName(name, prefix string) string {
	if name == strings.ToUpper(name) {
		prefix = strings.ToUpper(prefix)
	}
	return prefix + "_" + name
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
