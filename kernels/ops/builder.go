package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	raise "github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// Builder emits calls of a table's operators into a graph. Types follow from
// the entries. Decompose functions and passes write graphs with it.
type Builder struct {
	*ir.Emitter
	Table *Table
}

// NewBuilder returns a builder that emits through e.
func NewBuilder(t *Table, e *ir.Emitter) *Builder { return &Builder{Emitter: e, Table: t} }

// Call emits a call of op, the arguments in schema order, a Named out of
// order; those left out take their defaults. What an argument may be tells
// ToArg. It returns one value per result.
func (b *Builder) Call(op string, args ...any) ([]*ir.Value, error) {
	entry, ok := b.Table.byName[op]
	if !ok {
		return nil, fmt.Errorf("operator %s is not in the table", op)
	}
	named := make([]ir.NamedArg, 0, len(args))
	for i, x := range args {
		name := ""
		if n, ok := x.(Named); ok {
			name, x = n.Name, n.Value
		} else if i < len(entry.sch.Args) {
			name = entry.sch.Args[i].Name
		}
		a, err := b.arg(x)
		if err != nil {
			return nil, fmt.Errorf("%s: argument %d: %w", op, i, err)
		}
		named = append(named, ir.NamedArg{Name: name, Value: a})
	}
	c, err := b.Table.Bind(&ir.Node{Op: op, Args: named})
	if err != nil {
		return nil, err
	}
	return slices.Clone(b.Emit(op, named, c.Outs...).Outputs), nil
}

// Named is an argument given by name.
type Named struct {
	Name  string
	Value any
}

// Kw gives an argument by name.
func Kw(name string, value any) Named { return Named{name, value} }

// Op is Call for an operator with one result, or of which only the first is
// wanted. A failure ends the enclosing Do.
func (b *Builder) Op(op string, args ...any) *ir.Value { return b.Ops(op, args...)[0] }

// aten is Op of an ATen operator, of the overload called default where name has none.
func (b *Builder) aten(name string, args ...any) *ir.Value {
	if !strings.Contains(name, ".") {
		name += ".default"
	}
	return b.Op("aten."+name, args...)
}

// Ops is Call whose failure ends the enclosing Do.
func (b *Builder) Ops(op string, args ...any) []*ir.Value {
	vs := must(b.Call(op, args...))
	if len(vs) == 0 {
		check(fmt.Errorf("%s has no result", op))
	}
	return vs
}

// Do runs f and returns the error of the first Op in it that fails.
func (b *Builder) Do(f func() error) (err error) {
	defer raise.Catch(&err)
	return f()
}

// Decompose emits what c means in terms of other entries; its operator must
// have a Decompose. It returns one value per result.
func (b *Builder) Decompose(c *Call) ([]*ir.Value, error) {
	return b.say(c, c.Op.Decompose)
}

// Decomposition returns the graph that c decomposes into, over the values that are its operands,
// and the values of its results.
func Decomposition(t *Table, c *Call) (g *ir.Graph, outs []*ir.Value, err error) {
	g, err = ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
		func(e *ir.Emitter) (_ []ir.Arg, err error) {
			outs, err = NewBuilder(t, e).Decompose(c)
			return nil, err
		})
	return g, outs, err
}

// Settle is Op.Settle: nil if c needs no other words.
func (b *Builder) Settle(c *Call) ([]*ir.Value, error) {
	if c.Op.Settle == nil {
		return nil, nil
	}
	return b.say(c, c.Op.Settle)
}

// say emits what f makes of c.
func (b *Builder) say(c *Call, f func(*Builder, *Call) ([]*ir.Value, error)) ([]*ir.Value, error) {
	vs, err := f(b, c)
	if err != nil {
		return nil, c.wrap(err)
	}
	if vs != nil && len(vs) != len(c.Outs) {
		return nil, c.Errorf("decomposes into %d results, want %d", len(vs), len(c.Outs))
	}
	return vs, nil
}

// Write emits that tensor target becomes v, in place.
func (b *Builder) Write(target, v *ir.Value) {
	args := []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: target}},
		{Name: "src", Value: ir.Ref{Value: v}}}
	b.Emit("aten.copy_.default", args, target.Type)
}

// SymInt returns an integer value that is e. The node that defines it has no
// arguments: the expression is in the value's type.
func (b *Builder) SymInt(e sym.Expr) *ir.Value {
	return b.Emit(symIntOp, nil, ir.SymInt(e)).Outputs[0]
}

// arg is ToArg that can also name symbolic integers.
func (b *Builder) arg(x any) (ir.Arg, error) {
	switch x := x.(type) {
	case sym.Expr:
		if n, ok := x.Const(); ok {
			return ir.Int(n), nil
		}
		return ir.Ref{Value: b.SymInt(x)}, nil
	case []sym.Expr:
		list := make(ir.List, len(x))
		for i, e := range x {
			list[i], _ = b.arg(e)
		}
		return list, nil
	}
	return ToArg(x)
}

// ToArg converts a Go value to an argument: *ir.Value, numbers, bool, string,
// ir.DType, nil for None, slices of these, constant sym.Expr; an ir.Arg is
// itself.
func ToArg(x any) (ir.Arg, error) {
	switch x := x.(type) {
	case nil:
		return ir.None{}, nil
	case ir.Arg:
		return x, nil
	case *ir.Value:
		if x == nil {
			return ir.None{}, nil
		}
		return ir.Ref{Value: x}, nil
	case int:
		return ir.Int(x), nil
	case int64:
		return ir.Int(x), nil
	case float64:
		return ir.Float(x), nil
	case bool:
		return ir.BoolArg(x), nil
	case string:
		return ir.Str(x), nil
	case ir.DType:
		return ir.DTypeArg(x), nil
	case sym.Expr:
		if n, ok := x.Const(); ok {
			return ir.Int(n), nil
		}
		return nil, fmt.Errorf("%s is not constant", x)
	case []*ir.Value:
		return toList(x)
	case []int:
		return toList(x)
	case []int64:
		return toList(x)
	case []float64:
		return toList(x)
	case []bool:
		return toList(x)
	case []sym.Expr:
		return toList(x)
	}
	return nil, fmt.Errorf("a %T is no argument", x)
}

func toList[T any](xs []T) (ir.Arg, error) {
	list := make(ir.List, len(xs))
	for i, x := range xs {
		a, err := ToArg(x)
		if err != nil {
			return nil, err
		}
		list[i] = a
	}
	return list, nil
}

// coreForm writes an operator with one result in terms of Core ATen. It may
// use Builder.Op.
type coreForm func(b *Builder, c *Call) *ir.Value

// core gives an entry that has a kernel of its own a decomposition for targets
// that have none.
//
//go:noinline
func (e entry) core(f coreForm) entry {
	return e.cores(func(b *Builder, c *Call) []*ir.Value { return []*ir.Value{f(b, c)} })
}

// cores is core for an entry with several results.
func (e entry) cores(f func(*Builder, *Call) []*ir.Value) entry {
	e.Decompose = f
	return e
}

// sameAs is another operator with the same arguments in the same order, the
// extra ones behind.
//
//go:noinline
func sameAs(op string, extra ...any) coreForm {
	f := manySameAs(op, extra...)
	return func(b *Builder, c *Call) *ir.Value { return f(b, c)[0] }
}

// manySameAs is sameAs of an operator with several results.
//
//go:noinline
func manySameAs(op string, extra ...any) func(*Builder, *Call) []*ir.Value {
	return func(b *Builder, c *Call) []*ir.Value {
		args := make([]any, 0, len(c.Args)+len(extra))
		for _, a := range c.Args {
			args = append(args, a)
		}
		return b.Ops(op, append(args, extra...)...)
	}
}

// opmathForm computes f on argument self in the dtype PyTorch computes in, and
// rounds to the result's dtype once.
func opmathForm(f func(b *Builder, c *Call, x *ir.Value) *ir.Value) coreForm {
	return func(b *Builder, c *Call) *ir.Value {
		return b.cast(f(b, c, b.cast(c.Value("self"), opmath(c.Outs[0].DType))), c.Outs[0].DType)
	}
}

// cast converts a tensor to d.
func (b *Builder) cast(x *ir.Value, d ir.DType) *ir.Value {
	if x.Type.DType == d {
		return x
	}
	return b.aten("_to_copy", x, Kw("dtype", d))
}

// scalar returns a number as a tensor of dtype d without dimensions.
func (b *Builder) scalar(x any, d ir.DType) *ir.Value {
	return b.aten("scalar_tensor", x, Kw("dtype", d))
}

// tensor returns an argument as a tensor of dtype d.
func (b *Builder) tensor(c *Call, name string, d ir.DType) *ir.Value {
	if c.Operand(name) >= 0 {
		return b.cast(c.Value(name), d)
	}
	return b.scalar(c.Arg(name), d)
}

// The operators of Core ATen that decompositions use most.
func (b *Builder) add(x, y any) *ir.Value { return b.aten("add.Tensor", x, y) }
func (b *Builder) sub(x, y any) *ir.Value { return b.aten("sub.Tensor", x, y) }
func (b *Builder) mul(x, y any) *ir.Value { return b.aten("mul.Tensor", x, y) }
func (b *Builder) div(x, y any) *ir.Value { return b.aten("div.Tensor", x, y) }

// where chooses between a, a number or a tensor, and b of dtype d.
func (b *Builder) where(cond *ir.Value, x, y any, d ir.DType) *ir.Value {
	side := func(v any) any {
		if t, ok := v.(*ir.Value); ok && t.Type.Kind == ir.TensorKind {
			return b.cast(t, d)
		}
		return b.scalar(v, d)
	}
	return b.aten("where.self", cond, side(x), side(y))
}

// ScanOp is the operator of a counted loop: its arguments are init, the list of
// carried values, xs, the list of tensors walked along dimension 0, and the
// bool reverse. Its region takes the carried values and an element of each
// walked tensor, captures what else it needs, and returns new carried values
// and what each step yields; the node's results are the last carried values
// and what was yielded stacked along dimension 0.
const ScanOp = "higher_order.scan"

// Scan emits a loop over dimension 0 of xs, from the end if reverse (what it
// yields is then in place of the elements it was made from). The body may use
// any value in sight. It must give carried values of the types of init.
func (b *Builder) Scan(init, xs []*ir.Value, reverse bool, body func(b *Builder, carry,
	x []*ir.Value) (next, yields []*ir.Value)) (last, yields []*ir.Value, err error) {
	if len(xs) == 0 {
		return nil, nil, fmt.Errorf("a scan without tensors to walk")
	}
	var inputs, carry, elems []*ir.Value
	input := func(base string, t ir.Type) *ir.Value {
		v := &ir.Value{Name: b.Names.Fresh(base), Type: t}
		inputs = append(inputs, v)
		return v
	}
	for _, v := range init {
		carry = append(carry, input("carry", v.Type.Dense()))
	}
	var steps sym.Expr
	for i, v := range xs {
		if v.Type.Rank() == 0 {
			return nil, nil, fmt.Errorf("a scan cannot walk a tensor without dimensions")
		}
		if i == 0 {
			steps = v.Type.Sizes[0]
		}
		elems = append(elems, input("x", ir.TensorOf(v.Type.DType, v.Type.Sizes[1:]...)))
	}
	var types []ir.Type
	g, err := b.Region(inputs, func(e *ir.Emitter) ([]ir.Arg, error) {
		inner := NewBuilder(b.Table, e)
		var outs []ir.Arg
		err := inner.Do(func() error {
			next, ys := body(inner, carry, elems)
			if len(next) != len(init) {
				return fmt.Errorf("a scan body gives %d carried values for %d",
					len(next), len(init))
			}
			for _, v := range next {
				outs = append(outs, ir.Ref{Value: v})
				types = append(types, v.Type.Dense())
			}
			for _, v := range ys {
				outs = append(outs, ir.Ref{Value: v})
				types = append(types, ir.TensorOf(v.Type.DType, append([]sym.Expr{steps},
					v.Type.Sizes...)...))
			}
			return nil
		})
		return outs, err
	})
	if err != nil {
		return nil, nil, err
	}
	refs := func(vs []*ir.Value) ir.List {
		list := make(ir.List, len(vs))
		for i, v := range vs {
			list[i] = ir.Ref{Value: v}
		}
		return list
	}
	args := []ir.NamedArg{
		{Name: "init", Value: refs(init)}, {Name: "xs", Value: refs(xs)},
		{Name: "reverse", Value: ir.BoolArg(reverse)},
	}
	n := b.Emit(ScanOp, args, types...)
	n.Regions = []*ir.Graph{g}
	return n.Outputs[:len(init)], n.Outputs[len(init):], nil
}
