package raise

import "github.com/etgen/etgen/ir/pte"

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
		// Not supported; the error says so. Its arguments count as written, so
		// that they do not look like state.
		for _, a := range in.Args {
			e.writes = append(e.writes, r.slots(a)...)
		}
	case pte.MoveCall:
		e.move = &in
	case pte.JumpFalseCall:
		e.reads = r.slots(in.Cond)
	}
	return e
}

func (r *raiser) callEffect(in pte.KernelCall) effect {
	var e effect
	role := r.roles[in.Op]
	args := in.Args
	if n, ok := role.operands(); ok && n != len(args) {
		return e // reported when it is raised
	}
	if len(args) == 0 {
		return e
	}
	read := func(slots ...int32) {
		for _, a := range slots {
			e.reads = append(e.reads, r.slots(a)...)
		}
	}
	write := func(slots ...int32) {
		for _, a := range slots {
			e.writes = append(e.writes, r.slots(a)...)
		}
	}
	last := len(args) - 1
	switch role.kind {
	case outKind:
		n := len(role.params)
		for i, a := range args[:n] {
			if role.isScratch(i) {
				write(a)
			} else {
				read(a)
			}
		}
		write(args[n:last]...)
	case inPlace:
		read(args[:last]...)
		write(args[role.mutated])
	case copyInto:
		read(args[1])
		write(args[0])
	case viewInto, numbers, pure, unknown:
		read(args[:last]...)
		write(args[last])
	case copyIndex:
		read(args[1], args[2])
		if !r.yielded[in.Args[0]] {
			read(args[0])
		}
		write(args[0])
	}
	return e
}

// slots returns the tensors and scalars that an argument stands for.
func (r *raiser) slots(slot int32) []int32 {
	if list, ok := r.Values[slot].(pte.IntList); ok {
		out := make([]int32, len(list))
		for i, x := range list {
			out[i] = int32(x)
		}
		return out
	}
	if isScalar(r.Values[slot]) {
		return []int32{slot}
	}
	return r.flatten(slot)
}
