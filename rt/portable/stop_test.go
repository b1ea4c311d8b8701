package portable_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// program makes a program of one call.
type program struct {
	file pte.Program
	plan *pte.ExecutionPlan
	args []int32
}

func newProgram() *program {
	plan := &pte.ExecutionPlan{Name: "forward", BufferSizes: []int64{0, 0},
		Chains: []*pte.Chain{{}}}
	return &program{file: pte.Program{Plans: []*pte.ExecutionPlan{plan}, Constants: []ir.Blob{nil}},
		plan: plan}
}

func (p *program) value(v pte.EValue) int32 {
	p.plan.Values = append(p.plan.Values, v)
	return int32(len(p.plan.Values) - 1)
}

func (p *program) arg(v pte.EValue) int32 {
	p.args = append(p.args, p.value(v))
	return p.args[len(p.args)-1]
}

func described(d pte.ScalarType, sizes []int32) *pte.Tensor {
	t := &pte.Tensor{ScalarType: d, Sizes: sizes, DimOrder: []uint8{}}
	for i := range sizes {
		t.DimOrder = append(t.DimOrder, uint8(i))
	}
	return t
}

const (
	int64Type = pte.ScalarType(4)
	floatType = pte.ScalarType(6)
)

// tensor adds an argument in planned memory.
func (p *program) tensor(d pte.ScalarType, sizes ...int32) int32 {
	t := described(d, sizes)
	n, _ := t.NBytes()
	t.Allocation = &pte.Allocation{MemoryID: 1, Offset: uint64(p.plan.BufferSizes[1])}
	p.plan.BufferSizes[1] += (int64(n) + 15) &^ 15
	return p.arg(t)
}

// constant adds an argument that is all zeros.
func (p *program) constant(sizes ...int32) {
	t := described(floatType, sizes)
	n, _ := t.NBytes()
	t.DataIndex = uint32(len(p.file.Constants))
	p.file.Constants = append(p.file.Constants, ir.Bytes(make([]byte, n)))
	p.arg(t)
}

func (p *program) ints(xs ...int64) {
	list := pte.IntList{}
	for _, x := range xs {
		list = append(list, int64(p.value(pte.Int(x))))
	}
	p.arg(list)
}

// call ends the arguments with the results, which are outputs.
func (p *program) call(t testing.TB, name, overload string, outs ...int32) *rt.Program {
	last := outs[0]
	if len(outs) > 1 {
		last = p.value(pte.TensorList(outs))
	}
	p.plan.Outputs = outs
	for _, v := range p.args {
		if x, ok := p.plan.Values[v].(*pte.Tensor); ok && x.Allocation != nil &&
			!slices.Contains(outs, v) {
			p.plan.Inputs = append(p.plan.Inputs, v)
		}
	}
	p.plan.Operators = []pte.Operator{{Name: name, Overload: overload}}
	p.plan.Chains[0].Instructions = append(p.plan.Chains[0].Instructions,
		pte.KernelCall{Args: append(p.args, last)})
	program, err := rt.NewProgram(&p.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// enormous are programs whose one call takes many seconds.
var enormous = []struct {
	name string
	make func(t testing.TB, p *program) *rt.Program
}{
	{"convolution", func(t testing.TB, p *program) *rt.Program {
		p.tensor(floatType, 1, 16, 1024, 1024)
		p.constant(16, 16, 41, 41)
		p.arg(pte.Null{})
		p.ints(1, 1)
		p.ints(20, 20)
		p.ints(1, 1)
		p.arg(pte.Bool(false))
		p.ints(0, 0)
		p.arg(pte.Int(1))
		return p.call(t, "aten::convolution", "out", p.tensor(floatType, 1, 16, 1024, 1024))
	}},
	{"depthwise convolution", func(t testing.TB, p *program) *rt.Program {
		p.tensor(floatType, 1, 16, 1024, 1024)
		p.constant(16, 1, 201, 201)
		p.arg(pte.Null{})
		p.ints(1, 1)
		p.ints(100, 100)
		p.ints(1, 1)
		p.arg(pte.Bool(false))
		p.ints(0, 0)
		p.arg(pte.Int(16))
		return p.call(t, "aten::convolution", "out", p.tensor(floatType, 1, 16, 1024, 1024))
	}},
	{"convolution, unknown weights", func(t testing.TB, p *program) *rt.Program {
		p.tensor(floatType, 1, 8, 1024, 1024)
		p.tensor(floatType, 8, 8, 41, 41)
		p.arg(pte.Null{})
		p.ints(1, 1)
		p.ints(20, 20)
		p.ints(1, 1)
		p.arg(pte.Bool(false))
		p.ints(0, 0)
		p.arg(pte.Int(1))
		return p.call(t, "aten::convolution", "out", p.tensor(floatType, 1, 8, 1024, 1024))
	}},
	{"product", func(t testing.TB, p *program) *rt.Program {
		p.tensor(floatType, 8192, 8192)
		p.tensor(floatType, 8192, 8192)
		return p.call(t, "aten::mm", "out", p.tensor(floatType, 8192, 8192))
	}},
	{"product of integers", func(t testing.TB, p *program) *rt.Program {
		p.tensor(int64Type, 3000, 3000)
		p.tensor(int64Type, 3000, 3000)
		return p.call(t, "aten::mm", "out", p.tensor(int64Type, 3000, 3000))
	}},
	{"pooling", func(t testing.TB, p *program) *rt.Program {
		p.tensor(floatType, 1, 1, 2048, 2048)
		p.ints(1000, 1000)
		p.ints(1, 1)
		p.ints(0, 0)
		p.ints(1, 1)
		p.arg(pte.Bool(false))
		return p.call(t, "aten::max_pool2d_with_indices", "out", p.tensor(floatType, 1, 1, 1049,
			1049), p.tensor(int64Type, 1, 1, 1049, 1049))
	}},
	{"sorting", func(t testing.TB, p *program) *rt.Program {
		p.tensor(floatType, 1<<24)
		p.arg(pte.Int(0))
		p.arg(pte.Bool(false))
		return p.call(t, "aten::sort", "values", p.tensor(floatType, 1<<24),
			p.tensor(int64Type, 1<<24))
	}},
	{"a loop without end", func(t testing.TB, p *program) *rt.Program {
		x := p.tensor(floatType, 1)
		p.call(t, "aten::relu", "out", p.tensor(floatType, 1))
		chain := p.plan.Chains[0]
		chain.Instructions = append(chain.Instructions,
			pte.JumpFalseCall{Cond: p.value(pte.Bool(false))})
		p.plan.Outputs = []int32{x}
		program, err := rt.NewProgram(&p.file, nil)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}},
}

// TestStops executes programs that take for ever with a deadline.
func TestStops(t *testing.T) {
	const allowed = 40 * time.Millisecond
	for _, c := range tier.Some(enormous, 4, -1) {
		for _, with := range []rt.Optimizer{nil, optimize.With(optimize.Options{})} {
			name := c.name
			if with != nil {
				name += ", optimised"
			}
			t.Run(name, func(t *testing.T) {
				m, err := c.make(t, newProgram()).LoadMethod("forward",
					&rt.MethodOptions{Registry: portable.Registry(), Optimize: with,
						MaxInstructions: 1 << 60})
				if err != nil {
					t.Fatal(err)
				}
				for i, in := range m.Meta().Inputs {
					x, err := rt.NewTensor(in.DType, in.Sizes, in.DimOrder, nil)
					if err != nil {
						t.Fatal(err)
					}
					if err := m.SetInput(i, x); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), allowed)
				defer cancel()
				start := time.Now()
				err = m.Execute(ctx)
				took := time.Since(start)
				t.Logf("%v: %v", took, err)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
				if took > allowed+time.Second {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}
