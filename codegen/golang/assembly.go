package golang

import (
	"fmt"
	"slices"
	"strings"
)

// assembly returns the functions of an assembly file that names lists, in its
// order, called what rename says. A function's text ends where the comment of
// the next begins. The functions stand by themselves: none refers to another,
// nor to data but a table of the file that lies behind it. Of what a function has for
// single cases there is what cases lists, as "function case".
func assembly(src string, names, cases []string, rename func(string) string) (string, error) {
	const mark = "\n// func "
	head, rest, ok := strings.Cut(src, mark)
	if !ok {
		return "", fmt.Errorf("there are no functions")
	}
	texts := map[string]string{}
	for _, text := range strings.Split(rest, mark) {
		name, _, _ := strings.Cut(text, "(")
		texts[name] = strings.TrimSpace(text)
	}
	var b strings.Builder
	for line := range strings.Lines(head) {
		if strings.HasPrefix(line, "#include") {
			b.WriteString(line)
		}
	}
	for _, name := range names {
		text, ok := texts[name]
		if !ok {
			return "", fmt.Errorf("there is no function %s", name)
		}
		text = reached(name, text, cases)
		to := rename(name)
		signature := to + strings.TrimPrefix(text, name)
		b.WriteString("\n// func " + strings.Replace(signature, "TEXT ·"+name+"(SB)",
			"TEXT ·"+to+"(SB)", 1) + "\n")
	}
	return strings.TrimPrefix(b.String(), "\n"), nil
}

// reached returns the text of a function without what it has for cases that are not in a
// list. Behind "case NAME" stands what is done in a case, up to "end": who comes there
// all the same is stopped. Behind "to NAME" stands a branch to it.
func reached(function, text string, cases []string) string {
	head, body, _ := strings.Cut(text, "\n\t")
	var lines []string
	var around []bool // for each mark around a line, whether what it marks is left out
	out, marked, kept, last := false, false, false, ""
	for _, line := range strings.Split("\t"+body, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "//" && (words[1] == "case" || words[1] == "to"):
			around = append(around, out)
			is := slices.Contains(cases, function+" "+words[2])
			marked, kept = true, kept || is
			if words[1] == "case" && !out && !is && last != "UNDEF" {
				lines, last = append(lines, "\tUNDEF"), "UNDEF"
			}
			out = out || !is
		case len(words) == 2 && words[0] == "//" && words[1] == "end":
			out, around = around[len(around)-1], around[:len(around)-1]
		case out:
		case len(words) > 0:
			lines, last = append(lines, line), words[0]
		case len(lines) > 0 && lines[len(lines)-1] != "":
			lines = append(lines, "")
		}
	}
	if marked && !kept {
		return head + "\n\tUNDEF"
	}
	return head + "\n" + strings.Join(lines, "\n")
}
