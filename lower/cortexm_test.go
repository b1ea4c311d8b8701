package lower

import "testing"

// What the pass makes of its cases means what it meant before: integers differ by one at most.
func TestCortexMMean(t *testing.T) { testMeaning(t, "testdata/cortex-m/*.txtar", true, true) }
