package rt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// stepKind is the kind of an instruction.
type stepKind uint8

const (
	kernelStep stepKind = iota
	delegateStep
	moveStep
	jumpStep
	freeStep
)

// step is an instruction that is ready to run. What each kernel's needs comes first, in one line
// of the cache.
type step struct {
	kind    stepKind
	refuses bool         // it checks a condition of the model: see isRefusal
	run     func() error // of a kernel
	// Tensors that a kernel reads or writes and that may lack memory when it
	// runs. Those written get some.
	doubtful, demanded []*EValue

	event Event

	delegate Delegate
	args     []*EValue // of the delegate

	from, to *EValue
	declared *Tensor // what is in slot to by the program

	cond        *EValue
	destination int
}

// isRefusal reports whether a call is how etgen says a condition in operators that the
// portable kernel library has: full.out to one byte that cannot be resized. lower.Refusals makes
// it.
func (b *binder) isRefusal(op string, written []int32) bool {
	if op != "aten::full.out" || len(written) != 1 {
		return false
	}
	t := b.slots[written[0]].Tensor
	return t != nil && t.DType == ir.Uint8 && !t.Resizable() && slices.Equal(t.Sizes, []int64{1})
}

// explain says of a failed condition that it is one: the kernel's error speaks of sizes.
func (s *step) explain(err error) error {
	if s.refuses && errors.Is(err, ErrInvalidArgument) {
		return fmt.Errorf("a guard or an assertion of the model does not hold: %w", err)
	}
	return err
}

// steps makes the chains executable.
func (b *binder) steps() [][]step {
	kernels := b.kernels()
	b.initDelegates()
	chains := make([][]step, len(b.plan.Chains))
	for c, chain := range b.plan.Chains {
		chains[c] = make([]step, len(chain.Instructions))
		for i, in := range chain.Instructions {
			s := &chains[c][i]
			s.event = Event{Method: b.plan.Name, Chain: c, Instruction: i,
				Op: b.plan.InstructionName(in), DebugHandle: i}
			if err := must.Try(func() { b.step(s, in, kernels) }); err != nil {
				panic(stepError(&s.event, err))
			}
		}
	}
	return chains
}

func (b *binder) step(s *step, in pte.Instruction, kernels map[string]Kernel) {
	switch in := in.(type) {
	case pte.KernelCall:
		b.kernelStep(s, in, kernels[s.event.Op])
		return
	case pte.DelegateCall:
		s.kind = delegateStep
		s.delegate = b.delegates[in.Delegate]
		s.args = b.slotsOf(in.Args)
		s.event.Values = s.args
		b.watch(s, in.Args, in.Args)
	case pte.MoveCall:
		s.kind = moveStep
		s.from, s.to = &b.slots[in.From], &b.slots[in.To]
		s.declared = s.to.Tensor
	case pte.JumpFalseCall:
		s.kind = jumpStep
		s.cond, s.destination = &b.slots[in.Cond], int(in.Destination)
	case pte.FreeCall:
		s.kind = freeStep
		s.from = &b.slots[in.Value]
	}
}

// slotsOf returns the slots of values.
func (b *binder) slotsOf(indices []int32) []*EValue {
	slots := make([]*EValue, len(indices))
	for i, v := range indices {
		slots[i] = &b.slots[v]
	}
	return slots
}

func (b *binder) kernelStep(s *step, in pte.KernelCall, k Kernel) {
	args := in.Args
	var written []int32
	if p, ok := prims[s.event.Op]; ok {
		if p.tensor && s.event.Op != viewOp { // a view needs no memory
			written = args[p.writes : p.writes+1]
		}
	} else {
		written = b.results(in)
		s.event.Values = b.slotsOf(written)
		args = args[:len(args)-1]
	}
	b.watch(s, args, written)
	s.refuses = b.isRefusal(s.event.Op, written)
	call := &Call{Op: s.event.Op, Args: b.slotsOf(args), fixed: func(v *EValue) bool {
		i, ok := b.index[v]
		return ok && b.fixed(i)
	}, memory: b.memory, run: b.run, unread: func(v *EValue) bool {
		i, ok := b.index[v]
		if t, traced := b.options.Tracer.(ValueTracer); !ok || traced && t.ReadsValues() {
			return false
		}
		if b.reads == nil {
			b.reads = newReadings(b)
		}
		return b.reads.unread(i)
	}}
	s.run = must.Get(prepare(k, call))
}

// watch notes which arguments of a step may lack memory.
func (b *binder) watch(s *step, args, written []int32) {
	each := func(indices []int32, do func(int32)) {
		for _, v := range indices {
			do(v)
			if kindOf(b.plan.Values[v]) == TensorList {
				for _, e := range listed(b.plan.Values[v]) {
					if e >= 0 {
						do(int32(e))
					}
				}
			}
		}
	}
	each(written, func(v int32) {
		if u := b.uses[v]; u.freed || u.viewed {
			s.demanded = append(s.demanded, &b.slots[v])
		}
	})
	each(args, func(v int32) {
		if u := b.uses[v]; (u.freed || u.viewed) && s.event.Op != viewOp {
			s.doubtful = append(s.doubtful, &b.slots[v])
		}
	})
}

// prepare calls the kernel's Prepare; a panic is an error.
func prepare(k Kernel, call *Call) (run func() error, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrInternal, r)
		}
	}()
	run, err = k.Prepare(call)
	if err == nil && run == nil {
		err = fmt.Errorf("%w: the kernel's Prepare returned no function", ErrInternal)
	}
	return run, err
}

// stepError says at which instruction err happened, unless it says that itself.
func stepError(e *Event, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Method: e.Method, Chain: e.Chain, Instruction: e.Instruction, Op: e.Op, Err: err}
}

// namedData finds data by name for a delegate.
func (b *binder) namedData(key string) (ir.Blob, bool) {
	if d, ok := b.data.blob(key); ok {
		return d, true
	}
	d, ok := b.program.named[key]
	return d, ok
}
