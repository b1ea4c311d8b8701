package safety

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// Microcontrollers take patches for memory, with results over images: the bytes are
// those of whole calls, in patches of any height and in those that are chosen, wherever
// the planner puts them. What cannot be made in patches stays whole.
func TestPatchesOfMicrocontrollersAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewSource(2))
	random := tier.Of(0, 14, 20)
	var jobs []way.Job
	for i := range random + random/2 {
		jobs = append(jobs, randomConvolutions(t, r, i >= random))
	}
	cases, names := allCases(t)
	var chosen []way.Job
	for i, name := range names {
		if strings.HasPrefix(name, "channels_last_conv") || strings.HasPrefix(name, "conv_cat") ||
			strings.HasPrefix(name, "lenet") || strings.HasPrefix(name, "residual") ||
			strings.HasPrefix(name, "dynamic_batch") {
			chosen = append(chosen, cases[i])
		}
	}
	jobs = append(jobs, tier.Some(chosen, 0, 8)...)
	in := func(opt compile.Options, target toolchain.Target) way.Way {
		if opt.Target == "" {
			opt.Target = "cortex-m4"
		}
		return way.C{Settings: way.Settings{Options: opt}, Target: target}
	}
	whole := runAll(t.Context(), in(compile.Options{Patches: -1}, comparing()), jobs)
	for i := range jobs {
		if hasPatches(whole[i]) {
			t.Errorf("%s: whole calls are made in patches", jobs[i].Name)
		}
	}
	for _, h := range []struct {
		name    string
		opt     compile.Options
		machine toolchain.Target
		least   int // programs that have patches
	}{
		{"1 row", compile.Options{Patches: 1}, withoutWarnings(), random / 2},
		{"3 rows, poisoned", compile.Options{Patches: 3, Planner: plan.Disjoint{}, Poison: true},
			comparing(), random / 2},
		{"chosen", compile.Options{}, withoutWarnings(), random / 2},
		{"chosen for speed", compile.Options{Optimize: "speed"}, comparing(), random / 2},
		{"chosen, poisoned", compile.Options{Planner: plan.Disjoint{}, Poison: true}, comparing(),
			random / 2},
		{"chosen for cortex-m0", compile.Options{Target: "cortex-m0"}, comparing(), random / 2},
	} {
		t.Run(h.name, func(t *testing.T) {
			whole := whole
			if h.opt.Target != "" { // its sums may be in another order
				whole = runAll(t.Context(), in(compile.Options{Target: h.opt.Target, Patches: -1},
					comparing()), jobs)
			}
			got := runAll(t.Context(), in(h.opt, h.machine), jobs)
			patched, over := 0, 0
			for i := range jobs {
				if err := sameBytes(whole[i], got[i]); err != nil {
					t.Errorf("%s: %v", jobs[i].Name, err)
				}
				if hasPatches(got[i]) {
					patched++
				}
				if laysOver(got[i]) {
					over++
				}
				if h.opt.Planner == nil && h.opt.Patches == 0 && got[i].Native != nil &&
					arena(got[i]) > arena(whole[i]) {
					t.Errorf("%s: the arena takes %d bytes with patches and %d without", jobs[i].Name,
						arena(got[i]), arena(whole[i]))
				}
			}
			if patched < h.least {
				t.Errorf("only %d of %d programs have patches", patched, len(jobs))
			}
			if h.opt.Patches == 0 && over < h.least/4 {
				t.Errorf("only %d of %d programs lay results over images", over, len(jobs))
			}
			t.Logf("%d of %d programs have patches, %d lay results over images", patched,
				len(jobs), over)
		})
	}
}

func arena(r *way.Result) int64 { return r.Native.Methods[0].Plan.Size() }

// laysOver reports whether a program has a loop that writes a buffer which it reads
// elsewhere.
func laysOver(r *way.Result) bool {
	found := false
	if r.Native != nil {
		codegen.Walk(r.Native.Methods[0].Body, func(s native.Stmt) {
			c, ok := s.(*native.Call)
			found = found || ok && c.Kernel.Tuned != nil && c.Args[0].Root != nil &&
				c.Args[0].Root == c.Args[1].Root && !strings.HasSuffix(c.Args[0].Root.Name, "_rows")
		})
	}
	return found
}
