package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/plan"
)

// Style is how Text is written.
type Style struct {
	Color bool // for a terminal
	All   bool // lists whole, however long
}

// How many entries lists have without Style.All.
const (
	maxConstants = 20
	maxBoxes     = 40
)

// Text writes the description for people to read.
func (info *Info) Text(to io.Writer, style Style) error {
	t := &text{w: tabwriter.NewWriter(to, 0, 0, 2, ' ', 0), style: style}
	size := ""
	if info.Bytes > 0 {
		size = fmt.Sprintf(", %d bytes", info.Bytes)
	}
	t.heading("%s: %s%s", info.File, info.Format, size)
	if p := info.Parts; p != nil {
		t.line("")
		for _, part := range []struct {
			name  string
			bytes int64
		}{
			{"flatbuffer", p.Flatbuffer}, {"constants", p.Constants}, {"mutable data", p.Mutable},
			{"delegates", p.Delegates},
			{"named data", p.Named}, {"test data", p.Tests}, {"padding", p.Padding},
		} {
			if part.bytes > 0 {
				t.line("  %s\t%d bytes", part.name, part.bytes)
			}
		}
	}
	for i := range info.Methods {
		t.method(&info.Methods[i])
	}
	t.tensors("data", info.Data, "")
	for _, s := range info.Tests {
		t.line("")
		t.heading("test cases of %s: %d", s.Method, len(s.Cases))
		for i, c := range s.Cases {
			t.line("  %d\t%s\tgive %s", i, strings.Join(c.Inputs, ", "),
				strings.Join(c.Outputs, ", "))
		}
	}
	if info.Weights > 0 || info.Kernels > 0 {
		t.line("")
		t.line("weights\t%d bytes", info.Weights)
		t.line("kernels\t%d", info.Kernels)
	}
	if len(info.Problems) > 0 {
		t.line("")
		if info.Parts == nil {
			t.alarm("it cannot be compiled:")
		} else {
			t.alarm("the verifier complains:")
		}
		for _, p := range info.Problems {
			t.line("  %s", p)
		}
	}
	return t.w.Flush()
}

// text writes lines. What the underlying writer says is told when it is flushed.
type text struct {
	w     *tabwriter.Writer
	style Style
}

// line writes a line of cells between tabs; empty ones at its end leave nothing.
// Formats are ours, tabs and colours in them, strings that are arguments may be the
// file's.
func (t *text) line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = cell(s)
		}
	}
	fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(format, args...), "\t"))
}

// cell returns text of a file for a line of the terminal; tabs in it that are ours,
// from what was joined, part cells.
func cell(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = foreign.Of(p).Terminal()
	}
	return strings.Join(parts, "\t")
}

func (t *text) heading(format string, args ...any) { t.colored("1", format, args...) }
func (t *text) alarm(format string, args ...any)   { t.colored("1;31", format, args...) }

func (t *text) colored(code, format string, args ...any) {
	if t.style.Color {
		format = "\x1b[" + code + "m" + format + "\x1b[m"
	}
	t.line(format, args...)
}

func (t *text) method(m *Method) {
	t.line("")
	t.heading("method %s", m.Name)
	for _, p := range m.Inputs {
		t.line("  in\t%s\t%s", p.Name, p.text())
	}
	for _, p := range m.Outputs {
		t.line("  out\t%s\t%s", p.Name, p.text())
	}
	for _, s := range m.Symbols {
		bound := "no bound"
		if s.Max != nil {
			bound = fmt.Sprint(*s.Max)
		}
		t.line("  size\t%s\t%d … %s", s.Name, s.Min, bound)
	}
	t.line("")
	if n := m.Instructions; n != nil {
		t.heading("  operators, in %s", n)
	} else {
		t.heading("  operators")
	}
	for _, o := range m.Operators {
		missing := ""
		switch {
		case !o.Supported:
			missing = "\tnot supported"
		case o.Kernel != nil && !*o.Kernel:
			missing = "\tno kernel in etgen's runtime"
		}
		t.line("  %6d\t%s\t%s%s", o.Count, o.Name, strings.Join(o.DTypes, " "), missing)
	}
	if len(m.Delegates) > 0 {
		t.line("")
		t.heading("  delegates")
	}
	for _, d := range m.Delegates {
		place := ""
		if d.Inline {
			place = ", in the flatbuffer"
		}
		t.line("  %6d\t%s\t%d bytes%s\t%s", d.Calls, d.Backend, d.Bytes, place,
			strings.Join(d.Specs, " "))
		for _, n := range d.Nodes {
			t.line("  %6s\t%6d  %s", "", n.Count, n.Kind)
		}
		if d.Problem != "" {
			t.line("  %6s\t%s", "", d.Problem)
		}
	}
	t.tensors("constants", m.Constants, "  ")
	t.tensors("state", m.State, "  ")
	if m.Memory != nil {
		t.memory(m.Memory)
	}
}

// String says how many instructions there are, of which kinds.
func (n *Instructions) String() string {
	text := fmt.Sprintf("%d instructions", n.Total)
	if n.Total == 1 {
		text = "1 instruction"
	}
	var others []string
	for _, k := range []struct {
		count int
		name  string
	}{{n.DelegateCalls, "calls of delegates"}, {n.Moves, "moves"}, {n.Jumps, "jumps"},
		{n.Frees, "frees"}} {
		if k.count > 0 {
			others = append(others, fmt.Sprintf("%d %s", k.count, k.name))
		}
	}
	if len(others) > 0 {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	return text
}

func (p Port) text() string {
	text := p.Type
	if p.Value != "" {
		text = "= " + p.Value
	}
	if p.Mutated {
		text += " (changed by the call)"
	}
	if p.Place != "" {
		text += "\t" + p.Place
	}
	return text
}

func (t *text) tensors(what string, list []Tensor, indent string) {
	if len(list) == 0 {
		return
	}
	t.line("")
	t.heading("%s%s: %d, %d bytes", indent, what, len(list), total(list))
	shown := list
	if len(list) > maxConstants && !t.style.All {
		shown = list[:maxConstants]
	}
	for _, c := range shown {
		t.line("%s%8d\t%s\t%s\t%s", indent, c.Bytes, c.Name, c.Type, c.User)
	}
	if rest := list[len(shown):]; len(rest) > 0 {
		t.line("%s%8d\t%d more", indent, total(rest), len(rest))
	}
}

func (t *text) memory(m *Memory) {
	t.line("")
	t.heading("  planned memory")
	for i := range m.Buffers {
		b := &m.Buffers[i]
		name := "arena"
		if b.ID > 0 {
			name = fmt.Sprintf("buffer %d", b.ID)
		}
		t.line("  %s\t%d bytes, aligned to %d\tat best %d (%s)\tplaced by size %d", name, b.Bytes,
			b.Align, b.LowerBound, m.step(b.PeakStep), b.Greedy)
	}
	boxes := m.Boxes
	if len(boxes) > maxBoxes && !t.style.All {
		boxes = largest(boxes, maxBoxes)
	}
	if len(boxes) == 0 {
		return
	}
	t.line("")
	t.line("  %8s\t%s\t%s\t%s", "offset", "bytes", "steps 0 … "+fmt.Sprint(m.Length-1), "tensor")
	for _, b := range boxes {
		place := fmt.Sprint(b.Offset)
		if len(m.Buffers) > 1 {
			place = fmt.Sprintf("%d:%d", m.Buffers[b.Buffer].ID, b.Offset)
		}
		t.line("  %8s\t%d\t%s\t%s", place, b.Bytes, bar(b.Live, m.Length), b.Name)
	}
	if n := len(m.Boxes) - len(boxes); n > 0 {
		t.line("  %8s\t\t\tand %d smaller ones", "", n)
	}
}

// largest returns the n largest boxes in the order they are in.
func largest(boxes []Box, n int) []Box {
	order := seq.Of(len(boxes), func(i int) int { return i })
	seq.Sort(order, func(a, b int) int {
		return cmp.Compare(boxes[b].Bytes, boxes[a].Bytes)
	})
	order = order[:n]
	slices.Sort(order)
	chosen := make([]Box, n)
	for i, at := range order {
		chosen[i] = boxes[at]
	}
	return chosen
}

// step describes a step.
func (m *Memory) step(i int) string {
	switch {
	case i < 0:
		return "nothing"
	case i < len(m.Steps):
		return fmt.Sprintf("step %d, %s", i, m.Steps[i])
	}
	return fmt.Sprintf("step %d", i)
}

// barWidth is how many columns time takes at most.
const barWidth = 48

// bar draws when something is live.
func bar(live []plan.Span, length int) string {
	columns := min(length, barWidth)
	cells := slices.Repeat([]string{"·"}, columns)
	for _, s := range live {
		for c := s.First * columns / length; c <= s.Last*columns/length; c++ {
			cells[c] = "█"
		}
	}
	return strings.Join(cells, "")
}
