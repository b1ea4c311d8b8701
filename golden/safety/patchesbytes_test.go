package safety

import (
	"math/rand"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/plan"
)

// Networks in integers of 8 and 16 bits give the same bytes in patches as whole, with results over
// images.
func TestPatchesOfBytesAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewSource(3))
	programs, over := tier.Of(0, 4, 12), 0
	for k := range programs {
		job := randomConvolutions(t, r, true)
		p, _, err := job.Open()
		if err != nil {
			t.Fatal(err)
		}
		m := p.Methods[0]
		q, err := quantize.New(&lower.Context{Table: ops.Standard()}, p,
			map[string]quantize.Samples{m.Name: record.RandomSample(m, 1)},
			quantize.Options{Scheme: quantize.Schemes[k%2]})
		if err != nil {
			t.Fatal(err)
		}
		run := func(opt compile.Options) *way.Result {
			opt.Recipe = q.Recipe
			w := way.C{Settings: way.Settings{Options: opt}, Target: comparing()}
			return runAll(t.Context(), w, []way.Job{job})[0]
		}
		for _, target := range []string{"cortex-m4", "cortex-m0"} {
			whole := run(compile.Options{Target: target, Patches: -1})
			for _, opt := range []compile.Options{{}, {Optimize: "speed"},
				{Planner: plan.Disjoint{}, Poison: true}} {
				opt.Target = target
				got := run(opt)
				if err := sameBytes(whole, got); err != nil {
					t.Errorf("program %d, %s, optimized for %q, poisoned %t: %v", k, target,
						opt.Optimize, opt.Poison, err)
				}
				if laysOver(got) {
					over++
				}
			}
		}
	}
	if over < programs {
		t.Errorf("only %d programs lay results over images", over)
	}
}
