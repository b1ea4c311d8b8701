package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/seq"
)

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
	w.b.WriteString(strings.Repeat("    ", w.indent) + s + "\n")
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
