package random

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/plan"
)

// checkPasses runs the program after each pass that changes it: for any target,
// and for one where time counts and that has a kernel for all attention.
func (x *program) checkPasses(table *ops.Table) error {
	if err := x.checkPipeline(&lower.Context{Table: table}); err != nil {
		return err
	}
	return x.checkPipeline(&lower.Context{Table: table, Speed: true, Legal: func(c *ops.Call) bool {
		_, ok := ops.AttentionOf(c)
		return ok
	}})
}

func (x *program) checkPipeline(ctx *lower.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("lower: panic: %v", r)
		}
	}()
	p := ir.Clone(x.p)
	n, text := 0, ""
	return lower.Backend.Run(ctx, p, func(pass lower.Pass, p *ir.Program) error {
		n++
		if err := ir.Verify(p); err != nil {
			return err
		}
		now := p.String()
		if n < len(lower.Functional.Passes) || now == text {
			return nil
		}
		text = now
		got, err := runGraph(ctx.Table, p.Methods[0], x.calls)
		if err != nil {
			return err
		}
		return x.check(got, x.terms == 1 && ctx.Legal == nil)
	})
}

// checkNative runs the native form, planned and with poisoned buffers apart.
func (x *program) checkNative() error {
	for _, optimize := range []string{"speed", "size"} {
		var first []way.CallResult
		for _, planner := range []plan.Planner{plan.Best{}, plan.Disjoint{}} {
			_, apart := planner.(plan.Disjoint)
			what := fmt.Sprintf("native %s %T", optimize, planner)
			np, err := compile.Native(ir.Clone(x.p), compile.Options{Lang: "c", Optimize: optimize,
				Planner: planner, Poison: apart, Untuned: true})
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			got, err := runNative(np, x.calls)
			if err == nil {
				err = x.check(got, x.terms == 1)
			}
			if err == nil && first != nil {
				err = same(first, got)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			first = got
		}
	}
	return nil
}

// same compares two runs to the bit.
func same(a, b []way.CallResult) error {
	var err error
	for i := range a {
		for k := range a[i].Outputs {
			if miss := compare.Values(b[i].Outputs[k], a[i].Outputs[k],
				compare.Tolerance{Exact: true}); miss != nil {
				err = fmt.Errorf("call %d: output %d is not the same planned and poisoned: %w",
					i, k, miss)
			}
		}
		for k, t := range a[i].Mutated {
			if (t == nil) != (b[i].Mutated[k] == nil) ||
				t != nil && !sameBytes(t, b[i].Mutated[k]) {
				err = fmt.Errorf("call %d: input %d is not the same after it, planned and poisoned",
					i, k)
			}
		}
	}
	return err
}

func sameBytes(a, b *tensor.Tensor) bool {
	return compare.Tensors(b, a, compare.Tolerance{Exact: true}) == nil
}

// variant is a way to compile.
type variant struct {
	name string
	lang string
	opt  compile.Options
	like int // index of the variant that must give the same bits; -1: none
	// sanitized is C under AddressSanitizer and UndefinedBehaviorSanitizer.
	sanitized bool
}

// variants are the ways all programs go.
var variants = []variant{
	{name: "c", lang: "c", opt: compile.Options{Untuned: true}, like: -1},
	{name: "c poisoned", lang: "c", opt: compile.Options{Untuned: true, Planner: plan.Disjoint{},
		Poison: true}, like: 0},
	{name: "c tuned", lang: "c", opt: compile.Options{}, like: -1},
	{name: "c tuned poisoned", lang: "c", opt: compile.Options{Planner: plan.Disjoint{},
		Poison: true}, like: 2},
	{name: "c tuned size", lang: "c", opt: compile.Options{Optimize: "size"}, like: -1},
	{name: "go", lang: "go", opt: compile.Options{Untuned: true}, like: -1},
	{name: "go tuned", lang: "go", opt: compile.Options{}, like: -1},
	{name: "go tuned poisoned", lang: "go", opt: compile.Options{Planner: plan.Disjoint{},
		Poison: true}, like: 6},
	{name: "go size", lang: "go", opt: compile.Options{Untuned: true, Optimize: "size"}, like: -1},
	{name: "rt", lang: "pte", opt: compile.Options{}, like: -1},
	{name: "rt apart", lang: "pte", opt: compile.Options{Planner: plan.Disjoint{}}, like: 9},
	{name: "c patches", lang: "c", opt: compile.Options{Patches: 1}, like: 2},
	{name: "go patches", lang: "go", opt: compile.Options{Patches: 2}, like: 6},
	{name: "c divided", lang: "c", opt: compile.Options{FunctionWeight: 20, Threads: 2,
		DivideAll: true}, like: 2},
	{name: "go divided", lang: "go", opt: compile.Options{FunctionWeight: 20, Threads: 2,
		DivideAll: true}, like: 6},
}

// named returns the variants whose names begin with prefix.
func named(vs []variant, prefix string) []variant {
	var some []variant
	at := map[int]int{-1: -1} // of those kept, by index in vs
	for i, v := range vs {
		if !strings.HasPrefix(v.name, prefix) {
			continue
		}
		at[i] = len(some)
		if like, ok := at[v.like]; ok {
			v.like = like
		} else {
			v.like = -1
		}
		some = append(some, v)
	}
	return some
}

// sanitized is for long runs.
var sanitized = []variant{
	{name: "c sanitized", lang: "c", opt: compile.Options{Untuned: true}, like: -1,
		sanitized: true},
	{name: "c tuned sanitized", lang: "c", opt: compile.Options{}, like: -1, sanitized: true},
}

func (v variant) way() way.Way {
	s := way.Settings{Options: v.opt}
	switch v.lang {
	case "go":
		return way.Go{Settings: s}
	case "pte":
		return way.RT{Settings: s}
	}
	w := way.C{Settings: s}
	switch {
	case v.sanitized:
		w.Target = toolchain.GCC().With(toolchain.Sanitizers()...).Named("gcc with sanitizers")
		w.Env = []string{"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0"}
	case v.opt.Poison:
		w.Target = toolchain.GCC().With("-O1", "-Wno-error")
	}
	return w
}

// perBundle is how many programs become methods of one, so that compilers are
// started less often and kernels are shared.
const perBundle = 12

// bundle makes one program of several.
func bundle(xs []*program) (*ir.Program, []way.Call) {
	p := &ir.Program{Source: "bundle"}
	var all []way.Call
	for i, x := range xs {
		m := ir.Clone(x.p).Methods[0]
		m.Name = fmt.Sprintf("m%d", i)
		own := map[string]string{}
		for k, s := range m.Inputs {
			if s.Kind != ir.UserInput {
				own[s.Target] = m.Name + "." + s.Target
				m.Inputs[k].Target = own[s.Target]
			}
		}
		for k, o := range m.Outputs {
			if o.Kind == ir.BufferMutation {
				m.Outputs[k].Target = own[o.Target]
			}
		}
		p.Methods = append(p.Methods, m)
		for _, c := range x.calls {
			c.Method = i
			all = append(all, c)
		}
	}
	return p, all
}

// checkCompiled runs programs through the variants and returns what is wrong
// with each: by variant, nil if nothing.
func checkCompiled(ctx context.Context, xs []*program, vs []variant) [][]error {
	errs := make([][]error, len(xs))
	for i := range errs {
		errs[i] = make([]error, len(vs))
	}
	results := make([][][]way.CallResult, len(vs))
	for v := range vs {
		results[v] = make([][]way.CallResult, len(xs))
		runVariant(ctx, xs, vs[v], results[v], func(i int, err error) { errs[i][v] = err })
		for i, x := range xs {
			if errs[i][v] != nil {
				continue
			}
			errs[i][v] = x.check(results[v][i], x.terms == 1 && vs[v].opt.Untuned)
			if like := vs[v].like; errs[i][v] == nil && like >= 0 && errs[i][like] == nil {
				errs[i][v] = same(results[like][i], results[v][i])
			}
		}
	}
	return errs
}

// runVariant runs programs one way, bundled; those of a bundle that does not
// compile one by one.
func runVariant(ctx context.Context, xs []*program, v variant, out [][]way.CallResult,
	fail func(int, error)) {
	run := func(groups [][]int) (broken [][]int) {
		var jobs []way.Job
		for _, group := range groups {
			var members []*program
			for _, i := range group {
				members = append(members, xs[i])
			}
			p, all := bundle(members)
			jobs = append(jobs, way.Job{Name: "r", Calls: all,
				Open: func() (*ir.Program, io.Closer, error) { return ir.Clone(p), nil, nil }})
		}
		v.way().Run(ctx, jobs, func(k int, r *way.Result) {
			if r.Err != nil {
				if len(groups[k]) == 1 {
					fail(groups[k][0], r.Err)
					return
				}
				broken = append(broken, groups[k])
				return
			}
			rest := r.Calls
			for _, i := range groups[k] {
				n := len(xs[i].calls)
				out[i], rest = rest[:n], rest[n:]
			}
		})
		return broken
	}
	var groups [][]int
	for i := range xs {
		if i%perBundle == 0 {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
	}
	var single [][]int
	for _, g := range run(groups) {
		for _, i := range g {
			single = append(single, []int{i})
		}
	}
	slices.SortFunc(single, func(a, b []int) int { return a[0] - b[0] })
	if len(single) > 0 {
		run(single)
	}
}

// kind is an error's text without numbers, to tell faults apart.
func kind(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	var out strings.Builder
	for _, r := range text {
		if r < '0' || r > '9' {
			out.WriteRune(r)
		}
	}
	return out.String()
}
