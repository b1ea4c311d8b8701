package random

import (
	"fmt"
	"io"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/backends/graph"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
	"github.com/etgen/etgen/rt"
)

// counted counts the parts that XNNPACK gets.
type counted struct {
	xnn.Backend
	parts *int
}

func (c counted) Preprocess(p *partition.Part) (*partition.Payload, error) {
	*c.parts++
	return c.Backend.Preprocess(p)
}

// Random programs of which XNNPACK gets what another backend leaves by chance compute the same, in
// the runtime and compiled whole around the other's parts.
func TestPartitionsForXNNPACK(t *testing.T) {
	parts := 0
	// These once went wrong.
	seeds := []uint64{
		// What XNNPACK's part computes was a result of the other's, and results of delegates stood
		// where an input and a branch's result do.
		8, 1024, 1057,
		3013, 3037, // an operand was another view of what it held
		6048, // a size was fixed of which the program asserts that it is another input's
		// A result lay where nobody reads what was there, an input without elements was returned
		// twice, and an operand was a view of state.
		6103, 210129, 220471,
		210090, // a size of an input was half of the size of another one
		230301, // a number without dimensions was a reshaped one
		240496, // a part gave nothing but state of its own
		320025, // of a size of 1 to 2, an index has no more than three tensors that vary without it
		420060, // a minimum of floats and of integers was one of integers
		410475, // what a loop carried had a size that varies and no elements
		200322, // 38 dimensions might vary: etgen tried 32
	}
	eachProgram(t, seeds, func(x *program, seed uint64) error {
		return x.checkForXNNPACK(t, seed, &parts)
	})
	t.Logf("%d parts", parts)
	if parts < 10 {
		t.Errorf("%d parts: too few to show anything", parts)
	}
}

// checkForXNNPACK gives a share of the nodes, maybe none, to another backend, and XNNPACK what it
// takes of the others.
func (x *program) checkForXNNPACK(t *testing.T, seed uint64, parts *int) error {
	share := seed % 3
	settings := way.Settings{Options: compile.Options{Backends: []*partition.Use{
		{Backend: graph.Backend{Seed: seed, Share: share, Of: 5, Own: seed%2 == 0}},
		{Backend: counted{parts: parts}}}}}
	ways := []way.RT{{Settings: settings}}
	if share == 0 || len(x.p.Methods[0].Symbols) == 0 { // a program does not say these of results
		ways = append(ways, way.RT{Settings: settings, Optimize: true})
	}
	for _, w := range ways {
		w.Backends = map[string]rt.Backend{graph.ID: graph.Runtime{}}
		var err error
		w.Run(t.Context(), []way.Job{{Name: "r", Calls: x.calls,
			Open: func() (*ir.Program, io.Closer, error) { return ir.Clone(x.p), nil, nil }}},
			func(_ int, r *way.Result) {
				if err = r.Err; err == nil {
					err = x.check(r.Calls, false)
				}
			})
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name(), err)
		}
	}
	return nil
}
