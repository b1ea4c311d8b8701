package rt_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// build makes a program of one method for tests.
type build struct {
	file *pte.Program
	plan *pte.ExecutionPlan
	used uint64 // bytes of planned buffer 1
}

func newBuild(name string) *build {
	plan := &pte.ExecutionPlan{Name: name, BufferSizes: []int64{0, 0}, Chains: []*pte.Chain{{}}}
	return &build{
		file: &pte.Program{Plans: []*pte.ExecutionPlan{plan}, Constants: []ir.Blob{nil},
			Mutable: [][]ir.Blob{{nil}}},
		plan: plan,
	}
}

func (b *build) value(v pte.EValue) int32 {
	b.plan.Values = append(b.plan.Values, v)
	return int32(len(b.plan.Values) - 1)
}

func describe(sizes ...int32) *pte.Tensor {
	t := &pte.Tensor{ScalarType: 6, Sizes: sizes, DimOrder: []uint8{}}
	for i := range sizes {
		t.DimOrder = append(t.DimOrder, uint8(i))
	}
	return t
}

func size(t *pte.Tensor) uint64 {
	n, _ := t.NBytes()
	return uint64(n)
}

// place gives t planned memory of its own.
func (b *build) place(t *pte.Tensor) *pte.Tensor {
	t.Allocation = &pte.Allocation{MemoryID: 1, Offset: b.used}
	b.used += (size(t) + 15) &^ 15
	b.plan.BufferSizes[1] = int64(b.used)
	return t
}

// planned is a float32 tensor in planned memory.
func (b *build) planned(sizes ...int32) int32 { return b.value(b.place(describe(sizes...))) }

// dynamic is one whose sizes are bounds.
func (b *build) dynamic(sizes ...int32) int32 {
	t := b.place(describe(sizes...))
	t.Dynamism = pte.DynamicBound
	return b.value(t)
}

// unplanned is a float32 tensor without memory.
func (b *build) unplanned(sizes ...int32) int32 { return b.value(describe(sizes...)) }

func floatBytes(x ...float32) []byte {
	data, _ := binary.Append(nil, binary.LittleEndian, x)
	return data
}

func (b *build) constant(data []float32, sizes ...int32) int32 {
	t := describe(sizes...)
	t.DataIndex = uint32(len(b.file.Constants))
	b.file.Constants = append(b.file.Constants, ir.Bytes(floatBytes(data...)))
	return b.value(t)
}

// state is a tensor in planned memory that begins with data.
func (b *build) state(data []float32, sizes ...int32) int32 {
	t := b.place(describe(sizes...))
	t.DataIndex = uint32(len(b.file.Mutable[0]))
	b.file.Mutable[0] = append(b.file.Mutable[0], ir.Bytes(floatBytes(data...)))
	return b.value(t)
}

func (b *build) flag(sizes ...int32) int32 {
	t := describe(sizes...)
	t.ScalarType = 11
	return b.value(b.place(t))
}

// emit appends an instruction and returns its index.
func (b *build) emit(in pte.Instruction) int32 {
	chain := b.plan.Chains[len(b.plan.Chains)-1]
	chain.Instructions = append(chain.Instructions, in)
	return int32(len(chain.Instructions) - 1)
}

// call appends a KernelCall with exactly the arguments.
func (b *build) call(name, overload string, args ...int32) int32 {
	op := pte.Operator{Name: name, Overload: overload}
	at := len(b.plan.Operators)
	for i, o := range b.plan.Operators {
		if o == op {
			at = i
		}
	}
	if at == len(b.plan.Operators) {
		b.plan.Operators = append(b.plan.Operators, op)
	}
	return b.emit(pte.KernelCall{Op: int32(at), Args: args})
}

// kernel is call with the out argument, the last, once more as the result.
func (b *build) kernel(name, overload string, args ...int32) int32 {
	return b.call(name, overload, append(args, args[len(args)-1])...)
}

func (b *build) inputs(v ...int32) *build  { b.plan.Inputs = v; return b }
func (b *build) outputs(v ...int32) *build { b.plan.Outputs = v; return b }

// bytes returns the program as a file.
func (b *build) bytes(t testing.TB) []byte {
	t.Helper()
	var w bytes.Buffer
	if err := pte.Write(&w, b.file); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func (b *build) program(t testing.TB) *rt.Program {
	t.Helper()
	p, err := rt.NewProgram(b.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// method loads the method with the test kernels.
func (b *build) method(t testing.TB, options *rt.MethodOptions) *rt.Method {
	t.Helper()
	m, err := load(b.program(t), b.plan.Name, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// load loads a method with the test kernels unless options have others.
func load(p *rt.Program, name string, options *rt.MethodOptions) (*rt.Method, error) {
	o := rt.MethodOptions{}
	if options != nil {
		o = *options
	}
	if o.Registry == nil {
		o.Registry = testKernels()
	}
	return p.LoadMethod(name, &o)
}

func tensor(t testing.TB, data []float32, sizes ...int64) *rt.Tensor {
	t.Helper()
	x, err := rt.TensorOf(sizes, data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// floats returns the elements of output i.
func floats(t testing.TB, m *rt.Method, i int) []float32 {
	t.Helper()
	out, err := m.OutputTensor(i)
	if err != nil {
		t.Fatal(err)
	}
	x, err := rt.Data[float32](out)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func wantFloats(t testing.TB, m *rt.Method, i int, want ...float32) {
	t.Helper()
	if got := floats(t, m, i); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("output %d is %v, expected %v", i, got, want)
	}
}

// forward runs the method and fails the test on an error.
func forward(t testing.TB, m *rt.Method, inputs ...any) {
	t.Helper()
	if _, err := m.Forward(t.Context(), inputs...); err != nil {
		t.Fatal(err)
	}
}
