package raise

import (
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower"
)

// number is an operator of executorch_prim on numbers.
type number struct {
	operands int    // by the runtime's schema
	op       string // of the table
	// other is the meaning of an operator that the table does not have.
	other func(r *raiser, args []scalar) scalar
}

// numberOps are these operators by the names that nodes have for them.
var numberOps = sync.OnceValue(func() map[string]number {
	all := map[string]number{
		"executorch_prim.floordiv.int": {other: (*raiser).quotient}, // it rounds towards zero
		"executorch_prim.mod.int":      {other: (*raiser).remainder},
		lower.PrimName("mod"):          {other: (*raiser).remainder},
		lower.PrimName("round"):        {other: (*raiser).round},
		lower.PrimName("sym_ite"):      {other: (*raiser).choose},
	}
	for op, name := range lower.Prims {
		if n := lower.PrimName(name); all[n].other == nil {
			all[n] = number{op: op}
		}
	}
	return all
})

// calculate computes an operator on numbers.
func (r *raiser) calculate(n number, args []scalar) scalar {
	if n.other != nil {
		return n.other(r, args)
	}
	if comparisons[n.op] != "" && args[0].isExpr && args[1].isExpr {
		call := &ir.Node{Op: n.op}
		for i, a := range args {
			call.Args = append(call.Args, ir.NamedArg{Name: string(rune('a' + i)),
				Value: ir.Ref{Value: &ir.Value{Type: ir.SymInt(a.expr)}}})
		}
		if value, known := lower.Decided(must.Get(r.table.Bind(call))); known {
			return scalar{arg: ir.BoolArg(value)}
		}
	}
	in := seq.Map(args, func(a scalar) any { return r.scalarArg(a) })
	return r.scalarCall(n.op, in...)
}

// scalarCall calls an operator whose result is a number.
func (r *raiser) scalarCall(op string, args ...any) scalar {
	out := must.Get(r.b.Call(op, args...))
	if len(out) != 1 || out[0] == nil {
		must.Fail("%s does not give one number", op)
	}
	if t := out[0].Type; t.Kind == ir.IntKind && t.HasExpr {
		return integer(t.Expr)
	}
	return scalar{arg: ir.Ref{Value: out[0]}}
}

// scalarArg returns a scalar as an argument of a node.
func (r *raiser) scalarArg(s scalar) ir.Arg {
	switch {
	case !s.isExpr:
		return s.arg
	case s.expr.Undefined():
		must.Fail("an integer overflows or is divided by zero")
	}
	if n, ok := s.expr.Const(); ok {
		return ir.Int(n)
	}
	return ir.Ref{Value: r.b.SymInt(s.expr)}
}

// exprs returns integers whose expressions are known.
func exprs(args []scalar) (a, b sym.Expr) {
	if !args[0].isExpr || !args[1].isExpr {
		must.Fail("its operands are known at run time only")
	}
	return args[0].expr, args[1].expr
}

func (r *raiser) quotient(args []scalar) scalar {
	a, b := exprs(args)
	if sym.Less(b, sym.Int(0)) {
		a, b = sym.Neg(a), sym.Neg(b)
	}
	if !sym.Less(sym.Int(0), b) {
		must.Fail("the sign of its divisor %v is not known", b)
	}
	q := sym.Sub(sym.FloorDiv(sym.Max(a, sym.Int(0)), b),
		sym.FloorDiv(sym.Max(sym.Neg(a), sym.Int(0)), b))
	if sym.NonNegative(a) {
		q = sym.FloorDiv(a, b)
	}
	return integer(q)
}

func (r *raiser) remainder(args []scalar) scalar {
	a, b := exprs(args)
	if sym.NonNegative(a) && sym.Less(sym.Int(0), b) {
		return integer(sym.Mod(a, b))
	}
	q := r.quotient(args)
	return integer(sym.Sub(a, sym.Mul(q.expr, b)))
}

func (r *raiser) choose(args []scalar) scalar {
	switch c := args[0].arg.(type) {
	case ir.BoolArg:
		if c {
			return args[1]
		}
		return args[2]
	case ir.Ref:
		if c.Value.Type.Kind != ir.BoolKind {
			break
		}
		if op, x := junction(args[1].arg, args[2].arg); op != "" {
			return scalar{arg: r.relation(op, c, x)}
		}
		cond, yes, no := r.tensorOf(args[0]), r.tensorOf(args[1]), r.tensorOf(args[2])
		if yes.Type.DType != no.Type.DType {
			must.Fail("it gives numbers of two kinds")
		}
		n := r.item(r.b.Op("aten.where.self", cond, yes, no))
		if ref, ok := n.arg.(ir.Ref); ok && args[1].equal(integer(sym.Int(1))) &&
			args[2].equal(integer(sym.Int(0))) {
			r.truths[ref.Value] = c
		}
		return n
	}
	must.Fail("its condition is no bool")
	return scalar{}
}

// junction returns the operator and the other operand of a choice between bools
// that is an or (yes is true) or an and (no is false).
func junction(yes, no ir.Arg) (op string, x ir.Arg) {
	y, yesRef := yes.(ir.Ref)
	n, noRef := no.(ir.Ref)
	switch {
	case yes == ir.BoolArg(true) && noRef && n.Value.Type.Kind == ir.BoolKind:
		return "_operator.or_", no
	case no == ir.BoolArg(false) && yesRef && y.Value.Type.Kind == ir.BoolKind:
		return "_operator.and_", yes
	}
	return "", nil
}

// round rounds a float to the nearest integer, halves to even.
func (r *raiser) round(args []scalar) scalar {
	if args[0].isExpr {
		must.Fail("its operand is an int")
	}
	rounded := r.b.Op("aten.round.default", r.tensorOf(args[0]))
	return r.item(r.b.Op("aten._to_copy.default", rounded, ir.DTypeArg(ir.Int64)))
}

// tensorOf returns a scalar as a tensor without dimensions: of int64, float64
// or bool.
func (r *raiser) tensorOf(s scalar) *ir.Value {
	a := r.scalarArg(s)
	d := ir.Int64
	switch a := a.(type) {
	case ir.BoolArg:
		d = ir.Bool
	case ir.Float:
		d = ir.Float64
	case ir.Int:
	case ir.Ref:
		if of, ok := r.items[a.Value]; ok {
			return of
		}
		switch a.Value.Type.Kind {
		case ir.BoolKind:
			d = ir.Bool
		case ir.FloatKind:
			d = ir.Float64
		}
	default:
		must.Fail("%v is no number", a)
	}
	return r.b.Op("aten.full.default", []int64{}, a, kwDType(d))
}

// item returns the number in a tensor without dimensions.
func (r *raiser) item(v *ir.Value) scalar {
	s := r.scalarCall("aten._local_scalar_dense.default", v)
	if !s.isExpr {
		switch v.Type.DType {
		case ir.Int64, ir.Float64, ir.Bool:
			r.items[s.arg.(ir.Ref).Value] = v
		}
	}
	return s
}
