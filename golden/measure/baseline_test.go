package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/foreign"
)

// A core that is twice as fast has half the time for the same; what is of another compiler or way
// is not compared.
func TestGrowth(t *testing.T) {
	was := &Report{Peak: 40, Ways: []*Way{{Name: "c", How: "gcc", Best: 10, Arena: 64, Weights: 8}}}
	text, err := foreign.JSON(was)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "b.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if was, err = ReadBaseline(path); err != nil {
		t.Fatal(err)
	}
	now := &Report{Peak: 80, Ways: []*Way{{Name: "c", How: "gcc", Best: 6, Arena: 64, Weights: 9}}}
	list, err := now.Growth(was)
	if err != nil || len(list) != 3 || list[0].Percent() != 20 || list[1].Percent() != 0 ||
		list[2].Percent() != 12.5 {
		t.Errorf("%+v %v", list, err)
	}
	now.Peak = 0 // not known: times are compared as they are
	if list, err = now.Growth(was); err != nil || list[0].Percent() != -40 {
		t.Errorf("%+v %v", list, err)
	}
	for problem, w := range map[string]*Way{"is not of --via=go": {Name: "go", How: "go build"},
		"is of gcc, this is of clang": {Name: "c", How: "clang"}} {
		now.Ways[0] = w
		if _, err := now.Growth(was); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v, not %s", err, problem)
		}
	}
	for _, text := range []string{"{}", `{"ways": [null]}`, `{"ways": [{"way": "c"}]}`, "[]"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadBaseline(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
