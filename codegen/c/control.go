package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/lower/native"
)

func negated(c code) code { return code{s: "!" + c.at(precUnary), p: precUnary, t: tBool} }

func (b *body) while(s *native.While) {
	if len(s.Head) == 0 {
		b.w.line("while (%s[0] != 0) {", b.pointer(s.Pred))
		b.nested(s.Body)
		b.w.line("}")
		return
	}
	b.w.line("for (;;) {")
	b.inside(func() {
		b.statements(s.Head)
		b.w.open("if (%s[0] == 0) {", b.pointer(s.Pred))
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

// letScalar prints a number read at run time.
func (b *body) letScalar(s *native.Let) {
	var local, text string
	start, from := b.w.b.Len(), len(b.names)
	b.remark(s)
	b.declare(b.decls[s])
	b.printer.bufs = b.operands(s.Args)
	value := b.expr(s.Value)
	if member := b.number(s.Var, s.Sym); member != "" {
		b.use(member)
		if s.Sym != nil {
			b.w.line("%s = %s;", member, convert(value, b.g.idx).s)
			b.syms[s.Sym] = member
		} else {
			t, _ := typeOf(s.Var.DType)
			b.w.line("%s = %s;", member, convert(value, t).s)
			b.vars[s.Var] = member
		}
		return
	}
	if s.Sym != nil {
		local = b.scope.Take(s.Sym.Name)
		text = fmt.Sprintf("const %s %s = %s;", b.g.idx, local, convert(value, b.g.idx).s)
		b.syms[s.Sym] = local
	} else {
		t, _ := typeOf(s.Var.DType)
		local = b.scope.Take(s.Var.Name)
		text = fmt.Sprintf("const %s %s = %s;", t, local, convert(value, t).s)
		b.vars[s.Var] = local
	}
	if len(b.decls[s]) > 0 { // else, without it, what it came from need not be told
		start = b.w.b.Len()
	}
	b.w.line("%s", text)
	b.locals = append(b.locals, localText{local, start, b.w.b.Len(), from, len(b.names)})
}

func (b *body) operands(bufs []*native.Buffer) []operand {
	out := make([]operand, len(bufs))
	for i, buf := range bufs {
		mark := len(b.names)
		out[i] = operand{name: b.pointer(buf), dtype: buf.DType}
		out[i].names = b.forget(mark)
		if strings.Contains(out[i].name, " ") {
			out[i].name = "(" + out[i].name + ")"
		}
	}
	return out
}
