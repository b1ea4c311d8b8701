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
	b.WriteString(
		"| | etgen | ExecuTorch | etgen | ExecuTorch | etgen | ExecuTorch | etgen | ExecuTorch |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.Name)
		theirs := r.Theirs.all()
		for i, n := range r.Etgen.all() {
			fmt.Fprintf(&b, " %s | %s |", grouped(n), grouped(theirs[i]))
		}
		b.WriteString("\n")
	}
	for _, r := range rows {
		if r.Model != nil {
			fmt.Fprintf(&b, "\n%s: ExecuTorch's file takes inputs of at most %s bytes,\n"+
				"and etgen's figures are of a program for the same, made of that file. "+
				"The model's own bounds allow\n%s bytes, for which etgen plans %s.\n",
				r.Name, grouped(r.Theirs.Inputs), grouped(r.Model.Inputs), grouped(r.Model.Planned))
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
