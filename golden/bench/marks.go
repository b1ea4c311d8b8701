package main

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed marks.tsv
var marksText string

// mark is the least time that a runtime other than etgen's is known to take for
// a model.
type mark struct {
	time time.Duration
	by   string
}

// marks are the marks by the cases' names.
func marks() (map[string]mark, error) {
	all := map[string]mark{}
	for line := range strings.Lines(marksText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			return nil, fmt.Errorf("marks.tsv: %q is not a case, a time and a runtime", line)
		}
		us, err := strconv.ParseFloat(f[1], 64)
		if err != nil || us <= 0 {
			return nil, fmt.Errorf("marks.tsv: the time in %q", line)
		}
		m := mark{time.Duration(us * 1e3), f[2]}
		if best, ok := all[f[0]]; !ok || m.time < best.time {
			all[f[0]] = m
		}
	}
	return all, nil
}

// marked are the folders of the cases that have marks: cases/… in golden, others
// in shared. The working directory is the repository.
func marked(shared string) ([]string, error) {
	all, err := marks()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for name := range all {
		root := shared
		if strings.HasPrefix(name, "cases/") {
			root = "golden"
		}
		dirs = append(dirs, filepath.Join(root, filepath.FromSlash(name)))
	}
	return dirs, nil
}
