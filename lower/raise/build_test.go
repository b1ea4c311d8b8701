package raise_test

import (
	"bytes"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// asm writes a method.
type asm struct {
	plan *pte.ExecutionPlan
	code []pte.Instruction
	file *pte.Program
}

func newAsm() *asm {
	a := &asm{plan: &pte.ExecutionPlan{Name: "forward", BufferSizes: []int64{0, 4096}}}
	a.file = &pte.Program{Plans: []*pte.ExecutionPlan{a.plan}, Constants: []ir.Blob{nil}}
	return a
}

func (a *asm) value(v pte.EValue) int32 {
	a.plan.Values = append(a.plan.Values, v)
	return int32(len(a.plan.Values) - 1)
}

// at is a float32 tensor at an offset of memory 1.
func (a *asm) at(offset uint64, sizes ...int32) int32 {
	return a.value(tensorAt(6, offset, sizes...))
}

func tensorAt(d pte.ScalarType, offset uint64, sizes ...int32) *pte.Tensor {
	t := &pte.Tensor{ScalarType: d, Sizes: sizes, Allocation: &pte.Allocation{MemoryID: 1,
		Offset: offset}}
	for i := range sizes {
		t.DimOrder = append(t.DimOrder, uint8(i))
	}
	return t
}

// constant is a float32 tensor of data.
func (a *asm) constant(xs ...float32) int32 {
	var b []byte
	for _, x := range xs {
		b = tensor.Append(b, ir.Float32, float64(x))
	}
	a.file.Constants = append(a.file.Constants, ir.Bytes(b))
	return a.value(&pte.Tensor{ScalarType: 6, Sizes: []int32{int32(len(xs))}, DimOrder: []uint8{0},
		DataIndex: uint32(len(a.file.Constants) - 1)})
}

// call adds an instruction; ops are "aten::add" and "out".
func (a *asm) call(name, overload string, args ...int32) {
	op := int32(-1)
	for i, o := range a.plan.Operators {
		if o == (pte.Operator{Name: name, Overload: overload}) {
			op = int32(i)
		}
	}
	if op < 0 {
		op = int32(len(a.plan.Operators))
		a.plan.Operators = append(a.plan.Operators, pte.Operator{Name: name, Overload: overload})
	}
	a.code = append(a.code, pte.KernelCall{Op: op, Args: args})
}

// add is out = x + y.
func (a *asm) add(x, y, out int32) {
	a.call("aten::add", "out", x, y, a.value(pte.Int(1)), out, out)
}

func (a *asm) neg(x, out int32) { a.call("aten::neg", "out", x, out, out) }

func (a *asm) copy(to, from int32) {
	a.call("aten::copy_", "", to, from, a.value(pte.Bool(false)), to)
}

func (a *asm) move(from, to int32) { a.code = append(a.code, pte.MoveCall{From: from, To: to}) }

// jump adds a jump to be set, and returns what sets it to the next instruction.
func (a *asm) jump(cond int32) func() {
	i := len(a.code)
	a.code = append(a.code, pte.JumpFalseCall{Cond: cond})
	return func() { a.code[i] = pte.JumpFalseCall{Cond: cond, Destination: int32(len(a.code))} }
}

func (a *asm) jumpTo(cond int32, to int) {
	a.code = append(a.code, pte.JumpFalseCall{Cond: cond, Destination: int32(to)})
}

func (a *asm) io(inputs, outputs []int32) {
	a.plan.Inputs, a.plan.Outputs = inputs, outputs
	a.plan.Chains = []*pte.Chain{{Instructions: a.code}}
}

func (a *asm) raise() (*ir.Program, error) {
	return raise.Program(a.file, "test.pte", ops.Standard())
}

// run interprets what is raised of the method on float32 tensors, with its state
// from call to call, and returns its outputs.
func run(t *testing.T, a *asm, calls ...[][]float32) [][][]float32 {
	t.Helper()
	p, err := a.raise()
	if err != nil {
		t.Fatal(err)
	}
	m := p.Methods[0]
	state := map[string]interp.Value{}
	var all [][][]float32
	for _, inputs := range calls {
		machine := interp.New(ops.Standard())
		var args []interp.Value
		next := 0
		for i, v := range m.Graph.Inputs {
			if m.Inputs[i].Kind == ir.UserInput {
				var b []byte
				for _, x := range inputs[next] {
					b = tensor.Append(b, v.Type.DType, float64(x))
				}
				next++
				sizes, _ := v.Type.StaticSizes()
				args = append(args, interp.Tensor(v.Type.DType, sizes, b))
				continue
			}
			x, ok := state[m.Inputs[i].Target]
			if !ok {
				if x, err = machine.Get(v); err != nil {
					t.Fatal(err)
				}
			}
			args = append(args, x)
		}
		outs, err := machine.Graph(m.Graph, args)
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		var got [][]float32
		for i, o := range outs {
			if m.Outputs[i].Kind == ir.BufferMutation {
				state[m.Outputs[i].Target] = o
				continue
			}
			got = append(got, floats(o.Tensor.Data))
		}
		all = append(all, got)
	}
	return all
}

func floats(b []byte) []float32 {
	var out []float32
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, f32(b))
	}
	return out
}

// bytesOf is the method as a file.
func (a *asm) bytesOf(t testing.TB) []byte {
	var b bytes.Buffer
	if err := pte.Write(&b, a.file); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
