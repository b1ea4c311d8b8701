package ops

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
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
	defer catch(&err)
	return f()
}

// Decompose emits what c means in terms of other entries; its operator must
// have a Decompose. It returns one value per result.
func (b *Builder) Decompose(c *Call) ([]*ir.Value, error) {
	var vs []*ir.Value
	err := b.Do(func() (err error) {
		vs, err = c.Op.Decompose(b, c)
		return err
	})
	if err != nil {
		return nil, c.wrap(err)
	}
	if len(vs) != len(c.Outs) {
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
