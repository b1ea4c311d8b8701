package measure

import (
	"fmt"
	"io"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
)

// TextOptions say how a report is printed.
type TextOptions struct {
	Color bool
	All   bool // kernels of a tiny share of the time too
}

// tiny is the share of the time below which kernels are told together.
const tiny = 0.005

// Text prints the report: a line for each way, and for each a table of its
// kernels.
func (r *Report) Text(to io.Writer, opt TextOptions) {
	fmt.Fprintf(to, "%s\n", foreign.Escape(r.Model))
	if r.Peak > 0 {
		fmt.Fprintf(to, "peak of one core, float32 multiply-adds: %.1f GFLOP/s\n", r.Peak)
	}
	fmt.Fprintln(to, "GFLOP/s and % of peak are at the best time, as the peak is the best of its "+
		"measurements; % time is of the medians")
	rows := [][]string{{"", "best µs", "median µs", "p10", "p90", "calls", "MMAC", "GFLOP/s",
		"% of peak", "arena B", "weights B", ""}}
	for _, w := range r.Ways {
		rows = append(rows, []string{w.Name, number(w.Best), number(w.Median), number(w.P10),
			number(w.P90), fmt.Sprint(w.Calls), mega(w.MACs), speed(w.GFLOPS), percent(w.OfPeak),
			fmt.Sprint(w.Arena), fmt.Sprint(w.Weights), w.How})
	}
	fmt.Fprintln(to)
	Columns(to, rows, func(c int) bool { return c == 0 || c == len(rows[0])-1 },
		opt.paint(8, func(k int) float64 { return r.Ways[k].OfPeak }))
	for _, n := range r.Notes {
		fmt.Fprintln(to, foreign.Lines(n))
	}
	for _, w := range r.Ways {
		if len(w.Kernels) == 0 {
			continue
		}
		copied := "instrumented code"
		if strings.HasPrefix(w.Name, "rt") {
			copied = "the runtime with a tracer"
		}
		fmt.Fprintf(to, "\n%s: kernels, by %s, whose median call takes %s µs\n\n", w.Name, copied,
			number(w.Probed))
		w.text(to, opt)
	}
}

func (w *Way) text(to io.Writer, opt TextOptions) {
	rows := [][]string{{"best µs", "median µs", "% time", "calls", "MMAC", "GFLOP/s", "% of peak",
		"operators", "line", "result", "kernel"}}
	shown, rest := w.shown(opt.All)
	for _, k := range shown {
		rows = append(rows, []string{number(k.Best), number(k.Time), percent(k.Share),
			fmt.Sprintf("%.4g", k.Calls), mega(k.MACs), speed(k.GFLOPS), percent(k.OfPeak),
			short(strings.Join(k.Ops, ", "), 40), k.line(), k.Type, k.Name})
	}
	if rest.Calls > 0 {
		rows = append(rows, []string{number(rest.Best), number(rest.Time), percent(rest.Share),
			fmt.Sprintf("%.4g", rest.Calls), mega(rest.MACs), speed(rest.GFLOPS),
			percent(rest.OfPeak),
			fmt.Sprintf("%d more", len(w.Kernels)-len(shown)), "", "", ""})
	}
	Columns(to, rows, func(c int) bool { return c >= 7 }, opt.paint(6, func(i int) float64 {
		if i < len(shown) {
			return shown[i].OfPeak
		}
		return rest.OfPeak
	}))
}

// shown returns the kernels that take long enough to be told one by one, and
// the others together.
func (w *Way) shown(all bool) (shown []*Kernel, rest Kernel) {
	shown = w.Kernels
	if all {
		return shown, rest
	}
	for i, k := range w.Kernels {
		if k.Share >= tiny || len(w.Kernels) <= 12 {
			continue
		}
		shown = w.Kernels[:i]
		for _, k := range w.Kernels[i:] {
			rest.plus(k)
		}
		if rest.MACs > 0 && rest.Best > 0 {
			rest.GFLOPS = 2e-3 * float64(rest.MACs) / rest.Best
			if w.GFLOPS > 0 {
				rest.OfPeak = rest.GFLOPS * w.OfPeak / w.GFLOPS
			}
		}
		break
	}
	return shown, rest
}

// line is where a kernel comes from, in short.
func (k *Kernel) line() string {
	switch n := len(k.Lines); n {
	case 0:
		return None
	case 1:
		return k.Lines[0]
	default:
		return fmt.Sprintf("%s, %d more", k.Lines[0], n-1)
	}
}

// paint colours column c by a fraction of the peak, a row's after the head.
func (opt TextOptions) paint(c int, of func(row int) float64) func(row, column int,
	cell string) string {
	if !opt.Color {
		return nil
	}
	return func(row, column int, cell string) string {
		if row == 0 {
			return "\x1b[1m" + cell + "\x1b[0m"
		}
		part := of(row - 1)
		if column != c || part == 0 {
			return cell
		}
		color := "31"
		switch {
		case part >= 0.5:
			color = "32"
		case part >= 0.2:
			color = "33"
		}
		return "\x1b[" + color + "m" + cell + "\x1b[0m"
	}
}

// number words microseconds.
func number(us float64) string {
	switch {
	case us >= 1000:
		return fmt.Sprintf("%.0f", us)
	case us >= 10:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.2f", us)
}

func mega(macs int64) string {
	if macs == 0 {
		return None
	}
	return fmt.Sprintf("%.4g", float64(macs)/1e6)
}

func speed(gflops float64) string {
	if gflops == 0 {
		return None
	}
	return fmt.Sprintf("%.3g", gflops)
}

// percent words a fraction, 0 as what is not known.
func percent(part float64) string {
	if part == 0 {
		return None
	}
	return fmt.Sprintf("%.1f", 100*part)
}

// short cuts s to n characters.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
