package pte

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// slot is an entry of a value table in the making.
type slot struct {
	name string
	id   int // order of making, for keys

	// value is what the slot holds at the start if it is neither a tensor nor a
	// list of slots.
	value pte.EValue

	list  listKind
	elems []*slot // of a list; nil for None

	tensor *tensor

	// merged, if not nil, is the slot that took this one's place.
	merged *slot
}

type listKind uint8

const (
	noList listKind = iota
	intList
	tensorList
	optionalTensorList
)

// tensor is what a slot knows of its tensor.
type tensor struct {
	typ      ir.Type
	sizes    []int32 // upper bounds where dynamic
	dimOrder []uint8
	dynamic  bool
	bytes    int64 // at the bounds

	// of is the slot whose memory this one lies in, nil for memory of its own.
	of *slot

	// data is what a constant holds, or state at the start of the program.
	data *data
	// role says why another tensor may not have the memory.
	role role
	// shared is the place of state that other methods have too, nil for others.
	shared *sharedState
}

// role is what a tensor's memory is.
type role uint8

const (
	scratch  role = iota // planned, written by an instruction
	input                // planned, written by the caller
	state                // planned, keeps its bytes from call to call
	constant             // in the file
)

// now returns the slot that stands for s.
func (s *slot) now() *slot {
	for s.merged != nil {
		s = s.merged
	}
	return s
}

// root returns the slot whose memory s lies in; of a number it is the slot
// itself.
func (s *slot) root() *slot {
	s = s.now()
	for s.tensor != nil && s.tensor.of != nil {
		s = s.tensor.of.now()
	}
	return s
}

// slots makes the slots of a method. Literals are shared: a slot that it hands
// out for one is never written.
type slots struct {
	count    int
	literals map[string]*slot
}

func newSlots() *slots { return &slots{literals: map[string]*slot{}} }

func (ss *slots) add(s *slot) *slot {
	ss.count++
	s.id = ss.count
	return s
}

// number returns a slot of its own that instructions write.
func (ss *slots) number(name string, zero pte.EValue) *slot {
	return ss.add(&slot{name: name, value: zero})
}

// literal returns the slot of a value that never changes.
func (ss *slots) literal(v pte.EValue) *slot {
	return ss.shared(literalKey(v), func() *slot { return &slot{name: "literal", value: v} })
}

func (ss *slots) shared(key string, make func() *slot) *slot {
	s := ss.literals[key]
	if s == nil {
		s = ss.add(make())
		ss.literals[key] = s
	}
	return s
}

// listOf returns the list of elems, which are slots of their own.
func (ss *slots) listOf(kind listKind, elems []*slot) *slot {
	var key strings.Builder
	fmt.Fprintf(&key, "list %d", kind)
	for _, e := range elems {
		if e == nil {
			key.WriteString(" -")
			continue
		}
		fmt.Fprintf(&key, " %d", e.id)
	}
	return ss.shared(key.String(), func() *slot {
		return &slot{name: "list", list: kind, elems: elems}
	})
}

// literalKey tells literals apart: floats by their bits.
func literalKey(v pte.EValue) string {
	switch v := v.(type) {
	case pte.Double:
		return fmt.Sprintf("double %x", math.Float64bits(float64(v)))
	case pte.DoubleList:
		key := "doubles"
		for _, x := range v {
			key += fmt.Sprintf(" %x", math.Float64bits(x))
		}
		return key
	}
	return fmt.Sprintf("%T %v", v, v)
}
