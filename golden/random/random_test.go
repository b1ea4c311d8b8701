package random

import (
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

var (
	number = flag.Int("random.n", 0, "programs to make, 0: as many as the tier has")
	first  = flag.Uint64("random.seed", 1, "seed of the first")
	mix    = flag.Int("random.mix", -1, "if not negative, only programs of this row of mixes")
	skipC  = flag.Bool("random.inside", false, "leave out the compilers")
	asan   = flag.Bool("random.sanitize", false, "run under sanitizers, and no other way")
	only   = flag.String("random.only", "", "only the ways whose names begin so")
	spell  = flag.Bool("random.v", false, "tell why programs are left out")
)

// Random programs compute the same in every form.
func TestRandom(t *testing.T) {
	table := ops.Standard()
	start := time.Now()
	var good []*program
	left := map[string]int{}
	if *number == 0 {
		*number = tier.Of(6, 24, 240)
	}
	for seed, n := *first, 0; n < *number; seed++ {
		if *mix >= 0 && mixOf(seed) != *mix%len(mixes) {
			continue
		}
		n++
		p, err := Generate(table, seed)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		x, err := newProgram(table, p)
		if err != nil {
			if !errors.Is(err, errChaotic) && *spell {
				t.Logf("seed %d: %v\n%s", seed, err, p)
			}
			left[kind(err)]++
			continue
		}
		if x.terms, err = termsOf(table, p); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, p)
			continue
		}
		if err := x.checkPasses(table); err != nil {
			report(t, seed, p, err, (*program).passes)
			continue
		}
		if err := x.checkNative(); err != nil {
			report(t, seed, p, err, (*program).checkNative)
			continue
		}
		good = append(good, x)
	}
	t.Logf("%d programs are right inside, %v", len(good), time.Since(start))
	if *spell {
		t.Log(left)
	}
	if *skipC || tier.Now() == tier.Short {
		return
	}
	ways := variants
	if *asan {
		ways = sanitized
	}
	ways = named(ways, *only)
	told := map[string]bool{}
	for part := range slices.Chunk(good, 8*perBundle) {
		for i, errs := range checkCompiled(t.Context(), part, ways) {
			for v, err := range errs {
				if err == nil {
					continue
				}
				if p := part[i].p; told[kind(err)] {
					t.Errorf("%s: %v", ways[v].name, err)
				} else {
					told[kind(err)] = true
					t.Errorf("%s: %v\n%s", ways[v].name, err, minimiseCompiled(t.Context(), p,
						kind(err), ways, v))
				}
				break
			}
		}
	}
	t.Log(time.Since(start))
}

func (x *program) passes() error { return x.checkPasses(ops.Standard()) }

func report(t *testing.T, seed uint64, p *ir.Program, err error, check func(*program) error) {
	small := minimise(p, kind(err), func(x *program) error { return check(x) })
	t.Errorf("seed %d: %v\n%s", seed, err, small)
}
