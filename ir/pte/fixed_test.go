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
