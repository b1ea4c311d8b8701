package pte

import (
	"maps"
	"testing"
)

func TestFixedBools(t *testing.T) {
	ep := &ExecutionPlan{
		Values: []EValue{Bool(true), Bool(false), Bool(true), Bool(true), Int(1), Bool(false)},
		Inputs: []int32{0},
		Chains: []*Chain{{Instructions: []Instruction{
			KernelCall{Args: []int32{1, 2}}, MoveCall{From: 1, To: 3}, JumpFalseCall{Cond: 5},
			DelegateCall{},
		}}},
	}
	if got, want := ep.FixedBools(), map[int32]bool{1: false, 5: false}; !maps.Equal(got, want) {
		t.Errorf("%v are fixed, want %v", got, want)
	}
}

// A kernel that has no result repeats None, which stays what it is.
func TestChanged(t *testing.T) {
	ep := &ExecutionPlan{
		Values:    []EValue{Null{}, Int(1), Int(2), Null{}},
		Operators: []Operator{{Name: "fir::scale_"}, {Name: "aten::sym_size", Overload: "int"}},
		Chains: []*Chain{{Instructions: []Instruction{KernelCall{Args: []int32{1, 0}},
			KernelCall{Args: []int32{0, 1}}, KernelCall{Op: 1, Args: []int32{2, 3}}}}},
	}
	if got, want := ep.Changed(), map[int32]bool{1: true, 3: true}; !maps.Equal(got, want) {
		t.Errorf("%v change, want %v", got, want)
	}
}
