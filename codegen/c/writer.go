package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/seq"
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
	} else {
		w.remark(lines)
	}
}

// remark writes lines as a comment.
func (w *writer) remark(lines []string) {
	w.raw("/*")
	for _, l := range lines {
		w.raw(" * " + l)
	}
	w.raw(" */")
}

// function writes a function of a body that is indented.
func (w *writer) function(body, head string, args ...any) {
	w.line(head, args...)
	w.raw("{")
	w.b.WriteString(body)
	w.raw("}")
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

// usage records the names that stand in what is printed: what prints a name
// calls use. So it is known what of a function's parameters and locals is needed.
type usage struct{ names []string }

// use records that a name is printed; of a member, the struct's.
func (u *usage) use(names ...string) {
	for _, n := range names {
		n, _, _ = strings.Cut(n, "->")
		u.names = append(u.names, n)
	}
}

// forget drops what was recorded since there were mark names: what was printed
// is not part of the text after all. It returns those names.
func (u *usage) forget(mark int) []string {
	names := slices.Clone(u.names[mark:])
	u.names = u.names[:mark]
	return names
}

// used returns the names recorded.
func (u *usage) used() map[string]bool {
	return seq.Set(u.names)
}

// usedWithout returns the names recorded but for those in the declarations of
// locals.
func (u *usage) usedWithout(locals []localText) map[string]bool {
	set := map[string]bool{}
	at := 0
	add := func(to int) {
		for _, n := range u.names[at:to] {
			set[n] = true
		}
	}
	for _, l := range locals {
		add(l.from)
		at = l.to
	}
	add(len(u.names))
	return set
}

// localText is where the declaration of a local stands: in the text, and among
// the names printed.
type localText struct {
	name       string
	start, end int
	from, to   int
}

// unneeded returns the locals that nothing needs: those whose names stand
// nowhere but in the declarations of others like them. A name means what was
// declared last of those that have it, since no local hides another.
func (u *usage) unneeded(locals []localText) []localText {
	means := make([]int, len(u.names)) // by name printed, the local; -1 if it is none
	count := make([]int, len(locals))
	latest := map[string]int{}
	next := 0
	for i, n := range u.names {
		for ; next < len(locals) && locals[next].to <= i; next++ {
			latest[locals[next].name] = next
		}
		means[i] = -1
		if k, ok := latest[n]; ok {
			means[i] = k
			count[k]++
		}
	}
	var out []localText
	for k, l := range slices.Backward(locals) {
		if count[k] > 0 {
			continue
		}
		out = append(out, l)
		for _, m := range means[l.from:l.to] {
			if m >= 0 {
				count[m]--
			}
		}
	}
	slices.Reverse(out)
	return out
}
