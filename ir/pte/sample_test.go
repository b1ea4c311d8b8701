package pte

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// schemas is a table of operators from their lines.
type schemas map[string]*aten.Schema

func (s schemas) Schema(name string) (*aten.Schema, bool) {
	v, ok := s[name]
	return v, ok
}

func sampleSchemas(t testing.TB) schemas {
	t.Helper()
	all := schemas{}
	for _, line := range []string{
		"aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
		"aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		"aten::relu_(Tensor(a!) self) -> Tensor(a!)",
		"aten::relu(Tensor self) -> Tensor",
		"aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
		"aten::any.all_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		"aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)",
		"aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, " +
			"Tensor(b!) max_values) -> (Tensor values, Tensor indices)",
		"aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!)",
		"aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> " +
			"Tensor(a!)",
		"aten::gelu.out(Tensor self, *, str approximate=\"none\", Tensor(a!) out) -> Tensor(a!)",
		"aten::norm.out(Tensor self, float eps, float[] p, bool[] mask, int[]? dim, *, " +
			"ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		"test::late.out(Tensor self, *, Tensor(a!) out, bool flag) -> Tensor(a!)",
	} {
		s, err := aten.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		all[s.Name] = s
	}
	return all
}

func f32(sizes []int32, offset int64) *Tensor {
	t := &Tensor{ScalarType: 6, Sizes: sizes}
	for i := range sizes {
		t.DimOrder = append(t.DimOrder, uint8(i))
	}
	if offset >= 0 {
		t.Allocation = &Allocation{MemoryID: 1, Offset: uint64(offset)}
	}
	return t
}

// The values of sample's method that tests refer to.
const (
	vInput, vConst, vAlpha, vSum, vView, vList, vRelu, vState, vFalse, vCond = 0, 1, 2, 3, 4, 6,
		7, 8, 9, 10
	vNull, vTensors, vCat, vZero, vOptional, vMax, vIndex, vOuts = 11, 12, 13, 14,
		15, 16, 17, 18
	vString, vDouble, vMoved, vDelegate, vDoubles, vBools, vExternal = 19, 20, 21,
		22, 23, 24, 25
)

// sample returns a program with some of everything, that Verify accepts.
func sample() *Program {
	state := f32([]int32{6}, 96)
	state.DataIndex, state.ExtraInfo = 1, &ExtraTensorInfo{Name: "b.state"}
	weight := f32([]int32{2, 3}, -1)
	weight.DataIndex, weight.RequiresGrad = 1, true
	cond := &Tensor{ScalarType: boolType, Allocation: &Allocation{MemoryID: 1, Offset: 128}}
	index := f32([]int32{4}, 224)
	index.ScalarType = 4
	external := f32([]int32{6}, -1)
	external.ExtraInfo = &ExtraTensorInfo{Name: "c.weight", External: true}
	input := f32([]int32{2, 3}, 0)
	input.Dynamism = DynamicBound
	frames := []Frame{{"model.py", 7, "forward", "return x"}}
	plan := &ExecutionPlan{
		Name:      "forward",
		Container: &ContainerMeta{Input: "[1]", Output: "[2]"},
		Values: []EValue{
			input, weight, Int(1), f32([]int32{2, 3}, 32), f32([]int32{6}, 32),
			Int(6), IntList{5}, f32([]int32{6}, 64), state, Bool(false), cond,
			Null{}, TensorList{vRelu, vState}, f32([]int32{12}, 160), Int(0),
			OptionalTensorList{vRelu, -1, vNull}, f32([]int32{4}, 208), index,
			TensorList{vMax, vIndex},
			String("none"), Double(0.5), f32([]int32{6}, -1), f32([]int32{6}, 256),
			DoubleList{0.5, 2}, BoolList{true, false}, external,
		},
		Inputs:  []int32{vInput},
		Outputs: []int32{vCat, vMax, vIndex, vDelegate, vAlpha},
		Chains: []*Chain{{
			Instructions: []Instruction{
				KernelCall{0, []int32{vInput, vConst, vAlpha, vSum, vSum}},
				KernelCall{1, []int32{vView, vRelu, vRelu}},
				KernelCall{2, []int32{vRelu, vCond, vCond}},
				JumpFalseCall{vCond, 6},
				MoveCall{vRelu, vMoved},
				JumpFalseCall{vFalse, 7},
				MoveCall{vState, vMoved},
				KernelCall{3, []int32{vTensors, vZero, vCat, vCat}},
				KernelCall{4, []int32{vCat, vZero, vFalse, vMax, vIndex, vOuts}},
			},
			Stacktrace: [][]Frame{frames, frames, frames, nil, nil, nil, nil, frames, frames},
		}, {
			Inputs:  []int32{vMoved},
			Outputs: []int32{vDelegate},
			Instructions: []Instruction{
				DelegateCall{0, []int32{vMoved, vExternal, vDelegate}},
				KernelCall{5, []int32{vState, vRelu, vFalse, vState}},
			},
		}},
		Operators: []Operator{
			{"aten::add", "out"}, {"aten::relu", "out"}, {"aten::any", "all_out"},
			{"aten::cat", "out"},
			{"aten::max", "dim_max"}, {"aten::copy_", ""}, {"aten::relu_", ""}, {"aten::relu", ""},
			{"custom::thing", "out"}, {"aten::index", "Tensor_out"}, {"aten::clamp", "out"},
			{"aten::gelu", "out"}, {"aten::norm", "out"}, {"test::late", "out"},
			{"executorch_prim::et_view", "default"}, {"executorch_prim::add", "Scalar"},
		},
		Delegates: []Delegate{
			{ID: "XnnpackBackend", Processed: ir.Bytes{1, 2, 3},
				Specs: []ir.CompileSpec{{Key: "max", Value: []byte{4}}}},
			{ID: "Other", Processed: ir.Bytes{1, 2, 3}, Inline: true},
		},
		BufferSizes:   []int64{0, 288},
		BufferDevices: []BufferDevice{{Buffer: 1, DeviceType: 0, DeviceIndex: 1}},
	}
	second := &ExecutionPlan{Name: "reset", Chains: []*Chain{{}}}
	data := ir.Bytes{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64, 0, 0, 128, 64, 0, 0, 160, 64, 0,
		0, 192, 64}
	return &Program{
		Version:   2,
		Plans:     []*ExecutionPlan{plan, second},
		Constants: []ir.Blob{nil, data, ir.Bytes{1, 2, 3, 4, 5}, data},
		Mutable:   [][]ir.Blob{{nil, append(ir.Bytes(nil), data...)}},
		Named: []ir.NamedData{{Key: "key", Data: ir.Bytes{1, 2, 3}},
			{Key: "other", Data: ir.Bytes{9}}},
	}
}

func TestRoundTripSample(t *testing.T) {
	p := sample()
	out := writeBytes(t, p)
	if diff := cmp.Diff(p, readBytes(t, out), sameBlobs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Once as a constant, once as initial data; delegate's and named data together,
	// and once inline.
	for _, c := range []struct {
		data  ir.Blob
		times int
	}{{p.Constants[1], 2}, {ir.Bytes{1, 2, 3, 0}, 1}} {
		if n := bytes.Count(out, blobBytes(c.data)); n < c.times || c.times == 2 && n != 2 {
			t.Errorf("%v is there %d times", c.data, n)
		}
	}
	for _, l := range []Layout{{SegmentAlignment: 4096}, {ConstantAlignment: 64}} {
		var b bytes.Buffer
		if err := l.Write(&b, p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, readBytes(t, b.Bytes()), sameBlobs); diff != "" {
			t.Errorf("%+v: -want +got:\n%s", l, diff)
		}
	}
	if err := (Layout{SegmentAlignment: 24}).Write(&bytes.Buffer{}, p); err == nil {
		t.Error("an alignment of 24 is accepted")
	}
}

// A program without data needs no extended header; one with constants of no
// bytes does.
func TestWriteWithoutData(t *testing.T) {
	p := &Program{Plans: []*ExecutionPlan{{Name: "f", Chains: []*Chain{{}}}},
		Constants: []ir.Blob{nil}}
	out := writeBytes(t, p)
	if string(out[8:12]) == "eh00" {
		t.Error("an extended header without segments")
	}
	if diff := cmp.Diff(p, readBytes(t, out), sameBlobs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p.Constants = append(p.Constants, ir.Bytes(nil))
	out = writeBytes(t, p)
	if string(out[8:12]) != "eh00" {
		t.Error("no extended header with a constant")
	}
	readBytes(t, out)
}

// What cannot be written is an error, not a panic.
func TestWriteErrors(t *testing.T) {
	for want, p := range map[string]*Program{
		"pte: a nil execution plan": {Plans: []*ExecutionPlan{nil}},
		"pte: method f: value 0: no kind of value: <nil>": {Plans: []*ExecutionPlan{
			{Name: "f", Values: []EValue{nil}}}},
		"pte: method f: value 0: no kind of value: *pte.Tensor": {Plans: []*ExecutionPlan{
			{Name: "f", Values: []EValue{(*Tensor)(nil)}}}},
		"pte: method f: chain 0: it is nil": {Plans: []*ExecutionPlan{
			{Name: "f", Chains: []*Chain{nil}}}},
		"pte: method f: chain 0: instruction 0: no kind of instruction: <nil>": {
			Plans: []*ExecutionPlan{
				{Name: "f", Chains: []*Chain{{Instructions: []Instruction{nil}}}}}},
	} {
		if err := Write(&bytes.Buffer{}, p); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	p := &Program{Constants: []ir.Blob{nil, ir.Unresolved{Length: 4}}}
	if err := Write(&bytes.Buffer{}, p); err == nil {
		t.Error("a blob that cannot be read is written")
	}
}
