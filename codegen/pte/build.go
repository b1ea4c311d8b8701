package pte

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
)

// builder makes the code of a method.
type builder struct {
	*slots
	pool   *pool
	shared *sharedArena
	table  *ops.Table
	method *ir.Method
	code   *code
	vals   map[*ir.Value]*slot
	block  *[]item     // where items go
	loc    ir.Location // of the node at hand
}

func build(pool *pool, shared *sharedArena, m *ir.Method, table *ops.Table) (*code, error) {
	b := &builder{slots: newSlots(), pool: pool, shared: shared, table: table, method: m,
		code: &code{}, vals: map[*ir.Value]*slot{}}
	b.block = &b.code.block
	b.code.never = b.literal(pte.Bool(false))
	if err := b.inputs(); err != nil {
		return nil, err
	}
	if err := b.graph(m.Graph); err != nil {
		return nil, err
	}
	b.loc = ir.Location{}
	if err := b.outputs(); err != nil {
		return nil, err
	}
	return b.code, nil
}

func (b *builder) emit(it item) { *b.block = append(*b.block, it) }

// inBlock collects what f emits.
func (b *builder) inBlock(f func() error) (items []item, err error) {
	outer := b.block
	b.block = &items
	defer func() { b.block = outer }()
	err = f()
	return items, err
}

// tensorSlot makes a slot for a tensor of type t.
func (b *builder) tensorSlot(name string, t ir.Type) (*slot, error) {
	tensor, err := newTensor(t)
	if err != nil {
		return nil, fmt.Errorf("%%%s: %w", name, err)
	}
	return b.add(&slot{name: name, tensor: tensor}), nil
}

// inputs makes the slots of what callers give and of state. Parameters and
// constants get theirs when they are used.
func (b *builder) inputs() error {
	written := map[*ir.Value]bool{}
	for _, v := range b.method.MutationTargets() {
		if v != nil {
			written[v] = true
		}
	}
	for i, v := range b.method.Graph.Inputs {
		switch spec := b.method.Inputs[i]; spec.Kind {
		case ir.UserInput:
			s, err := b.userInput(v)
			if err != nil {
				return err
			}
			b.code.inputs = append(b.code.inputs, s)
		case ir.ConstantInput:
			// The runtime compares what the caller passes with the value in
			// this slot, which is an input's and therefore nobody else's.
			fixed, err := literalOf(spec.Fixed)
			if err != nil {
				return fmt.Errorf("input %%%s: %w", v.Name, err)
			}
			s := b.number(v.Name, fixed)
			b.vals[v] = s
			b.code.inputs = append(b.code.inputs, s)
		case ir.Parameter, ir.Buffer, ir.TensorConstant:
			if !written[v] && b.shared.at[spec.Target] == nil {
				continue
			}
			s, err := b.state(v, b.shared.at[spec.Target])
			if err != nil {
				return err
			}
			b.vals[v] = s
		case ir.TokenInput:
		default:
			return fmt.Errorf("input %%%s is an object, which a .pte cannot hold", v.Name)
		}
	}
	return nil
}

// userInput makes the slot of what a caller passes. The runtime takes no other
// number than the one in the slot of a number, so one that may differ from call
// to call is passed as a tensor without dimensions and taken out of it.
func (b *builder) userInput(v *ir.Value) (*slot, error) {
	t := v.Type
	if t.Kind != ir.TensorKind {
		dtype, ok := numberTypes[t.Kind]
		if !ok {
			return nil, fmt.Errorf("input %%%s: a .pte cannot hold a %v", v.Name, t)
		}
		t = ir.TensorOf(dtype)
	}
	s, err := b.tensorSlot(v.Name, t)
	if err != nil {
		return nil, err
	}
	s.tensor.role = input
	b.code.held = append(b.code.held, s)
	if v.Type.Kind == ir.TensorKind {
		b.vals[v] = s
		return s, nil
	}
	zero, err := zeroOf(v.Type)
	if err != nil {
		return nil, err
	}
	n := b.number(v.Name, zero)
	b.vals[v] = n
	b.emit(&call{op: opNumberOf, args: []*slot{s, n}, reads: []*slot{s}})
	return s, nil
}

// numberTypes are the dtypes of tensors that hold a number.
var numberTypes = map[ir.Kind]ir.DType{ir.IntKind: ir.Int64, ir.FloatKind: ir.Float64,
	ir.BoolKind: ir.Bool}

// state makes the slot of a tensor that calls change, at its place if other
// methods have it too.
func (b *builder) state(v *ir.Value, shared *sharedState) (*slot, error) {
	s, err := b.tensorSlot(v.Name, v.Type)
	if err != nil {
		return nil, err
	}
	s.tensor.role, s.tensor.shared = state, shared
	if v.Const != nil {
		if s.tensor.data, err = b.pool.initial(v.Const); err != nil {
			return nil, err
		}
	}
	b.code.held = append(b.code.held, s)
	return s, nil
}

// slotOf returns the slot of a value.
func (b *builder) slotOf(v *ir.Value) (*slot, error) {
	if s := b.vals[v]; s != nil {
		return s, nil
	}
	if v.Const == nil {
		return nil, fmt.Errorf("%%%s has no value", v.Name)
	}
	t := v.Type.Dense() // as the pool stores the elements
	s, err := b.tensorSlot(v.Name, t)
	if err != nil {
		return nil, err
	}
	s.tensor.role = constant
	if s.tensor.data, err = b.pool.constant(v.Const, b.qualifiedName(v)); err != nil {
		return nil, err
	}
	b.vals[v] = s
	return s, nil
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
func (b *builder) graph(g *ir.Graph) error {
	var errs []error
	for _, n := range g.Nodes {
		b.loc = n.Loc
		if err := b.node(n); err != nil {
			errs = append(errs, ir.ErrorAt("", n, err))
			// What follows would only fail for want of the results.
			break
		}
	}
	return errors.Join(errs...)
}

func (b *builder) node(n *ir.Node) error {
	switch n.Op {
	case opAlloc:
		return b.alloc(n)
	case opViewCopy:
		return b.view(n)
	case opCond:
		return b.cond(n)
	case opWhile:
		return b.while(n)
	case opScan:
		return b.scan(n)
	}
	if len(n.Regions) > 0 {
		return fmt.Errorf("this kind of control flow is not supported")
	}
	return b.call(n)
}

// alloc makes the tensors that out arguments name.
func (b *builder) alloc(n *ir.Node) error {
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		s, err := b.tensorSlot(v.Name, v.Type)
		if err != nil {
			return err
		}
		b.vals[v] = s
	}
	return nil
}

// zeroOf returns what the slot of a number of type t holds at first.
func zeroOf(t ir.Type) (pte.EValue, error) {
	switch t.Kind {
	case ir.IntKind:
		if n, ok := t.Expr.Const(); ok && t.HasExpr {
			return pte.Int(n), nil
		}
		return pte.Int(0), nil
	case ir.FloatKind:
		return pte.Double(0), nil
	case ir.BoolKind:
		return pte.Bool(false), nil
	}
	return nil, fmt.Errorf("a .pte cannot hold a %v", t)
}
