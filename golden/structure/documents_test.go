package structure

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// Links and make targets in the documents at the top exist.
func TestDocuments(t *testing.T) {
	targets := makeTargets(t)
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "RATIONALE.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile("(?m)(?:^|`)make ([a-z]+)").FindAllStringSubmatch(string(text), -1) {
			if !targets[m[1]] {
				t.Errorf("%s says make %s, which the Makefile has not", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`go run (\./\S+)`).FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s says go run %s, which is not there", name, m[1])
			}
		}
	}
}

func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(name, " \t.$") {
			targets[name] = true
		}
	}
	return targets
}

// go.mod and go.sum say what `go mod tidy` would.
func TestModuleIsTidy(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "mod", "tidy", "-diff")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go mod tidy would change:\n%s", out)
	}
}

// Files are for one purpose each: none is longer than 600 lines.
func TestFilesAreShort(t *testing.T) {
	for _, p := range loadAll(t) {
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			} else if n := strings.Count(string(text), "\n"); n > 600 {
				t.Errorf("%s has %d lines", file, n)
			}
		}
	}
}
