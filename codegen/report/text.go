package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
)

// Table writes layers for people to read.
func Table(to io.Writer, layers []*Layer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "weights\tcode\tarena\tMACs\tinstructions\t  layer")
	for _, l := range layers {
		ops := seq.Map(l.Operators, func(o foreign.Text) string { return o.Terminal() })
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t  %s: %s\n", l.Weights, known(l.Code), l.Arena, l.MACs,
			known(l.Instructions), l.Name.Terminal(), shortened(strings.Join(ops, ", ")))
	}
	return w.Flush()
}

// known is a number, or a mark for one that is not known.
func known(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// shortened is text of at most 60 characters.
func shortened(s string) string {
	r := []rune(s)
	if len(r) <= 60 {
		return s
	}
	return string(r[:59]) + "…"
}

// Text writes the report for people to read.
func (r *Report) Text(to io.Writer) error {
	fmt.Fprintf(to, "%s, for %s (%s)\n\n", foreign.Escape(r.Model), r.Target, r.Optimize)
	fmt.Fprintf(to, "weights %d, code %s, arena %d, state %d, inputs and outputs %d bytes\n",
		r.Weights, known(r.Code), r.Arena, r.State, r.Ports)
	fmt.Fprint(to, exact)
	if r.Measured {
		fmt.Fprint(to, measured)
	} else {
		fmt.Fprint(to, estimated)
	}
	fmt.Fprint(to, notes)
	if r.Banks != nil {
		if err := r.bankTable(to); err != nil {
			return err
		}
	}
	for i := range r.Methods {
		m := &r.Methods[i]
		fmt.Fprintf(to,
			"\nmethod %s: arena %d (no plan takes less than %d), MACs %d, instructions %s\n\n",
			m.Name.Terminal(), m.Arena, m.LowerBound, m.MACs, known(m.Instructions))
		var layers []*Layer
		for k := range m.Layers {
			layers = append(layers, &m.Layers[k])
		}
		if err := Table(to, layers); err != nil {
			return err
		}
	}
	return nil
}

// bankTable tells what is in which memory, and what it is used for most.
func (r *Report) bankTable(to io.Writer) error {
	all := int64(0)
	for _, b := range r.Banks {
		all += b.Moved
	}
	fmt.Fprintln(to, "\nArena in banks; bytes read and written in a call are estimated:")
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "used\tof\tmoved\t%\t  bank")
	for _, b := range r.Banks {
		fmt.Fprintf(w, "%d\t%d\t%d\t%.1f\t  %s\n", b.Used, b.Size, b.Moved,
			100*float64(b.Moved)/float64(max(all, 1)), b.Name)
	}
	return w.Flush()
}

// What the numbers are.
const (
	exact     = "Weights, arena and MACs are exact.\n"
	measured  = "Code is measured: machine code, and constants that are not the model's.\n"
	estimated = "Code is estimated, for microcontrollers alone: etgen size measures it.\n"
	notes     = `Code of a layer is that of its function, if no layer before has it and its caller does not
contain it. Arena of a layer is what holds something while it is computed. Instructions are
estimated, for microcontrollers alone.
`
)

// Markdown writes the report as a file.
func (r *Report) Markdown(to io.Writer) error {
	fmt.Fprintf(to, "# What %s takes\n\n```\n", strings.ReplaceAll(foreign.Escape(r.Model), "`", "'"))
	var text strings.Builder
	if err := r.Text(&text); err != nil {
		return err
	}
	fmt.Fprint(to, strings.ReplaceAll(text.String(), "`", "'"))
	_, err := fmt.Fprintln(to, "```")
	return err
}
