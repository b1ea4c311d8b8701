package main

import (
	"fmt"
	"io"
	"time"

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
	measure.Columns(w, append([][]string{t.head}, t.rows...), func(column int) bool {
		return column == 0
	}, nil)
	for _, n := range t.notes {
		fmt.Fprintln(w, n)
	}
}

// none stands for what is not known.
const none = measure.None

// shortest is the time from which on the clock tells times apart.
const shortest = 200 * time.Nanosecond

// tellable is whether a ratio of times tells of them, and not of the clock.
func tellable(a, b time.Duration) bool { return a >= shortest && b >= shortest }

// timeRatio is a/b in text if it tells of the times.
func timeRatio(a, b time.Duration) string {
	if !tellable(a, b) {
		return none
	}
	return ratio(a.Seconds(), b.Seconds())
}

// atMost is timeRatio, marked where it is above the goal.
func atMost(goal float64, a, b time.Duration) string {
	return missed(tellable(a, b) && a.Seconds() > goal*b.Seconds(), timeRatio(a, b))
}

// atLeast is timeRatio, marked where it is below the goal.
func atLeast(goal float64, a, b time.Duration) string {
	return missed(tellable(a, b) && a.Seconds() < goal*b.Seconds(), timeRatio(a, b))
}

// ratio is a/b in text.
func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return none
	}
	return fmt.Sprintf("%.2f", a/b)
}
