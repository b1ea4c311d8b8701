package quantize

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/lower"
)

// Accuracy is how often the largest element of a method's first output is at the label's
// place.
type Accuracy struct {
	Right, All int
	// Confusion counts samples by label and by what the model says.
	Confusion [][]int
}

// Percent is the share of right answers.
func (a *Accuracy) Percent() float64 { return 100 * float64(a.Right) / float64(max(a.All, 1)) }

// Evaluate runs a method of p, a program that Prepare or Convert left, on samples with labels.
// What runs is what code is made of: the integer arithmetic itself, by kernels if any are given.
func Evaluate(ctx *lower.Context, p *ir.Program, method string, samples Samples, labels []int64,
	kernel kernels, progress func(done, all int)) (*Accuracy, error) {
	if len(labels) != samples.Count {
		return nil, fmt.Errorf("%d labels for %d samples", len(labels), samples.Count)
	}
	p = ir.Clone(p)
	fast := *ctx
	fast.Speed = kernel != nil
	if err := lower.Backend.Run(&fast, p, nil); err != nil {
		return nil, err
	}
	r := newRunner(ctx.Table, methodNamed(p, method), kernel, ctx.Done)
	r.begin(samples)
	a := &Accuracy{}
	for i, label := range labels {
		if progress != nil {
			progress(i, len(labels))
		}
		inputs, err := samples.Get(i)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		outs, err := r.run(inputs, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		if len(outs) == 0 || outs[0].Kind != ir.TensorKind || len(outs[0].Tensor.Data) == 0 {
			return nil, fmt.Errorf("the first output is no tensor of scores")
		}
		out := outs[0].Tensor
		n := int64(len(out.Data) / out.DType.Size())
		said := int64(0)
		for k := range n {
			x, best := eval.Get(out.DType, out.Data, k), eval.Get(out.DType, out.Data, said)
			if x.F > best.F || x.I > best.I {
				said = k
			}
		}
		if label < 0 || label >= n {
			return nil, fmt.Errorf("sample %d: label %d; the output has %d elements", i, label, n)
		}
		if a.Confusion == nil {
			a.Confusion = make([][]int, n)
			for k := range a.Confusion {
				a.Confusion[k] = make([]int, n)
			}
		}
		a.Confusion[label][said]++
		if a.All++; said == label {
			a.Right++
		}
	}
	if progress != nil {
		progress(len(labels), len(labels))
	}
	return a, nil
}
