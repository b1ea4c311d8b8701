package random

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/backends/graph"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/rt"
)

// recorder is a backend that remembers its parts.
type recorder struct {
	graph.Backend
	parts *[]*ir.Program
}

func (r recorder) Preprocess(p *partition.Part) (*partition.Payload, error) {
	*r.parts = append(*r.parts, p.Program)
	return r.Backend.Preprocess(p)
}

// eachProgram checks the programs of seeds, and as many more as the tier has.
func eachProgram(t *testing.T, seeds []uint64, check func(x *program, seed uint64) error) {
	table := ops.Standard()
	for n := range tier.Of(6, 60, 600) {
		seeds = append(seeds, *first+uint64(n))
	}
	for _, seed := range seeds {
		p, err := Generate(table, seed)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		x, err := newProgram(table, p)
		if err != nil {
			continue // TestRandom counts these
		}
		if x.terms, err = termsOf(table, p); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, p)
			continue
		}
		one := func(x *program) error { return check(x, seed) }
		if err := one(x); err != nil {
			report(t, seed, p, err, one)
		}
	}
}

// Random programs in random parts for two backends compute the same; what they hold, each constant
// and all state, is in one place.
func TestPartitions(t *testing.T) {
	parts, owned := 0, 0
	// These once went wrong: a result in the place of what a loop carries, a size of an input that
	// nothing reads any more, a scan that stacks what no tensor had the size of, and parts whose
	// operands have half of a size and do not tell it.
	seeds := []uint64{532, 861, 200171, 210090, 220030}
	eachProgram(t, seeds, func(x *program, seed uint64) error {
		some, own, err := x.checkPartitions(t, seed)
		parts, owned = parts+some, owned+own
		return err
	})
	t.Logf("%d parts, %d with state", parts, owned)
	if parts < 20 || owned == 0 && tier.Now() != tier.Short {
		t.Errorf("%d parts, %d with state of their own: too few to show anything", parts, owned)
	}
}

// checkPartitions gives the nodes to two backends by chance, and runs the program.
func (x *program) checkPartitions(t *testing.T, seed uint64) (parts, owned int, err error) {
	var made []*ir.Program
	use := func(b graph.Backend) *partition.Use {
		return &partition.Use{Backend: recorder{b, &made}}
	}
	opt := compile.Options{Backends: []*partition.Use{
		use(graph.Backend{Seed: 2 * seed, Share: 1 + seed%3, Of: 4, Own: seed%2 == 0}),
		use(graph.Backend{Seed: 2*seed + 1, Share: 1 + seed%2, Of: 3, Own: true})}}
	var invariant error
	opt.After = func(pass lower.Pass, p *ir.Program) error {
		if pass.Name == partition.PassName {
			parts = len(made)
			owned, invariant = onePlace(p, made)
			invariant = errors.Join(invariant, ir.Verify(p))
		}
		return nil
	}
	w := way.RT{Settings: way.Settings{Options: opt},
		Backends: map[string]rt.Backend{graph.ID: graph.Runtime{}}}
	w.Run(t.Context(), []way.Job{{Name: "r", Calls: x.calls,
		Open: func() (*ir.Program, io.Closer, error) { return ir.Clone(x.p), nil, nil }}},
		func(_ int, r *way.Result) {
			if err = r.Err; err == nil {
				err = x.check(r.Calls, false)
			}
		})
	return parts, owned, errors.Join(invariant, err)
}

// onePlace is an error if a constant or state is twice in a program and its parts. It counts the
// parts with state.
func onePlace(p *ir.Program, parts []*ir.Program) (owned int, err error) {
	state, data := map[string]int{}, map[any]int{}
	for i, holder := range append([]*ir.Program{p}, parts...) {
		for target := range holder.Written() {
			if other, ok := state[target]; ok {
				return 0, fmt.Errorf("state %s is in part %d and in part %d", target, other, i)
			}
			if state[target] = i; i > 0 {
				owned++
			}
		}
		for _, m := range holder.Methods {
			var all []*ir.Value
			all = append(all, m.Graph.Inputs...)
			m.Graph.Walk(func(g *ir.Graph) { all = append(all, g.Constants...) })
			for _, v := range all {
				if v.Const == nil {
					continue
				}
				key := any(v.Const)
				if reflect.ValueOf(v.Const.Data).Comparable() {
					key = v.Const.Data
				}
				if other, ok := data[key]; ok && other != i {
					return 0, fmt.Errorf("constant %%%s is in part %d and in part %d", v.Name, other, i)
				}
				data[key] = i
			}
		}
	}
	return owned, nil
}
