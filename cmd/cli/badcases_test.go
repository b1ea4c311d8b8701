package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/testcase"
)

// What is wrong with a case is said, with exit code 2, and nothing of what is not a
// regular file is read: a device has no end.
func TestBadCases(t *testing.T) {
	const add = "../../golden/cases/add"
	meta, err := os.ReadFile(filepath.Join(add, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := func(old, new string) string { return strings.Replace(string(meta), old, new, 1) }
	for _, c := range []struct {
		name, file string
		data       string // what is in the file instead; "->" and a path is a link
		says       string
	}{
		{"no meta", "meta.json", "-", "no case at or below "},
		{"no model", "model.*", "-", "no case at or below "},
		{"half of meta", "meta.json", "{", "meta.json: unexpected end of JSON input"},
		{"a list for meta", "meta.json", "[]", "of a kind that does not belong there: array"},
		{"a word for inputs", "meta.json", `{"inputs": "x"}`, "inputs is of a kind that does not"},
		{"no calls", "meta.json", "null", "meta.json has no inputs"},
		{"dtype", "meta.json", text("float32", "float99"), `dtype "float99" is unknown`},
		{"path", "meta.json", text("input_0.bin", "../input_0.bin"), "is not in the case's folder"},
		{"no input", "input_0.bin", "-", "input_0.bin: no such file or directory"},
		{"short input", "input_0.bin", "abc", "of 12 bytes has 3"},
		{"endless input", "input_0.bin", "->/dev/zero", "input_0.bin: it is no regular file"},
		{"endless meta", "meta.json", "->/dev/zero", "meta.json: it is no regular file"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(add)); err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(dir, c.file))
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			to, link := strings.CutPrefix(c.data, "->")
			switch {
			case link:
				if _, err := os.Stat(to); err != nil {
					t.Skip(err)
				}
				err = os.Symlink(to, file)
			case c.data != "-":
				err = os.WriteFile(file, []byte(c.data), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var stdout, stderr bytes.Buffer
		args := []string{"golden", "check", dir, "--via=rt"}
		if code := run(t.Context(), args, &stdout, &stderr); code != exitUsage ||
			!strings.Contains(stderr.String(), c.says) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d and %q: %s%s", c.name, code, exitUsage, c.says,
				stdout.String(), stderr.String())
		}
		if _, err := testcase.Read(dir); err == nil {
			t.Errorf("%s: it can be read", c.name)
		}
	}
}
