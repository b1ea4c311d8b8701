// Package irtest runs tests of passes that are files: a program in the text
// form of ir and what the pass should make of it.
package irtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/etgen/etgen/ir"
)

var update = flag.Bool("update", false, "rewrite the expected output in test files")

// RunTxtar runs pass as a subtest for each file that glob names, a txtar
// archive with the files
//
//	input   a program
//	output  the program that pass makes of it in place, or
//	error   the message of the error that pass returns
//
// and, above them, a comment on what the case is about. Input and output are
// verified. An "output" that pass leaves equal to the input must be written
// out too. With -update it writes output or error instead of comparing.
func RunTxtar(t *testing.T, glob string, pass func(*ir.Program) error) {
	t.Helper()
	RunText(t, glob, func(p *ir.Program) (string, error) {
		if err := pass(p); err != nil {
			return "", err
		}
		if err := ir.Verify(p); err != nil {
			t.Fatalf("after the pass: %v\n%v", err, p)
		}
		return p.String(), nil
	})
}

// RunText is RunTxtar for what gives a text of another kind than a program.
func RunText(t *testing.T, glob string, render func(*ir.Program) (string, error)) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no file matches %s", glob)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) { runFile(t, file, render) })
	}
}

func runFile(t *testing.T, file string, render func(*ir.Program) (string, error)) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range ar.Files {
		files[f.Name] = string(f.Data)
	}
	input, ok := files["input"]
	if !ok {
		t.Fatalf("%s has no file “input”", file)
	}
	got := txtar.File{Name: "output"}
	if text, err := render(Parse(t, file, input)); err != nil {
		got = txtar.File{Name: "error", Data: []byte(err.Error() + "\n")}
	} else {
		got.Data = []byte(text)
	}
	if *update {
		ar.Files = []txtar.File{{Name: "input", Data: []byte(input)}, got}
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, ok := files[got.Name]
	if !ok {
		t.Fatalf("%s has no file “%s”; have:\n%s", file, got.Name, got.Data)
	}
	if diff := cmp.Diff(lines(want), lines(string(got.Data))); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nwhole %s:\n%s", file, diff, got.Name, got.Data)
	}
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// Parse returns the program that text is the text form of; what is wrong with
// it ends the test. name stands in messages.
func Parse(t testing.TB, name, text string) *ir.Program {
	t.Helper()
	p, err := ir.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}
