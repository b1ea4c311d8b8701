// Package backends tests what backends of the folders do, and what is done with them.
package backends

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/backends/graph"
	"github.com/etgen/etgen/golden/backends/reference"
	"github.com/etgen/etgen/golden/backends/reference/run"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/rt"
)

// runtimes are the run sides.
var runtimes = map[string]rt.Backend{run.ID: run.Backend{}, graph.ID: graph.Runtime{}}

// unable reports whether package rt cannot run a case without backends either. What two others
// repeat is no operator that ExecuTorch has once it is decomposed to Core ATen, and the
// interpreter does not solve sizes of two symbols.
func unable(name string) bool {
	return conform.Refused(name) != "" ||
		slices.Contains([]string{"late_sizes_fit", "late_sizes_summed", "dynamic_two"}, name)
}

// unsized reports whether graph.Backend takes parts of a case that are given nothing whose sizes
// say those of their results. It runs parts in the interpreter, which needs that.
func unsized(name string) bool { return name == "fourier_dynamic" || name == "sizes_truncated" }

// check runs all cases at roots with backends, and tells what is missed.
func check(t *testing.T, least int, roots, ways []string, backends ...partition.Backend) {
	t.Helper()
	settings := way.Settings{Drivers: way.Drivers{C: []string{"reference/c/driver.c"},
		Go: []string{"reference/run/bytecode.go", "reference/driver.go.txt"}}}
	for _, b := range backends {
		settings.Options.Backends = append(settings.Options.Backends, &partition.Use{Backend: b})
	}
	all := map[string]way.Way{"rt": way.RT{Settings: settings, Backends: runtimes},
		"c": way.C{Settings: settings}, "go": way.Go{Settings: settings}}
	var run []way.Way
	for _, name := range ways {
		run = append(run, all[name])
	}
	graphs := slices.ContainsFunc(backends, func(b partition.Backend) bool {
		_, ok := b.(graph.Backend)
		return ok
	})
	var problems []string
	n, err := conform.Check(t.Context(), roots, run, func(m conform.Miss) {
		name := filepath.Base(m.Case)
		if filepath.Dir(m.Case) != "../cases" || !unable(name) && !(graphs && unsized(name)) {
			problems = append(problems, m.String())
		}
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 || n.Passed < least {
		t.Errorf("%d passed; missed:\n%s", n.Passed, strings.Join(problems, "\n"))
	}
}

// Programs whose parts a backend runs compute what PyTorch recorded.
func TestCases(t *testing.T) {
	roots, rt := []string{"../cases"}, []string{"rt"}
	tier.Needs(t, tier.Normal)
	t.Run("reference", func(t *testing.T) { check(t, 20, roots, rt, reference.Backend{}) })
	t.Run("all", func(t *testing.T) { check(t, 20, roots, rt, graph.Backend{Share: 1, Of: 1}) })
	t.Run("some", func(t *testing.T) {
		check(t, 20, roots, rt, graph.Backend{Seed: 1, Share: 1, Of: 3, Copy: true},
			reference.Backend{}, graph.Backend{Seed: 2, Share: 1, Of: 2, Own: true})
	})
}

// Packages in C and in Go compute the same with drivers for their delegates.
func TestDrivers(t *testing.T) {
	roots := []string{"../cases"}
	if tier.Now() != tier.All {
		roots = nil
		for _, name := range []string{"dynamic_batch", "lenet", "state_tied", "tied_weights",
			"while_loop"} {
			roots = append(roots, "../cases/"+name)
		}
	}
	check(t, 2*len(roots), roots, []string{"c", "go"}, reference.Backend{})
}
