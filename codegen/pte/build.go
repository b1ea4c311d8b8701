package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// builder makes the code of a method.
type builder struct {
	*slots
	program *ir.Program
	pool    *pool
	shared  *sharedArena
	table   *ops.Table
	method  *ir.Method
	code    *code
	vals    map[*ir.Value]*slot
	block   *[]item     // where items go
	loc     ir.Location // of the node at hand
}

func build(p *ir.Program, pool *pool, shared *sharedArena, m *ir.Method,
	table *ops.Table) *code {
	b := &builder{slots: newSlots(), program: p, pool: pool, shared: shared, table: table, method: m,
		code: &code{}, vals: map[*ir.Value]*slot{}}
	b.block = &b.code.block
	b.code.never = b.literal(pte.Bool(false))
	b.inputs()
	b.graph(m.Graph)
	b.loc = ir.Location{}
	b.outputs()
	return b.code
}

func (b *builder) emit(it item) { *b.block = append(*b.block, it) }

// inBlock collects what f emits.
func (b *builder) inBlock(f func()) (items []item) {
	outer := b.block
	b.block = &items
	defer func() { b.block = outer }()
	f()
	return items
}

// tensorSlot makes a slot for a tensor of type t.
func (b *builder) tensorSlot(name string, t ir.Type) *slot {
	tensor := must.At(func() *tensor { return newTensor(t) }, "%%%s", name)
	return b.add(&slot{name: name, tensor: tensor})
}

// inputs makes the slots of what callers give and of state. Parameters and
// constants get theirs when they are used.
func (b *builder) inputs() {
	written := map[*ir.Value]bool{}
	for _, v := range b.method.MutationTargets() {
		if v != nil {
			written[v] = true
		}
	}
	for i, v := range b.method.Graph.Inputs {
		switch spec := b.method.Inputs[i]; spec.Kind {
		case ir.UserInput:
			b.code.inputs = append(b.code.inputs, b.userInput(v))
		case ir.ConstantInput:
			// The runtime compares what the caller passes with the value in
			// this slot, which is an input's and therefore nobody else's.
			s := must.At(func() *slot {
				return b.number(v.Name, literalOf(spec.Fixed))
			}, "input %%%s", v.Name)
			b.vals[v] = s
			b.code.inputs = append(b.code.inputs, s)
		case ir.Parameter, ir.Buffer, ir.TensorConstant:
			if !written[v] && b.shared.at[spec.Target] == nil {
				continue
			}
			b.vals[v] = b.state(v, b.shared.at[spec.Target])
		case ir.TokenInput:
		default:
			panic(fmt.Errorf("input %%%s is an object, which a .pte cannot hold", v.Name))
		}
	}
}

// userInput makes the slot of what a caller passes. The runtime takes no other
// number than the one in the slot of a number, so one that may differ from call
// to call is passed as a tensor without dimensions and taken out of it.
func (b *builder) userInput(v *ir.Value) *slot {
	t := v.Type
	if t.Kind != ir.TensorKind {
		dtype, ok := numberTypes[t.Kind]
		if !ok {
			panic(fmt.Errorf("input %%%s: a .pte cannot hold a %v", v.Name, t))
		}
		t = ir.TensorOf(dtype)
	}
	s := b.tensorSlot(v.Name, t)
	s.tensor.role = input
	b.code.held = append(b.code.held, s)
	if v.Type.Kind == ir.TensorKind {
		b.vals[v] = s
		return s
	}
	n := b.number(v.Name, zeroOf(v.Type))
	b.vals[v] = n
	b.emit(&call{op: opNumberOf, args: []*slot{s, n}, reads: []*slot{s}})
	return s
}

// numberTypes are the dtypes of tensors that hold a number.
var numberTypes = map[ir.Kind]ir.DType{ir.IntKind: ir.Int64, ir.FloatKind: ir.Float64,
	ir.BoolKind: ir.Bool}

// state makes the slot of a tensor that calls change, at its place if other
// methods have it too.
func (b *builder) state(v *ir.Value, shared *sharedState) *slot {
	s := b.tensorSlot(v.Name, v.Type)
	s.tensor.role, s.tensor.shared = state, shared
	if v.Const != nil {
		s.tensor.data = b.pool.initial(v.Const)
	}
	b.code.held = append(b.code.held, s)
	return s
}

// slotOf returns the slot of a value.
func (b *builder) slotOf(v *ir.Value) *slot {
	if s := b.vals[v]; s != nil {
		return s
	}
	if v.Const == nil {
		panic(fmt.Errorf("%%%s has no value", v.Name))
	}
	t := v.Type.Dense() // as the pool stores the elements
	s := b.tensorSlot(v.Name, t)
	s.tensor.role = constant
	s.tensor.data = b.pool.constant(v.Const, b.qualifiedName(v))
	b.vals[v] = s
	return s
}

// qualifiedName returns the name of a constant in the model, "" if it is none
// of the model's own.
func (b *builder) qualifiedName(v *ir.Value) string {
	for i, in := range b.method.Graph.Inputs {
		if in == v {
			return b.method.Inputs[i].Target
		}
	}
	return v.Const.Name
}

// graph emits the nodes of g.
func (b *builder) graph(g *ir.Graph) {
	for _, n := range g.Nodes {
		b.loc = n.Loc
		must.Check(ir.ErrorAt("", n, must.Try(func() { b.node(n) })))
	}
}

func (b *builder) node(n *ir.Node) {
	switch n.Op {
	case opAlloc:
		b.alloc(n)
		return
	case opViewCopy:
		b.view(n)
		return
	case opCond:
		b.cond(n)
		return
	case opWhile:
		b.while(n)
		return
	case opScan:
		b.scan(n)
		return
	case ir.CallDelegate:
		b.delegate(n)
		return
	}
	if len(n.Regions) > 0 {
		panic(fmt.Errorf("this kind of control flow is not supported"))
	}
	b.call(n)
}

// alloc makes the tensors that out arguments name.
func (b *builder) alloc(n *ir.Node) {
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		b.vals[v] = b.tensorSlot(v.Name, v.Type)
	}
}

// zeroOf returns what the slot of a number of type t holds at first.
func zeroOf(t ir.Type) pte.EValue {
	switch t.Kind {
	case ir.IntKind:
		if n, ok := t.Expr.Const(); ok && t.HasExpr {
			return pte.Int(n)
		}
		return pte.Int(0)
	case ir.FloatKind:
		return pte.Double(0)
	case ir.BoolKind:
		return pte.Bool(false)
	}
	panic(fmt.Errorf("a .pte cannot hold a %v", t))
}
