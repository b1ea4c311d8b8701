package c

import (
	"regexp"
	"strings"

	ctext "github.com/etgen/etgen/templates/c"
)

// withoutUnused returns C text without the definitions of macros that nothing uses, and
// without conditions and comments that are about nothing else. Templates define what their
// kernels may want, whatever those of a package do.
func withoutUnused(text string) string {
	parts := split(text)
	for {
		kept := withoutEmpty(withoutDefinitions(parts))
		if len(kept) == len(parts) {
			return strings.Join(kept, "")
		}
		parts = kept
	}
}

// split returns the lines of a text. A directive that goes on in further lines is one, and
// so is a comment on lines of its own.
func split(text string) []string {
	var parts []string
	open := false
	for line := range strings.Lines(text) {
		if open {
			parts[len(parts)-1] += line
		} else {
			parts = append(parts, line)
		}
		whole := parts[len(parts)-1]
		if strings.HasPrefix(strings.TrimSpace(whole), "/*") {
			open = !strings.Contains(whole, "*/")
		} else {
			open = strings.HasSuffix(whole, "\\\n")
		}
	}
	return parts
}

// mention is a directive that is no use of the macro it names.
var mention = regexp.MustCompile(`^#(define|undef|ifdef|ifndef) (\w+)`)

// withoutDefinitions leaves out the definitions of macros that are not used.
func withoutDefinitions(parts []string) []string {
	used := map[string]bool{}
	for _, part := range parts {
		m := mention.FindStringSubmatch(part)
		if m != nil {
			part = part[len(m[0]):]
		}
		for word := range ctext.Identifiers(part) {
			used[word] = used[word] || m == nil || word != m[2]
		}
	}
	var kept []string
	for i, part := range parts {
		m := mention.FindStringSubmatch(part)
		if m == nil || m[1] != "define" && m[1] != "undef" || used[m[2]] {
			kept = append(kept, part)
		} else {
			kept = withoutComment(kept, parts[i+1:])
		}
	}
	return kept
}

// withoutEmpty leaves out conditions around nothing.
func withoutEmpty(parts []string) []string {
	var kept []string
	var chains []int // where those that are open begin; -1: not around nothing
	for i, part := range parts {
		switch {
		case strings.HasPrefix(part, "#if"):
			chains = append(chains, len(kept))
			kept = append(kept, part)
			continue
		case strings.HasPrefix(part, "#endif"):
			begin := chains[len(chains)-1]
			chains = chains[:len(chains)-1]
			if begin >= 0 {
				kept = withoutComment(kept[:begin], parts[i+1:])
				continue
			}
		case strings.HasPrefix(part, "#el") || strings.TrimSpace(part) == "":
			kept = append(kept, part)
			continue
		}
		for i := range chains {
			chains[i] = -1
		}
		kept = append(kept, part)
	}
	return kept
}

// withoutComment drops a comment right before what was left out, unless it is about
// definitions that follow too, and the blank line before that.
func withoutComment(before, after []string) []string {
	next := ""
	if len(after) > 0 {
		next = after[0]
	}
	n := len(before)
	if n > 0 && strings.HasPrefix(before[n-1], "/*") && !strings.HasPrefix(next, "#define") {
		n--
	}
	if n > 0 && strings.TrimSpace(before[n-1]) == "" && strings.TrimSpace(next) == "" {
		n--
	}
	return before[:n]
}
