package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// batch is how many models are built into one program.
const batch = 48

// allCases returns a job for each model file of the checked-in cases.
func allCases(t *testing.T) (jobs []way.Job, names []string) {
	t.Helper()
	dirs, err := testcase.Find("../cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Models {
			jobs = append(jobs, conform.Job(c, m))
			names = append(names, strings.TrimPrefix(dir, "../cases/")+"/"+m)
		}
	}
	return jobs, names
}

// runAll runs jobs in batches and returns the results in their order.
func runAll(ctx context.Context, w way.Way, jobs []way.Job) []*way.Result {
	results := make([]*way.Result, len(jobs))
	at := 0
	for part := range slices.Chunk(jobs, batch) {
		w.Run(ctx, part, func(i int, r *way.Result) { results[at+i] = r })
		at += len(part)
	}
	return results
}

// A plan is right if nobody notices it: with every buffer at a place of its own
// and dead buffers overwritten a program gives the same bytes. The checker that
// runs on every compile may share the planner's wrong beliefs, this cannot.
func TestPlannedAndPoisonedAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	all, names := allCases(t)
	disjoint := compile.Options{Planner: plan.Disjoint{}, Poison: true}
	for _, c := range []struct {
		name     string
		poisoned way.Way
		normal   int // cases; the planner is the same for both languages
	}{
		{"c", way.C{Settings: way.Settings{Options: disjoint}, Target: withoutWarnings()}, -1},
		{"go", way.Go{Settings: way.Settings{Options: disjoint}}, 48},
	} {
		t.Run(c.name, func(t *testing.T) {
			var jobs []way.Job
			index := make([]int, len(all))
			for i := range all {
				index[i] = i
			}
			index = tier.Some(index, 0, c.normal)
			for _, i := range index {
				jobs = append(jobs, all[i])
			}
			first := wholeCases(t, c.name, index)
			second := runAll(t.Context(), c.poisoned, jobs)
			// Most cases are a kernel or two and have nothing to poison.
			if n := poisoned(second); n < len(jobs)/5 {
				t.Errorf("only %d of %d programs poison anything", n, len(jobs))
			}
			for k, i := range index {
				if err := sameBytes(first[i], second[k]); err != nil {
					t.Errorf("%s: %v", names[i], err)
				}
			}
		})
	}
}

// poisoned counts the programs that overwrite dead buffers.
func poisoned(results []*way.Result) int {
	count := 0
	for _, r := range results {
		found := false
		if r.Native != nil {
			codegen.Walk(r.Native.Methods[0].Body, func(s native.Stmt) {
				_, ok := s.(*native.Poison)
				found = found || ok
			})
		}
		if found {
			count++
		}
	}
	return count
}

// whole are the results of cases by language, as they are compiled by default. Each
// runs once, for all tests that hold something against it, and is built as
// golden/conform builds it, whose objects and packages are in the caches.
var whole = map[string][]*way.Result{}

// wholeCases returns the results by case; those of the index are there.
func wholeCases(t *testing.T, lang string, index []int) []*way.Result {
	t.Helper()
	all, _ := allCases(t)
	if whole[lang] == nil {
		whole[lang] = make([]*way.Result, len(all))
	}
	index = slices.DeleteFunc(slices.Clone(index), func(i int) bool { return whole[lang][i] != nil })
	var jobs []way.Job
	for _, i := range index {
		jobs = append(jobs, all[i])
	}
	for k, r := range runAll(t.Context(), language(lang, way.Settings{}, toolchain.Target{}), jobs) {
		whole[lang][index[k]] = r
	}
	return whole[lang]
}

// language is the way of a language; target is the compiler of C.
func language(lang string, s way.Settings, target toolchain.Target) way.Way {
	if lang == "go" {
		return way.Go{Settings: s}
	}
	return way.C{Settings: s, Target: target}
}

// comparing is the compiler for C that is held against other C of the same model, or
// the interpreter: gcc without optimisation, which takes a third of the time. What gcc
// makes of models with it is held against PyTorch elsewhere.
func comparing() toolchain.Target { return toolchain.GCC().With("-O0") }

// withoutWarnings is comparing without -Werror: the code that poisons is for
// tests only.
func withoutWarnings() toolchain.Target { return comparing().With("-Wno-error") }

// sameBytes compares two runs of the same job.
func sameBytes(a, b *way.Result) error {
	if err := failure(a, b); err != nil {
		return err
	}
	for i := range a.Calls {
		if bothRefuse(a, b, i) {
			continue
		}
		if err := sameCall(&a.Calls[i], &b.Calls[i], compare.Tolerance{Exact: true}); err != nil {
			return fmt.Errorf("call %d: %w", i, err)
		}
	}
	return nil
}

// bothRefuse reports whether call i is one whose sizes both results refuse, or that
// fails an assertion in both.
func bothRefuse(a, b *way.Result, i int) bool {
	if i >= len(a.Calls) || i >= len(b.Calls) {
		return false
	}
	x, y := a.Calls[i].Err, b.Calls[i].Err
	return errors.Is(x, way.ErrShape) && errors.Is(y, way.ErrShape) || asserts(x) && asserts(y)
}

// asserts reports whether a call failed an assertion of the model.
func asserts(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "(ERR_ASSERT)") ||
		strings.Contains(err.Error(), "assertion failed"))
}

// failure is the first error of two results, or that they differ in form.
func failure(a, b *way.Result) error {
	for _, r := range []*way.Result{a, b} {
		if r.Err != nil {
			return r.Err
		}
		for i, c := range r.Calls {
			if c.Err != nil && !bothRefuse(a, b, i) {
				return fmt.Errorf("call %d: %w", i, c.Err)
			}
		}
	}
	if len(a.Calls) != len(b.Calls) {
		return fmt.Errorf("%d calls and %d", len(a.Calls), len(b.Calls))
	}
	return nil
}

func sameCall(a, b *way.CallResult, tol compare.Tolerance) error {
	if len(a.Outputs) != len(b.Outputs) {
		return fmt.Errorf("%d outputs and %d", len(a.Outputs), len(b.Outputs))
	}
	for k := range a.Outputs {
		if miss := compare.Values(b.Outputs[k], a.Outputs[k], tol); miss != nil {
			return fmt.Errorf("output %d: %v", k, miss)
		}
	}
	for k, t := range a.Mutated {
		if (t == nil) != (b.Mutated[k] == nil) {
			return fmt.Errorf("input %d is written one time only", k)
		}
		if t != nil {
			if miss := compare.Tensors(b.Mutated[k], t, tol); miss != nil {
				return fmt.Errorf("input %d after the call: %v", k, miss)
			}
		}
	}
	return nil
}
