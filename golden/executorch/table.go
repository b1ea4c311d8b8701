package executorch

import (
	"fmt"
	"strings"
)

// Table returns the rows as a table in Markdown: of each figure etgen's, then
// ExecuTorch's.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| model | file size | | planned bytes | | kernel calls | | instructions | |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	b.WriteString("| | etgen | ExecuTorch | etgen | ExecuTorch | etgen | ExecuTorch | etgen | ExecuTorch |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.Name)
		theirs := r.Theirs.all()
		for i, n := range r.Etgen.all() {
			fmt.Fprintf(&b, " %s | %s |", grouped(n), grouped(theirs[i]))
		}
		b.WriteString("\n")
	}
	for _, r := range rows {
		if r.Etgen.Inputs != r.Theirs.Inputs {
			fmt.Fprintf(&b, "\n%s: the model's bounds allow inputs of %s bytes, for which etgen plans; ExecuTorch's file takes no more than %s.\n",
				r.Name, grouped(r.Etgen.Inputs), grouped(r.Theirs.Inputs))
		}
	}
	return b.String()
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The lines in a document that a table stands between.
const (
	begin = "<!-- begin: written by go test ./golden/executorch -update -->\n"
	end   = "<!-- end -->\n"
)

// Replace puts text between the markers of a document.
func Replace(document, text string) (string, error) {
	before, rest, ok := strings.Cut(document, begin)
	if !ok {
		return "", fmt.Errorf("the document has no line %q", strings.TrimSpace(begin))
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("the document has no line %q", strings.TrimSpace(end))
	}
	return before + begin + text + end + after, nil
}
