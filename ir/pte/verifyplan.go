package pte

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir"
)

// planVerifier checks one method.
type planVerifier struct {
	*verifier
	plan  *ExecutionPlan
	calls [][]effect // of every instruction, by chain; for the look at memory
	found bool       // a problem of this method

	arguments int // tensors in lists that calls take
}

func (v *verifier) plan(plan *ExecutionPlan) {
	p := &planVerifier{verifier: v, plan: plan}
	p.tables()
	for i := range plan.Values {
		p.value(i)
	}
	p.signature()
	if !p.found { // instructions are judged by what they refer to
		p.chains()
	}
	if !p.found {
		p.memory()
	}
}

func (p *planVerifier) problem(at Problem, format string, args ...any) {
	p.found = true
	at.Method, at.Reason = p.plan.Name, fmt.Sprintf(format, args...)
	p.errors.add(at)
}

// bad adds a problem of a value, or of the method as a whole if it is -1.
func (p *planVerifier) bad(value int, format string, args ...any) {
	p.problem(Problem{Chain: -1, Instruction: -1, Value: value}, format, args...)
}

// maxOperatorName is the longest name that the stock runtime resolves.
const maxOperatorName = 99

// tables checks operators, buffers, delegates.
func (p *planVerifier) tables() {
	for i, o := range p.plan.Operators {
		switch name := o.String(); {
		case o.Name == "" || strings.ContainsRune(name, 0):
			p.bad(-1, "operator %d is called %q", i, name)
		case len(name) > maxOperatorName:
			p.bad(-1, "operator %d has a name of %d bytes, at most %d are possible: %s", i,
				len(name), maxOperatorName, name)
		}
	}
	for i, size := range p.plan.BufferSizes {
		if size < 0 {
			p.bad(-1, "planned buffer %d has %d bytes", i, size)
		}
	}
	for _, d := range p.plan.BufferDevices {
		if d.Buffer < 1 || int(d.Buffer) >= len(p.plan.BufferSizes) {
			p.bad(-1, "a device for planned buffer %d; there are buffers 1 to %d", d.Buffer,
				len(p.plan.BufferSizes)-1)
		}
	}
	for i, d := range p.plan.Delegates {
		if d.ID == "" || strings.ContainsRune(d.ID, 0) {
			p.bad(-1, "delegate %d has the id %q", i, d.ID)
		}
		if d.Processed == nil {
			p.bad(-1, "delegate %d has no data", i)
		}
		for j, s := range d.Specs {
			if s.Key == "" || strings.ContainsRune(s.Key, 0) {
				p.bad(-1, "delegate %d has the compile spec %d called %q", i, j, s.Key)
			}
		}
	}
	if c := p.plan.Container; c != nil && strings.ContainsRune(c.Input+c.Output, 0) {
		p.bad(-1, "the container metadata has zero bytes")
	}
}

// value checks a value by itself and, of a list, what it refers to.
func (p *planVerifier) value(i int) {
	switch v := p.plan.Values[i].(type) {
	case *Tensor:
		if v == nil {
			p.bad(i, "a nil tensor")
			return
		}
		p.tensor(i, v)
	case IntList:
		for j, item := range v {
			if item < 0 || item >= int64(len(p.plan.Values)) {
				p.bad(i, "item %d is value %d; there are %d", j, item, len(p.plan.Values))
			} else if _, ok := p.plan.Values[item].(Int); !ok {
				p.bad(i, "item %d is value %d, %s, not an int", j, item,
					kindOf(p.plan.Values[item]))
			}
		}
	case TensorList:
		p.tensorList(i, v, false)
	case OptionalTensorList:
		p.tensorList(i, v, true)
	case Null, Int, Bool, Double, String, DoubleList, BoolList:
	default:
		p.bad(i, "no kind of value: %T", v)
	}
}

// tensorList checks that a list refers to tensors that exist before it: runtimes
// copy them while they load the list.
func (p *planVerifier) tensorList(i int, items []int32, optional bool) {
	for j, item := range items {
		if optional && item == -1 {
			continue
		}
		if item < 0 || int(item) >= len(p.plan.Values) {
			p.bad(i, "item %d is value %d; there are %d", j, item, len(p.plan.Values))
			continue
		}
		if int(item) >= i {
			p.bad(i, "item %d is value %d, which does not come before the list", j, item)
			continue
		}
		switch e := p.plan.Values[item].(type) {
		case *Tensor:
		case Null:
			if !optional {
				p.bad(i, "item %d is value %d, %s, not a tensor", j, item, kindOf(e))
			}
		default:
			p.bad(i, "item %d is value %d, %s, not a tensor", j, item, kindOf(e))
		}
	}
}

// kindOf names the kind of a value in messages.
func kindOf(v EValue) string {
	switch v := v.(type) {
	case Null:
		return "none"
	case Int:
		return "an int"
	case Bool:
		return "a bool"
	case Double:
		return "a double"
	case String:
		return "a string"
	case *Tensor:
		return "a tensor"
	case IntList:
		return "a list of ints"
	case DoubleList:
		return "a list of doubles"
	case BoolList:
		return "a list of bools"
	case TensorList:
		return "a list of tensors"
	case OptionalTensorList:
		return "a list of optional tensors"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// signature checks inputs and outputs.
func (p *planVerifier) signature() {
	seen := map[int32]bool{}
	for i, index := range p.plan.Inputs {
		p.port("input", i, index)
		if seen[index] {
			p.bad(int(index), "it is two inputs")
		}
		seen[index] = true
	}
	for i, index := range p.plan.Outputs {
		p.port("output", i, index)
	}
	for _, index := range p.plan.Inputs {
		if index < 0 || int(index) >= len(p.plan.Values) {
			continue
		}
		if t, ok := p.plan.Values[index].(*Tensor); ok && t != nil {
			if t.DataIndex != 0 || t.ExtraInfo != nil && t.ExtraInfo.External {
				p.bad(int(index), "an input that has data of its own")
			}
		}
	}
}

func (p *planVerifier) port(what string, i int, index int32) {
	if index < 0 || int(index) >= len(p.plan.Values) {
		p.bad(-1, "%s %d is value %d; there are %d", what, i, index, len(p.plan.Values))
		return
	}
	switch v := p.plan.Values[index].(type) {
	case Null, Int, Bool, Double, String, *Tensor:
	default:
		p.bad(int(index), "%s %d is %s, which a method cannot take or give", what, i, kindOf(v))
	}
}

// MaxRank is the highest rank that the stock runtime loads.
const MaxRank = 16

func (p *planVerifier) tensor(i int, t *Tensor) {
	if t.StorageOffset != 0 {
		p.bad(i, "storage offset %d, only 0 is possible", t.StorageOffset)
	}
	if t.Dynamism != Static && t.Dynamism != DynamicBound {
		p.bad(i, "shape dynamism %d, only static and bounded shapes are possible", t.Dynamism)
	}
	if _, ok := t.ScalarType.DType(); !ok {
		p.bad(i, "%v is no type of elements", t.ScalarType)
		return
	}
	if len(t.Sizes) > MaxRank {
		p.bad(i, "rank %d, at most %d is possible", len(t.Sizes), MaxRank)
		return
	}
	for d, s := range t.Sizes {
		if s < 0 {
			p.bad(i, "size %d of dimension %d", s, d)
			return
		}
	}
	bytes, ok := t.NBytes()
	if !ok {
		p.bad(i, "sizes %v: the number of bytes is too large", t.Sizes)
		return
	}
	p.dimOrder(i, t)
	if x := t.ExtraInfo; x != nil && strings.ContainsRune(x.Name, 0) {
		p.bad(i, "the name %q", x.Name)
	}
	external := t.ExtraInfo != nil && t.ExtraInfo.External
	if external && t.ExtraInfo.Name == "" {
		p.bad(i, "its data is external and it has no name")
	}
	if t.Allocation != nil {
		p.allocation(i, t.Allocation, bytes)
	}
	switch {
	case external || t.DataIndex == 0:
	case t.Allocation == nil:
		p.blob(i, "constant", p.program.Constants, t.DataIndex, bytes)
	case t.ExtraInfo != nil && t.ExtraInfo.MutableSegment != 0:
		p.bad(i, "initial data in segment %d of mutable data: the stock runtime takes it from segment 0", t.ExtraInfo.MutableSegment)
	case len(p.program.Mutable) == 0:
		p.bad(i, "initial data %d, and the program has none", t.DataIndex)
	default:
		p.blob(i, "initial data", p.program.Mutable[0], t.DataIndex, bytes)
	}
}

func (p *planVerifier) dimOrder(i int, t *Tensor) {
	var seen [MaxRank]bool
	bad := len(t.DimOrder) != len(t.Sizes)
	for _, d := range t.DimOrder {
		if bad = bad || int(d) >= len(t.Sizes) || seen[d]; bad {
			break
		}
		seen[d] = true
	}
	if bad {
		p.bad(i, "dim order %v is no permutation of %d dimensions", t.DimOrder, len(t.Sizes))
	}
}

func (p *planVerifier) allocation(i int, a *Allocation, bytes int64) {
	if a.MemoryID < 1 || int64(a.MemoryID) >= int64(len(p.plan.BufferSizes)) {
		p.bad(i, "memory id %d; there are 1 to %d", a.MemoryID, len(p.plan.BufferSizes)-1)
		return
	}
	if a.Offset%alignment != 0 {
		p.bad(i, "offset %d in planned memory is not aligned to %d bytes", a.Offset, alignment)
	}
	size := p.plan.BufferSizes[a.MemoryID]
	if size >= 0 && (a.Offset > uint64(size) || uint64(bytes) > uint64(size)-a.Offset) {
		p.bad(i, "%d bytes at offset %d leave planned buffer %d of %d bytes", bytes, a.Offset,
			a.MemoryID, size)
	}
}

func (p *planVerifier) blob(i int, what string, table []ir.Blob, index uint32, bytes int64) {
	switch {
	case int64(index) >= int64(len(table)):
		p.bad(i, "%s %d; the program has 1 to %d", what, index, len(table)-1)
	case table[index] == nil:
		p.bad(i, "%s %d has no data", what, index)
	case table[index].Size() < bytes:
		p.bad(i, "%s %d has %d bytes of %d", what, index, table[index].Size(), bytes)
	}
}
