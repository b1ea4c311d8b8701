package pte_test

import (
	"testing"

	"github.com/etgen/etgen/golden/schematest"
)

// docs/formats.md decides about every field of the schema, once.
func TestEveryFieldIsDecided(t *testing.T) {
	schema := schematest.Schema(t, "program.fbs")
	if len(schema) < 70 {
		t.Fatalf("%d fields", len(schema))
	}
	schematest.SameFields(t, schema, schematest.Fields(t, "../../docs/formats.md",
		"## ExecuTorch programs"))
}
