package c

import (
	"slices"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// operand is a buffer as expressions read it.
type operand struct {
	name  string // an expression for the pointer
	dtype ir.DType
	names []string // that stand in it
}

// printer prints expressions and statements where some names are known.
type printer struct {
	usage
	g        *gen
	w        *writer
	scope    *codegen.Scope
	vars     map[*expr.Var]string
	syms     map[*sym.Symbol]string
	unrolled map[*sym.Symbol]sym.Expr // loop variables of unrolled loops
	bufs     []operand
	scalars  []code
	ranges   ranges
	guarded  int                 // over 0: what is printed is not evaluated in any case
	parts    map[string]share    // of divided loops, if a part of the kernel is printed
	spilled  map[*expr.Expr]code // parts of this statement's expressions that became locals
}

// newPrinter prints a function whose names are in a scope of their own.
func (g *gen) newPrinter(around *codegen.Scope) *printer {
	return &printer{g: g, w: &writer{indent: 1}, scope: codegen.NewScope(around),
		vars: map[*expr.Var]string{}, syms: map[*sym.Symbol]string{}}
}

// expr prints e: C code whose value is exactly that of e. Its type may be
// another one that holds the value; assign converts it.
func (p *printer) expr(e *expr.Expr) code {
	t := typeOf(e.DType)
	if c, ok := p.spilled[e]; ok {
		return c
	}
	switch e.Op {
	case expr.OpConst:
		return p.g.constant(e)
	case expr.OpIndex:
		return p.index(e.Idx)
	case expr.OpLoad:
		return p.load(e, t)
	case expr.OpLocal:
		return p.local(e, t)
	case expr.OpScalar:
		if e.Buf < len(p.scalars) {
			p.use(p.scalars[e.Buf].s)
			return p.scalars[e.Buf]
		}
	case expr.OpSelect:
		return p.choice(e)
	case expr.OpCall:
		return p.call(e, t)
	case expr.OpCast:
		return p.cast(e, t)
	case expr.OpBitcast:
		return p.bitcast(e, t)
	case expr.OpEq, expr.OpNe, expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return p.comparison(e)
	case expr.OpReduce:
	default:
		switch {
		case e.DType == ir.Bool:
			return p.logic(e)
		case t.isInt() && e.DType.IsInt():
			return p.integer(e, t)
		case e.DType == ir.Float32 || e.DType == ir.Float64:
			return p.float(e, t)
		}
	}
	return p.unsupported(e)
}

func (p *printer) unsupported(e *expr.Expr) code {
	must.Fail("C output has no operation %s on %s", e.Op, e.DType)
	return code{}
}

func (p *printer) load(e *expr.Expr, t ctype) code {
	if e.Buf >= len(p.bufs) || len(e.Coords) != 1 {
		return p.unsupported(e)
	}
	b := p.bufs[e.Buf]
	p.use(b.names...)
	x := code{s: b.name + "[" + p.index(e.Coords[0]).s + "]", p: precPostfix, t: t}
	if e.DType == ir.Bool {
		x.t = tU8
		return join("!=", x, intLiteral(0, tI32), tBool)
	}
	return x
}

func (p *printer) local(e *expr.Expr, t ctype) code {
	s, ok := p.vars[e.Var]
	if !ok {
		must.Fail("local %s is used before it is declared", e.Var.Name)
	}
	p.use(s)
	if len(e.Coords) == 1 {
		s += "[" + p.index(e.Coords[0]).s + "]"
	}
	return code{s: s, p: precPostfix, t: t, named: len(e.Coords) == 0}
}

// assign prints e for a place of type t, converted only where C would not do it
// silently and exactly.
func (p *printer) assign(e *expr.Expr, t ctype) code {
	return convert(p.expr(e), t)
}

func convert(c code, t ctype) code {
	if c.literal || t.holdsAll(c.t) {
		return c
	}
	return cast(t, c)
}

func (p *printer) choice(e *expr.Expr) code {
	var t ctype
	mark := len(p.names)
	cond := p.expr(e.Args[0])
	if cond.literal {
		p.forget(mark)
		return p.expr(e.Args[map[string]int{"true": 1, "false": 2}[cond.s]])
	}
	p.guarded++
	a, b := p.sameType(e.Args[1], e.Args[2])
	p.guarded--
	if t = a.t; a.t != b.t {
		t = promote(a.t, b.t)
	}
	return ternary(cond, a, b, t)
}

func (p *printer) call(e *expr.Expr, t ctype) code {
	args := make([]code, len(e.Args))
	for i, a := range e.Args {
		args[i] = p.assign(a, typeOf(e.Fn.Params[i].DType))
	}
	return call(p.g.function(e.Fn), t, args...)
}

func (p *printer) comparison(e *expr.Expr) code {
	x, y := e.Args[0], e.Args[1]
	if expr.IsNarrow(x.DType) {
		x, y = expr.Cast(ir.Float32, x), expr.Cast(ir.Float32, y)
	}
	mark := len(p.names)
	a, b := p.sameType(x, y)
	if a.s == b.s && !x.DType.IsFloat() { // compilers warn
		p.forget(mark)
		truth := e.Op == expr.OpEq || e.Op == expr.OpLe || e.Op == expr.OpGe
		return p.g.constant(expr.Bool(truth))
	}
	return join(codegen.Comparisons[e.Op], a, b, tBool)
}

func (p *printer) logic(e *expr.Expr) code {
	switch e.Op {
	case expr.OpNot:
		return code{s: "!" + p.expr(e.Args[0]).at(precUnary), p: precUnary, t: tBool}
	case expr.OpAnd:
		return p.lazy("&&", e)
	case expr.OpOr:
		if comparesLocals(e.Args[0]) && comparesLocals(e.Args[1]) {
			return join("|", p.expr(e.Args[0]), p.expr(e.Args[1]), tBool)
		}
		return p.lazy("||", e)
	case expr.OpXor:
		mark := len(p.names)
		a, b := p.expr(e.Args[0]), p.expr(e.Args[1])
		if a.s == b.s {
			p.forget(mark)
			return intLiteral(0, tBool)
		}
		return join("!=", a, b, tBool)
	}
	return p.unsupported(e)
}

// comparesLocals reports whether e compares floats that are at hand. To do so is
// cheaper than to decide whether to, a branch that the data decides: without one,
// a maximum that keeps what is no number is one of vectors.
func comparesLocals(e *expr.Expr) bool {
	if codegen.Comparisons[e.Op] == "" || !e.Args[0].DType.IsFloat() {
		return false
	}
	return !slices.ContainsFunc(e.Args, func(a *expr.Expr) bool {
		return a.Op != expr.OpLocal && a.Op != expr.OpConst
	})
}

// lazy prints an operator that may leave its second operand alone.
func (p *printer) lazy(op string, e *expr.Expr) code {
	a := p.expr(e.Args[0])
	p.guarded++
	b := p.expr(e.Args[1])
	p.guarded--
	return join(op, a, b, tBool)
}

// spillFrom and spillLeast are the lengths of text from which on an operator's
// operands are taken apart, and that of the operand that becomes a local.
const (
	spillFrom  = 72
	spillLeast = 24
)

// spill makes the longest of an operator's operands a local if they are too long
// to read in one line.
func (p *printer) spill(list []*expr.Expr, args []code) {
	total, longest := 0, 0
	for i, a := range args {
		total += len(a.s)
		if len(a.s) > len(args[longest].s) {
			longest = i
		}
	}
	if p.guarded > 0 || total < spillFrom || len(args[longest].s) < spillLeast {
		return
	}
	args[longest] = p.localFor(list[longest], args[longest])
}

func (p *printer) bitcast(e *expr.Expr, t ctype) code {
	a := e.Args[0]
	from := typeOf(a.DType)
	switch {
	case t.isInt() && from.isInt():
		return cast(t, p.modular(a))
	case t.isInt():
		return convert(p.bits(a), t)
	}
	return call(p.g.helper("from_bits", e.DType), t, p.modular(a))
}

// bits prints the bits of a Float32 or Float64.
func (p *printer) bits(a *expr.Expr) code {
	return call(p.g.helper("bits", a.DType), unsigned(a.DType), p.assign(a, typeOf(a.DType)))
}

// sharedFrom is from how many operations on a part of an expression that is
// used several times becomes a local.
const sharedFrom = 3

// share makes locals of the parts of e that are used several times: where that
// is certain to be right, because they are evaluated in any case, or could be
// without harm.
func (p *printer) share(e *expr.Expr) {
	u := &uses{count: map[*expr.Expr]int{}, size: map[*expr.Expr]int{}, sure: map[*expr.Expr]bool{}}
	u.visit(e)
	u.certain(e)
	for _, part := range u.order {
		if u.count[part] < 2 || u.size[part] < sharedFrom || part.Op == expr.OpConst {
			continue
		}
		if u.sure[part] || harmless(part) {
			p.localFor(part, p.expr(part))
		}
	}
}

// localFor declares a local for e, printed as c, that stands for e to the end
// of the statement.
func (p *printer) localFor(e *expr.Expr, c code) code {
	t := typeOf(e.DType)
	local := name(p.scope.Take("t"), t)
	p.w.line("const %s %s = %s;", t, local.s, convert(c, t).s)
	if p.spilled == nil {
		p.spilled = map[*expr.Expr]code{}
	}
	p.spilled[e] = local
	return local
}

// uses counts how often the nodes of an expression are used.
type uses struct {
	order []*expr.Expr // operands first
	count map[*expr.Expr]int
	size  map[*expr.Expr]int // operations, written out in full; saturating
	sure  map[*expr.Expr]bool
}

func (u *uses) visit(e *expr.Expr) {
	u.count[e]++
	if u.count[e] > 1 {
		return
	}
	size := 0
	if len(e.Args) > 0 {
		size = 1
	}
	for _, a := range e.Args {
		u.visit(a)
		size += u.size[a]
	}
	u.size[e] = min(size, 1<<20)
	u.order = append(u.order, e)
}

// certain notes what is evaluated whenever e is.
func (u *uses) certain(e *expr.Expr) {
	if u.sure[e] {
		return
	}
	u.sure[e] = true
	args := e.Args
	if e.Op == expr.OpSelect {
		args = args[:1]
	}
	for _, a := range args {
		u.certain(a)
	}
}

// harmless reports whether e may be evaluated although the program would not:
// it touches no memory and divides no integers.
func harmless(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(e *expr.Expr) {
		switch e.Op {
		case expr.OpLoad:
			ok = false
		case expr.OpLocal:
			ok = ok && len(e.Coords) == 0
		case expr.OpDiv, expr.OpRem:
			ok = ok && e.DType.IsFloat()
		}
	})
	return ok
}
