package pte

import (
	"github.com/etgen/etgen/ir"
)

// code is a method before its slots have indices.
type code struct {
	inputs, outputs []*slot
	// held are the tensors that hold something when the method begins: inputs
	// and state.
	held  []*slot
	block []item
	never *slot // the literal False, the condition of jumps that are taken
}

// item is a *call, *move, *branch or *loop.
type item interface{ item() }

// call is an operator with its arguments.
type call struct {
	op   string // as nodes name it: "aten.add.out"
	args []*slot

	// reads are the tensors that the call wants bytes of, writes those it
	// replaces wholly; what it updates is in both.
	reads, writes []*slot

	// copies tells that the call does nothing but give writes[0] the elements
	// of reads[0].
	copies bool

	node string // of the graph, "" if it stands for none
	loc  ir.Location
}

// move assigns a number.
type move struct {
	from, to *slot
	loc      ir.Location
}

// branch runs one of its blocks.
type branch struct {
	cond        *slot
	then, other []item
	loc         ir.Location
}

// loop repeats its body. With a test it runs that before each iteration and is
// left when cond is false; without, it is left when cond is true after an
// iteration.
type loop struct {
	test   []item
	tested bool
	cond   *slot
	body   []item
	loc    ir.Location
}

func (*call) item()   {}
func (*move) item()   {}
func (*branch) item() {}
func (*loop) item()   {}
