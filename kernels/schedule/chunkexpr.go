package schedule

import (
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// none is what stands for an expression that cannot be computed for all iterations
// at once, and for one of which that is an operand.
var none loop.Operand

func known(x loop.Operand) bool { return x.Kind != loop.NoOperand }

// expr lowers an expression; it may return none.
func (b *chunker) expr(e *expr.Expr) loop.Operand {
	if !b.varies(e) {
		if b.guarded && !b.harmless(e) || b.usesAcc(e) {
			return none
		}
		return scalar(e)
	}
	v := b.memo[e]
	if !known(v) {
		if v = b.varying(e); known(v) {
			b.memo[e] = v
		}
	}
	return v
}

// exprs lowers expressions; it returns nil if one cannot be computed.
func (b *chunker) exprs(list []*expr.Expr) []loop.Operand {
	out := make([]loop.Operand, len(list))
	for i, e := range list {
		if out[i] = b.expr(e); !known(out[i]) {
			return nil
		}
	}
	return out
}

// usesAcc reports whether e reads a local that a reduction in the loop changes.
func (b *chunker) usesAcc(e *expr.Expr) bool {
	return slices.ContainsFunc(b.accs, func(a *expr.Var) bool { return mentions(e, a) })
}

// harmless reports whether evaluating e where nobody asked for it can do no
// harm. Loads are not.
func (b *chunker) harmless(e *expr.Expr) bool {
	return !expr.Any(e, func(e *expr.Expr) bool {
		switch e.Op {
		case expr.OpLoad:
			return !b.inRange(e)
		case expr.OpDiv, expr.OpRem, expr.OpShl, expr.OpShr:
			return !e.DType.IsFloat() && e.Args[1].Op != expr.OpConst
		}
		return false
	})
}

// inRange reports whether the position of a load is always in its buffer.
func (b *chunker) inRange(e *expr.Expr) bool {
	if e.Buf < 0 || e.Buf >= len(b.bufs) {
		return false
	}
	n := b.bufs[e.Buf].Len
	// Inf: calls differ
	if n.Equal(sym.Inf()) || !sym.NonNegative(e.Coords[0]) || !sym.Less(e.Coords[0], n) {
		return false
	}
	return !e.Coords[0].AnySymbol(func(s *sym.Symbol) bool {
		_, own := b.syms[s]
		return own // its bounds may hold under the guard only
	})
}

func (b *chunker) varying(e *expr.Expr) loop.Operand {
	switch e.Op {
	case expr.OpLoad:
		return b.load(e)
	case expr.OpLocal:
		if e.Var.Len > 0 {
			return none
		}
		return b.vars[e.Var]
	case expr.OpIndex:
		if coef, rest, ok := b.linear(e.Idx); ok {
			first := sym.Add(rest, sym.Mul(coef, b.v.Expr()))
			return b.op("Iota", e.DType, index(first), index(coef))
		}
		return none
	case expr.OpSelect:
		return b.choice(e)
	case expr.OpCast:
		return b.cast(e)
	case expr.OpBitcast:
		return b.bitcast(e)
	case expr.OpCall:
		if b.to.Interpreted && (b.to.Native == nil || !b.to.Native(e.Fn)) {
			if x := b.inline(e); known(x) {
				return x
			}
		}
		if d := e.DType; len(e.Args) != 1 || d != e.Args[0].DType || d != ir.Float32 &&
			d != ir.Float64 {
			return none
		}
		x := b.op("Apply", e.DType, b.expr(e.Args[0]))
		if known(x) {
			b.calls[len(b.calls)-1].(*loop.Vector).Fn = e.Fn
		}
		return x
	}
	if x := b.quantized(e); known(x) {
		return x
	}
	args := b.exprs(e.Args)
	switch {
	case args == nil:
	case e.Op >= expr.OpEq && e.Op <= expr.OpGe:
		if numeric(args[0].DType) {
			return b.binary(comparisons[e.Op], ir.Bool, args[0], args[1])
		}
	case e.DType == ir.Bool:
		return b.op(map[expr.Op]string{expr.OpAnd: "And", expr.OpOr: "Or", expr.OpXor: "Xor",
			expr.OpNot: "Not"}[e.Op], ir.Bool, b.vectors(args)...)
	case e.DType == ir.Float32 || e.DType == ir.Float64 || e.DType.IsInt():
		return b.arith(e, args)
	}
	return none
}

func (b *chunker) load(e *expr.Expr) loop.Operand {
	at := e.Coords[0]
	if b.guarded && !b.inRange(e) {
		return none
	}
	from := loop.Operand{Kind: loop.BufferOperand, DType: e.DType, Buf: e.Buf}
	if coef, rest, ok := b.linear(at); ok {
		if coef.Is(1) {
			return loop.Operand{Kind: loop.RunOperand, DType: e.DType, Buf: e.Buf, At: at}
		}
		first := sym.Add(rest, sym.Mul(coef, b.v.Expr()))
		return b.op("Load", e.DType, from, index(first), index(coef))
	}
	for _, s := range at.Symbols() {
		x, own := b.syms[s]
		if !own {
			continue
		}
		coef, rest, ok := at.Coef(s)
		if !ok || b.indexVaries(coef) || b.indexVaries(rest) {
			return none
		}
		return b.op("Gather", e.DType, from, index(rest), index(coef), x)
	}
	return none
}

func (b *chunker) choice(e *expr.Expr) loop.Operand {
	if prim, x := extremum(e, func(y *expr.Expr) bool { return expr.Equal(y, e.Args[2]) }); prim !=
		"" && numeric(e.DType) {
		args := b.exprs([]*expr.Expr{e.Args[2], x})
		between := map[string]string{"Largest": "Larger", "Smallest": "Smaller"}
		return b.op(between[prim], e.DType, b.vectors(args)...)
	}
	cond := b.expr(e.Args[0])
	if cond.Invariant() && !b.to.Interpreted {
		return none
	}
	cond = b.vector(cond)
	outer := b.guarded
	b.guarded = true
	arms := b.exprs(e.Args[1:])
	b.guarded = outer
	if arms == nil {
		return none
	}
	prim, x, y := "Select", arms[0], arms[1]
	switch {
	case x.Invariant():
		y = b.vector(y)
		prim = "ScalarSelect"
	case y.Invariant():
		prim = "SelectScalar"
	}
	return b.op(prim, e.DType, cond, x, y)
}

func (b *chunker) cast(e *expr.Expr) loop.Operand {
	for _, lower := range []func(*expr.Expr) loop.Operand{b.quantized, b.rescaled, b.through} {
		if x := lower(e); known(x) {
			return x
		}
	}
	x := b.expr(e.Args[0])
	switch x.DType {
	case ir.Float16:
		x = b.op("FromF16", ir.Float32, x)
	case ir.BFloat16:
		x = b.op("FromBF16", ir.Float32, x)
	}
	from, to := x.DType, e.DType
	switch {
	case !known(x) || from == to:
		return x
	case from == ir.Bool && to.IsInt(), from == ir.Bool && (to == ir.Float32 || to == ir.Float64):
		return b.op("Numbers", to, x)
	case !numeric(from):
		return none
	case to == ir.Bool:
		return b.op("NeScalar", to, x, scalar(expr.Num(from, 0)))
	case to.IsHalf():
		if from != ir.Float32 {
			x = b.op("Convert", ir.Float32, x)
		}
		if to == ir.Float16 {
			return b.op("ToF16", to, x)
		}
		return b.op("ToBF16", to, x)
	case !numeric(to):
		return none
	case from.IsFloat() && to.IsInt():
		return b.op("Truncate", to, x)
	}
	return b.op("Convert", to, x)
}

// bitcast lowers a change of type that keeps the bits.
func (b *chunker) bitcast(e *expr.Expr) loop.Operand {
	x := b.expr(e.Args[0])
	from, to := x.DType, e.DType
	prim := ""
	switch {
	case from == to:
		return x
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
	return b.op(prim, to, x)
}

// inline lowers the body of a scalar function.
func (b *chunker) inline(e *expr.Expr) loop.Operand {
	calls, values := len(b.calls), b.values
	args := b.vectors(b.exprs(e.Args))
	if args == nil {
		return none
	}
	body := b.bodies[e.Fn]
	if body == nil {
		body = expr.NewSharer().Share(e.Fn.Body)
		b.bodies[e.Fn] = body
	}
	memo, vary, vars := b.memo, b.vary, b.vars
	b.memo, b.vary = map[*expr.Expr]loop.Operand{}, map[*expr.Expr]bool{}
	b.vars = map[*expr.Var]loop.Operand{}
	for i, p := range e.Fn.Params {
		b.vars[p] = args[i]
	}
	x := b.expr(body)
	b.memo, b.vary, b.vars = memo, vary, vars
	if !known(x) {
		b.calls, b.values = b.calls[:calls], values
	}
	return x
}

// numeric reports whether d is a type strip.Numeric has.
func numeric(d ir.DType) bool { return d.IsInt() || d == ir.Float32 || d == ir.Float64 }

// forms are the primitives of a binary operation: of two vectors, and with the second or
// the first operand the same in all iterations, "" if there is none. Those with an
// asterisk take the operands swapped.
type forms struct{ vectors, second, first string }

var binaries = map[expr.Op]forms{
	expr.OpAdd: {"Add", "AddScalar", "*AddScalar"},
	expr.OpMul: {"Mul", "MulScalar", "*MulScalar"},
	expr.OpSub: {"Sub", "SubScalar", "ScalarSub"},
	expr.OpDiv: {"Div", "DivScalar", "ScalarDiv"},
	expr.OpMax: {"Max", "MaxScalar", "ScalarMax"},
	expr.OpMin: {"Min", "MinScalar", "ScalarMin"},
	expr.OpRem: {"Mod", "ModScalar", ""},
}

var comparisons = map[expr.Op]forms{
	expr.OpEq: {"Eq", "EqScalar", "*EqScalar"},
	expr.OpNe: {"Ne", "NeScalar", "*NeScalar"},
	expr.OpLt: {"Lt", "LtScalar", "*GtScalar"},
	expr.OpLe: {"Le", "LeScalar", "*GeScalar"},
	expr.OpGt: {"*Lt", "GtScalar", "*LtScalar"},
	expr.OpGe: {"*Le", "GeScalar", "*LeScalar"},
}

// bitwise are operations on integers.
var bitwise = map[expr.Op]forms{
	expr.OpAnd: {"BitAnd", "BitAndScalar", "*BitAndScalar"},
	expr.OpOr:  {"BitOr", "BitOrScalar", "*BitOrScalar"},
	expr.OpXor: {"BitXor", "BitXorScalar", "*BitXorScalar"},
	expr.OpShl: {"Shl", "ShlScalar", ""},
	expr.OpShr: {"Shr", "ShrScalar", ""},
}

var floatUnaries = map[expr.Op]string{
	expr.OpNeg: "Neg", expr.OpAbs: "AbsFloat", expr.OpSqrt: "Sqrt", expr.OpFloor: "Floor",
	expr.OpCeil: "Ceil", expr.OpTrunc: "Trunc", expr.OpRound: "Round",
}

var intUnaries = map[expr.Op]string{expr.OpNeg: "Neg", expr.OpAbs: "AbsInt"}

// arith lowers arithmetic, at least one operand of which varies.
func (b *chunker) arith(e *expr.Expr, args []loop.Operand) loop.Operand {
	d := e.DType
	if len(args) == 1 {
		prims := floatUnaries
		if d.IsInt() {
			prims = intUnaries
		}
		return b.op(prims[e.Op], d, args...)
	}
	if e.Op == expr.OpFMA && d.IsFloat() {
		prim := "FMAF64"
		if d == ir.Float32 {
			prim = "FMAF32"
		}
		return b.op(prim, d, b.vectors(args)...)
	}
	f, ok := binaries[e.Op]
	if d.IsInt() && !ok {
		f, ok = bitwise[e.Op]
	}
	if !ok || (e.Op == expr.OpDiv || e.Op == expr.OpRem) && d.IsInt() {
		return none
	}
	return b.binary(f, d, args[0], args[1])
}

// binary lowers an operation on two values, at least one of which varies.
func (b *chunker) binary(f forms, d ir.DType, x, y loop.Operand) loop.Operand {
	prim := f.vectors
	switch {
	case y.Invariant():
		prim = f.second
	case x.Invariant() && f.first == "":
		x = b.vector(x)
	case x.Invariant():
		prim = f.first
	}
	prim, swapped := strings.CutPrefix(prim, "*")
	if swapped {
		x, y = y, x
	}
	return b.op(prim, d, x, y)
}

// op adds the call of a primitive. Without a name, and if an operand is none, so is
// what it returns.
func (b *chunker) op(prim string, d ir.DType, args ...loop.Operand) loop.Operand {
	if prim == "" || len(args) == 0 ||
		slices.ContainsFunc(args, func(x loop.Operand) bool { return !known(x) }) {
		return none
	}
	return b.call(prim, d, args)
}

// vector returns x with an element for every iteration.
func (b *chunker) vector(x loop.Operand) loop.Operand {
	if x.Invariant() {
		return b.op("Fill", x.DType, x)
	}
	return x
}

// vectors does so with all of a list.
func (b *chunker) vectors(list []loop.Operand) []loop.Operand {
	for i, x := range list {
		list[i] = b.vector(x)
	}
	return list
}
