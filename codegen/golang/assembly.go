package golang

import (
	"fmt"
	"strings"
)

// assembly returns the functions of an assembly file that names lists, in its
// order, called what rename says. A function's text ends where the comment of
// the next begins. The functions stand by themselves: none refers to another,
// nor to data but a table of the file that lies behind it.
func assembly(src string, names []string, rename func(string) string) (string, error) {
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
		to := rename(name)
		signature := to + strings.TrimPrefix(text, name)
		b.WriteString("\n// func " + strings.Replace(signature, "TEXT ·"+name+"(SB)",
			"TEXT ·"+to+"(SB)", 1) + "\n")
	}
	return strings.TrimPrefix(b.String(), "\n"), nil
}
