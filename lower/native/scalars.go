package native

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// scalar handles a node whose result is a number. Integers the compiler can
// follow are part of their users' types and need no code; what is known only
// when the program runs becomes a Let.
func (b *builder) scalar(f *facts) {
	for _, v := range f.node.Outputs {
		if v == nil {
			continue
		}
		if v.Type.HasExpr && len(f.call.Operands()) == 0 && len(f.call.Scalars()) == 0 ||
			f.call.Op.ScalarOp == nil && v.Type.HasExpr {
			continue
		}
		if f.call.Op.ScalarOp == nil {
			must.Fail("the operator has no kernel for numbers known only at run time")
		}
		value, args := b.scalarExpr(f)
		from := []Origin{originOf(f.node)}
		if syms := v.Type.Expr.Symbols(); v.Type.HasExpr && len(syms) == 1 &&
			v.Type.Expr.Equal(syms[0].Expr()) {
			b.bind(v.Name, syms[0], value, args, from)
		} else if value.Op == expr.OpConst {
			b.scalars[v] = value
		} else {
			x := b.scalarVar(v)
			b.given[x] = len(args) == 0 && b.isGiven(value)
			b.emit(&Let{Var: x, Value: value, Args: args, From: from})
		}
	}
}

// bind gives symbol s its value. Everything compiled relies on the declared
// range of s, the assertions about it in the model included, so the number
// itself is tested first.
func (b *builder) bind(name string, s *sym.Symbol, value *expr.Expr, args []*Buffer,
	from []Origin) {
	x := &expr.Var{Name: identifier(name), DType: ir.Int64}
	b.emit(&Let{Var: x, Value: expr.Cast(ir.Int64, value), Args: args, From: from})
	ok := expr.Bool(true)
	lo, hi := s.Expr().Bounds()
	if lo > math.MinInt64 {
		ok = expr.And(ok, expr.Ge(expr.Get(x), expr.Int(ir.Int64, lo)))
	}
	if hi < math.MaxInt64 {
		ok = expr.And(ok, expr.Le(expr.Get(x), expr.Int(ir.Int64, hi)))
	}
	if ok.Op != expr.OpConst {
		b.emit(&Assert{Cond: ok, Message: foreign.Of(name + " is in its range"), From: from})
	}
	b.emit(&Let{Sym: s, Value: expr.Get(x), From: from})
}

// scalarExpr returns what a node on numbers computes, its operands being
// variables of the method and buffers.
func (b *builder) scalarExpr(f *facts) (x *expr.Expr, args []*Buffer) {
	x = expr.Rewrite(must.Get(f.call.Op.ScalarOp(f.call)), func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpScalar:
			return expr.Cast(e.DType, b.scalarValue(f.call.Scalars()[e.Buf]))
		case expr.OpLoad: // one element: the first
			if t, ok := b.uniform(f.call.Operands()[e.Buf]); ok {
				return t.Body
			}
			return expr.At(e.Buf, e.DType, b.flat(f.call.Operands()[e.Buf], e.Coords))
		}
		return e
	})
	if x = expr.Simplify(x); len(expr.Loads(x)) == 0 {
		return x, nil
	}
	for _, v := range f.call.Operands() {
		args = append(args, b.buffer(v))
	}
	return x, args
}

// effect handles an assertion. One that holds by what the compiler knows needs
// no code.
func (b *builder) effect(f *facts) {
	if f.call.Op.ScalarOp == nil {
		return
	}
	cond, args := b.scalarExpr(f)
	if cond.Op == expr.OpConst && cond.Int != 0 {
		return
	}
	message := foreign.Of("an assertion of the model")
	if s, ok := f.node.Arg("assert_msg").(ir.Str); ok {
		message = foreign.Of(string(s))
	}
	assert := &Assert{Cond: cond, Args: args, Message: message, From: []Origin{originOf(f.node)}}
	assert.Given = len(args) == 0 && b.isGiven(cond)
	assert.Index = f.node.Op == ops.AssertIndex
	b.emit(assert)
}

// isGiven reports whether x follows from sizes of inputs and from inputs that are
// numbers, so that it is known when the method is entered.
func (b *builder) isGiven(x *expr.Expr) bool {
	given := true
	expr.Rewrite(x, func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpLocal:
			given = given && b.given[e.Var]
		case expr.OpIndex:
			for _, s := range e.Idx.Symbols() {
				given = given && slices.Contains(b.entered, s)
			}
		}
		return e
	})
	return given
}

// scalarValue returns a run-time scalar operand as an expression.
func (b *builder) scalarValue(v *ir.Value) *expr.Expr {
	x := b.scalars[v]
	switch {
	case x != nil:
	case v.Type.Kind == ir.IntKind && v.Type.HasExpr:
		x = expr.Idx(ir.Int64, v.Type.Expr)
	default:
		must.Fail("the number %s is not computed", v.Name)
	}
	return x
}

// Dim is a dynamic number that the caller passes to the method or gets from it: a
// dimension of an input or output, or an integer input.
type Dim struct {
	Port int // index in Method.Inputs or Method.Outputs
	Axis int // -1: the port itself is the integer
	Size sym.Expr
}

// Binding says how the dynamic sizes of a method follow from its inputs.
type Binding struct {
	In     []Dim   // all dynamic dimensions of inputs, and integer inputs
	Out    []Dim   // all dynamic dimensions of outputs
	Solved []Solve // in this order
	Checks []Dim   // of In: those that must still equal their Size once all is solved
}

// Solve determines a symbol: Sym = (the value of Dim - Rest) / Coef. Rest
// mentions symbols solved before. Sym's bounds are to be checked.
type Solve struct {
	Sym  *sym.Symbol
	Dim  Dim
	Coef int64 // over 0
	Rest sym.Expr
}

// Bare reports whether the symbol is the number itself.
func (s Solve) Bare() bool { return s.Coef == 1 && s.Rest.IsZero() }

// Bind determines how the sizes of m follow from its inputs. A symbol that an input or
// the code mentions, and that does not follow, is an error.
func Bind(m *Method) (*Binding, error) {
	b := &Binding{}
	for i, p := range m.Inputs {
		if p.Value != nil {
			continue
		}
		b.In = append(b.In, dims(i, p)...)
	}
	for i, p := range m.Outputs {
		if p.Buf != nil {
			b.Out = append(b.Out, dims(i, p)...)
		}
	}
	known := map[*sym.Symbol]bool{}
	pending := slices.Clone(b.In)
	for {
		i, s := next(pending, known)
		if i < 0 {
			break
		}
		known[s.Sym] = true
		b.Solved = append(b.Solved, s)
		if !s.Bare() {
			b.Checks = append(b.Checks, s.Dim)
		}
		pending = slices.Delete(pending, i, i+1)
	}
	b.Checks = append(b.Checks, pending...)
	for _, d := range pending {
		for _, s := range d.Size.Symbols() {
			if !known[s] {
				return nil,
					fmt.Errorf("method %s: size %s does not follow from the shapes of the inputs",
						m.Name, s.Name)
			}
		}
	}
	seq.Sort(b.Checks, func(x, y Dim) int {
		if x.Port != y.Port {
			return x.Port - y.Port
		}
		return x.Axis - y.Axis
	})
	return b, nil
}

// dims returns the dynamic numbers of a port. Integer inputs are among them,
// constant ones too: they are checked.
func dims(i int, p Port) []Dim {
	var out []Dim
	switch {
	case p.Buf != nil:
		for a, s := range p.Type.Sizes {
			if _, ok := s.Const(); !ok {
				out = append(out, Dim{Port: i, Axis: a, Size: s})
			}
		}
	case p.Sym != nil:
		out = append(out, Dim{Port: i, Axis: -1, Size: p.Sym.Expr()})
	case p.Var == nil && p.Type.Kind == ir.IntKind && p.Type.HasExpr:
		out = append(out, Dim{Port: i, Axis: -1, Size: p.Type.Expr})
	}
	return out
}

// next returns the dimension to solve next and its solution: the first that is
// a symbol itself, else the first that can be solved at all. The index is -1 if
// there is none.
func next(pending []Dim, known map[*sym.Symbol]bool) (int, Solve) {
	found, how := -1, Solve{}
	for i, d := range pending {
		s, ok := solve(d, known)
		if ok && s.Bare() {
			return i, s
		}
		if ok && found < 0 {
			found, how = i, s
		}
	}
	return found, how
}

// solve solves a dimension for its one unknown symbol, if it has one and is
// linear in it.
func solve(d Dim, known map[*sym.Symbol]bool) (Solve, bool) {
	var unknown *sym.Symbol
	for _, s := range d.Size.Symbols() {
		if known[s] {
			continue
		}
		if unknown != nil {
			return Solve{}, false
		}
		unknown = s
	}
	if unknown == nil {
		return Solve{}, false
	}
	coef, rest, ok := d.Size.Coef(unknown)
	if !ok {
		return Solve{}, false
	}
	n, ok := coef.Const()
	if !ok || n <= 0 {
		return Solve{}, false
	}
	return Solve{Sym: unknown, Dim: d, Coef: n, Rest: rest}, true
}
