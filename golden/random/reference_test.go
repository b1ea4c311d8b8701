package random

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// program is a program with what it must compute.
type program struct {
	p     *ir.Program // of one method; not to be changed
	calls []way.Call
	want  []way.CallResult // Mutated has every input
	terms int64
	slack float64
}

// errChaotic says of a program that roundings decide what it computes.
var errChaotic = errors.New("its results hang on roundings")

// newProgram runs p eagerly. A program whose results move with the order of
// summation gets the slack for it; one in which that flips an integer is of no
// use.
func newProgram(table *ops.Table, p *ir.Program) (*program, error) {
	x := &program{p: p}
	var err error
	if x.calls, err = callsOf(p); err != nil {
		return nil, err
	}
	m := p.Methods[0]
	if x.want, err = runEager(table, m, x.calls, nil); err != nil {
		return nil, err
	}
	for seed := range uint64(3) {
		got, err := runEager(table, m, x.calls, rand.New(rand.NewPCG(seed, 5)))
		if err != nil {
			return nil, errChaotic
		}
		moved := 0.0
		if !each(x.want, got, func(w, g *tensor.Tensor) bool {
			d, ok := distance(w, g)
			moved = max(moved, d)
			return ok
		}) {
			return nil, errChaotic
		}
		x.slack = max(x.slack, moved)
	}
	return x, nil
}

// terms returns the longest reduction of the lowered program.
func termsOf(table *ops.Table, p *ir.Program) (int64, error) {
	p = ir.Clone(p)
	if err := lower.Backend.Run(&lower.Context{Table: table}, p, nil); err != nil {
		return 0, err
	}
	return way.Terms(table, p)[0], nil
}

// each calls f for every pair of tensors that a and b have in common.
func each(a, b []way.CallResult, f func(x, y *tensor.Tensor) bool) bool {
	for i := range a {
		for k, v := range a[i].Outputs {
			if v.Tensor != nil && !f(v.Tensor, b[i].Outputs[k].Tensor) {
				return false
			}
		}
		for k, t := range a[i].Mutated {
			if !f(t, b[i].Mutated[k]) {
				return false
			}
		}
	}
	return true
}

// distance is how far two tensors are apart; it is not ok if they differ where
// there is no nearly right.
func distance(w, g *tensor.Tensor) (float64, bool) {
	if !w.DType.IsFloat() {
		return 0, slices.Equal(w.Data, g.Data)
	}
	most := 0.0
	b := compare.Floats(g)
	for i, x := range compare.Floats(w) {
		y := b[i]
		switch d := math.Abs(x - y); {
		case math.IsNaN(x) != math.IsNaN(y), math.IsInf(x, 0) != math.IsInf(y, 0),
			math.IsInf(x, 0) && x != y:
			return 0, false
		case !math.IsNaN(d):
			most = max(most, d)
		}
	}
	return most, true
}

// check holds results against what the program must compute.
func (x *program) check(got []way.CallResult, exact bool) error {
	tol := compare.Tolerance{Terms: x.terms, Slack: x.slack, Exact: exact}
	if len(got) != len(x.want) {
		return fmt.Errorf("%d calls, want %d", len(got), len(x.want))
	}
	for i, w := range x.want {
		g := got[i]
		if g.Err != nil {
			return fmt.Errorf("call %d: %w", i, g.Err)
		}
		if len(g.Outputs) != len(w.Outputs) {
			return fmt.Errorf("call %d: %d outputs, want %d", i, len(g.Outputs), len(w.Outputs))
		}
		for k := range w.Outputs {
			if miss := compare.Values(g.Outputs[k], w.Outputs[k], tol); miss != nil {
				return fmt.Errorf("call %d: output %d: %w", i, k, miss)
			}
		}
		for k, t := range w.Mutated {
			h := g.Mutated[k]
			if h == nil {
				h = x.calls[i].Inputs[k].Tensor
			}
			if miss := compare.Tensors(h, t, tol); miss != nil {
				return fmt.Errorf("call %d: input %d after it: %w", i, k, miss)
			}
		}
	}
	return nil
}
