package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

// moved returns what the interpreter makes of a subject, and what it makes of it if the
// inputs are a little larger or smaller. A mutant may compute what depends on its inputs
// beyond all measure: a logarithm close to 1, the difference of what is nearly the same, a
// function close to its poles. Then the last bit of a sum, which is not the same on all
// ways, decides on the result.
func (w *worker) moved(s *subject) func() []*way.Result {
	return sync.OnceValue(func() []*way.Result {
		const tries = 16
		jobs := make([]way.Job, 1+tries)
		for i := range jobs {
			jobs[i] = way.Job{Name: "mutant", File: s.path, Open: s.open,
				Calls: slices.Clone(s.calls)}
			for c := range jobs[i].Calls {
				if i > 0 {
					jobs[i].Calls[c].Inputs = nudge(s.calls[c].Inputs, s.seed+uint64(i))
				}
			}
		}
		results := make([]*way.Result, len(jobs))
		way.Reference{Most: maxIterations}.Run(context.Background(), jobs,
			func(k int, r *way.Result) { results[k] = r })
		return results
	})
}

// nudge returns inputs whose floats are larger or smaller by some parts in a million.
func nudge(inputs []tensor.Value, seed uint64) []tensor.Value {
	r := seededRand(seed)
	out := slices.Clone(inputs)
	factor := func() float64 { return 1 + (r.Float64()-0.5)*0x1p-19 }
	for i, v := range inputs {
		if v.Tensor == nil {
			continue
		}
		t := *v.Tensor
		t.Data = slices.Clone(t.Data)
		switch t.DType {
		case ir.Float32:
			for at := 0; at+4 <= len(t.Data); at += 4 {
				x := math.Float32frombits(binary.LittleEndian.Uint32(t.Data[at:]))
				binary.LittleEndian.PutUint32(t.Data[at:],
					math.Float32bits(float32(float64(x)*factor())))
			}
		case ir.Float64:
			for at := 0; at+8 <= len(t.Data); at += 8 {
				x := math.Float64frombits(binary.LittleEndian.Uint64(t.Data[at:]))
				binary.LittleEndian.PutUint64(t.Data[at:], math.Float64bits(x*factor()))
			}
		}
		out[i].Tensor = &t
	}
	return out
}

// slack is how much an output of a call moves with the inputs: the largest difference. It
// is infinite if an element is a number for some inputs and none for others, or if
// integers move: they may be the bits of floats.
func slack(moved []*way.Result, call, output int) float64 {
	tensorOf := func(r *way.Result) *tensor.Tensor {
		if r == nil || r.Err != nil || call >= len(r.Calls) ||
			output >= len(r.Calls[call].Outputs) {
			return nil
		}
		return r.Calls[call].Outputs[output].Tensor
	}
	first := tensorOf(moved[0])
	if first == nil {
		return 0
	}
	most := 0.0 // differences that are no numbers are those of equal infinities
	for _, r := range moved[1:] {
		t := tensorOf(r)
		if t == nil || len(t.Data) != len(first.Data) {
			continue
		}
		if !t.DType.IsFloat() {
			if !bytes.Equal(t.Data, first.Data) {
				return math.Inf(1)
			}
			continue
		}
		want := compare.Floats(first)
		for i, x := range compare.Floats(t) {
			if math.IsNaN(x) != math.IsNaN(want[i]) || math.IsInf(x, 0) != math.IsInf(want[i], 0) {
				return math.Inf(1)
			}
			if d := math.Abs(x - want[i]); d > most {
				most = d
			}
		}
	}
	return most
}

// wild reports whether a float constant of the first method is no number, or infinite.
func wild(p *ir.Program) bool {
	g := p.Methods[0].Graph
	return slices.ContainsFunc(slices.Concat(g.Inputs, g.Constants), func(v *ir.Value) bool {
		if v.Const == nil || v.Const.Data == nil || !v.Type.DType.IsFloat() {
			return false
		}
		data, err := ir.Tensor(v.Const)
		if err != nil {
			return false
		}
		return slices.ContainsFunc(compare.Floats(&tensor.Tensor{DType: v.Type.DType, Data: data}),
			func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	})
}

// bits reports whether the first method takes the bits of floats for integers.
func bits(p *ir.Program) bool {
	return slices.ContainsFunc(p.Methods[0].Graph.Nodes, func(n *ir.Node) bool {
		from, ok := n.Arg("self").(ir.Ref)
		return n.Op == "aten.view.dtype" && ok && from.Value.Type.DType.IsFloat() &&
			!n.Output(0).Type.DType.IsFloat()
	})
}
