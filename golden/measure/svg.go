package measure

import (
	"fmt"
	"io"
	"strings"

	"github.com/etgen/etgen/codegen/svg"
)

// The picture's measures, in pixels.
const (
	svgWidth  = 1100
	svgRow    = 18
	svgLabel  = 500 // left of the bars
	svgNumber = 230 // right of the longest bar
	svgChars  = 72  // that fit into the label, each up to 6.7 wide
	svgRows   = 48  // bars of a way at most
)

// SVG draws the tables of kernels: a bar for each, as long as its time, coloured
// by its fraction of the peak. The same report gives the same bytes.
func (r *Report) SVG(to io.Writer) error {
	var d svg.Picture
	y := svgRow
	text := func(x int, anchor, class svg.Markup, s string) {
		d.Text(float64(x), float64(y-5), anchor, class, s)
	}
	for _, w := range r.Ways {
		y += svgRow
		head := fmt.Sprintf("%s, via %s: best %s µs", r.Model, w.Name, number(w.Best))
		if w.OfPeak > 0 {
			head += fmt.Sprintf(", %s %% of the peak", percent(w.OfPeak))
		}
		head += fmt.Sprintf("; median %s µs", number(w.Median))
		text(8, "start", "head", head)
		shown, rest := w.shown(false)
		if len(shown) > svgRows {
			for _, k := range shown[svgRows:] {
				rest.plus(k)
			}
			rest.OfPeak, shown = 0, shown[:svgRows]
		}
		bars := shown
		if rest.Calls > 0 {
			rest.Ops = []string{fmt.Sprintf("%d more", len(w.Kernels)-len(shown))}
			bars = append(bars[:len(bars):len(bars)], &rest)
		}
		longest := 0.0
		for _, k := range bars {
			longest = max(longest, k.Time)
		}
		for _, k := range bars {
			y += svgRow
			label := strings.Join(k.Ops, ", ")
			if label == "" {
				label = k.Name
			}
			if len(k.Lines) > 0 {
				line := short(k.line(), svgChars-12)
				label = short(label, max(10, svgChars-3-len([]rune(line)))) + " · " + line
			}
			text(svgLabel-8, "end", "label", label)
			length := 0.0
			if longest > 0 {
				length = float64(svgWidth-svgLabel-svgNumber) * k.Time / longest
			}
			about := append([]string{k.Name + " " + k.Type}, k.Lines...)
			d.Add(`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"><title>%s</title></rect>`,
				svgLabel, y-svgRow+1, max(length, 0.5), svgRow-3, svgColor(k.OfPeak),
				strings.Join(about, "; "))
			note := fmt.Sprintf("%s µs, %s %%", number(k.Time), percent(k.Share))
			if k.OfPeak > 0 {
				note += fmt.Sprintf(", %s %% of peak", percent(k.OfPeak))
			}
			text(svgLabel+int(length)+6, "start", "label", note)
		}
		y += svgRow / 2
	}
	y += svgRow
	text(8, "start", "label", "bars and their times: medians")
	if r.Peak > 0 {
		y += svgRow
		text(8, "start", "label",
			fmt.Sprintf(
				"red to green: at the best time no to all of the peak of one core, %.1f GFLOP/s; grey: no "+
					"multiply-adds", r.Peak))
	}
	return d.Write(to, svgWidth, y+4, r.Model, "ui-monospace,Menlo,Consolas,monospace")
}

// svgColor goes from red over yellow to green; grey is for what has no part.
func svgColor(part float64) string {
	if part <= 0 {
		return "#b8b8b8"
	}
	hue := 120 * min(part, 1)
	return fmt.Sprintf("hsl(%.0f,65%%,50%%)", hue)
}
