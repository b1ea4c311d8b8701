package pte

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// The operators that the writer knows by name: what the dialect leaves to it,
// and what it makes loops, branches and views of. All others are the model's,
// and their schemas tell what to write. This is the one file of the package
// that names operators.
const (
	opAlloc    = "memory.alloc"
	opViewCopy = "aten.view_copy.default"
	opCond     = "higher_order.cond"
	opWhile    = "higher_order.while_loop"
	opScan     = "higher_order.scan"

	opCopyIn   = "aten.copy_.default" // between tensors of fixed sizes
	opCopyOut  = "aten.copy.out"      // gives its result the operand's sizes
	opView     = "executorch_prim.et_view.default"
	opElement  = "aten.select_copy.int_out"
	opSetIndex = "executorch_prim.et_copy_index.tensor"
	opEmpty    = "aten.empty.out"
	opFlip     = "aten.flip.out"
	opSizeOf   = "aten.sym_size.int"
	opNumberOf = "aten._local_scalar_dense.default"
	opAdd      = "executorch_prim.add.Scalar"
	opSub      = "executorch_prim.sub.Scalar"
	opEqual    = "executorch_prim.eq.Scalar"
	opLess     = "executorch_prim.lt.Scalar"
	opAtLeast  = "executorch_prim.ge.Scalar"
	primFamily = "executorch_prim"
	noOverload = "default"
)

// view makes the result of a view_copy another shape of its operand's memory.
// That is right because what the operand holds is not changed while the view is
// in use: a node writes only to tensors allocated for it, and where carried
// values, state and inputs are written, no view of the old ones is read later
// (see assign).
//
// Of a dynamic tensor only a run tells the sizes, which et_view gives the view.
func (b *builder) view(n *ir.Node) {
	ref, ok := n.Arg("self").(ir.Ref)
	if !ok || len(n.Outputs) != 1 || n.Outputs[0] == nil {
		panic(fmt.Errorf("it has no operand or no result"))
	}
	base := b.slotOf(ref.Value)
	v := n.Outputs[0]
	s := b.tensorSlot(v.Name, v.Type.Dense())
	b.vals[v] = s
	if base.root().tensor.role == constant {
		s.tensor.role, s.tensor.data = constant, base.tensor.data
		return
	}
	s.tensor.of = base
	if !s.tensor.dynamic && !base.tensor.dynamic {
		return
	}
	size, ok := n.Arg("size").(ir.List)
	if !ok {
		panic(fmt.Errorf("its size is no list"))
	}
	list := must.At(func() *slot { return b.listArg(size, nil) }, "its argument size")
	s.tensor.dynamic = true // et_view resizes, which static tensors need not allow
	b.emit(&call{op: opView, args: []*slot{base, list, s}, loc: n.Loc})
}

// sharedMemory is the memory id of state that several methods have: what lies in
// it is the host's to give to all of them, as ExecuTorch's exporter has it.
const sharedMemory = 2

// sharedState is a tensor that one method leaves something in for others.
type sharedState struct {
	name   string
	offset int64
}

// sharedArena is the memory of all shared state, laid out once for the program.
type sharedArena struct {
	at   map[string]*sharedState // by qualified name
	size int64
}

func sharedOf(p *ir.Program) *sharedArena {
	a := &sharedArena{at: map[string]*sharedState{}}
	shared := p.SharedState()
	for _, m := range p.Methods {
		for i, spec := range m.Inputs {
			if !shared[spec.Target] || a.at[spec.Target] != nil {
				continue
			}
			t := must.At(func() *tensor {
				return newTensor(m.Graph.Inputs[i].Type)
			}, "buffer %s", spec.Target)
			a.at[spec.Target] = &sharedState{name: spec.Target, offset: a.size}
			a.size = (a.size + t.bytes + alignment - 1) / alignment * alignment
		}
	}
	return a
}

// in reports whether a method has shared state.
func (a *sharedArena) in(m *ir.Method) bool {
	return slices.ContainsFunc(m.Inputs, func(spec ir.InputSpec) bool {
		return a.at[spec.Target] != nil
	})
}

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

// call is an operator or a delegate with its arguments.
type call struct {
	op string // as nodes name it: "aten.add.out"
	// delegate is what runs in the place of an operator; nil for operators.
	delegate *ir.Delegate
	args     []*slot

	// reads are the tensors whose bytes the call reads, writes those that it overwrites
	// completely. A tensor that it updates is in both.
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
