package structure

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Lines that a person writes have at most 100 columns. Text in backquotes may be wider, for it is
// what it is. So may a line with a string of 60 columns or more that has no space, which nobody
// would look for in parts; one that is a key and a value, both strings, which gofmt keeps on one
// line; and what a comment tells a program, as //go:embed does. Templates of C have no wider lines.
func TestColumns(t *testing.T) {
	files, templates := 0, 0
	ofC := filepath.Join(root, "templates", "c") + string(filepath.Separator)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		}
		isGo := filepath.Ext(path) == ".go"
		if d.IsDir() || !isGo && !strings.HasPrefix(path, ofC) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(text, []byte("// Code generated ")) {
			return err
		}
		files++
		wide := tooWide(text, nil)
		if isGo {
			wide = wideLines(text)
		} else {
			templates++
		}
		for _, n := range wide {
			t.Errorf("%s:%d has more than %d columns", path, n, columns)
		}
		return nil
	})
	if err != nil || files < 100 || templates < 80 {
		t.Errorf("%d files, %d templates: %v", files, templates, err)
	}
}

const columns = 100

var directive = regexp.MustCompile(`^//\w+:\w`)

// wideLines returns the numbers of lines of Go that are too wide.
func wideLines(text []byte) (wide []int) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	may := map[int]bool{} // by line
	kinds := map[int][]token.Token{}
	for pos, tok, lit := s.Scan(); tok != token.EOF; pos, tok, lit = s.Scan() {
		at := file.Line(pos)
		if lit != "\n" {
			kinds[at] = append(kinds[at], tok)
		}
		if tok == token.STRING && (lit[0] == '`' || len(lit) >= 60 && !strings.Contains(lit, " ")) {
			for i := range strings.Count(lit, "\n") + 1 {
				may[at+i] = true
			}
		}
	}
	for at, list := range kinds {
		pair := []token.Token{token.STRING, token.COLON, token.STRING, token.COMMA}
		may[at] = may[at] || slices.Equal(list, pair)
	}
	return tooWide(text, func(n int, line []byte) bool { return may[n] || directive.Match(line) })
}

// tooWide returns the numbers of wide lines, but for those that may be.
func tooWide(text []byte, may func(n int, line []byte) bool) (wide []int) {
	n := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if n++; utf8.RuneCount(line) > columns && (may == nil || !may(n, line)) {
			wide = append(wide, n)
		}
	}
	return wide
}

func TestWideLines(t *testing.T) {
	long := strings.Repeat("x", columns)
	text := strings.Join([]string{"package p", "// " + long, "//go:embed " + long,
		`var a = "` + long + `"`, `var b = "a ` + long + `"`, "var c = `" + long, long + "`",
		`var d = f("", ` + long + ")", "var e = map[string]string{", `"k": "v ` + long + `",`,
		`"k": f("v", ` + long + "),", "}"}, "\n")
	if got := wideLines([]byte(text)); !slices.Equal(got, []int{2, 5, 8, 11}) {
		t.Errorf("lines %v", got)
	}
}
