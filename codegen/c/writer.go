package c

import (
	"fmt"
	"strings"
)

// lineWidth is where lines of code are broken.
const lineWidth = 100

// writer collects indented lines.
type writer struct {
	b      strings.Builder
	indent int
}

func (w *writer) line(format string, args ...any) {
	s := format
	if len(args) > 0 {
		s = fmt.Sprintf(format, args...)
	}
	pad := strings.Repeat("    ", w.indent)
	for i, part := range wrap(s, lineWidth-len(pad)) {
		if i > 0 {
			w.b.WriteString("    ")
		}
		w.b.WriteString(pad + part + "\n")
		pad = strings.Repeat("    ", w.indent)
	}
}

func (w *writer) blank() { w.b.WriteByte('\n') }

// open writes a line that begins a block.
func (w *writer) open(format string, args ...any) {
	w.line(format, args...)
	w.indent++
}

// close ends a block.
func (w *writer) close() { w.closeWith("}") }

func (w *writer) closeWith(s string) {
	w.indent--
	w.line("%s", s)
}

// comment writes text as a comment, on several lines if it is long.
func (w *writer) comment(text string) {
	width := lineWidth - 4*w.indent - 6
	lines := fill(text, width)
	if len(lines) == 1 {
		w.raw("/* " + lines[0] + " */")
		return
	}
	w.raw("/*")
	for _, l := range lines {
		w.raw(" * " + l)
	}
	w.raw(" */")
}

// raw writes a line as it is.
func (w *writer) raw(s string) {
	w.b.WriteString(strings.TrimRight(strings.Repeat("    ", w.indent)+s, " ") + "\n")
}

// fill breaks text into lines of words.
func fill(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// wrap breaks a statement that is wider than width where brackets are nested
// least, after a comma or before an operator. All but the first line are to be
// indented by four more columns.
func wrap(s string, width int) []string {
	var out []string
	for len(s) > width && !strings.Contains(s, "/*") {
		at := breakAt(s, width)
		if at < 0 {
			break
		}
		out = append(out, s[:at])
		s = s[at+1:]
		if len(out) == 1 {
			width -= 4
		}
	}
	return append(out, s)
}

// nestingCost is how many columns of line a level of brackets is worth.
const nestingCost = 40

// breakAt returns the position of the space at which to break s.
func breakAt(s string, width int) int {
	best, bestCost := -1, 0
	depth := 0
	for i := 0; i < min(len(s), width+1); i++ {
		switch s[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ' ':
			if i < 8 || !breakable(s, i) {
				continue
			}
			cost := nestingCost*depth + width - i
			if best < 0 || cost <= bestCost {
				best, bestCost = i, cost
			}
		}
	}
	return best
}

// breakable reports whether a line may end before the space at i.
func breakable(s string, i int) bool {
	if s[i-1] == ',' || s[i-1] == ';' {
		return true
	}
	op, _, ok := strings.Cut(s[i+1:], " ")
	if !ok {
		return false
	}
	if op == "?" || op == ":" {
		return true
	}
	_, binary := opPrec[op]
	// "const float *x" and "a = *p" have no operator there.
	return binary && !(op == "*" && strings.HasPrefix(s, "const "))
}
