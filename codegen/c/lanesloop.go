package c

import (
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

// vectors prints an innermost loop whose iterations are independent with the lanes of vectors. It
// reports false, having printed nothing, if a statement has no such form.
func (p *printer) vectors(s *loop.For) bool {
	m := p.g.opt.Machine
	if m == nil || !m.MVE || p.g.idx != tI32 || !schedule.MayChunk(s) {
		return false
	}
	n, known := s.Extent.Const()
	if _, most := s.Extent.Bounds(); most < fewestLanes && n != 4 {
		return false
	}
	four := known && n%4 == 0
	return !(four && n < 16) && p.inLanes(s, 16, known && n%16 == 0) || p.inLanes(s, 4, four)
}

// inLanes prints the loop for vectors of count elements; full says that all lanes always count.
func (p *printer) inLanes(s *loop.For, count int, full bool) bool {
	l := p.lanes(nil, s.Var)
	l.byte = count == 16
	scope, w, names, undo := p.scope, p.w, len(p.names), p.g.support.mark()
	p.scope, p.w, p.spilled = codegen.NewScope(scope), &writer{indent: w.indent + 1}, nil
	defer func() { p.scope, p.w, p.spilled = scope, w, nil }()
	i := p.scope.Take(s.Var.Name)
	p.syms[s.Var] = i
	extent := p.index(s.Extent)
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
	e := narrowed(s.Value)
	if l.byte {
		if e.Op != expr.OpAdd || e.Args[1].Op != expr.OpConst || e.Args[1].Int != 128 {
			l.fail()
			return
		}
		e = narrowed(e.Args[0])
	}
	if w, ok := l.wide(e.DType); !ok || !w.IsInt() || !l.varies(e) {
		l.fail()
		return
	}
	l.index[s.Sym] = l.local(e, l.expr(e))
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
