package conform_test

import (
	"flag"
	"testing"

	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/schematest"
)

var update = flag.Bool("update", false, "write schema.json anew")

// The schema that is checked in is that of the types. Reports with and without misses meet it.
func TestSchema(t *testing.T) {
	meets := schematest.JSON(t, &conform.Report{}, *update, [2]string{"golden/conform", "."})
	problem := "not as recorded"
	passed := conform.Report{Passed: 1, Misses: []conform.Miss{},
		Results: []conform.Result{{Case: "a"}}}
	failed := conform.Report{Failed: 1, Misses: []conform.Miss{{Case: "a", Problem: problem}},
		Results: []conform.Result{{Case: "a", Problem: &problem}}}
	for _, r := range []conform.Report{passed, failed} {
		if err := meets(&r); err != nil {
			t.Error(err)
		}
		r.Misses = nil
		if meets(&r) == nil {
			t.Error("misses that are null meet the schema")
		}
	}
}
