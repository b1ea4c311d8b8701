package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// The commands of docs/devtools.md work with the files in it; C runs under sanitizers.
func TestDevtoolsPage(t *testing.T) {
	tier.Needs(t, tier.Normal)
	dir := t.TempDir()
	text, blocks := blocksOf(t, "../../docs/devtools.md")
	model, err := os.ReadFile("../../golden/cases/lenet/model.pt2")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"model.pt2": model}
	for _, m := range listing.FindAllSubmatch(text, -1) {
		files[string(m[1])] = m[2]
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	lines := slices.Concat(blocks...)
	if len(lines) < 8 || len(files) < 3 {
		t.Fatalf("%d commands, %d files, that cannot be all", len(lines), len(files))
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "gcc ") {
			line += " -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
		}
		if strings.HasPrefix(line, "etgen profile ") {
			line += " | tee table.txt"
		}
		runExample(t, dir, line)
		if !strings.HasPrefix(line, "etgen profile ") {
			continue
		}
		got, err := os.ReadFile(filepath.Join(dir, "table.txt"))
		if err != nil || !strings.Contains(string(got), "layers.py:43") &&
			!strings.Contains(string(got), "aten.linear.default") {
			t.Errorf("%s: %v\n%s", line, err, got)
		}
	}
}
