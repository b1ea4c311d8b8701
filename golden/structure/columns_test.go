package structure

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Lines that a person writes have at most 100 columns. Text in backquotes may be wider, for it is
// what it is, and so may a string without a space, which nobody would look for in parts.
func TestColumns(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(text, []byte("// Code generated ")) {
			return err
		}
		files++
		for _, n := range wideLines(text) {
			t.Errorf("%s:%d has more than %d columns", path, n, columns)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files: %v", files, err)
	}
}

const columns = 100

var directive = regexp.MustCompile(`^//\w+:\w`)

// wideLines returns the numbers of lines that are too wide.
func wideLines(text []byte) (wide []int) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	may := map[int]bool{} // by line
	before := token.EOF
	for pos, tok, lit := s.Scan(); tok != token.EOF; pos, tok, lit = s.Scan() {
		if tok == token.COLON && before == token.STRING {
			may[file.Line(pos)] = true
		}
		before = tok
		if tok == token.STRING && (lit[0] == '`' || !strings.Contains(lit, " ")) {
			at := file.Line(pos)
			for i := range strings.Count(lit, "\n") + 1 {
				may[at+i] = true
			}
		}
	}
	n := 0
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if n++; utf8.RuneCount(line) > columns && !may[n] && !directive.Match(line) {
			wide = append(wide, n)
		}
	}
	return wide
}

func TestWideLines(t *testing.T) {
	long := strings.Repeat("x", columns)
	text := "package p\n\n// " + long + "\nvar a = \"" + long + "\"\nvar b = \"a " + long +
		"\"\nvar c = `" + long + "\n" + long + "d`\nvar e = " + long + "\n"
	if got := wideLines([]byte(text)); len(got) != 3 || got[0] != 3 || got[1] != 5 || got[2] != 8 {
		t.Errorf("lines %v", got)
	}
}
