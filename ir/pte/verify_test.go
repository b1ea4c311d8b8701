package pte

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

func TestVerifySample(t *testing.T) {
	if err := Verify(sample(), sampleSchemas(t)); err != nil {
		t.Error(err)
	}
	if err := Verify(readBytes(t, writeBytes(t, sample())), sampleSchemas(t)); err != nil {
		t.Error(err)
	}
	if err := Verify(sample(), nil); err != nil {
		t.Errorf("without schemas: %v", err)
	}
}

// method is sample's first method, for mutations.
type method struct{ *ExecutionPlan }

func (m method) tensor(i int) *Tensor { return m.Values[i].(*Tensor) }

// add appends a value.
func (m method) add(v EValue) int32 {
	m.Values = append(m.Values, v)
	return int32(len(m.Values) - 1)
}

// call replaces instruction i of the first chain.
func (m method) call(i int, op int32, args ...int32) {
	m.Chains[0].Instructions[i] = KernelCall{op, args}
}

// run puts instructions in the place of all there are.
func (m method) run(instructions ...Instruction) {
	m.Chains = []*Chain{{Instructions: instructions}}
	m.Outputs = nil
}

const (
	opAdd, opRelu, opAny, opCat, opMax, opCopy, opReluInPlace, opReluNew = 0, 1, 2, 3, 4, 5, 6, 7
	opCustom, opIndex, opClamp, opGelu, opNorm, opLate, opView, opPrim   = 8, 9, 10, 11,
		12, 13, 14, 15
)

// Each mutation breaks one rule and is reported as that and nothing else.
func TestVerifyMutations(t *testing.T) {
	long := strings.Repeat("x", 97)
	for name, c := range map[string]struct {
		mutate func(p *Program, m method)
		want   string
	}{
		"defect": {func(p *Program, m method) {
			p.Defects = []string{"execution_plan[0].delegates is absent"}
		}, "execution_plan[0].delegates is absent"},
		"no methods": {func(p *Program, m method) { p.Plans = nil },
			"the program has no methods"},
		"nil method": {func(p *Program, m method) { p.Plans[1] = nil }, "method 1 is nil"},
		"method name": {func(p *Program, m method) { p.Plans[1].Name = "" },
			`method 1 is called ""`},
		"method name zero": {func(p *Program, m method) { p.Plans[1].Name = "a\x00" },
			`method 1 is called "a\x00"`},
		"same method name": {func(p *Program, m method) { p.Plans[1].Name = "forward" },
			"two methods are called forward"},
		"reserved constant": {func(p *Program, m method) { p.Constants[0] = ir.Bytes{1} },
			"entry 0 of a table of data is reserved, and has data"},
		"named without name": {func(p *Program, m method) { p.Named[0].Key = "" },
			"named data 0 has no name"},
		"named twice": {func(p *Program, m method) { p.Named[1].Key = "key" },
			`two named data are called "key"`},
		"named without data": {func(p *Program, m method) { p.Named[1].Data = nil },
			`named data "other" has no data`},
		"least sizes": {func(p *Program, m method) { p.SetLeast(0, [][]int64{{1 << 40}}) },
			`method forward: the least sizes of inputs, "0 1099511627776\n": the input is no tensor of 1 dimensions that may vary`},
		"too many tables": {func(p *Program, m method) {
			p.Plans[1].Values = make([]EValue, 500_000)
			for i := range p.Plans[1].Values {
				p.Plans[1].Values[i] = Null{}
			}
		}, "the program makes about 1000143 flatbuffer tables; runtimes that check files stop at " +
			"1000000"},

		"operator name": {func(p *Program, m method) { m.Operators[9].Name = "" },
			`method forward: operator 9 is called ".Tensor_out"`},
		"long operator": {func(p *Program, m method) { m.Operators[9] = Operator{long, "out"} },
			"method forward: operator 9 has a name of 101 bytes, at most 99 are possible: " +
				long + ".out"},
		"buffer size": {func(p *Program, m method) {
			m.BufferSizes = append(m.BufferSizes, -1)
		}, "method forward: planned buffer 2 has -1 bytes"},
		"buffer device": {func(p *Program, m method) { m.BufferDevices[0].Buffer = 2 },
			"method forward: a device for planned buffer 2; there are buffers 1 to 1"},
		"delegate id": {func(p *Program, m method) { m.Delegates[0].ID = "" },
			`method forward: delegate 0 has the id ""`},
		"delegate data": {func(p *Program, m method) { m.Delegates[0].Processed = nil },
			"method forward: delegate 0 has no data"},
		"compile spec": {func(p *Program, m method) { m.Delegates[0].Specs[0].Key = "" },
			`method forward: delegate 0 has the compile spec 0 called ""`},
		"container": {func(p *Program, m method) { m.Container.Input = "\x00" },
			"method forward: the container metadata has zero bytes"},
		"nil value": {func(p *Program, m method) { m.add(nil) },
			"method forward, value 26: no kind of value: <nil>"},
		"nil tensor": {func(p *Program, m method) { m.add((*Tensor)(nil)) },
			"method forward, value 26: a nil tensor"},
		"int list range": {func(p *Program, m method) { m.Values[vList] = IntList{99} },
			"method forward, value 6: item 0 is value 99; there are 26"},
		"int list negative": {func(p *Program, m method) { m.Values[vList] = IntList{-1} },
			"method forward, value 6: item 0 is value -1; there are 26"},
		"int list kind": {func(p *Program, m method) { m.Values[vList] = IntList{vDouble} },
			"method forward, value 6: item 0 is value 20, a double, not an int"},
		"tensor list range": {func(p *Program, m method) { m.Values[vTensors] = TensorList{99} },
			"method forward, value 12: item 0 is value 99; there are 26"},
		"tensor list none": {func(p *Program, m method) { m.Values[vTensors] = TensorList{-1} },
			"method forward, value 12: item 0 is value -1; there are 26"},
		"tensor list later": {func(p *Program, m method) { m.Values[vTensors] = TensorList{vCat} },
			"method forward, value 12: item 0 is value 13, which does not come before the list"},
		"tensor list kind": {func(p *Program, m method) {
			m.Values[vTensors] = TensorList{vAlpha}
		}, "method forward, value 12: item 0 is value 2, an int, not a tensor"},
		"tensor list null": {func(p *Program, m method) { m.Values[vTensors] = TensorList{vNull} },
			"method forward, value 12: item 0 is value 11, none, not a tensor"},
		"optional later": {func(p *Program, m method) {
			m.Values[vOptional] = OptionalTensorList{vMax}
		}, "method forward, value 15: item 0 is value 16, which does not come before the list"},
		"optional kind": {func(p *Program, m method) {
			m.Values[vOptional] = OptionalTensorList{vZero}
		}, "method forward, value 15: item 0 is value 14, an int, not a tensor"},
		"optional range": {func(p *Program, m method) {
			m.Values[vOptional] = OptionalTensorList{-2}
		}, "method forward, value 15: item 0 is value -2; there are 26"},

		"input range": {func(p *Program, m method) { m.Inputs = append(m.Inputs, 26) },
			"method forward: input 1 is value 26; there are 26"},
		"input twice": {func(p *Program, m method) { m.Inputs = append(m.Inputs, vInput) },
			"method forward, value 0: it is two inputs"},
		"input list": {func(p *Program, m method) { m.Inputs = append(m.Inputs, vList) },
			"method forward, value 6: input 1 is a list of ints, which a method cannot take or give"},
		"input constant": {func(p *Program, m method) { m.Inputs = append(m.Inputs, vConst) },
			"method forward, value 1: an input that has data of its own"},
		"output range": {func(p *Program, m method) { m.Outputs[0] = -1 },
			"method forward: output 0 is value -1; there are 26"},
		"output list": {func(p *Program, m method) { m.Outputs[0] = vOuts },
			"method forward, value 18: output 0 is a list of tensors, which a method cannot take or give"},

		"storage offset": {func(p *Program, m method) { m.tensor(vCat).StorageOffset = 1 },
			"method forward, value 13: storage offset 1, only 0 is possible"},
		"unbounded": {func(p *Program, m method) { m.tensor(vCat).Dynamism = DynamicUnbound },
			"method forward, value 13: shape dynamism 2, only static and bounded shapes are possible"},
		"dynamism": {func(p *Program, m method) { m.tensor(vCat).Dynamism = -1 },
			"method forward, value 13: shape dynamism -1, only static and bounded shapes are possible"},
		"scalar type": {func(p *Program, m method) { m.tensor(vCat).ScalarType = 12 },
			"method forward, value 13: scalar type 12 is no type of elements"},
		"rank": {func(p *Program, m method) {
			*m.tensor(vDelegate) = *f32(make([]int32, 17), 256)
		}, "method forward, value 22: rank 17, at most 16 is possible"},
		"negative size": {func(p *Program, m method) { m.tensor(vCat).Sizes[0] = -1 },
			"method forward, value 13: size -1 of dimension 0"},
		"too many bytes": {func(p *Program, m method) {
			*m.tensor(vCat) = *f32([]int32{1 << 30, 1 << 30, 4}, 160)
		}, "method forward, value 13: sizes [1073741824 1073741824 4]: the number of bytes is too large"},
		"dim order short": {func(p *Program, m method) { m.tensor(vCat).DimOrder = nil },
			"method forward, value 13: dim order [] is no permutation of 1 dimensions"},
		"dim order twice": {func(p *Program, m method) { m.tensor(vSum).DimOrder = []uint8{0, 0} },
			"method forward, value 3: dim order [0 0] is no permutation of 2 dimensions"},
		"dim order range": {func(p *Program, m method) { m.tensor(vSum).DimOrder = []uint8{0, 2} },
			"method forward, value 3: dim order [0 2] is no permutation of 2 dimensions"},
		"tensor name": {func(p *Program, m method) { m.tensor(vState).ExtraInfo.Name = "\x00" },
			`method forward, value 8: the name "\x00"`},
		"external name": {func(p *Program, m method) { m.tensor(vExternal).ExtraInfo.Name = "" },
			"method forward, value 25: its data is external and it has no name"},
		"memory id": {func(p *Program, m method) { m.tensor(vCat).Allocation.MemoryID = 2 },
			"method forward, value 13: memory id 2; there are 1 to 1"},
		"memory id 0": {func(p *Program, m method) { m.tensor(vCat).Allocation.MemoryID = 0 },
			"method forward, value 13: memory id 0; there are 1 to 1"},
		"planned align": {func(p *Program, m method) {
			m.BufferSizes[1] += 8
			m.tensor(vDelegate).Allocation.Offset += 8
		}, "method forward, value 22: offset 264 in planned memory is not aligned to 16 bytes"},
		"planned beyond": {func(p *Program, m method) {
			m.tensor(vDelegate).Allocation.Offset = 272
		}, "method forward, value 22: 24 bytes at offset 272 leave planned buffer 1 of 288 bytes"},
		"planned far": {func(p *Program, m method) {
			m.tensor(vDelegate).Allocation.Offset = 1<<64 - 16
		},
			"method forward, value 22: 24 bytes at offset 18446744073709551600 leave planned buffer 1 of " +
				"288 bytes"},
		"constant range": {func(p *Program, m method) { m.tensor(vConst).DataIndex = 4 },
			"method forward, value 1: constant 4; the program has 1 to 3"},
		"constant short": {func(p *Program, m method) { m.tensor(vConst).DataIndex = 2 },
			"method forward, value 1: constant 2 has 5 bytes of 24"},
		"constant nil": {func(p *Program, m method) { p.Constants[1] = nil },
			"method forward, value 1: constant 1 has no data"},
		"initial range": {func(p *Program, m method) { m.tensor(vState).DataIndex = 2 },
			"method forward, value 8: initial data 2; the program has 1 to 1"},
		"initial short": {func(p *Program, m method) { p.Mutable[0][1] = ir.Bytes{1} },
			"method forward, value 8: initial data 1 has 1 bytes of 24"},
		"initial segment": {func(p *Program, m method) {
			m.tensor(vState).ExtraInfo.MutableSegment = 1
		}, "method forward, value 8: initial data in segment 1 of mutable data: ExecuTorch's runtime " +
			"takes it from segment 0"},
		"initial none": {func(p *Program, m method) { p.Mutable = nil },
			"method forward, value 8: initial data 1, and the program has none"},
		"no chains": {func(p *Program, m method) { p.Plans[1].Chains = nil },
			"method reset: it has no chain of instructions"},
		"nil chain": {func(p *Program, m method) { p.Plans[1].Chains[0] = nil },
			"method reset: chain 0 is nil"},
		"stack traces": {func(p *Program, m method) {
			m.Chains[0].Stacktrace = make([][]Frame, 3)
		}, "method forward: chain 0 has 3 stack traces for 9 instructions"},
		"nil instruction": {func(p *Program, m method) { m.Chains[0].Instructions[8] = nil },
			"method forward, instruction 8: no kind of instruction: <nil>"},
		"operator range": {func(p *Program, m method) { m.call(0, 99) },
			"method forward, instruction 0: operator 99; there are 16"},
		"delegate range": {func(p *Program, m method) {
			m.Chains[1].Instructions[0] = DelegateCall{2, nil}
		}, "method forward, chain 1, instruction 0: delegate 2; there are 2"},
		"argument range": {func(p *Program, m method) { m.call(1, opRelu, vView, vRelu, 26) },
			"method forward, instruction 1 aten::relu.out: argument 2 is value 26; there are 26"},
		"unknown range": {func(p *Program, m method) { m.call(1, opCustom, -1) },
			"method forward, instruction 1 custom::thing.out: argument 0 is value -1; there are 26"},
		"delegate args": {func(p *Program, m method) {
			m.Chains[1].Instructions[0] = DelegateCall{0, []int32{26}}
		}, "method forward, chain 1, instruction 0 XnnpackBackend: argument 0 is value 26; there are 26"},
		"jump beyond": {func(p *Program, m method) {
			m.Chains[0].Instructions[3] = JumpFalseCall{vCond, 10}
		}, "method forward, instruction 3: jumps to instruction 10; there are 0 to 9"},
		"jump before": {func(p *Program, m method) {
			m.Chains[0].Instructions[3] = JumpFalseCall{vCond, -1}
		}, "method forward, instruction 3: jumps to instruction -1; there are 0 to 9"},
		"condition range": {func(p *Program, m method) {
			m.Chains[0].Instructions[3] = JumpFalseCall{26, 6}
		}, "method forward, instruction 3: argument 0 is value 26; there are 26"},
		"condition kind": {func(p *Program, m method) {
			m.Chains[0].Instructions[3] = JumpFalseCall{vAlpha, 6}
		}, "method forward, instruction 3, value 2: the condition is an int, not a bool"},
		"condition type": {func(p *Program, m method) {
			m.Chains[0].Instructions[3] = JumpFalseCall{vRelu, 6}
		}, "method forward, instruction 3, value 7: the condition is a tensor of float32, not of bools"},
		"move range": {func(p *Program, m method) {
			m.Chains[0].Instructions[4] = MoveCall{vRelu, -1}
		}, "method forward, instruction 4: argument 1 is value -1; there are 26"},
		"move kind": {func(p *Program, m method) {
			m.Chains[0].Instructions[4] = MoveCall{vAlpha, vMoved}
		}, "method forward, instruction 4, value 21: a tensor becomes value 2, an int"},
		"move type": {func(p *Program, m method) {
			m.Chains[0].Instructions[4] = MoveCall{vSum, vMoved}
		}, "method forward, instruction 4, value 21: f32[6] the caller's cannot become value 3, f32[2, " +
			"3] at 1:32"},
		"move sizes": {func(p *Program, m method) {
			m.Chains[0].Instructions[4] = MoveCall{vState, m.add(f32([]int32{7}, -1))}
		}, "method forward, instruction 4, value 26: f32[7] the caller's cannot become value 8, " +
			"f32[6] at 1:96 from data 1"},
		"move layout": {func(p *Program, m method) {
			other := m.add(f32([]int32{2, 3}, -1))
			m.tensor(int(other)).DimOrder = []uint8{1, 0}
			m.Chains[0].Instructions[4] = MoveCall{vSum, other}
		}, "method forward, instruction 4, value 26: f32[2, 3] order [1 0] the caller's cannot become " +
			"value 3, f32[2, 3] at 1:32"},
		"move bound": {func(p *Program, m method) {
			other := m.add(f32([]int32{5}, -1))
			m.tensor(int(other)).Dynamism = DynamicBound
			m.Chains[0].Instructions[4] = MoveCall{vState, other}
		}, "method forward, instruction 4, value 26: f32[≤5] the caller's cannot become value 8, " +
			"f32[6] at 1:96 from data 1"},
		"free range": {func(p *Program, m method) {
			m.Chains[0].Instructions[8] = FreeCall{26}
		}, "method forward, instruction 8: argument 0 is value 26; there are 26"},
		"free kind": {func(p *Program, m method) {
			m.Chains[0].Instructions[8] = FreeCall{vZero}
		}, "method forward, instruction 8, value 14: frees an int, not a tensor"},
		"argument count": {func(p *Program, m method) { m.call(1, opRelu, vView, vRelu) },
			"method forward, instruction 1 aten::relu.out: 2 arguments, want 3: those of " +
				"aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!), then the result"},
		"tensor for int": {func(p *Program, m method) {
			m.call(7, opCat, vTensors, vRelu, vCat, vCat)
		}, "method forward, instruction 7 aten::cat.out, value 7: argument dim is a tensor, want int"},
		"int for tensor": {func(p *Program, m method) { m.call(1, opRelu, vZero, vRelu, vRelu) },
			"method forward, instruction 1 aten::relu.out, value 14: argument self is an int, want Tensor"},
		"none for tensor": {func(p *Program, m method) { m.call(1, opRelu, vNull, vRelu, vRelu) },
			"method forward, instruction 1 aten::relu.out, value 11: argument self is none, want Tensor"},
		"list of tensors": {func(p *Program, m method) {
			m.call(7, opCat, vOptional, vZero, vCat, vCat)
		}, "method forward, instruction 7 aten::cat.out, value 15: argument tensors is a list of " +
			"optional tensors, want Tensor[]"},
		"optional list": {func(p *Program, m method) {
			m.call(1, opIndex, vView, vTensors, vRelu, vRelu)
		}, "method forward, instruction 1 aten::index.Tensor_out, value 12: argument indices is a list " +
			"of tensors, want Tensor?[]"},
		"scalar": {func(p *Program, m method) {
			m.call(0, opAdd, vInput, vConst, vString, vSum, vSum)
		}, "method forward, instruction 0 aten::add.out, value 19: argument alpha is a string, " +
			"want Scalar"},
		"string": {func(p *Program, m method) {
			m.call(1, opGelu, vView, vZero, vRelu, vRelu)
		}, "method forward, instruction 1 aten::gelu.out, value 14: argument approximate is an int, " +
			"want str"},
		"int for float": {func(p *Program, m method) {
			m.call(1, opNorm, vView, vZero, vDoubles, vBools, vList, vZero, vRelu, vRelu)
		}, "method forward, instruction 1 aten::norm.out, value 14: argument eps is an int, want float"},
		"floats": {func(p *Program, m method) {
			m.call(1, opNorm, vView, vDouble, vList, vBools, vList, vZero, vRelu, vRelu)
		}, "method forward, instruction 1 aten::norm.out, value 6: argument p is a list of ints, " +
			"want float[]"},
		"bools": {func(p *Program, m method) {
			m.call(1, opNorm, vView, vDouble, vDoubles, vList, vList, vZero, vRelu, vRelu)
		}, "method forward, instruction 1 aten::norm.out, value 6: argument mask is a list of ints, " +
			"want bool[]"},
		"ints": {func(p *Program, m method) {
			m.call(1, opNorm, vView, vDouble, vDoubles, vBools, vDoubles, vZero, vRelu, vRelu)
		}, "method forward, instruction 1 aten::norm.out, value 23: argument dim is a list of doubles, " +
			"want int[]?"},
		"dtype": {func(p *Program, m method) {
			m.call(1, opNorm, vView, vDouble, vDoubles, vBools, vNull, vFalse, vRelu, vRelu)
		}, "method forward, instruction 1 aten::norm.out, value 9: argument dtype is a bool, " +
			"want ScalarType?"},
		"bool": {func(p *Program, m method) {
			m.call(8, opMax, vCat, vZero, vZero, vMax, vIndex, vOuts)
		}, "method forward, instruction 8 aten::max.dim_max, value 14: argument keepdim is an int, " +
			"want bool"},
		"after out": {func(p *Program, m method) {
			m.call(1, opLate, vView, vRelu, vFalse, vRelu)
		}, "method forward, instruction 1 test::late.out: argument flag comes after an out argument in " +
			"test::late.out(Tensor self, *, Tensor(a!) out, bool flag) -> Tensor(a!)"},
		"constant out": {func(p *Program, m method) {
			m.call(0, opAdd, vInput, vConst, vAlpha, vConst, vConst)
		}, "method forward, instruction 0 aten::add.out, value 1: argument out is a constant, " +
			"which is written"},
		"external out": {func(p *Program, m method) {
			m.call(1, opRelu, vView, vExternal, vExternal)
		}, "method forward, instruction 1 aten::relu.out, value 25: argument out is a constant, " +
			"which is written"},
		"result": {func(p *Program, m method) { m.call(1, opRelu, vView, vRelu, vView) },
			"method forward, instruction 1 aten::relu.out, value 4: the result is a tensor, " +
				"not what the call writes"},
		"result list": {func(p *Program, m method) {
			m.call(8, opMax, vCat, vZero, vFalse, vMax, vIndex, vTensors)
		}, "method forward, instruction 8 aten::max.dim_max, value 12: the result is the list of " +
			"values [7 8], but the call writes [16 17]"},
		"result of two": {func(p *Program, m method) {
			m.call(8, opMax, vCat, vZero, vFalse, vMax, vIndex, vMax)
		}, "method forward, instruction 8 aten::max.dim_max, value 16: the result is a tensor, " +
			"not what the call writes"},
		"result of number": {func(p *Program, m method) { m.call(8, opPrim, vZero, vZero, vCat) },
			"method forward, instruction 8 executorch_prim::add.Scalar, value 13: the result is a tensor, " +
				"want Scalar"},
		"new tensor": {func(p *Program, m method) { m.call(1, opReluNew, vView, vRelu) },
			"method forward, instruction 1 aten::relu, value 7: the result is a new tensor; only out " +
				"variants can be called"},

		"unwritten read": {func(p *Program, m method) {
			m.call(0, opAdd, vSum, vConst, vAlpha, vSum, vSum)
		}, "method forward, instruction 0 aten::add.out, value 3: it is read before anything is " +
			"written to it"},
		"unwritten view": {func(p *Program, m method) { m.call(0, opRelu, vView, vSum, vSum) },
			"method forward, instruction 0 aten::relu.out, value 4: it is read before anything is written " +
				"to it"},
		"unwritten output": {func(p *Program, m method) {
			m.Outputs[0] = m.add(f32([]int32{4}, 272))
		}, "method forward, value 26: output 0: there is a path on which nothing is written to it"},
		"output on one path": {func(p *Program, m method) {
			m.Outputs[0] = m.add(f32([]int32{4}, 272))
			m.call(4, opRelu, vCat, m.Outputs[0], m.Outputs[0])
			m.call(2, opCat, vTensors, vZero, vCat, vCat)
			m.run(m.Chains[0].Instructions[0], m.Chains[0].Instructions[1],
				m.Chains[0].Instructions[2],
				KernelCall{opAny, []int32{vRelu, vCond, vCond}}, JumpFalseCall{vCond, 6},
				KernelCall{opRelu, []int32{vCat, 26, 26}})
			m.Outputs = []int32{26}
		}, "method forward, value 26: output 0: there is a path on which nothing is written to it"},
		"overwritten": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opAny, []int32{vInput, vCond, vCond}},
				KernelCall{opRelu, []int32{vRelu, vDelegate, vDelegate}})
			m.tensor(vCond).Allocation.Offset = 64
		}, "method forward, instruction 2 aten::relu.out, value 7: it is read, but instruction 1 has " +
			"written over it"},
		"overwritten output": {func(p *Program, m method) {
			m.tensor(vDelegate).Allocation.Offset = 160
		}, "method forward, value 13: output 0: instruction 0 has written over it"},
		"overwritten state": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vState, vRelu, vRelu}},
				KernelCall{opCat, []int32{vTensors, vZero, vCat, vCat}})
			m.tensor(vCat).Allocation.Offset = 112
			m.Values[vTensors] = TensorList{vInput}
		}, "method forward, value 8: the method reads what the last call left in it, " +
			"but instruction 1 writes over it"},
		"partial overlap": {func(p *Program, m method) {
			m.run(KernelCall{opAdd, []int32{vInput, vConst, vAlpha, vSum, vSum}})
			m.tensor(vSum).Allocation.Offset = 16
		}, "method forward, instruction 0 aten::add.out, value 3: it is written and overlaps value 0, " +
			"which the call reads, in part"},
		"in place over a part": {func(p *Program, m method) {
			m.Operators = append(m.Operators, Operator{"aten::add_", "Tensor"})
			m.run(KernelCall{16, []int32{vState, vMax, vAlpha, vState}})
			*m.tensor(vMax) = *f32([]int32{6}, 112)
			m.Inputs = []int32{vMax}
			m.tensor(vState).DataIndex, m.tensor(vState).ExtraInfo = 0, nil
		}, "method forward, instruction 0 aten::add_.Tensor, value 8: it is read, " +
			"but an input lies over it\n" +
			"     method forward, instruction 0 aten::add_.Tensor, value 8: it is written and overlaps " +
			"value 16, which the call reads, in part"},
		"moved in the last call": {func(p *Program, m method) {
			m.tensor(vMoved).Allocation = &Allocation{MemoryID: 1, Offset: 256}
			m.Inputs = []int32{vInput}
			m.run(KernelCall{opReluInPlace, []int32{vMoved, vMoved}},
				KernelCall{opRelu, []int32{vInput, vRelu, vRelu}}, MoveCall{vRelu, vMoved})
		}, "method forward, instruction 0 aten::relu_, value 21: it is read before instruction 2 moves " +
			"another tensor to it, which is still there in the next call"},
		"same place twice": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opRelu, []int32{vInput, vMax, vMax}},
				KernelCall{opRelu, []int32{vRelu, vDelegate, vDelegate}})
			*m.tensor(vMax) = *f32([]int32{6}, 64)
		}, "method forward, instruction 2 aten::relu.out, value 7: it is read, but instruction 1 has " +
			"written over it"},
		"inputs overlap": {func(p *Program, m method) {
			m.Inputs = []int32{vInput, m.add(f32([]int32{6}, 16))}
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}})
		}, "method forward, instruction 0 aten::relu.out, value 0: it is read, " +
			"but an input lies over it"},
		"input over state": {func(p *Program, m method) {
			m.tensor(vInput).Allocation.Offset = 96
			m.run(KernelCall{opRelu, []int32{vState, vRelu, vRelu}})
		}, "method forward, instruction 0 aten::relu.out, value 8: it is read, " +
			"but an input lies over it"},
		"outs overlap": {func(p *Program, m method) { m.tensor(vIndex).Allocation.Offset = 208 },
			"method forward, instruction 8 aten::max.dim_max, value 17: it overlaps value 16, " +
				"which the call writes too\n" +
				"     method forward, value 16: output 1: instruction 8 has written over it"},
		"lost in a loop": {func(p *Program, m method) {
			// The second round reads what the first wrote over.
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opRelu, []int32{vRelu, vSum, vSum}},
				KernelCall{opAny, []int32{vSum, vCond, vCond}},
				JumpFalseCall{vCond, 1})
			m.tensor(vCond).Allocation.Offset = 64
		}, "method forward, instruction 1 aten::relu.out, value 7: it is read, but instruction 2 has " +
			"written over it"},
		"lost in a branch": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opAny, []int32{vRelu, vCond, vCond}},
				JumpFalseCall{vCond, 4},
				KernelCall{opRelu, []int32{vInput, vMax, vMax}},
				KernelCall{opRelu, []int32{vRelu, vDelegate, vDelegate}})
			m.tensor(vMax).Allocation.Offset = 64
		}, "method forward, instruction 4 aten::relu.out, value 7: it is read, but instruction 3 has " +
			"written over it"},
		"no memory": {func(p *Program, m method) {
			m.call(1, opRelu, m.add(f32([]int32{6}, -1)), vRelu, vRelu)
		}, "method forward, instruction 1 aten::relu.out, value 26: it has no memory: it is not " +
			"planned, no constant, input or output, and nothing has moved it anywhere"},
		"no memory out": {func(p *Program, m method) {
			m.call(0, opRelu, vInput, vMoved, vMoved)
			m.run(m.Chains[0].Instructions[0])
		}, "method forward, instruction 0 aten::relu.out, value 21: it has no memory: it is not " +
			"planned, no constant, input or output, and nothing has moved it anywhere"},
		"freed": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}}, FreeCall{vInput})
		}, "method forward, instruction 0 aten::relu.out, value 0: its memory was freed"},
		"view elsewhere": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vSum, vSum}},
				KernelCall{opView, []int32{vSum, vList, vRelu}})
		}, "method forward, instruction 1 executorch_prim::et_view.default, value 7: a view of value 3 " +
			"with memory of its own"},
		"moved and overwritten": {func(p *Program, m method) {
			m.Chains[1].Instructions[0], m.Chains[1].Instructions[1] = m.Chains[1].Instructions[1],
				m.Chains[1].Instructions[0]
		}, "method forward, chain 1, instruction 1 XnnpackBackend, value 21: it is read, " +
			"but instruction 0 has written over it"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sample()
			c.mutate(p, method{p.Plans[0]})
			err := Verify(p, sampleSchemas(t))
			if err == nil {
				t.Fatal("it is accepted")
			}
			if got := strings.TrimPrefix(err.Error(), "pte: "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Forms of programs that are right although they look like some that are not.
func TestVerifyAccepts(t *testing.T) {
	for name, change := range map[string]func(m method){
		"in place": func(m method) { // out is exactly where the argument was
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opRelu, []int32{vRelu, vMax, vMax}})
			*m.tensor(vMax) = *f32([]int32{6}, 64)
			m.Outputs = []int32{vMax}
		},
		"one value on both branches": func(m method) {
			m.run(KernelCall{opAny, []int32{vInput, vCond, vCond}}, JumpFalseCall{vCond, 4},
				KernelCall{opRelu, []int32{vInput, vRelu, vRelu}}, JumpFalseCall{vFalse, 5},
				KernelCall{opRelu, []int32{vConst, vRelu, vRelu}})
			m.Outputs = []int32{vRelu}
		},
		"one place on both branches": func(m method) {
			other := m.add(f32([]int32{6}, 64))
			m.run(KernelCall{opAny, []int32{vInput, vCond, vCond}}, JumpFalseCall{vCond, 4},
				KernelCall{opRelu, []int32{vInput, vRelu, vRelu}}, JumpFalseCall{vFalse, 5},
				KernelCall{opRelu, []int32{vConst, other, other}})
			m.Outputs = []int32{vRelu}
		},
		"never taken": func(m method) {
			m.run(JumpFalseCall{vFalse, 2}, KernelCall{opRelu, []int32{vSum, vRelu, vRelu}})
		},
		"loop": func(m method) { // carried in value 7, by a copy at the end of a round
			m.run(KernelCall{opCopy, []int32{vRelu, vInput, vFalse, vRelu}},
				KernelCall{opRelu, []int32{vRelu, vDelegate, vDelegate}},
				KernelCall{opAny, []int32{vDelegate, vCond, vCond}},
				KernelCall{opCopy, []int32{vRelu, vDelegate, vFalse, vRelu}},
				JumpFalseCall{vCond, 1})
			m.Outputs = []int32{vRelu}
		},
		"memory again in a loop": func(m method) {
			m.tensor(vDelegate).Allocation.Offset = 64
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opAny, []int32{vRelu, vCond, vCond}},
				KernelCall{opRelu, []int32{vInput, vDelegate, vDelegate}},
				KernelCall{opRelu, []int32{vDelegate, vMax, vMax}},
				JumpFalseCall{vCond, 0})
		},
		"view without memory": func(m method) {
			view := m.add(f32([]int32{6}, -1))
			m.run(KernelCall{opRelu, []int32{vInput, vSum, vSum}},
				KernelCall{opView, []int32{vSum, vList, view}},
				KernelCall{opRelu, []int32{view, vRelu, vRelu}})
		},
		"view in place": func(m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vSum, vSum}},
				KernelCall{opView, []int32{vSum, vList, vView}},
				KernelCall{opRelu, []int32{vView, vRelu, vRelu}})
		},
		"view where it is planned, of this call or the last": func(m method) {
			m.run(KernelCall{opRelu, []int32{vInput, vSum, vSum}},
				KernelCall{opRelu, []int32{vView, vRelu, vRelu}},
				KernelCall{opView, []int32{vSum, vList, vView}})
		},
		"state changed through a view": func(m method) {
			view := m.add(f32([]int32{2, 3}, 96))
			m.run(KernelCall{opReluInPlace, []int32{view, view}},
				KernelCall{opRelu, []int32{vState, vRelu, vRelu}})
		},
		"unplanned output": func(m method) {
			out := m.add(f32([]int32{6}, -1))
			m.run(KernelCall{opRelu, []int32{vInput, out, out}})
			m.Outputs = []int32{out, out, vInput, vConst}
		},
		"unplanned input": func(m method) {
			m.tensor(vInput).Allocation = nil
			m.run(KernelCall{opRelu, []int32{vInput, vRelu, vRelu}})
		},
		"changed input": func(m method) {
			m.run(KernelCall{opCopy, []int32{vInput, vConst, vFalse, vInput}})
			m.Outputs = []int32{vInput}
		},
		"optional arguments": func(m method) {
			m.run(KernelCall{opClamp, []int32{vInput, vNull, vDouble, vRelu, vRelu}},
				KernelCall{opIndex, []int32{vRelu, vOptional, vDelegate, vDelegate}},
				KernelCall{opNorm, []int32{vRelu, vDouble, vDoubles, vBools, vNull, vNull,
					vDelegate, vDelegate}},
				KernelCall{opGelu, []int32{vRelu, vString, vDelegate, vDelegate}})
		},
		"unknown operator": func(m method) {
			m.run(KernelCall{opCustom, []int32{vInput, vZero, vString, vRelu, vRelu}},
				KernelCall{opCustom, []int32{vRelu, vMax, vIndex, vOuts}}, KernelCall{opCustom,
					[]int32{vRelu, vRelu}},
				KernelCall{opCustom, nil})
			m.Outputs = []int32{vIndex, vRelu}
		},
		"tensors of no bytes": func(m method) {
			none := m.add(f32([]int32{0}, 0))
			m.run(KernelCall{opRelu, []int32{none, vSum, vSum}},
				KernelCall{opRelu, []int32{vInput, none, none}})
		},
		"jump to the end": func(m method) {
			m.run(KernelCall{opAny, []int32{vInput, vCond, vCond}}, JumpFalseCall{vCond, 2})
		},
		"never ending": func(m method) {
			m.run(JumpFalseCall{vFalse, 0})
			m.Outputs = []int32{vRelu}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := sample()
			change(method{p.Plans[0]})
			if err := Verify(p, sampleSchemas(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a compiler takes although no runtime should, and what it does not take either.
func TestVerifyMeaning(t *testing.T) {
	view := func(m method) int32 { return m.add(f32([]int32{2, 3}, -1)) }
	for name, c := range map[string]struct {
		mutate func(p *Program, m method)
		want   string
	}{
		"state that nothing tells": {func(p *Program, m method) {
			m.run(KernelCall{opRelu, []int32{vSum, vRelu, vRelu}})
			m.Outputs = []int32{vCat}
		}, ""},
		"an earlier version": {func(p *Program, m method) {
			m.run(KernelCall{opAdd, []int32{vInput, vConst, vSum, vSum}})
		}, ""},
		"written over": {func(p *Program, m method) {
			m.tensor(vRelu).Allocation.Offset = 32
			m.run(KernelCall{opRelu, []int32{vInput, vSum, vSum}},
				KernelCall{opRelu, []int32{vInput, vRelu, vRelu}},
				KernelCall{opRelu, []int32{vSum, vDelegate, vDelegate}})
		}, "method forward, instruction 2 aten::relu.out, value 3: it is read, but instruction 1 has " +
			"written over it"},
		"by a call of an earlier version": {func(p *Program, m method) {
			m.tensor(vRelu).Allocation.Offset = 32
			m.run(KernelCall{opRelu, []int32{vInput, vSum, vSum}},
				KernelCall{opAdd, []int32{vInput, vConst, vRelu, vRelu}},
				KernelCall{opRelu, []int32{vSum, vDelegate, vDelegate}})
		}, "method forward, instruction 2 aten::relu.out, value 3: it is read, but instruction 1 has " +
			"written over it"},
		"a view of what changes in place": {func(p *Program, m method) {
			v := view(m)
			m.run(KernelCall{opView, []int32{vState, vList, v}},
				KernelCall{opReluInPlace, []int32{vState, vState}},
				KernelCall{opRelu, []int32{v, vDelegate, vDelegate}})
		}, "method forward, instruction 2 aten::relu.out, value 26: it is read, " +
			"but instruction 1 has written over it"},
		"a view before a change": {func(p *Program, m method) {
			v := view(m)
			m.run(KernelCall{opView, []int32{vState, vList, v}},
				KernelCall{opRelu, []int32{v, vDelegate, vDelegate}},
				KernelCall{opReluInPlace, []int32{vState, vState}})
		}, ""},
		"moved in the last call": {func(p *Program, m method) {
			m.tensor(vMoved).Allocation = &Allocation{MemoryID: 1, Offset: 256}
			m.run(KernelCall{opRelu, []int32{vMoved, vSum, vSum}}, MoveCall{vRelu, vMoved})
		}, "method forward, instruction 0 aten::relu.out, value 21: it is read before instruction 1 " +
			"moves another tensor to it, which is still there in the next call"},
		"written where the last call moved it": {func(p *Program, m method) {
			m.tensor(vMoved).Allocation = &Allocation{MemoryID: 1, Offset: 256}
			m.run(KernelCall{opRelu, []int32{vSum, vMoved, vMoved}}, MoveCall{vRelu, vMoved})
		}, "method forward, instruction 0 aten::relu.out, value 21: it is written before instruction 1 " +
			"moves another tensor to it, which is still there in the next call"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sample()
			c.mutate(p, method{p.Plans[0]})
			got := ""
			if err := VerifyMeaning(p, sampleSchemas(t)); err != nil {
				got = strings.TrimPrefix(err.Error(), "pte: ")
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestVerifyReportsAll(t *testing.T) {
	p := sample()
	for range 300 {
		p.Plans[0].Values = append(p.Plans[0].Values, IntList{-1})
	}
	err := Verify(p, nil)
	if err == nil || strings.Count(err.Error(), "\n") != maxProblems ||
		!strings.HasSuffix(err.Error(), "and 200 more") {
		t.Errorf("%v", err)
	}
}

func TestVerifyData(t *testing.T) {
	file := func() *DataFile {
		return &DataFile{Entries: []DataEntry{{"c.weight", &TensorLayout{6, []int32{6}, []uint8{0}},
			make(ir.Bytes, 24)}}}
	}
	if err := VerifyData(sample(), &DataFile{}, file()); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(f *DataFile){
		`external data "c.weight" is in none of the files`:                                        func(f *DataFile) { f.Entries = nil },
		`external data "c.weight" has no tensor layout`:                                           func(f *DataFile) { f.Entries[0].Layout = nil },
		`external data "c.weight" is float64 [6] in order [0], want float32 [6] in order [0]`:     func(f *DataFile) { f.Entries[0].Layout.ScalarType = 7 },
		`external data "c.weight" is float32 [2 3] in order [0 1], want float32 [6] in order [0]`: func(f *DataFile) { f.Entries[0].Layout = &TensorLayout{6, []int32{2, 3}, []uint8{0, 1}} },
		`external data "c.weight" has 4 bytes of 24`:                                              func(f *DataFile) { f.Entries[0].Data = make(ir.Bytes, 4) },
	} {
		f := file()
		change(f)
		if err := VerifyData(sample(), f); err == nil ||
			err.Error() != "pte: method forward, value 25: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestPrimSchemasParse(t *testing.T) {
	if n := len(primSchemas()); n != len(primText) {
		t.Errorf("%d of %d parse", n, len(primText))
	}
}

func TestNodeName(t *testing.T) {
	for o, want := range map[Operator]string{
		{"aten::add", "out"}:                      "aten.add.out",
		{"aten::add.out", ""}:                     "aten.add.out",
		{"aten::copy_", ""}:                       "aten.copy_.default",
		{"executorch_prim::et_view", "default"}:   "executorch_prim.et_view.default",
		{"quantized_decomposed::quantize", "out"}: "quantized_decomposed.quantize.out",
	} {
		if got := o.NodeName(); got != want {
			t.Errorf("%v is %s, want %s", o, got, want)
		}
	}
}

// entangled returns a method of many jumps back, each followed by a move of values
// without memory of their own.
func entangled(move func(many []int32, i int) MoveCall) *Program {
	p := sample()
	m := method{p.Plans[0]}
	var many []int32
	for range 10_000 {
		many = append(many, m.add(f32([]int32{6}, -1)))
	}
	instructions := []Instruction{KernelCall{opAny, []int32{vInput, vCond, vCond}}}
	for i := range many {
		instructions = append(instructions, JumpFalseCall{vCond, int32(i)}, move(many, i))
	}
	m.run(instructions...)
	return p
}

// A method in which everything depends on everything is given up in time.
func TestVerifyEntangled(t *testing.T) {
	p := entangled(func(many []int32, i int) MoveCall {
		return MoveCall{many[i*7%len(many)], many[i]}
	})
	err := Verify(p, sampleSchemas(t))
	if err == nil || !strings.HasPrefix(err.Error(),
		"pte: method forward: its use of memory is too entangled to follow") {
		t.Errorf("%v", err)
	}
}

// One in which much jumps and little changes is followed.
func TestVerifyManyJumps(t *testing.T) {
	p := entangled(func([]int32, int) MoveCall { return MoveCall{vRelu, vMoved} })
	if err := Verify(p, sampleSchemas(t)); err != nil {
		t.Error(err)
	}
}

// A long method whose calls take turns in two places is followed.
func TestVerifyLong(t *testing.T) {
	p := sample()
	m := method{p.Plans[0]}
	var instructions []Instruction
	from := int32(vInput)
	for i := range 20_000 {
		to := m.add(f32([]int32{2, 3}, int64(32+32*(i%2))))
		instructions = append(instructions, KernelCall{opRelu, []int32{from, to, to}})
		from = to
	}
	m.run(instructions...)
	if err := Verify(p, sampleSchemas(t)); err != nil {
		t.Error(err)
	}
}

// A method whose calls take the same long lists is given up too, and one that writes them.
func TestVerifyLongLists(t *testing.T) {
	for want, calls := range map[string]int{
		"pte: method forward: its calls take more than 8388608 tensors in lists": 1000,
		"pte: method forward: its use of memory is too entangled to follow: ":    1,
	} {
		p := sample()
		m := method{p.Plans[0]}
		many := make(TensorList, 10_000)
		for i := range many {
			many[i] = m.add(f32([]int32{6}, 64))
		}
		long := m.add(many)
		var instructions []Instruction
		for range calls {
			instructions = append(instructions, KernelCall{opCustom, []int32{long, long}})
		}
		m.run(instructions...)
		if err := (&verifier{program: p, steps: 1 << 20}).verify(); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
