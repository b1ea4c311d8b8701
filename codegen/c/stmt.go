package c

import (
	"maps"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// block prints statements of the loop form.
func (p *printer) block(body []loop.Stmt) {
	for _, s := range body {
		p.stmt(s)
	}
}

// nested prints a block with a scope of its own.
func (p *printer) nested(body []loop.Stmt) {
	outer := p.scope
	p.scope = codegen.NewScope(outer)
	p.w.indent++
	p.block(body)
	p.w.indent--
	p.scope = outer
}

func (p *printer) stmt(s loop.Stmt) {
	p.spilled = nil
	if _, again := s.(*loop.While); !again {
		loop.Exprs(s, p.share)
	}
	switch s := s.(type) {
	case *loop.For:
		p.loop(s)
	case *loop.While:
		p.guarded++ // it is evaluated again and again
		cond := p.expr(s.Cond)
		p.guarded--
		p.w.line("while (%s) {", cond.s)
		p.nested(s.Body)
		p.w.line("}")
	case *loop.If:
		p.branch("", s)
	case *loop.Let:
		p.let(s)
	case *loop.Assign:
		p.set(s)
	case *loop.LetIndex:
		value := convert(p.expr(s.Value), p.g.idx)
		name := p.scope.Take(s.Sym.Name)
		p.syms[s.Sym] = name
		p.w.line("const %s %s = %s;", p.g.idx, name, value.s)
	case *loop.Store:
		p.store(s)
	case *loop.Break:
		p.w.line("break;")
	case *loop.Invoke:
		p.invoke(s)
	default:
		must.Fail("C output has no statement %T", s)
	}
}

func (p *printer) loop(s *loop.For) {
	divided := p.parts != nil && s.Divided
	if s.Extent.Is(1) && !divided && !breaks(s.Body) {
		p.once(s)
		return
	}
	if !divided && p.vectors(s) {
		return
	}
	p.oneByOne(s, sym.Int(0))
}

// oneByOne prints a loop from an iteration on, one after the other.
func (p *printer) oneByOne(s *loop.For, first sym.Expr) {
	outer := p.scope
	own := share{p.index(first).s, ""}
	if p.parts != nil && s.Divided {
		own = p.parts[s.Extent.Key()]
	} else {
		own.end = p.index(s.Extent).at(precShift)
	}
	if s.Rolled {
		p.w.line("%s", p.g.rolled())
	}
	p.scope = codegen.NewScope(outer)
	i := p.scope.Take(s.Var.Name)
	p.syms[s.Var] = i
	p.w.line("for (%s %s = %s; %s < %s; %s++) {", p.g.idx, i, own.first, i, own.end, i)
	p.nested(s.Body)
	p.w.line("}")
	p.scope = outer
}

// once prints the body of a loop of one iteration.
func (p *printer) once(s *loop.For) {
	outer := p.unrolled
	p.unrolled = map[*sym.Symbol]sym.Expr{s.Var: sym.Int(0)}
	maps.Copy(p.unrolled, outer)
	p.block(s.Body)
	p.unrolled = outer
}

// breaks reports whether body leaves the loop it is the body of.
func breaks(body []loop.Stmt) bool {
	for _, s := range body {
		switch s := s.(type) {
		case *loop.Break:
			return true
		case *loop.If:
			if breaks(s.Then) || breaks(s.Else) {
				return true
			}
		}
	}
	return false
}

// branch prints an If; before is what stands in front of it in its line.
func (p *printer) branch(before string, s *loop.If) {
	outer := p.guarded
	if before != "" {
		p.guarded++ // a local would stand in the block before
	}
	cond := p.expr(s.Cond)
	p.guarded = outer
	p.w.line("%sif (%s) {", before, cond.s)
	p.nested(s.Then)
	if len(s.Else) == 1 {
		if next, ok := s.Else[0].(*loop.If); ok {
			p.branch("} else ", next)
			return
		}
	}
	if len(s.Else) > 0 {
		p.w.line("} else {")
		p.nested(s.Else)
	}
	p.w.line("}")
}

func (p *printer) let(s *loop.Let) {
	t := typeOf(s.Var.DType)
	value := ""
	if s.Value != nil {
		value = " = " + p.assign(s.Value, t).s
	}
	name := p.scope.Take(s.Var.Name)
	p.vars[s.Var] = name
	switch {
	case s.Var.Len > 0:
		p.w.line("%s %s[%d];", t, name, s.Var.Len)
	case s.Value != nil && !s.Mutable:
		p.w.line("const %s %s%s;", t, name, value)
	default:
		p.w.line("%s %s%s;", t, name, value)
	}
}

// set prints an assignment to a local, with += and the like where they fit.
func (p *printer) set(s *loop.Assign) {
	t := typeOf(s.Var.DType)
	target, ok := p.vars[s.Var]
	if !ok {
		must.Fail("local %s is assigned before it is declared", s.Var.Name)
	}
	p.use(target)
	if s.Var.Len > 0 {
		target += "[" + p.index(s.At).s + "]"
	}
	if op, rest := p.update(s, t); op != "" {
		p.w.line("%s %s= %s;", target, op, rest)
		return
	}
	p.w.line("%s = %s;", target, p.assign(s.Value, t).s)
}

// update returns the operator and right side of "v op= rest", if that is what s
// does and C computes it exactly so.
func (p *printer) update(s *loop.Assign, t ctype) (op, rest string) {
	e := s.Value
	if e.Op != expr.OpAdd && e.Op != expr.OpSub && e.Op != expr.OpMul {
		return "", ""
	}
	x, y := e.Args[0], e.Args[1]
	same := x.Op == expr.OpLocal && x.Var == s.Var && (s.Var.Len == 0 || len(x.Coords) == 1 &&
		x.Coords[0].Equal(s.At))
	if !same || e.Op == expr.OpAdd && y.Op == expr.OpConst && y.Float < 0 {
		return "", ""
	}
	switch {
	case t == tF32 || t == tF64 || t == tU32 || t == tU64:
		return arithmetic[e.Op], p.assign(y, t).s
	case t == tI32 || t == tI64:
		if r, ok := p.ranges.valueRange(e); ok && r.in(rangeOf(t)) {
			return arithmetic[e.Op], p.assign(y, t).s
		}
	}
	return "", ""
}

func (p *printer) store(s *loop.Store) {
	if s.Buf >= len(p.bufs) {
		must.Fail("store to buffer %d of %d", s.Buf, len(p.bufs))
	}
	b := p.bufs[s.Buf]
	p.use(b.names...)
	t := storageOf(b.dtype)
	value := p.expr(s.Value)
	if value.t != tBool {
		value = convert(value, t)
	}
	if value.literal && value.t == tBool {
		value = code{s: map[string]string{"true": "1", "false": "0"}[value.s], p: precPostfix, t: t,
			literal: true}
	}
	p.w.line("%s[%s] = %s;", b.name, p.index(s.At).s, value.s)
}

func negated(c code) code { return code{s: "!" + c.at(precUnary), p: precUnary, t: tBool} }

func (b *body) while(s *native.While) {
	if len(s.Head) == 0 {
		b.w.line("while (%s[0] != 0) {", b.pointer(s.Pred).at(precPostfix))
		b.nested(s.Body)
		b.w.line("}")
		return
	}
	b.w.line("for (;;) {")
	b.inside(func() {
		b.statements(s.Head)
		b.w.open("if (%s[0] == 0) {", b.pointer(s.Pred).at(precPostfix))
		b.w.line("break;")
		b.w.close()
		b.statements(s.Body)
	})
	b.w.line("}")
}

func (b *body) count(s *native.For) {
	extent := b.index(s.Extent)
	outer := b.scope
	b.scope = codegen.NewScope(outer)
	i := b.scope.Take(s.Var.Name)
	b.syms[s.Var] = i
	given := len(b.given)
	b.give(b.g.idx.String()+" ", i)
	if s.Reverse {
		b.w.line("for (%s %s = %s - 1; %s >= 0; %s--) {", b.g.idx, i, extent.at(precAdd), i, i)
	} else {
		b.w.line("for (%s %s = 0; %s < %s; %s++) {", b.g.idx, i, i, extent.at(precShift), i)
	}
	b.nested(s.Body)
	b.w.line("}")
	b.scope, b.given = outer, b.given[:given]
}

// letScalar prints a number read at run time: a member that all functions of the method
// know, or a local.
func (b *body) letScalar(s *native.Let) {
	start, from := b.w.b.Len(), len(b.names)
	b.remark(s)
	b.declare(b.decls[s])
	b.printer.bufs = b.operands(s.Args)
	n := codegen.NumberOf(s)
	t := b.numberType(n)
	value := convert(b.expr(s.Value), t)
	name := b.numbers[n.Key]
	if name != "" {
		b.use(name)
		b.w.line("%s = %s;", name, value.s)
	} else {
		name = b.scope.Take(n.Name)
		if len(b.decls[s]) > 0 { // else, without it, what it came from need not be told
			start = b.w.b.Len()
		}
		b.w.line("const %s %s = %s;", t, name, value.s)
		b.locals = append(b.locals, localText{name, start, b.w.b.Len(), from, len(b.names)})
	}
	if s.Sym != nil {
		b.syms[s.Sym] = name
	} else {
		b.vars[s.Var] = name
	}
}

func (b *body) operands(bufs []*native.Buffer) []operand {
	out := make([]operand, len(bufs))
	for i, buf := range bufs {
		mark := len(b.names)
		out[i] = operand{name: b.pointer(buf).at(precPostfix), dtype: buf.DType}
		out[i].names = b.forget(mark)
	}
	return out
}
