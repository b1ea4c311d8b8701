package samples

import (
	"testing"

	"github.com/etgen/etgen/kernels/ops"
)

// Every operator of the table that has a meaning on tensors has samples, which its entry
// accepts but for what a mask or a size makes wrong, and samples are of operators of the
// table, in one family each. Samples are of real numbers: golden/cases/complex_numbers, fourier and
// short_time_fourier hold what becomes operators on complex ones.
func TestEveryOperatorHasSamples(t *testing.T) {
	table := ops.Standard()
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		all := Of(op, NewRand(1))
		if len(all) == 0 && !op.Complex() && (op.Compute != nil || op.Loops != nil ||
			op.Decompose != nil ||
			op.View != nil) {
			t.Errorf("%s has no samples: add them to its family in golden/samples", name)
		}
		for i, s := range all {
			if _, err := table.Bind(s.Node(op)); err != nil {
				t.Errorf("%s: sample %d: %v", name, i, err)
			}
		}
	}
	families := map[string]int{}
	for _, f := range named {
		for name := range f {
			families[name]++
		}
	}
	for _, f := range read {
		for name := range f {
			families[name]++
		}
	}
	for name, n := range families {
		if op, ok := table.Lookup(name); !ok || op.Name() != name {
			t.Errorf("%s is no operator of the table", name)
		}
		if n != 1 {
			t.Errorf("%s has samples in %d families", name, n)
		}
	}
}
