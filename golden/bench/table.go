package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
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
	all := append([][]string{t.head}, t.rows...)
	first := 0
	for _, r := range all {
		first = max(first, len(r[0]))
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range all {
		fmt.Fprintf(columns, "%-*s\t%s\t\n", first, r[0], strings.Join(r[1:], "\t"))
	}
	columns.Flush()
	for _, n := range t.notes {
		fmt.Fprintln(w, n)
	}
}

// none stands for what is not known.
const none = "-"

// ratio is a/b in text.
func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return none
	}
	return fmt.Sprintf("%.2f", a/b)
}

// sample is a set of durations, sorted.
type sample []time.Duration

func newSample(times []time.Duration) sample {
	s := slices.Clone(times)
	slices.Sort(s)
	return s
}

// at is the value that a fraction of the sample is below; 0 if it is empty.
func (s sample) at(fraction float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[int(fraction*float64(len(s)-1)+0.5)]
}

func (s sample) median() time.Duration { return s.at(0.5) }

// spread is the distance of the quartiles as part of the median.
func (s sample) spread() float64 {
	if s.median() == 0 {
		return 0
	}
	return float64(s.at(0.75)-s.at(0.25)) / float64(s.median())
}
