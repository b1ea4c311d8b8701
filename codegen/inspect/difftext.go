package inspect

import (
	"io"
	"slices"
	"text/tabwriter"
)

// most is how many lines may have to go and come before no more is looked for what two lists of
// lines have in common.
const most = 4000

// diffLines returns the lines of both lists in order: what a shortest script deletes from a, what
// it inserts of b (E. Myers, An O(ND) difference algorithm, 1986), and what both have.
func diffLines(a, b []line) (out []NodeLine) {
	begin := 0
	for begin < min(len(a), len(b)) && a[begin].key == b[begin].key {
		begin++
	}
	end := 0
	for end < min(len(a), len(b))-begin && a[len(a)-1-end].key == b[len(b)-1-end].key {
		end++
	}
	keep := func(lines []line, mark string) {
		for _, l := range lines {
			out = append(out, NodeLine{mark, l.text})
		}
	}
	keep(b[:begin], " ")
	midA, midB := a[begin:len(a)-end], b[begin:len(b)-end]
	x, y := 0, 0
	for _, p := range append(common(midA, midB), [2]int{len(midA), len(midB)}) {
		keep(midA[x:p[0]], "-")
		keep(midB[y:p[1]], "+")
		if p[1] < len(midB) {
			keep(midB[p[1]:p[1]+1], " ")
		}
		x, y = p[0]+1, p[1]+1
	}
	keep(b[len(b)-end:], " ")
	return out
}

// common returns the positions in a and in b of a longest list of lines that both have in the same
// order, none if they have too little in common.
func common(a, b []line) (pairs [][2]int) {
	far := map[int]int{1: 0} // by diagonal x - y: the x that is reached
	var steps []map[int]int
	for d := 0; d <= min(len(a)+len(b), most); d++ {
		reached := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := far[k-1] + 1
			if k == -d || k != d && far[k-1] < far[k+1] {
				x = far[k+1]
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x].key == b[y].key {
				x, y = x+1, y+1
			}
			far[k], reached[k] = x, x
			if x >= len(a) && y >= len(b) {
				return back(steps, len(a), len(b))
			}
		}
		steps = append(steps, reached)
	}
	return nil
}

// back follows the way to the ends, and returns what both have on it.
func back(steps []map[int]int, x, y int) (pairs [][2]int) {
	for d := len(steps); d >= 0; d-- {
		k, beforeX, beforeY := x-y, 0, 0
		if d > 0 {
			from := steps[d-1]
			before := k - 1
			down, okDown := from[k+1]
			right, okRight := from[k-1]
			if !okRight || okDown && right < down {
				before = k + 1
			}
			beforeX = from[before]
			beforeY = beforeX - before
		}
		startX, startY := beforeX, beforeY
		if d > 0 {
			if k < beforeX-beforeY {
				startY++
			} else {
				startX++
			}
		}
		for x > startX && y > startY {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = beforeX, beforeY
	}
	slices.Reverse(pairs)
	return pairs
}

// around is how many lines that are the same are shown before and behind those that differ.
const around = 2

// What is red is in A alone, what is green in B.
const red, green = "31", "32"

// Text writes the difference for people. It writes nothing if there is none. The error is that of
// w.
func (d *Difference) Text(w io.Writer, style Style) error {
	if d.None() {
		return nil
	}
	t := &text{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), style: style}
	t.colored(red, "--- %s", d.A)
	t.colored(green, "+++ %s", d.B)
	for _, f := range d.Figures {
		if f.A != f.B {
			t.line("%s\t%d\t-> %d", f.Name, f.A, f.B)
		}
	}
	for i := range d.Methods {
		if d.Methods[i].changed() {
			d.method(t, &d.Methods[i])
		}
	}
	return t.w.Flush()
}

func (d *Difference) method(t *text, m *MethodDifference) {
	t.line("")
	t.line("method %s", m.Name)
	switch m.Only {
	case "a":
		t.colored(red, "- it is not in %s", d.B)
	case "b":
		t.colored(green, "+ it is not in %s", d.A)
	}
	for _, p := range m.Ports {
		t.line("  %s\t%s\t-> %s", p.Name, orNone(p.A), orNone(p.B))
	}
	for _, o := range m.Operators {
		t.line("  %s\t%d\t-> %d", o.Name, o.A, o.B)
	}
	for _, c := range m.Constants {
		switch {
		case c.A != c.B:
			t.line("  %s\t%s\t-> %s", c.Name, orNone(c.A), orNone(c.B))
		case c.Largest > 0:
			t.line("  %s\t%s\t%d of %d elements differ, by %.4g at most", c.Name, c.A, c.Differ,
				c.Elements, c.Largest)
		default:
			t.line("  %s\t%s\t%d of %d elements differ", c.Name, c.A, c.Differ, c.Elements)
		}
	}
	m.hunks(t)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// hunks writes the lines that differ, with some around them.
func (m *MethodDifference) hunks(t *text) {
	shown := -1
	for i, l := range m.Nodes {
		near := false
		for k := max(0, i-around); k <= min(len(m.Nodes)-1, i+around); k++ {
			near = near || m.Nodes[k].Mark != " "
		}
		if !near {
			continue
		}
		if shown != i-1 {
			t.line("  …")
		}
		switch shown = i; l.Mark {
		case "-":
			t.colored(red, "- %s", l.Text)
		case "+":
			t.colored(green, "+ %s", l.Text)
		default:
			t.line("  %s", l.Text)
		}
	}
}
