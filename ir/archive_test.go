package ir_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
)

var update = flag.Bool("update", false, "rewrite the checked-in texts")

// archives returns the .pt2 files of the cases here and, where they are at
// hand, of the shared ones.
func archives(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, root := range []string{"../golden", "../../shared"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".pt2") && d.Type().IsRegular() {
				files = append(files, path)
			}
			return nil // an absent folder holds no cases
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Skip("no cases at ../golden and ../shared")
	}
	return files
}

// Every archive makes a program that verifies, whose text parses to a program
// of the same text, and whose clone has the same text.
func TestArchives(t *testing.T) {
	files := tier.Some(archives(t), 200, -1)
	t.Logf("%d archives", len(files))
	for _, file := range files {
		name := strings.TrimLeft(filepath.ToSlash(file), "./")
		p, c, err := pt2.Read(file)
		if err != nil {
			// Files that are wrong may be refused here, or only when they are compiled.
			if wrong := strings.Contains(name, "golden/refused/") ||
				strings.Contains(name, "shared/repro/"); !wrong {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		checkProgram(t, name, p)
		c.Close()
	}
}

func checkProgram(t *testing.T, name string, p *ir.Program) {
	if err := ir.Verify(p); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var text strings.Builder
	if err := ir.Print(&text, p); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	same := func(what string, got string) {
		if got != text.String() {
			t.Errorf("%s: %s (-want +got):\n%s", name, what,
				cmp.Diff(strings.Split(text.String(), "\n"), strings.Split(got, "\n")))
		}
	}
	q, err := ir.Parse(name, text.String())
	if err != nil {
		t.Error(err)
		return
	}
	if err := ir.Verify(q); err != nil {
		t.Errorf("%s, parsed: %v", name, err)
	}
	same("parsed", q.String())
	same("cloned", ir.Clone(p).String())
}

// The text of a few archives is checked in, so that a change of the form or of
// the reader shows.
func TestArchiveText(t *testing.T) {
	for _, name := range []string{"dynamic_batch", "while_loop", "counter_buffer"} {
		file := "../../shared/models/" + name + "/model.pt2"
		if _, err := os.Stat(file); err != nil {
			t.Skip("no shared cases at ../shared")
		}
		p, c, err := pt2.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		golden := "testdata/" + name + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(p.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), p.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
