package interp

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// TestSamples runs the samples of every entry in each form it has: its
// expressions by their meaning and by way of loops, its view, its own loops, its
// decomposition. All must agree up to the order of additions.
func TestSamples(t *testing.T) {
	table := ops.Standard()
	total := 0
	for _, name := range tier.Some(table.Names(), 50, -1) {
		op, _ := table.Lookup(name)
		t.Run(name, func(t *testing.T) {
			r := samples.NewRand(1)
			for i, s := range samples.Of(op, r) {
				total++
				if err := checkSample(table, op, variant{Sample: s}, r); err != nil {
					t.Errorf("sample %d (%s): %v", i, sampleArgs(s), err)
				}
			}
		})
	}
	t.Logf("%d samples of %d operators", total, len(table.Names()))
}

func sampleArgs(s samples.Sample) string {
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

// checkSample runs s in every form its entry has.
func checkSample(table *ops.Table, op *ops.Op, s variant, r *samples.Rand) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("panic: %v", p)
		case error:
			err = p
		default:
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	c, err := table.Bind(s.Node(op))
	if err != nil {
		return err
	}
	op = c.Op // a call may be another entry's
	m := New(table)
	for i, in := range s.Inputs {
		given := in
		if s.given != nil {
			given = s.given[i]
		}
		m.Set(in.Value, inputValue(given, given.Data(r)))
	}
	for _, n := range c.Needs() {
		if m.size(n) < 1 {
			return nil // the program refuses it
		}
	}
	var first []Value
	form := func(name string, run func() []Value) {
		must.Do(func() {
			outs := run()
			if len(outs) != len(c.Outs) {
				must.Fail("%d results for %d", len(outs), len(c.Outs))
			}
			for i, x := range outs {
				m.check(x, c.Outs[i], "it is")
				if first == nil {
					continue
				}
				if msg := differ(c.Outs[i].DType, x.Tensor.Data, first[i].Tensor.Data, 0,
					m.longest); msg != "" {
					must.Fail("result %d %s", i, msg)
				}
			}
			if first == nil {
				first = outs
			}
		}, "by %s", name)
	}
	compute := func() []Value { return m.tensors(c, must.Get(op.Compute(c))) }
	if op.Compute != nil {
		m.Meaning = reference.Tensor
		form("meaning", compute)
		m.Meaning = nil
		form("loops", compute)
	}
	if op.View != nil {
		if ts, view := must.Get2(c.Results()); view {
			form("view", func() []Value { return m.tensors(c, ts) })
		} else if op.Compute == nil && op.Loops == nil && op.Decompose == nil {
			return fmt.Errorf("a copy has no meaning")
		}
	}
	if op.Loops != nil {
		form("its loops", func() []Value { return m.loops(c) })
	}
	if op.Decompose != nil {
		form("decomposition", func() []Value { return m.decompose(c) })
	}
	if first != nil {
		m.Kept = NewKept()
		for _, name := range []string{"what is kept", "what was kept"} {
			form(name, func() []Value { return m.call(c) })
		}
	}
	return nil
}

func inputValue(in samples.Input, data []byte) Value {
	t := in.Value.Type
	if t.Kind == ir.TensorKind {
		sizes, _ := t.StaticSizes()
		return Tensor(t.DType, sizes, data)
	}
	return Value{Kind: t.Kind, Scalar: eval.Get(ops.ScalarDType(t.Kind), data, 0)}
}
