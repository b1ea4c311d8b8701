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
	if strings.Contains(s, "/*") {
		return []string{s}
	}
	for len(s) > width {
		at := breakAt(s, width)
		if at < 0 {
			break
		}
		out = append(out, s[:at])
		s = strings.TrimPrefix(s[at:], " ")
		if len(out) == 1 {
			width -= 4
		}
	}
	return append(out, s)
}

// What a line break costs, in columns that the line falls short of its width.
const (
	nestingCost   = 40 // per level of parentheses
	subscriptCost = 80 // for a break within an index
	bindingCost   = 3  // per level of precedence of the operator
	assignCost    = 50 // for a break behind an assignment
	parenCost     = 60 // for a break behind an opening parenthesis
	farCost       = 10 // per column beyond the width

	farEnough = 4 * lineWidth // so far beyond the width no place is better than one before
)

// breakAt returns the position at which to break s, -1 if there is none.
func breakAt(s string, width int) int {
	best, bestCost := -1, 0
	depth := 0
	for i := range len(s) {
		if best >= 0 && i > width+farEnough {
			break
		}
		cost, ok := 0, false
		switch s[i] {
		case '(', '{':
			depth += nestingCost
			cost, ok = parenCost, s[i] == '(' && i+1 < len(s) && s[i+1] != ')' && (i == 0 ||
				s[i-1] != ' ')
		case '[':
			depth += subscriptCost
		case ')', '}':
			depth -= nestingCost
		case ']':
			depth -= subscriptCost
		case ' ':
			cost, ok = breakCost(s, i)
		}
		at := i
		if s[i] == '(' {
			at++
		}
		if !ok || at < 8 {
			continue
		}
		cost += depth
		if at <= width {
			cost += width - at
		} else {
			cost += farCost * (at - width)
		}
		if best < 0 || cost <= bestCost {
			best, bestCost = at, cost
		}
	}
	return best
}

// breakCost reports whether a line may end before the space at i, and what
// that costs.
func breakCost(s string, i int) (int, bool) {
	switch {
	case i < 2:
		return 0, false
	case s[i-1] == ',':
		return 0, true
	case s[i-2] == ' ' && s[i-1] == '=':
		return assignCost, true
	}
	op, _, ok := strings.Cut(s[i+1:], " ")
	if !ok {
		return 0, false
	}
	if op == "?" || op == ":" {
		return 0, true
	}
	p, binary := opPrec[op]
	return bindingCost * int(p), binary
}
