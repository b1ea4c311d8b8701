package plan

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// reportText is a report as a table.
func reportText(r *Report) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', tabwriter.AlignRight)
	memory := len(r.Memories) > 1
	row := func(b []string) {
		if !memory {
			b = b[1:]
		}
		fmt.Fprintln(w, strings.Join(b, "\t"))
	}
	row([]string{"memory", "offset", "size", "steps", "  buffer"})
	for _, b := range r.Buffers {
		row([]string{fmt.Sprint(b.Memory), fmt.Sprint(b.Offset), fmt.Sprint(b.Size),
			spanText(b.Live), "  " + describe(r, b)})
	}
	w.Flush()
	for m, mem := range r.Memories {
		if memory {
			fmt.Fprintf(&s, "memory %d: ", m)
		}
		fmt.Fprintf(&s, "%d bytes, aligned to %d; lower bound %d", mem.Size, mem.Align,
			mem.LowerBound)
		if mem.PeakStep >= 0 {
			fmt.Fprintf(&s, " (step %d)", mem.PeakStep)
		}
		fmt.Fprintf(&s, ", ratio %.3f\n", mem.Ratio)
	}
	return s.String()
}

// describe is the last column: the name and how the buffer came to its place.
func describe(r *Report, b BufferReport) string {
	text := b.Name
	if b.Root != b.ID {
		text += fmt.Sprintf(" = %s + %d", r.Buffers[b.Root].Name, b.Shift)
	}
	if len(b.Over) > 0 {
		text += " over " + strings.Join(b.Over, ", ")
	}
	return text
}

func spanText(spans []Span) string {
	if len(spans) == 0 {
		return "-"
	}
	var parts []string
	for _, s := range spans {
		if s.First == s.Last {
			parts = append(parts, fmt.Sprint(s.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d..%d", s.First, s.Last))
		}
	}
	return strings.Join(parts, ",")
}

// lifetimes returns, for each buffer, the steps at which it holds its memory,
// as maximal spans in order. It is nil for views.
func lifetimes(p *Problem) ([][]Span, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	all := make([][]Span, len(p.Buffers))
	for _, n := range a.nodes {
		all[n.id] = n.live
	}
	return all, nil
}
