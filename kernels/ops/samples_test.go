package ops_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// TestSamples runs every sample of every entry in each form the entry has: its
// expressions directly and scheduled, its view as an expression, its
// decomposition. All must agree.
func TestSamples(t *testing.T) {
	table := ops.Standard()
	samples, forms := 0, 0
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		if op.Samples == nil {
			if op.Compute != nil || op.Loops != nil || op.Decompose != nil || op.View != nil {
				t.Errorf("%s has no samples", name)
			}
			continue
		}
		var list []ops.Sample
		if err := safely(func() error { list = op.Samples(ops.NewRand(7)); return nil }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(list) == 0 {
			t.Errorf("%s: its samples are none", name)
		}
		for i, s := range list {
			err := safely(func() error {
				n, err := runSample(op, s)
				forms += n
				return err
			})
			samples++
			if err != nil && !errors.Is(err, errSkip) {
				t.Errorf("%s, sample %d: %v", name, i, err)
			}
		}
	}
	t.Logf("%d samples in %d forms", samples, forms)
}

func runSample(op *ops.Op, s ops.Sample) (forms int, err error) {
	m := newMachine()
	node := s.Node(op)
	c, err := m.table.Bind(node)
	if err != nil {
		return 0, err
	}
	r := ops.NewRand(11)
	for _, in := range s.Inputs {
		data := in.Data(r)
		switch t := in.Value.Type; t.Kind {
		case ir.TensorKind:
			sizes, _ := t.StaticSizes()
			m.tensors[in.Value] = eval.Operand{DType: t.DType, Sizes: sizes, Data: data}
		case ir.FloatKind:
			m.scalars[in.Value] = eval.Get(ir.Float64, data, 0)
		case ir.BoolKind:
			m.scalars[in.Value] = eval.Get(ir.Bool, data, 0)
		default:
			m.scalars[in.Value] = eval.Get(ir.Int64, data, 0)
		}
	}
	var first []eval.Operand
	check := func(form string, got []eval.Operand, err error) error {
		if err != nil {
			return fmt.Errorf("%s of %s: %w", form, describeArgs(node), err)
		}
		if len(got) != len(c.Outs) {
			return fmt.Errorf("%s gives %d results for %d", form, len(got), len(c.Outs))
		}
		forms++
		if first == nil {
			first = got
			return nil
		}
		for i := range got {
			if err := m.alike(got[i], first[i], 0); err != nil {
				return fmt.Errorf("%s of %s: result %d: %w", form, describeArgs(node), i, err)
			}
		}
		return nil
	}
	if op.Compute != nil && !op.Effect {
		ts, err := op.Compute(c)
		if err != nil {
			return forms, fmt.Errorf("compute of %s: %w", describeArgs(node), err)
		}
		_, vals, err := m.operands(c)
		if err != nil {
			return forms, err
		}
		_, scalars := m.runtime(c)
		var direct []eval.Operand
		for _, x := range ts {
			o, err := eval.Tensor(x, vals, nil, scalars)
			if err != nil {
				return forms, fmt.Errorf("expression of %s: %w", describeArgs(node), err)
			}
			direct = append(direct, o)
		}
		if err := check("expression", direct, nil); err != nil {
			return forms, err
		}
		got, err := m.compute(c, ts)
		if err := check("schedule", got, err); err != nil {
			return forms, err
		}
	}
	if op.View != nil {
		views, err := op.View(c)
		if err != nil {
			return forms, err
		}
		if views != nil {
			got, err := m.views(c, views)
			if err := check("view", got, err); err != nil {
				return forms, err
			}
		}
	}
	if op.Loops != nil {
		f, err := op.Loops(c)
		if err != nil {
			return forms, err
		}
		got, err := m.loops(c, f)
		if err := check("loops", got, err); err != nil {
			return forms, err
		}
	}
	if op.Decompose != nil {
		got, err := m.decompose(c)
		if err := check("decomposition", got, err); err != nil {
			return forms, err
		}
	}
	return forms, nil
}
