// Package schematest is for tests. It holds what docs/formats.md says of the fields of file formats
// against their schemas, and the JSON Schemas of what etgen writes against its types.
package schematest

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Fields reads the table below a heading of docs/formats.md: what is done with
// each field, "Class.field" to "used", "checked", "refused" or "not read".
func Fields(t testing.TB, path, heading string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n"+heading)
	if !ok {
		t.Fatalf("%s has no heading %q", path, heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	fields := map[string]string{}
	for line := range strings.Lines(part) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || strings.HasPrefix(cells[0], "-") ||
			strings.TrimSpace(cells[1]) == "fields" {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch cells[2] {
		case "used", "checked", "refused":
		case "not read":
			if cells[3] == "" {
				t.Errorf("%s: %s: no word why it is not read", path, line)
			}
		default:
			t.Errorf("%s: %q says nothing", path, line)
		}
		for field := range strings.SplitSeq(cells[1], ",") {
			name := cells[0] + "." + strings.TrimSpace(field)
			if _, twice := fields[name]; twice {
				t.Errorf("%s: %s stands there twice", path, name)
			}
			fields[name] = cells[2]
		}
	}
	return fields
}

// SameFields reports fields of a schema that a table does not have, and those
// that it has too many.
func SameFields(t testing.TB, schema map[string]bool, table map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if table[name] == "" {
			t.Errorf("docs/formats.md does not say what becomes of %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !schema[name] {
			t.Errorf("docs/formats.md has %s, which is not in the schema", name)
		}
	}
}

var (
	comment   = regexp.MustCompile(`//.*`)
	attribute = regexp.MustCompile(`\([^)]*\)`)
	table     = regexp.MustCompile(`(?s)\btable (\w+) \{(.*?)\}`)
	field     = regexp.MustCompile(`(\w+)\s*:\s*[\[\w]`)
)

// Schema returns the fields of the tables in the .fbs file at path.
func Schema(t testing.TB, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	schema := map[string]bool{}
	for _, m := range table.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
		for _, f := range field.FindAllStringSubmatch(attribute.ReplaceAllString(m[2], ""), -1) {
			schema[m[1]+"."+f[1]] = true
		}
	}
	return schema
}
