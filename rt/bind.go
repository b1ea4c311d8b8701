package rt

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// binder makes a Method of a plan: slots of values, steps of instructions.
type binder struct {
	program  *Program
	plan     *pte.ExecutionPlan
	options  *MethodOptions
	memory   *memory
	data     dataFiles
	boundary bool // only inputs and outputs, for an Executor

	slots     []EValue
	index     map[*EValue]int32
	uses      []use
	work      int // what arguments and elements of lists calls may still have
	run       *run
	reads     *readings // once a kernel asks
	callers   []*Tensor // outputs whose memory the caller may give
	delegates []Delegate
	at        func() *Event // the instruction that executes
}

// slot returns the slot of a value.
func (b *binder) slot(v int64) *EValue {
	if v < 0 || v >= int64(len(b.slots)) {
		panic(fmt.Errorf("%w: value %d of %d", ErrInvalidProgram, v, len(b.slots)))
	}
	return &b.slots[v]
}

// values fills the slots, in the boundary only those of inputs and outputs and
// what they are lists of.
func (b *binder) values() {
	wanted := make([]bool, len(b.slots))
	if b.boundary {
		for _, v := range slices.Concat(b.plan.Inputs, b.plan.Outputs) {
			wanted[v] = true
			for _, e := range listed(b.plan.Values[v]) {
				if e >= 0 && e < int64(len(wanted)) {
					wanted[e] = true
				}
			}
		}
	} else {
		b.memory.plan(b.plan.BufferSizes)
	}
	for i := range b.slots {
		if b.boundary && !wanted[i] {
			continue
		}
		must.Do(func() { b.value(i) }, "value %d", i)
	}
}

// listed returns the values that v is a list of.
func listed(v pte.EValue) []int64 {
	var of []int64
	switch v := v.(type) {
	case pte.IntList:
		return v
	case pte.TensorList:
		for _, e := range v {
			of = append(of, int64(e))
		}
	case pte.OptionalTensorList:
		for _, e := range v {
			of = append(of, int64(e))
		}
	}
	return of
}

// kernels looks up what the method's operators are. All that are missing are
// one error.
func (b *binder) kernels() map[string]Kernel {
	names, _ := usedOperators(b.plan)
	found := make(map[string]Kernel, len(names))
	var missing []string
	for _, name := range names {
		if p, ok := prims[name]; ok {
			found[name] = p.kernel(name)
			continue
		}
		k, ok := b.options.Registry.Lookup(name)
		if !ok || k.Prepare == nil {
			missing = append(missing, name)
			continue
		}
		found[name] = k
	}
	if missing != nil {
		panic(&MissingOperatorsError{Method: b.plan.Name, Operators: missing})
	}
	return found
}
