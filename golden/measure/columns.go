package measure

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/etgen/etgen/ir/foreign"
)

// None stands for what is not known.
const None = "-"

// Columns prints rows of cells one below the other, columns that left tells at
// the left, others at the right. Paint, if not nil, colours a cell that is
// already as wide as its column.
func Columns(w io.Writer, rows [][]string, left func(column int) bool, paint func(row, column int,
	cell string) string) {
	var widths []int
	for _, r := range rows {
		for i, cell := range r {
			cell = foreign.Escape(cell)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for k, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			cell = foreign.Escape(cell)
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case !left(i):
				cell = space + cell
			case i < len(r)-1:
				cell += space
			}
			if i > 0 {
				line.WriteString("  ")
			}
			if paint != nil {
				cell = paint(k, i, cell)
			}
			line.WriteString(cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
