package pte

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
)

// flattener gives slots their indices and turns the tree into a list.
type flattener struct {
	plan      *pte.ExecutionPlan
	chain     *pte.Chain
	index     map[*slot]int32
	operators map[pte.Operator]int32
	homes     map[*slot]home
	shares    bool // the method has state that other methods have too
	delegates *delegates
	traces    bool
	origins   []Origin // parallel to the chain's instructions
	never     *slot    // the literal False
}

// flatten makes the plan of c, whose tensors have homes.
// Origins are parallel to the instructions.
func flatten(c *code, homes map[*slot]home, shares bool, ds *delegates,
	traces bool) (plan *pte.ExecutionPlan, origins []Origin) {
	chain := &pte.Chain{}
	f := &flattener{
		plan: &pte.ExecutionPlan{Chains: []*pte.Chain{chain}}, chain: chain,
		index:     map[*slot]int32{},
		operators: map[pte.Operator]int32{}, homes: homes, shares: shares,
		delegates: ds, traces: traces, never: c.never,
	}
	for _, s := range c.inputs {
		f.plan.Inputs = append(f.plan.Inputs, f.value(s))
	}
	f.block(c.block)
	for _, s := range c.outputs {
		f.plan.Outputs = append(f.plan.Outputs, f.value(s))
	}
	return f.plan, f.origins
}

// value returns the index of a slot, after those of the slots in it.
func (f *flattener) value(s *slot) int32 {
	s = s.now()
	if i, ok := f.index[s]; ok {
		return i
	}
	var v pte.EValue
	switch {
	case s.tensor != nil:
		v = f.tensor(s)
	case s.list == intList:
		list := make(pte.IntList, len(s.elems))
		for i, e := range s.elems {
			list[i] = int64(f.value(e))
		}
		v = list
	case s.list != noList:
		list := make([]int32, len(s.elems))
		for i, e := range s.elems {
			list[i] = -1
			if e != nil {
				list[i] = f.value(e)
			}
		}
		if s.list == tensorList {
			v = pte.TensorList(list)
		} else {
			v = pte.OptionalTensorList(list)
		}
	default:
		v = s.value
	}
	if len(f.plan.Values) == math.MaxInt32 {
		panic(fmt.Errorf("it has more values than a .pte can number"))
	}
	i := int32(len(f.plan.Values))
	f.index[s] = i
	f.plan.Values = append(f.plan.Values, v)
	return i
}

func (f *flattener) tensor(s *slot) *pte.Tensor {
	t := s.tensor
	scalar, ok := pte.ScalarTypeOf(t.typ.DType)
	if !ok {
		panic(fmt.Errorf("%%%s: a .pte cannot hold tensors of %v", s.name, t.typ.DType))
	}
	out := &pte.Tensor{ScalarType: scalar, Sizes: t.sizes, DimOrder: t.dimOrder}
	if t.dynamic {
		out.Dynamism = pte.DynamicBound
	}
	if t.data != nil {
		out.DataIndex, out.ExtraInfo = t.data.index, t.data.extra()
	}
	if t.role == constant {
		return out
	}
	if shared := s.root().tensor.shared; shared != nil {
		out.Allocation = &pte.Allocation{MemoryID: sharedMemory, Offset: uint64(shared.offset)}
		if t.data != nil {
			out.ExtraInfo = &pte.ExtraTensorInfo{Name: shared.name}
		}
		return out
	}
	at, ok := f.homes[s.root()]
	if !ok {
		panic(fmt.Errorf("%%%s has no place in memory", s.name))
	}
	id := 1 + at.bank
	if f.shares && id >= sharedMemory {
		id++
	}
	out.Allocation = &pte.Allocation{MemoryID: uint32(id), Offset: uint64(at.offset)}
	return out
}

func (f *flattener) operator(op string) int32 {
	o := operator(op)
	i, ok := f.operators[o]
	if !ok {
		i = int32(len(f.plan.Operators))
		f.operators[o] = i
		f.plan.Operators = append(f.plan.Operators, o)
	}
	return i
}

func (f *flattener) here() int32 { return int32(len(f.chain.Instructions)) }

func (f *flattener) emit(in pte.Instruction, loc ir.Location) {
	f.chain.Instructions = append(f.chain.Instructions, in)
	f.origins = append(f.origins, Origin{Loc: loc})
	if f.traces {
		f.chain.Stacktrace = append(f.chain.Stacktrace, trace(loc))
	}
}

// jump emits a jump whose destination the function returned sets to where the
// code then stands.
func (f *flattener) jump(cond *slot, loc ir.Location) (arrive func()) {
	at, c := f.here(), f.value(cond)
	f.emit(pte.JumpFalseCall{Cond: c}, loc)
	return func() { f.chain.Instructions[at] = pte.JumpFalseCall{Cond: c, Destination: f.here()} }
}

func (f *flattener) block(items []item) {
	for _, it := range items {
		switch it := it.(type) {
		case *call:
			f.call(it)
		case *move:
			f.emit(pte.MoveCall{From: f.value(it.from), To: f.value(it.to)}, it.loc)
		case *branch:
			f.branch(it)
		case *loop:
			f.loop(it)
		}
	}
}

// call emits the call of an operator or of a delegate, of which each call has an entry of its own.
func (f *flattener) call(it *call) {
	args := seq.Map(it.args, f.value)
	if it.delegate == nil {
		f.emit(pte.KernelCall{Op: f.operator(it.op), Args: args}, it.loc)
	} else {
		d := int32(len(f.plan.Delegates))
		f.plan.Delegates = append(f.plan.Delegates, f.delegates.add(it.delegate))
		f.emit(pte.DelegateCall{Delegate: d, Args: args}, it.loc)
	}
	at := &f.origins[len(f.origins)-1]
	if at.Node = it.node; it.delegate != nil {
		at.Events, at.Outs = it.delegate.Debug, len(it.writes)
	}
}

func (f *flattener) branch(it *branch) {
	other := f.jump(it.cond, it.loc)
	f.block(it.then)
	if len(it.other) == 0 {
		other()
		return
	}
	end := f.jump(f.never, it.loc)
	other()
	f.block(it.other)
	end()
}

func (f *flattener) loop(it *loop) {
	start := f.here()
	if !it.tested {
		f.block(it.body)
		f.emit(pte.JumpFalseCall{Cond: f.value(it.cond), Destination: start}, it.loc)
		return
	}
	f.block(it.test)
	end := f.jump(it.cond, it.loc)
	f.block(it.body)
	f.emit(pte.JumpFalseCall{Cond: f.value(f.never), Destination: start}, it.loc)
	end()
}

// trace is a place in Python source as instructions carry it.
func trace(loc ir.Location) []pte.Frame {
	if loc == (ir.Location{}) {
		return nil
	}
	return []pte.Frame{{Filename: loc.File, Line: int32(loc.Line), Name: loc.Module}}
}
