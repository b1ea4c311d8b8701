package c

import "strings"

// lineWidth is where lines of code are broken.
const lineWidth = 100

// fold breaks the lines of a file that are wider than lineWidth, but for the first: it says that
// the file is generated. A comment behind code goes before it.
func fold(text string) string {
	f := &folder{}
	banner, text, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\n")
	f.b.WriteString(banner + "\n")
	if text == "" {
		return f.b.String()
	}
	for line := range strings.SplitSeq(text, "\n") {
		f.line(line)
		_, f.comment = scan(line, f.comment, func(int) bool { return true })
		f.directive = strings.HasSuffix(line, "\\")
	}
	return f.b.String()
}

type folder struct {
	b                  strings.Builder
	comment, directive bool // the line before goes on here
}

func (f *folder) line(line string) {
	text := strings.TrimLeft(line, " ")
	pad := line[:len(line)-len(text)]
	behind, goesOn := scan(text, f.comment, func(int) bool { return true })
	switch directive := f.directive || strings.HasPrefix(text, "#"); {
	case len(line) <= lineWidth:
		f.parts(pad, pad, "", line[len(pad):])
	case f.comment:
		word := ""
		if strings.HasPrefix(text, "* ") {
			word = "* "
		}
		f.parts(pad, pad+word, "", fill(text, lineWidth-len(pad)-len(word))...)
	case behind == 0:
		f.parts(pad, pad+"   ", "", fill(text, lineWidth-len(pad)-3)...)
	case behind > 0 && !f.directive && strings.HasSuffix(text, "*/"):
		f.line(pad + text[behind:])
		f.line(strings.TrimRight(pad+text[:behind], " "))
	case goesOn:
		f.parts(pad, pad, "", text)
	case directive:
		text, more := strings.CutSuffix(text, "\\")
		parts := wrap(strings.TrimRight(text, " "), lineWidth-len(pad)-2)
		if more {
			parts[len(parts)-1] += " \\"
		}
		f.parts(pad, pad+"    ", " \\", parts...)
	default:
		f.parts(pad, pad+"    ", "", wrap(text, lineWidth-len(pad))...)
	}
}

// scan calls code with the places in a line that are in no comment and no literal, until it returns
// false. It returns where the last comment begins, -1 if there is none, and whether it goes on
// behind the line. Within says that the line begins in one.
func scan(line string, within bool, code func(i int) bool) (last int, goesOn bool) {
	last = -1
	for i, quote := 0, byte(0); i < len(line); i++ {
		switch c, two := line[i], line[i:min(i+2, len(line))]; {
		case within && two == "*/":
			within = false
			i++
		case within:
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case two == "/*":
			within, last = true, i
			i++
		case !code(i):
			return last, within
		}
	}
	return last, within
}

// parts writes a line in parts: pad is before the first, next before each other one, and more
// behind all but the last.
func (f *folder) parts(pad, next, more string, parts ...string) {
	for i, part := range parts {
		if i > 0 {
			pad = next
		}
		if i == len(parts)-1 {
			more = ""
		}
		f.b.WriteString(pad + part + more + "\n")
	}
}

// wrap breaks a statement that is wider than width where brackets are nested
// least, after a comma or before an operator. All but the first line are to be
// indented by four more columns.
func wrap(s string, width int) []string {
	var out []string
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
	nestingCost   = 40   // per level of parentheses
	subscriptCost = 80   // for a break within an index
	bindingCost   = 3    // per level of precedence of the operator
	assignCost    = 50   // for a break behind an assignment
	parenCost     = 60   // for a break behind an opening parenthesis
	farCost       = 1000 // per column beyond the width

	farEnough = 4 * lineWidth // so far beyond the width no place is better than one before
)

// breakAt returns the position at which to break s, -1 if there is none.
func breakAt(s string, width int) int {
	best, bestCost := -1, 0
	depth := 0
	scan(s, false, func(i int) bool {
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
			return true
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
		return best < 0 || i <= width+farEnough
	})
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
