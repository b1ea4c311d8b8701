package pt2

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/schematest"
)

// docs/formats.md decides about every field of PyTorch's schema, once; what it
// says is used or checked is looked for by the reader.
func TestEveryFieldIsDecided(t *testing.T) {
	text, err := os.ReadFile("testdata/schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		class, fields, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for field := range strings.FieldsSeq(fields) {
			schema[class+"."+field] = true
		}
	}
	if len(schema) < 150 {
		t.Fatalf("%d fields", len(schema))
	}
	decided := schematest.Fields(t, "../../docs/formats.md", "## Exported programs")
	schematest.SameFields(t, schema, decided)

	source := ""
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	for field, what := range decided {
		_, name, _ := strings.Cut(field, ".")
		found := regexp.MustCompile(`"` + name + `"`).MatchString(source)
		if (what == "used" || what == "checked") && !found {
			t.Errorf("%s is %s, but the reader does not look for %q", field, what, name)
		}
	}
}
