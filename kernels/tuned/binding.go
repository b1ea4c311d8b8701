package tuned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// A call of a kernel passes the buffers that Slots names and the integers of the descriptor,
// in C and in Go, in generated code and where programs are run. What Go's functions take
// besides, and in which order, Arguments says.

// Slot is one buffer of a call of an instance.
type Slot struct {
	Kind  SlotKind
	Name  string // in the code
	Index int    // among those of its kind
}

// kept is the name of a mask whose elements are no numbers but tell what counts.
const kept = "keep"

// Bool reports whether the elements are bools; those of other buffers of Go are float32, but
// for an epilogue's.
func (s Slot) Bool() bool { return s.Name == kept }

// SlotKind tells what a buffer is for.
type SlotKind int

// The kinds of buffers, in the order that they have in a call.
const (
	Result SlotKind = iota
	Operand
	PackedConstant
	Extra // an operand of the epilogue
	Scratch
)

// First returns the number of the first buffer of a kind in a call, or of what is there
// in its place if there is none.
func (in *Instance) First(kind SlotKind) int {
	extra := 0
	if in.Epilogue != nil {
		extra = len(in.Epilogue.Extra)
	}
	counts := []int{Result: 1, Operand: len(in.Operands), PackedConstant: len(in.Packed),
		Extra: extra}
	n := 0
	for _, count := range counts[:kind] {
		n += count
	}
	return n
}

// KindOf returns the kind of buffer number i of a call.
func (in *Instance) KindOf(i int) SlotKind {
	kind := Result
	for kind < Scratch && i >= in.First(kind+1) {
		kind++
	}
	return kind
}

// Slots returns the buffers of a call in their order, which is the same wherever the
// instance is called. A kernel may have an operand that an instance does not.
func (in *Instance) Slots() []Slot {
	slots := []Slot{{Result, "y", 0}}
	for i := range in.Operands {
		name := in.Kernel.Operands[i]
		if name == "mask" && in.param("mask_mode").Is(keptMask) {
			name = kept
		}
		slots = append(slots, Slot{Operand, name, i})
	}
	for i, p := range in.Packed {
		slots = append(slots, Slot{PackedConstant, p.Name, i})
	}
	if in.Epilogue != nil {
		for i := range in.Epilogue.Extra {
			slots = append(slots, Slot{Extra, fmt.Sprintf("extra%d", i), i})
		}
	}
	if !in.Scratch.IsZero() {
		slots = append(slots, Slot{Scratch, "scratch", 0})
	}
	return slots
}

// Fields returns the integers of the descriptor, in its order.
func (in *Instance) Fields() []sym.Expr {
	return seq.Map(in.Params, func(p Param) sym.Expr { return p.Value })
}

// Argument is an argument of a kernel's Go function.
type Argument struct {
	Kind   ArgumentKind
	Name   string   // of a buffer in the code, or of a struct
	Fields []string // the buffers of Inputs
}

// ArgumentKind tells what an argument is.
type ArgumentKind int

// The kinds of arguments.
const (
	Piece        ArgumentKind = iota // which part of which step is done
	Buffer                           // nil if the call has none
	Inputs                           // the operands in a struct
	Integers                         // the struct of the descriptor
	Vectors                          // the functions on slices that Primitives names
	EpilogueSlot                     // what becomes of sums: what is added, bounds, an epilogue
	OnRuns                           // the epilogue
)

// Arguments are those of Go's function: with part of the one that does a part.
func (k *Kernel) Arguments(part bool) (list []Argument) {
	add := func(kind ArgumentKind, names ...string) {
		for _, name := range names {
			list = append(list, Argument{Kind: kind, Name: name})
		}
	}
	if part {
		add(Piece, "Piece")
	}
	add(Buffer, "y")
	if k.Optional {
		list = append(list, Argument{Inputs, strings.TrimSuffix(k.Descriptor.GoName(), "Params") +
			"Inputs", append(slices.Clone(k.Operands), kept)})
	} else {
		add(Buffer, k.Operands...)
	}
	add(Buffer, k.Buffers...)
	add(Integers, k.Descriptor.GoName())
	if k.Primitives != nil {
		add(Vectors, "Vectors")
	}
	if k.Bounds {
		add(EpilogueSlot, "Epilogue")
	} else {
		add(OnRuns, "epilogue")
	}
	return list
}
