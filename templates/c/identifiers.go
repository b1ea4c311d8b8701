package c

import "regexp"

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

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
