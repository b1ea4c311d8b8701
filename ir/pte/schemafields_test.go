package pte_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/etgen/etgen/ir/schematest"
)

// docs/formats.md decides about every field of the schema, once.
func TestEveryFieldIsDecided(t *testing.T) {
	text, err := os.ReadFile("program.fbs")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`//.*`)
	table := regexp.MustCompile(`(?s)\btable (\w+) \{(.*?)\}`)
	field := regexp.MustCompile(`(\w+)\s*:\s*[\[\w]`)
	schema := map[string]bool{}
	for _, m := range table.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
		for _, f := range field.FindAllStringSubmatch(
			regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(m[2], ""), -1) {
			schema[m[1]+"."+f[1]] = true
		}
	}
	if len(schema) < 70 {
		t.Fatalf("%d fields", len(schema))
	}
	schematest.SameFields(t, schema, schematest.Fields(t, "../../docs/formats.md",
		"## ExecuTorch programs"))
}
