package main

import (
	_ "embed"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed marks.tsv
var marksText string

// mark is the least time that a runtime other than etgen's was seen to take for
// a model, on a core that makes so many GFLOP/s of multiply-adds at best.
type mark struct {
	model string // the case's folder
	time  time.Duration
	peak  float64
	by    string
}

// readMarks reads the form of marks.tsv.
func readMarks(text string) ([]mark, error) {
	var all []mark
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 {
			return nil,
				fmt.Errorf(
					"marks.tsv: %q is not a case, a least and a median time, a peak and a runtime",
					line)
		}
		least, err := positive(f[1])
		if err == nil && f[2] != none {
			_, err = positive(f[2])
		}
		peak := 0.0
		if err == nil {
			peak, err = positive(f[3])
		}
		if err != nil {
			return nil, fmt.Errorf("marks.tsv: %w in %q", err, line)
		}
		all = append(all, mark{f[0], time.Duration(least * 1e3), peak, f[4]})
	}
	return all, nil
}

func positive(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is no time or peak", text)
	}
	return x, nil
}

// bestMarks are the marks by model: of those from the machine whose peak is
// nearest to this one, by its ratio, the one of the least time.
func bestMarks(all []mark, peak float64) map[string]mark {
	distance := func(m mark) float64 { return math.Abs(math.Log(m.peak / peak)) }
	best := map[string]mark{}
	for _, m := range all {
		b, ok := best[m.model]
		if !ok || distance(m) < distance(b) || m.peak == b.peak && m.time < b.time {
			best[m.model] = m
		}
	}
	return best
}

// marked are the folders of the cases that have marks: cases/… in golden, others
// in shared. The working directory is the repository.
func marked(shared string) ([]string, error) {
	all, err := readMarks(marksText)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, m := range all {
		root := shared
		if strings.HasPrefix(m.model, "cases/") {
			root = "golden"
		}
		dirs = append(dirs, filepath.Join(root, filepath.FromSlash(m.model)))
	}
	return dirs, nil
}
