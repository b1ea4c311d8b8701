package grow

import (
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// What etgen allocates grows no faster than the program, in every stage, for every
// shape and way. Bytes and numbers of allocations are counted and not times: they
// are the same in every run, but for what the runtime itself does.
func TestLinear(t *testing.T) {
	const (
		linear = 1.2
		least  = 4 << 20 // of a stage, in bytes: below that what is constant counts

		small, large = 200, 800
	)
	for i, s := range tier.Some(Shapes(), 9, -1) {
		for k, way := range Ways {
			if tier.Now() == tier.Short && i%len(Ways) != k {
				continue
			}
			t.Run(s.Name+"/"+way, func(t *testing.T) {
				m, err := Run(s, way, small, large)
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range m.Growth() {
					if g.Large.Bytes >= least && (g.Bytes > linear || g.Allocs > linear) {
						t.Errorf(
							"%s: %d bytes and %d allocations for %d nodes, %d and %d for %d: exponents %.2f and %.2f",
							g.Stage,
							g.Small.Bytes, g.Small.Allocs, small, g.Large.Bytes, g.Large.Allocs,
							large, g.Bytes, g.Allocs)
					}
				}
			})
		}
	}
}

// Programs of all shapes are of about the size that is asked for.
func TestSizes(t *testing.T) {
	for _, s := range Shapes() {
		p, err := s.Make(300)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if n := nodes(p); n < 200 || n > 400 {
			t.Errorf("%s: %d nodes, not about 300", s.Name, n)
		}
	}
}
