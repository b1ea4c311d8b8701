package main

import (
	"fmt"
	"io"

	"github.com/etgen/etgen/golden/measure"
)

// table is text in columns. The first is aligned to the left, the others to the
// right.
type table struct {
	title  string
	legend string
	head   []string
	rows   [][]string
	notes  []string // below the table
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n%s\n\n", t.title, t.legend)
	measure.Columns(w, append([][]string{t.head}, t.rows...), func(column int) bool { return column == 0 }, nil)
	for _, n := range t.notes {
		fmt.Fprintln(w, n)
	}
}

// none stands for what is not known.
const none = measure.None

// ratio is a/b in text.
func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return none
	}
	return fmt.Sprintf("%.2f", a/b)
}
