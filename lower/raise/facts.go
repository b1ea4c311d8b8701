package raise

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// place is a range of bytes. Memories over 0 are the plan's; a tensor that the
// plan does not place has the memory -1-slot to itself.
type place struct {
	memory int64
	lo, hi int64
}

func (p place) overlaps(q place) bool { return p.memory == q.memory && p.lo < q.hi && q.lo < p.hi }
func (p place) covers(q place) bool {
	return p.memory == q.memory && p.lo <= q.lo && q.hi <= p.hi
}

func (p place) String() string {
	if p.memory < 0 {
		return "memory of its own"
	}
	return fmt.Sprintf("memory %d, bytes %d to %d", p.memory, p.lo, p.hi)
}

// tensor is what the plan says of a tensor value.
type tensor struct {
	slot     int32
	dtype    ir.DType
	sizes    []int64 // upper bounds if dynamic
	order    []uint8
	dynamic  bool
	constant bool // data that nothing may write to
	place    place
	def      *pte.Tensor
}

// inOrder reports whether elements lie as in a row-major tensor: dimensions of size 1 may be
// anywhere.
func (t *tensor) inOrder() bool {
	last := uint8(0)
	for _, d := range t.order {
		if int(d) < len(t.sizes) && t.sizes[d] == 1 && !t.dynamic {
			continue
		}
		if d < last {
			return false
		}
		last = d
	}
	return true
}

// lying are the tensors that are no constants, by memory, in the order of where they
// begin in it.
type lying map[int64][]*tensor

func newLying(tensors []*tensor) lying {
	x := lying{}
	for _, t := range tensors {
		if t != nil && !t.constant {
			x[t.place.memory] = append(x[t.place.memory], t)
		}
	}
	for _, list := range x {
		slices.SortStableFunc(list, func(a, b *tensor) int {
			return cmp.Compare(a.place.lo, b.place.lo)
		})
	}
	return x
}

// covered returns the slots of the tensors that lie in a place.
func (x lying) covered(p place) (slots []int32) {
	list := x[p.memory]
	first := sort.Search(len(list), func(i int) bool { return list[i].place.lo >= p.lo })
	for _, t := range list[first:] {
		if t.place.lo > p.hi {
			break
		}
		if p.covers(t.place) {
			slots = append(slots, t.slot)
		}
	}
	return slots
}

// plan is a method whose indices and tensors are known to be sound.
type plan struct {
	*pte.ExecutionPlan
	index   int       // among the program's
	tensors []*tensor // parallel to Values, nil for other kinds
	lying   lying
	code    []instr
	// unbounded lets dynamic tensors be larger than the plan says, for trials.
	unbounded bool
}

// instr is an instruction of the plan's chains, which are joined: a jump to or
// beyond the end of a chain goes on with the next.
type instr struct {
	pte.Instruction
	chain, index int // where it is, for messages
	to           int // of a jump: index into code, at most its length
	loc          ir.Location
}

// survey returns a plan that passed [pte.VerifyMeaning].
func survey(p *pte.ExecutionPlan) *plan {
	s := &plan{ExecutionPlan: p, tensors: make([]*tensor, len(p.Values))}
	for i, v := range p.Values {
		if t, ok := v.(*pte.Tensor); ok {
			s.tensors[i] = newTensor(int32(i), t)
		}
	}
	s.lying = newLying(s.tensors)
	s.join()
	return s
}

// isScalar reports whether a value is one that instructions compute as a
// whole: a number, a bool, a string or nothing.
func isScalar(v pte.EValue) bool {
	switch v.(type) {
	case pte.Null, pte.Int, pte.Bool, pte.Double, pte.String:
		return true
	}
	return false
}

func newTensor(slot int32, def *pte.Tensor) *tensor {
	d, _ := def.ScalarType.DType()
	if d.Size() == 0 {
		must.Fail("value %d: tensors of %v are not supported", slot, def.ScalarType)
	}
	bytes, _ := def.NBytes()
	t := &tensor{slot: slot, dtype: d, order: def.DimOrder, dynamic: def.Dynamism != pte.Static,
		constant: def.IsConstant(), def: def, place: place{-1 - int64(slot), 0, bytes}}
	for _, n := range def.Sizes {
		t.sizes = append(t.sizes, int64(n))
	}
	if a := def.Allocation; a != nil {
		t.place = place{int64(a.MemoryID), int64(a.Offset), int64(a.Offset) + bytes}
	}
	return t
}

// join puts the chains into one list of instructions.
func (s *plan) join() {
	for c, chain := range s.Chains {
		start := len(s.code)
		for i, in := range chain.Instructions {
			x := instr{Instruction: in, chain: c, index: i}
			if i < len(chain.Stacktrace) {
				x.loc = location(chain.Stacktrace[i])
			}
			switch in := in.(type) {
			case pte.JumpFalseCall:
				x.to = start + int(in.Destination)
			case pte.MoveCall:
				if s.tensors[in.From] == nil && !isScalar(s.Values[in.From]) {
					must.Fail("instruction %d: it moves value %d, a list", i, in.From)
				}
			}
			s.code = append(s.code, x)
		}
	}
}

// describe names an instruction in messages.
func (s *plan) describe(i int) string {
	x := s.code[i]
	where := fmt.Sprintf("instruction %d", x.index)
	if x.chain > 0 {
		where = fmt.Sprintf("chain %d instruction %d", x.chain, x.index)
	}
	switch in := x.Instruction.(type) {
	case pte.KernelCall:
		where += " (" + foreign.Message(s.Operators[in.Op].String()) + ")"
	case pte.DelegateCall:
		where += " (delegate call)"
	case pte.MoveCall:
		where += " (move)"
	case pte.JumpFalseCall:
		where += " (jump)"
	case pte.FreeCall:
		where += " (free)"
	}
	if loc := x.loc.String(); loc != "" {
		where += " at " + loc
	}
	return where
}

// flatten returns the tensors an argument stands for: of a tensor itself, of a
// list its items, absent ones left out.
func (s *plan) flatten(slot int32) []int32 {
	switch v := s.Values[slot].(type) {
	case *pte.Tensor:
		return []int32{slot}
	case pte.TensorList:
		return v
	case pte.OptionalTensorList:
		return seq.Filter(v, func(i int32) bool { return i >= 0 && s.tensors[i] != nil })
	}
	return nil
}

// typeOf returns the type of a tensor whose sizes are now given, laid out in
// memory in an order of dimensions.
func typeOf(d ir.DType, sizes []sym.Expr, order []uint8) ir.Type {
	t := ir.TensorOf(d, sizes...)
	stride := sym.Int(1)
	for i := len(order) - 1; i >= 0; i-- {
		k := order[i]
		t.Strides[k] = stride
		stride = sym.Mul(stride, sym.Max(sizes[k], sym.Int(1)))
	}
	return t
}

// rowMajor returns the order of dimensions of a row-major tensor.
func rowMajor(rank int) []uint8 {
	return seq.Of(rank, func(i int) uint8 { return uint8(i) })
}

// effect is what an instruction reads and writes. Slots are those of tensors
// and scalars; what lists refer to is resolved.
type effect struct {
	reads  []int32
	writes []int32 // wholly
	move   *pte.MoveCall
}

// effectOf returns the effect of instruction i.
func (r *raiser) effectOf(i int) effect {
	var e effect
	switch in := r.code[i].Instruction.(type) {
	case pte.KernelCall:
		return r.callEffect(in)
	case pte.DelegateCall:
		return r.delegateEffect(i, in)
	case pte.MoveCall:
		e.move = &in
	case pte.JumpFalseCall:
		e.reads = r.slots(in.Cond)
	}
	return e
}

func (r *raiser) callEffect(in pte.KernelCall) (e effect) {
	role, last := r.roles[in.Op], len(in.Args)-1
	if n, ok := role.operands(); last < 0 || ok && n != len(in.Args) {
		return e // reported when it is raised
	}
	if role.kind == custom {
		return r.customEffect(role, in)
	}
	for i, a := range in.Args {
		reads, writes := i < last, i == last
		switch role.kind {
		case outKind:
			reads = i < len(role.params) && !role.isScratch(i)
			writes = i < last && !reads
		case inPlace:
			writes = i == role.mutated
		case copyInto:
			reads, writes = i == 1, i == 0
		case copyIndex:
			reads, writes = i > 0 || !r.yielded[a], i == 0
		}
		if reads {
			e.reads = append(e.reads, r.slots(a)...)
		}
		if writes {
			e.writes = append(e.writes, r.slots(a)...)
		}
	}
	return e
}

// slots returns the tensors and scalars that an argument stands for.
func (r *raiser) slots(slot int32) []int32 {
	if list, ok := r.Values[slot].(pte.IntList); ok {
		return seq.Map(list, func(x int64) int32 { return int32(x) })
	}
	if isScalar(r.Values[slot]) {
		return []int32{slot}
	}
	return r.flatten(slot)
}
