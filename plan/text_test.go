package plan

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// reportText is a plan with its report as a table.
func reportText(p *Problem, pl *Plan, r *Report) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', tabwriter.AlignRight)
	memory := len(pl.Memories) > 1
	row := func(b []string) {
		if !memory {
			b = b[1:]
		}
		fmt.Fprintln(w, strings.Join(b, "\t"))
	}
	row([]string{"memory", "offset", "size", "steps", "  buffer"})
	over := inPlaceOf(p, pl)
	for i, b := range p.Buffers {
		root, shift := p.Root(BufferID(i))
		text := b.Name
		if int(root) != i {
			text += fmt.Sprintf(" = %s + %d", p.Buffers[root].Name, shift)
		}
		if len(over[i]) > 0 {
			text += " over " + strings.Join(over[i], ", ")
		}
		row([]string{fmt.Sprint(p.Buffers[root].Memory), fmt.Sprint(pl.Offsets[i]),
			fmt.Sprint(b.Size), spanText(r.Live[i]), "  " + text})
	}
	w.Flush()
	for m, mem := range pl.Memories {
		if memory {
			fmt.Fprintf(&s, "memory %d: ", m)
		}
		fmt.Fprintf(&s, "%d bytes, aligned to %d; lower bound %d", mem.Size, mem.Align,
			r.Peaks[m].Bytes)
		if step := r.Peaks[m].Step; step >= 0 {
			fmt.Fprintf(&s, " (step %d)", step)
		}
		s.WriteString("\n")
	}
	return s.String()
}

// inPlaceOf returns, by buffer, the names of those that it is written over in place.
func inPlaceOf(p *Problem, pl *Plan) map[int][]string {
	over := map[int][]string{}
	a, _ := analyse(p)
	for _, pr := range a.pairs {
		dst, src := a.nodes[pr.dst].id, a.nodes[pr.src].id
		if pl.Offsets[dst]+pr.delta == pl.Offsets[src] {
			over[int(dst)] = append(over[int(dst)], p.Buffers[src].Name)
		}
	}
	return over
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
