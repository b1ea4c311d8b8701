package rt

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// use is what a method's instructions do with a value.
type use struct {
	input, output bool
	written       bool // a kernel or delegate writes the tensor
	viewed        bool // a Move or et_view makes it another tensor, or a view of one
	freed         bool // a FreeCall gives its memory back
	changed       bool // what is in the slot changes otherwise: a scalar is computed
	kept          bool // SetInput and SetOutput copy, whatever the program plans
}

// findUses fills b.uses and refuses instructions that name what is not there or
// that would write constants.
func (b *binder) findUses() {
	for _, list := range []struct {
		what    string
		indices []int32
		mark    func(*use)
	}{
		{"input", b.plan.Inputs, func(u *use) { u.input = true }},
		{"output", b.plan.Outputs, func(u *use) { u.output = true }},
	} {
		for i, v := range list.indices {
			must.Do(func() { b.slot(int64(v)) }, "%s %d", list.what, i)
			list.mark(&b.uses[v])
			if list.what == "input" && isConstant(b.plan.Values[v]) {
				panic(fmt.Errorf("%w: input %d is a constant", ErrInvalidProgram, i))
			}
		}
	}
	for c, chain := range b.plan.Chains {
		if chain == nil {
			panic(fmt.Errorf("%w: chain %d is missing", ErrInvalidProgram, c))
		}
		for i, in := range chain.Instructions {
			if err := must.Try(func() {
				b.instructionUses(in, len(chain.Instructions))
			}); err != nil {
				panic(&Error{Method: b.plan.Name, Chain: c, Instruction: i,
					Op: b.plan.InstructionName(in), Err: err})
			}
		}
	}
}

func (b *binder) instructionUses(in pte.Instruction, instructions int) {
	switch in := in.(type) {
	case pte.KernelCall:
		if in.Op < 0 || int(in.Op) >= len(b.plan.Operators) {
			panic(fmt.Errorf("%w: operator %d of %d", ErrInvalidProgram, in.Op,
				len(b.plan.Operators)))
		}
		b.arguments(in.Args)
		b.kernelUses(in)
		return
	case pte.DelegateCall:
		if in.Delegate < 0 || int(in.Delegate) >= len(b.plan.Delegates) {
			panic(fmt.Errorf("%w: delegate %d of %d", ErrInvalidProgram, in.Delegate,
				len(b.plan.Delegates)))
		}
		b.arguments(in.Args)
		for _, a := range in.Args {
			b.uses[a].written = true
			b.uses[a].changed = true
		}
	case pte.MoveCall:
		b.inRange([]int32{in.From, in.To})
		for _, v := range []int32{in.From, in.To} {
			if k := kindOf(b.plan.Values[v]); k >= IntList {
				panic(fmt.Errorf("%w: a move of a list (value %d)", ErrNotSupported, v))
			}
		}
		b.movable(in)
		b.uses[in.To].viewed = true
		b.notConstant(in.To)
		return
	case pte.JumpFalseCall:
		// A destination beyond the end ends the chain in ExecuTorch's runtime, but
		// no exporter writes one.
		if in.Destination < 0 || int(in.Destination) > instructions {
			panic(fmt.Errorf("%w: a jump to instruction %d of %d", ErrInvalidProgram,
				in.Destination, instructions))
		}
		b.inRange([]int32{in.Cond})
		return
	case pte.FreeCall:
		b.inRange([]int32{in.Value})
		b.uses[in.Value].freed = true
	default:
		panic(fmt.Errorf("%w: an instruction of type %T", ErrInvalidProgram, in))
	}
}

// movable refuses moves after which a value is not what kernels are prepared for.
func (b *binder) movable(in pte.MoveCall) {
	from, isTensor := b.plan.Values[in.From].(*pte.Tensor)
	to, wantsTensor := b.plan.Values[in.To].(*pte.Tensor)
	switch {
	case isTensor != wantsTensor:
		panic(fmt.Errorf("%w: a %v is moved where a %v belongs", ErrNotSupported,
			kindOf(b.plan.Values[in.From]), kindOf(b.plan.Values[in.To])))
	case isTensor && !pte.Becomes(to, from):
		panic(fmt.Errorf("%w: %s is moved where %s belongs", ErrNotSupported,
			pte.ValueString(from), pte.ValueString(to)))
	}
}

// kernelUses marks what a KernelCall writes.
func (b *binder) kernelUses(in pte.KernelCall) {
	name := b.plan.Operators[in.Op].String()
	if p, ok := prims[name]; ok {
		if len(in.Args) != p.args {
			panic(fmt.Errorf("%w: %d arguments, expected %d", ErrInvalidProgram,
				len(in.Args), p.args))
		}
		v := in.Args[p.writes]
		switch _, tensor := b.plan.Values[v].(*pte.Tensor); {
		case tensor != p.tensor:
			panic(fmt.Errorf("%w: the result, value %d, is a %v", ErrInvalidProgram, v,
				kindOf(b.plan.Values[v])))
		case name == viewOp:
			b.uses[v].viewed = true
		case p.tensor:
			b.uses[v].written = true
		case kindOf(b.plan.Values[v]) >= IntList:
			panic(fmt.Errorf("%w: the result, value %d, is a list", ErrInvalidProgram, v))
		default:
			b.uses[v].changed = true
		}
		b.notConstant(v)
		return
	}
	if len(in.Args) == 0 {
		panic(fmt.Errorf("%w: a call without arguments", ErrInvalidProgram))
	}
	b.writes(b.results(in))
	b.writes(b.target(in))
}

// writes marks values that a kernel writes.
func (b *binder) writes(values []int32) {
	for _, v := range values {
		b.slot(int64(v))
		b.uses[v].written = true
		if _, ok := b.plan.Values[v].(*pte.Tensor); !ok {
			b.uses[v].changed = true
		}
		b.notConstant(v)
	}
}

// results returns the values that a call of a kernel names as its results.
func (b *binder) results(in pte.KernelCall) []int32 {
	last := in.Args[len(in.Args)-1]
	if list, ok := b.plan.Values[last].(pte.TensorList); ok {
		return list
	}
	return in.Args[len(in.Args)-1:]
}

// target returns the argument that an operator changes in place: its first, if
// its name says that it does, as aten::copy_.
func (b *binder) target(in pte.KernelCall) []int32 {
	if !strings.HasSuffix(b.plan.Operators[in.Op].Name, "_") {
		return nil
	}
	if list, ok := b.plan.Values[in.Args[0]].(pte.TensorList); ok {
		return list
	}
	return in.Args[:1:1]
}

func (b *binder) notConstant(v int32) {
	if isConstant(b.plan.Values[v]) {
		panic(fmt.Errorf("%w: it writes value %d, a constant", ErrInvalidProgram, v))
	}
}

// arguments checks a call's arguments. Its kernel looks at the elements of lists
// too; lists that more calls share than exporters ever let would make a small
// file much work.
func (b *binder) arguments(args []int32) {
	b.inRange(args)
	for _, v := range args {
		b.work -= 1 + listLength(b.plan.Values[v])
	}
	if b.work < 0 {
		panic(fmt.Errorf("%w: lists are arguments of too many calls", ErrNotSupported))
	}
}

// workOf is how many arguments and elements of lists the calls of a plan may
// have together: 64 for each that is in the file.
func workOf(plan *pte.ExecutionPlan) int {
	n := 16
	for _, v := range plan.Values {
		n += 1 + listLength(v)
	}
	for _, chain := range plan.Chains {
		if chain != nil {
			n += len(chain.Instructions)
		}
	}
	return 64 * n
}

func listLength(v pte.EValue) int {
	switch v := v.(type) {
	case pte.IntList:
		return len(v)
	case pte.DoubleList:
		return len(v)
	case pte.BoolList:
		return len(v)
	case pte.TensorList:
		return len(v)
	case pte.OptionalTensorList:
		return len(v)
	}
	return 0
}

func (b *binder) inRange(indices []int32) {
	for _, v := range indices {
		b.slot(int64(v))
	}
}

// fixed reports whether value v never changes.
func (b *binder) fixed(v int32) bool {
	switch u := &b.uses[v]; {
	case u.changed || u.viewed:
		return false
	case kindOf(b.plan.Values[v]) == TensorKind:
		return isConstant(b.plan.Values[v])
	}
	for _, e := range b.slots[v].List {
		if e != nil && !b.fixedElement(e) {
			return false
		}
	}
	return true
}

// fixedElement reports whether e, an element of a list, never changes. A list in
// a list, which no exporter writes, does not count as fixed.
func (b *binder) fixedElement(e *EValue) bool {
	return e.Kind < IntList && b.fixed(b.index[e])
}
