package interp

import (
	"fmt"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// TestSamples runs every entry's samples, by way of loops and straight from the
// meaning of its expressions, and wants the same bytes up to the order of
// additions.
func TestSamples(t *testing.T) {
	table := ops.Standard()
	total := 0
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		if op.Samples == nil {
			if op.Compute != nil || op.Loops != nil || op.Decompose != nil || op.View != nil {
				t.Errorf("%s has no samples", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := ops.NewRand(1)
			samples := op.Samples(r)
			if len(samples) == 0 {
				t.Error("no samples")
			}
			for i, s := range samples {
				total++
				if err := checkSample(table, op, s, r); err != nil {
					t.Errorf("sample %d (%s): %v", i, sampleArgs(s), err)
				}
			}
		})
	}
	t.Logf("%d samples of %d operators", total, len(table.Names()))
}

func sampleArgs(s ops.Sample) string {
	out := ""
	for _, a := range s.Args {
		if r, ok := a.Value.(ir.Ref); ok {
			out += fmt.Sprintf("%s=%v ", a.Name, r.Value.Type)
			continue
		}
		out += fmt.Sprintf("%s=%v ", a.Name, a.Value)
	}
	return out
}

func checkSample(table *ops.Table, op *ops.Op, s ops.Sample, r *ops.Rand) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	n := s.Node(op)
	c, err := table.Bind(n)
	if err != nil {
		return err
	}
	for i, t := range c.Outs {
		n.Outputs = append(n.Outputs, &ir.Value{Name: fmt.Sprint("out", i), Type: t})
	}
	data := make([][]byte, len(s.Inputs))
	for i, in := range s.Inputs {
		data[i] = in.Data(r)
	}
	var results [2][]Value
	for k := range results {
		m := New(table)
		m.Naive = k == 1
		for i, in := range s.Inputs {
			m.Set(in.Value, inputValue(in, data[i]))
		}
		if err := m.Node(n); err != nil {
			return err
		}
		for _, v := range n.Outputs {
			x, err := m.Get(v)
			if err != nil {
				return err
			}
			results[k] = append(results[k], x)
		}
	}
	for i, x := range results[0] {
		if x.Kind != ir.TensorKind {
			if x.Scalar != results[1][i].Scalar {
				return fmt.Errorf("result %d is %v by loops, %v by meaning", i, x, results[1][i])
			}
			continue
		}
		if x.Tensor.DType != c.Outs[i].DType {
			return fmt.Errorf("result %d is %v, inferred %v", i, x.Tensor.DType, c.Outs[i].DType)
		}
		if msg := differ(x.Tensor.DType, x.Tensor.Data, results[1][i].Tensor.Data, 0); msg != "" {
			return fmt.Errorf("result %d by loops %s by meaning", i, msg)
		}
	}
	return nil
}

func inputValue(in ops.Input, data []byte) Value {
	t := in.Value.Type
	if t.Kind == ir.TensorKind {
		sizes, _ := t.StaticSizes()
		return Tensor(t.DType, sizes, data)
	}
	return Value{Kind: t.Kind, Scalar: eval.Get(ops.ScalarDType(t.Kind), data, 0)}
}
