package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// fewestLanes is from how many iterations on a loop runs in vectors: of four, if no lane is off,
// else of more, for a mask takes as long as two elements.
const fewestLanes = 6

// longSum is how many floats are added up at least for vectors of all but the last of them.
const longSum = 32

// vectors prints an innermost loop whose iterations are independent with the lanes of vectors. It
// reports false, having printed nothing, if a statement has no such form.
func (p *printer) vectors(s *loop.For) bool {
	m := p.g.opt.Machine
	if !schedule.MayChunk(s) {
		return false
	}
	if m == nil || !m.MVE || p.g.idx != tI32 {
		return p.inRows(s)
	}
	n, known := s.Extent.Const()
	if _, most := s.Extent.Bounds(); most < fewestLanes && n != 4 {
		return false
	}
	four := known && n%4 == 0
	if !(four && n < 16) && p.inLanes(s, 16, s.Extent, known && n%16 == 0) ||
		p.inLanes(s, 4, s.Extent, four) {
		return true
	}
	if !known || four || n < longSum || !p.inLanes(s, 4, sym.Int(n/4*4), true) {
		return false
	}
	p.oneByOne(s, sym.Int(n/4*4))
	return true
}

// inLanes prints the iterations below end for vectors of count elements; full says that all lanes
// always count.
func (p *printer) inLanes(s *loop.For, count int, end sym.Expr, full bool) bool {
	l := p.lanes(nil, s.Var)
	l.byte = count == 16
	scope, w, names, undo := p.scope, p.w, len(p.names), p.g.support.mark()
	p.scope, p.w, p.spilled = codegen.NewScope(scope), &writer{indent: w.indent + 1}, nil
	defer func() { p.scope, p.w, p.spilled = scope, w, nil }()
	i := p.scope.Take(s.Var.Name)
	p.syms[s.Var] = i
	extent := p.index(end)
	if !full {
		l.mask = p.scope.Take("lanes")
		rest := join("-", extent, name(i, tI32), tI32)
		p.w.line("const mve_pred16_t %s = vctp%dq((uint32_t)%s);", l.mask, 128/count, rest.at(precUnary))
	}
	l.statements(s.Body)
	if l.failed {
		p.forget(names)
		undo()
		return false
	}
	p.g.lanes = true
	w.line("%s", p.g.rolled())
	w.line("for (%s %s = 0; %s < %s; %s += %d) {", p.g.idx, i, i, extent.at(precShift), i, count)
	w.b.WriteString(p.w.b.String())
	w.line("}")
	return true
}

// letIndex makes a number of each lane known that is an index. As bytes they are int8 and 128.
func (l *lanes) letIndex(s *loop.LetIndex) {
	e := narrowed(l.written(s.Value))
	if l.byte {
		if e.Op != expr.OpAdd || e.Args[1].Op != expr.OpConst || e.Args[1].Int != 128 {
			l.fail()
			return
		}
		e = narrowed(e.Args[0])
	}
	if w, ok := l.wide(e.DType); !ok || !w.IsInt() || !l.varies(e) || expr.Any(e, l.isSum) {
		l.fail()
		return
	}
	l.index[s.Sym] = l.local(e, l.expr(e))
}

// isSum reports whether e is what the loop adds up.
func (l *lanes) isSum(e *expr.Expr) bool { return e.Op == expr.OpLocal && l.sums[e.Var] }

// accumulate prints a sum, or a choice of the largest. Integers are added in any order, floats lane
// by lane: in the order of the loop.
func (l *lanes) accumulate(s *loop.Assign) {
	name, e := l.p.vars[s.Var], l.written(s.Value)
	if s.Var.Len > 0 || l.byte || name == "" || expr.Any(e, func(e *expr.Expr) bool {
		return l.isSum(e) && e.Var != s.Var
	}) {
		l.fail()
		return
	}
	l.p.use(name)
	if e.DType == ir.Int32 && e.Op == expr.OpAdd && l.isSum(e.Args[0]) && l.varies(e.Args[1]) &&
		!expr.Any(e.Args[1], l.isSum) {
		term := l.shared(e.Args[1])
		l.p.w.line("%s = %s;", name, l.masked("vaddvaq", "_p", "s32", name+", "+l.expr(term)))
		return
	}
	if s.Var.DType != ir.Float32 || l.mask != "" {
		l.fail()
		return
	}
	terms := map[*expr.Var]string{}
	step := &loop.Assign{Var: s.Var, Value: l.terms(l.shared(e), terms)}
	for lane := 0; lane < 4 && !l.failed; lane++ {
		for v, vector := range terms {
			l.p.vars[v] = fmt.Sprintf("%s[%d]", vector, lane)
		}
		l.p.set(step)
	}
}

// dearTerm is from how many operations on a term of a sum of floats is computed in vectors: gcc 12
// takes two instructions to get a float out of a vector.
const dearTerm = 5

// operations is how many e has, those of functions in it included.
func operations(e *expr.Expr) (n int) {
	expr.Walk(e, func(e *expr.Expr) {
		if n++; e.Op == expr.OpCall {
			n += operations(e.Fn.Body)
		} else if len(e.Args) == 0 {
			n--
		}
	})
	return n
}

// terms returns e, a step of a sum, with variables for its terms, and the vectors that hold these.
func (l *lanes) terms(e *expr.Expr, vectors map[*expr.Var]string) *expr.Expr {
	sum := expr.Any(e, l.isSum)
	if !sum && !l.varies(e) {
		return e
	}
	if !sum && e.DType == ir.Float32 {
		if operations(e) < dearTerm {
			l.fail()
		}
		at := l.expr(e)
		if strings.Contains(at, "(") {
			at = l.local(e, at)
		}
		v := &expr.Var{Name: at, DType: ir.Float32}
		vectors[v] = at
		return expr.Get(v)
	}
	c := *e
	c.Args = nil
	for _, a := range e.Args {
		c.Args = append(c.Args, l.terms(a, vectors))
	}
	if len(e.Args) == 0 && !sum {
		l.fail()
	}
	return &c
}

// narrowed is e, an integer, without conversions that do not change it.
func narrowed(e *expr.Expr) *expr.Expr {
	for e.Op == expr.OpCast && e.Args[0].DType.IsInt() && e.DType.Size() > e.Args[0].DType.Size() {
		e = e.Args[0]
	}
	return e
}

// gather prints elements of a buffer, each lane's behind one address by an index of its own; f is
// the function that would load those beside each other.
func (l *lanes) gather(b operand, x sym.Expr, f [2]string) string {
	rest, offset := x, ""
	for _, s := range x.Symbols() {
		at, own := l.index[s]
		if !own {
			continue
		}
		coef, without, linear := rest.Coef(s)
		if n, _ := coef.Const(); offset != "" || !linear || n != 1 {
			return l.fail()
		}
		rest, offset = without, at
	}
	if offset == "" || l.moves(rest) || b.dtype == ir.Bool || l.byte && !rest.IsZero() {
		return l.fail()
	}
	l.p.use(b.names...)
	to := "&" + b.name + "[" + l.p.index(rest).s + "]"
	if l.byte { // an offset is a byte, so all are from the beginning
		return l.masked("vldrbq_gather_offset", "_z", "s8", b.name+
			", vreinterpretq_u8_s8(veorq_s8("+offset+", vdupq_n_s8(-128)))")
	}
	shifted := ""
	if b.dtype.Size() > 1 {
		shifted = "_shifted"
	}
	v := l.masked(f[0]+"_gather"+shifted+"_offset", "_z", f[1],
		to+", vreinterpretq_u32_s32("+offset+")")
	if b.dtype == ir.Uint8 {
		v = "vreinterpretq_s32_u32(" + v + ")"
	}
	return v
}
