package lower

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// expr lowers an expression; it reports false if it cannot be computed for all
// iterations at once.
func (b *builder) expr(e *expr.Expr) (value, bool) {
	if !b.varies(e) {
		if b.guarded && !b.harmless(e) || b.usesAcc(e) {
			return value{}, false
		}
		return value{Kind: Scalar, DType: e.DType, Value: e}, true
	}
	if v, ok := b.memo[e]; ok {
		return v, true
	}
	v, ok := b.varying(e)
	if ok {
		b.memo[e] = v
	}
	return v, ok
}

// usesAcc reports whether e reads a local that a reduction in the loop changes.
func (b *builder) usesAcc(e *expr.Expr) bool {
	for _, a := range b.accs {
		if uses(e, a) {
			return true
		}
	}
	return false
}

// harmless reports whether evaluating e where nobody asked for it can do no
// harm. Loads are not.
func (b *builder) harmless(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(e *expr.Expr) {
		switch e.Op {
		case expr.OpLoad:
			ok = ok && b.inRange(e)
		case expr.OpDiv, expr.OpRem, expr.OpShl, expr.OpShr:
			ok = ok && (e.DType.IsFloat() || e.Args[1].Op == expr.OpConst)
		}
	})
	return ok
}

// inRange reports whether the position of a load is always in its buffer.
func (b *builder) inRange(e *expr.Expr) bool {
	n, ok := b.opts.Length(e.Buf)
	// Inf: calls differ
	if !ok || n.Equal(sym.Inf()) || !sym.NonNegative(e.Coords[0]) || !sym.Less(e.Coords[0], n) {
		return false
	}
	for _, s := range e.Coords[0].Symbols() {
		if _, own := b.syms[s]; own {
			return false // its bounds may hold under the guard only
		}
	}
	return true
}

func (b *builder) varying(e *expr.Expr) (value, bool) {
	switch e.Op {
	case expr.OpLoad:
		return b.load(e)
	case expr.OpLocal:
		v, ok := b.vars[e.Var]
		return v, ok && e.Var.Len == 0
	case expr.OpIndex:
		coef, rest, ok := b.linear(e.Idx)
		if !ok {
			return value{}, false
		}
		first := sym.Add(rest, sym.Mul(coef, b.v.Expr()))
		return b.call(Call{Prim: "Iota", Args: []Operand{index(first), index(coef)}}, e.DType), true
	case expr.OpSelect:
		return b.choice(e)
	case expr.OpCast:
		return b.cast(e)
	case expr.OpBitcast:
		return b.bitcast(e)
	case expr.OpCall:
		if b.opts.Interpreted && (b.opts.Native == nil || !b.opts.Native(e.Fn)) {
			if x, ok := b.inline(e); ok {
				return x, true
			}
		}
		if d := e.DType; len(e.Args) != 1 || d != e.Args[0].DType || d != ir.Float32 &&
			d != ir.Float64 {
			return value{}, false
		}
		x, ok := b.expr(e.Args[0])
		if !ok {
			return value{}, false
		}
		return b.call(Call{Prim: "Apply", Fn: e.Fn, Args: []Operand{x}}, e.DType), true
	}
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		x, ok := b.expr(a)
		if !ok {
			return value{}, false
		}
		args[i] = x
	}
	switch {
	case e.Op >= expr.OpEq && e.Op <= expr.OpGe:
		return b.compare(e.Op, args)
	case e.DType == ir.Bool:
		return b.boolean(e, args)
	case e.DType == ir.Float32 || e.DType == ir.Float64 || e.DType.IsInt():
		return b.arith(e, args)
	}
	return value{}, false
}

func (b *builder) load(e *expr.Expr) (value, bool) {
	at := e.Coords[0]
	if b.guarded && !b.inRange(e) {
		return value{}, false
	}
	from := Operand{Kind: Whole, DType: e.DType, Buf: e.Buf}
	if coef, rest, ok := b.linear(at); ok {
		if coef.Is(1) {
			return value{Kind: Run, DType: e.DType, Buf: e.Buf, At: at}, true
		}
		first := sym.Add(rest, sym.Mul(coef, b.v.Expr()))
		return b.call(Call{Prim: "Load", Args: []Operand{from, index(first), index(coef)}},
			e.DType), true
	}
	for _, s := range at.Symbols() {
		x, own := b.syms[s]
		if !own {
			continue
		}
		coef, rest, ok := at.Coef(s)
		if !ok || b.indexVaries(coef) || b.indexVaries(rest) {
			return value{}, false
		}
		return b.call(Call{Prim: "Gather", Args: []Operand{from, index(rest), index(coef), x}},
			e.DType), true
	}
	return value{}, false
}

func (b *builder) choice(e *expr.Expr) (value, bool) {
	if prim, x := extremum(e, func(y *expr.Expr) bool { return expr.Equal(y, e.Args[2]) }); prim !=
		"" && numeric(e.DType) {
		y, ok := b.expr(e.Args[2])
		z, ok2 := b.expr(x)
		if !ok || !ok2 {
			return value{}, false
		}
		between := map[string]string{"Largest": "Larger", "Smallest": "Smaller"}
		return b.op(between[prim], e.DType, b.vector(y), b.vector(z)), true
	}
	cond, ok := b.expr(e.Args[0])
	if !ok || cond.Invariant() && !b.opts.Interpreted {
		return value{}, false
	}
	if cond.Invariant() {
		cond = b.call(Call{Prim: "Fill", Args: []Operand{cond}}, cond.DType)
	}
	outer := b.guarded
	b.guarded = true
	x, ok := b.expr(e.Args[1])
	y, ok2 := b.expr(e.Args[2])
	b.guarded = outer
	if !ok || !ok2 {
		return value{}, false
	}
	prim := "Select"
	switch {
	case x.Invariant() && y.Invariant():
		y = b.call(Call{Prim: "Fill", Args: []Operand{y}}, y.DType)
		prim = "ScalarSelect"
	case x.Invariant():
		prim = "ScalarSelect"
	case y.Invariant():
		prim = "SelectScalar"
	}
	return b.call(Call{Prim: prim, Args: []Operand{cond, x, y}}, e.DType), true
}

func (b *builder) cast(e *expr.Expr) (value, bool) {
	if x, ok := b.rescaled(e); ok {
		return x, true
	}
	if x, ok := b.through(e); ok {
		return x, true
	}
	x, ok := b.expr(e.Args[0])
	if !ok {
		return value{}, false
	}
	from, to := x.DType, e.DType
	one := func(prim string, x value, d ir.DType) value {
		return b.call(Call{Prim: prim, Args: []Operand{x}}, d)
	}
	switch from {
	case ir.Float16:
		x = one("FromF16", x, ir.Float32)
	case ir.BFloat16:
		x = one("FromBF16", x, ir.Float32)
	}
	from = x.DType
	switch {
	case from == to:
		return x, true
	case from == ir.Bool && to.IsInt(), from == ir.Bool && (to == ir.Float32 || to == ir.Float64):
		return one("Numbers", x, to), true
	case !numeric(from):
		return value{}, false
	case to == ir.Bool:
		return b.call(Call{Prim: "NeScalar", Args: []Operand{x, {Kind: Scalar, DType: from,
			Value: expr.Num(from, 0)}}}, to), true
	case to == ir.Float16 || to == ir.BFloat16:
		if from != ir.Float32 {
			x = one("Convert", x, ir.Float32)
		}
		if to == ir.Float16 {
			return one("ToF16", x, to), true
		}
		return one("ToBF16", x, to), true
	case !numeric(to):
		return value{}, false
	case from.IsFloat() && to.IsInt():
		return one("Truncate", x, to), true
	}
	return one("Convert", x, to), true
}

// through lowers a cast to a small integer and back, which is what is left of a
// tensor that is quantised and taken on as floats.
func (b *builder) through(e *expr.Expr) (value, bool) {
	n := e.Args[0]
	prim := map[ir.DType]string{ir.Int8: "ThroughInt8", ir.Uint8: "ThroughUint8"}[n.DType]
	if _, known := b.memo[n]; known || prim == "" || e.DType != ir.Float32 || n.Op != expr.OpCast ||
		n.Args[0].DType != ir.Float32 {
		return value{}, false
	}
	x, ok := b.expr(n.Args[0])
	if !ok {
		return value{}, false
	}
	return b.op(prim, ir.Float32, x), true
}

// bitcast lowers a change of type that keeps the bits.
func (b *builder) bitcast(e *expr.Expr) (value, bool) {
	x, ok := b.expr(e.Args[0])
	if !ok {
		return value{}, false
	}
	from, to := x.DType, e.DType
	prim := ""
	switch {
	case from == to:
		return x, true
	case from.IsInt() && to.IsInt():
		prim = "Convert"
	case from == ir.Float32 && to.IsInt():
		prim = "Float32Bits"
	case from == ir.Float64 && to.IsInt():
		prim = "Float64Bits"
	case from.IsInt() && to == ir.Float32:
		prim = "BitsFloat32"
	case from.IsInt() && to == ir.Float64:
		prim = "BitsFloat64"
	}
	return b.op(prim, to, x), prim != ""
}

// inline lowers the body of a scalar function.
func (b *builder) inline(e *expr.Expr) (value, bool) {
	calls, values := len(b.calls), b.values
	args := make([]value, len(e.Args))
	for i, a := range e.Args {
		x, ok := b.expr(a)
		if !ok {
			return value{}, false
		}
		args[i] = b.vector(x)
	}
	body := b.bodies[e.Fn]
	if body == nil {
		body = expr.NewSharer().Share(e.Fn.Body)
		b.bodies[e.Fn] = body
	}
	memo, vary, vars := b.memo, b.vary, b.vars
	b.memo, b.vary, b.vars = map[*expr.Expr]value{}, map[*expr.Expr]bool{}, map[*expr.Var]value{}
	for i, p := range e.Fn.Params {
		b.vars[p] = args[i]
	}
	x, ok := b.expr(body)
	b.memo, b.vary, b.vars = memo, vary, vars
	if !ok {
		b.calls, b.values = b.calls[:calls], values
		return value{}, false
	}
	return x, true
}

// numeric reports whether d is a type strip.Numeric has.
func numeric(d ir.DType) bool { return d.IsInt() || d == ir.Float32 || d == ir.Float64 }
