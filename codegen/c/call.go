package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// statements prints a block of a method.
func (b *body) statements(stmts []native.Stmt) {
	for _, s := range stmts {
		if l, ok := s.(*native.Let); ok {
			b.letScalar(l)
		} else if section, ok := s.(*native.Section); ok {
			b.declare(b.decls[s])
			b.section(section)
		} else {
			b.remark(s)
			b.declare(b.decls[s])
			b.statement(s)
		}
		b.fresh = false
	}
}

// nested prints a block with a scope of its own.
func (b *body) nested(stmts []native.Stmt) {
	b.inside(func() { b.statements(stmts) })
}

func (b *body) inside(f func()) {
	outer := b.scope
	b.scope = codegen.NewScope(outer)
	b.w.indent++
	b.fresh = true
	f()
	b.w.indent--
	b.scope = outer
}

// remark prints where s comes from, unless the statement before comes from the
// same place.
func (b *body) remark(s native.Stmt) {
	text := codegen.OriginText(native.Origins(s))
	if text.IsEmpty() || text == b.comment {
		return
	}
	if !b.fresh {
		b.w.blank()
	}
	b.w.comment(text.Comment())
	b.comment = text
}

// declare prints the locals for buffers that are first used here.
func (b *body) declare(bufs []*native.Buffer) {
	for _, buf := range bufs {
		if buf.Root != nil && b.uses[buf].count < 2 {
			continue // written where it is used
		}
		if buf.Root != nil && buf.At.IsZero() && buf.DType == buf.Root.DType {
			continue // the root's own name does
		}
		if buf.Root == nil && buf.MaxLen == 0 {
			b.bufs[buf] = "NULL" // it has no place in the arena
			continue
		}
		constant := ""
		if b.isConst(buf) {
			constant = "const "
		}
		t := storageOf(buf.DType)
		name := b.scope.Take(buf.Name)
		var value string
		var of []string // the names in it
		if buf.Root == nil {
			base := b.base(buf.Bank)
			value = fmt.Sprintf("(%s *)(%s + %d)", t, base, buf.Offset)
			if buf.Offset == 0 {
				value = fmt.Sprintf("(%s *)%s", t, base)
			}
			of = []string{base}
		} else {
			mark := len(b.names)
			value = b.view(buf).s
			of = b.forget(mark)
		}
		b.declared(name, func() {
			b.use(of...)
			if buf.Root == nil {
				b.w.raw("/* " + b.planText(buf, name) + " */")
				b.w.line("%s%s *%s = %s;", constant, t, name, value)
				return
			}
			b.w.line("%s%s *%s = %s; /* %s */", constant, t, name, value,
				codegen.ShapeText(buf.Sizes, b.sizeText))
		})
		b.bufs[buf] = name
	}
}

// planText says of a buffer in the arena what it holds, where it lies, and from which layer
// to which: the most of that for which a line has room.
func (b *body) planText(buf *native.Buffer, name string) string {
	bank := ""
	if b.g.p.Banks != nil {
		bank = b.g.p.Banks[buf.Bank].Name + " "
	}
	place := fmt.Sprintf("%d bytes at %s%d", buf.MaxLen*int64(buf.DType.Size()), bank, buf.Offset)
	if _, fixed := buf.Len.Const(); !fixed {
		place = "at most " + place
	}
	whole := fmt.Sprintf("%s %s: %s", name, codegen.ShapeText(buf.Sizes, b.sizeText), place)
	var texts []string
	u := b.uses[buf]
	if from, to := native.Origins(u.first), native.Origins(u.last); len(from) > 0 && len(to) > 0 {
		maker, reader := from[len(from)-1], to[0]
		if u.first == u.last {
			reader = maker
		}
		a, z := codegen.LayerTexts(maker), codegen.LayerTexts(reader)
		for i, first := range a {
			last := z[min(i, len(z)-1)]
			if i == 0 && len(a) == len(z) && len(a) > 2 && a[1] == z[1] {
				last = z[2] // the place needs no repetition
			}
			if first == last || first == z[0] {
				texts = append(texts, whole+", in "+first.Comment())
			} else {
				texts = append(texts, whole+", from "+first.Comment()+" to "+last.Comment())
			}
		}
	}
	texts = append(texts, whole, fmt.Sprintf("%s: %s", name, place))
	for _, text := range texts {
		if 4*b.w.indent+len("/*  */")+len(text) <= lineWidth {
			return text
		}
	}
	return place
}

// sizeText words a dynamic size of a local buffer in terms of what is in scope.
func (b *body) sizeText(e sym.Expr) string {
	for _, s := range e.Symbols() {
		if _, ok := b.syms[s]; !ok {
			return e.String()
		}
	}
	mark := len(b.names)
	defer func() { b.forget(mark) }() // it is in a comment
	return b.index(e).s
}

func (b *body) isConst(buf *native.Buffer) bool {
	root := native.Root(buf)
	if root.Storage == native.Weight {
		return true
	}
	for _, p := range b.m.Inputs {
		if p.Buf == root {
			return !p.Mutated
		}
	}
	return false
}

// view returns the pointer to where a view starts.
func (b *body) view(buf *native.Buffer) code {
	p := b.pointer(buf.Root)
	if buf.DType.Size() != buf.Root.DType.Size() || storageOf(buf.DType) != storageOf(buf.Root.DType) {
		t := storageOf(buf.DType)
		constant := ""
		if b.isConst(buf) {
			constant = "const "
		}
		p = code{s: fmt.Sprintf("(%s%s *)(%svoid *)%s", constant, t, constant, p.at(precUnary)),
			p: precUnary}
	}
	if buf.At.IsZero() {
		return p
	}
	at := b.index(buf.At) // in elements of the view's own type
	if len(buf.At.Terms()) > 1 {
		at = b.indexIn(offset{indexer{b.printer}}, buf.At)
		return code{s: "&" + p.at(precPostfix) + "[" + at.s + "]", p: precUnary, t: b.g.idx}
	}
	return join("+", p, at, b.g.idx)
}

// pointer returns a pointer to a buffer's first element.
func (b *body) pointer(buf *native.Buffer) code {
	for _, known := range []map[*native.Buffer]string{b.bufs, b.ports} {
		if s, ok := known[buf]; ok {
			b.use(s)
			return name(s, b.g.idx)
		}
	}
	if buf.Root != nil {
		return b.view(buf)
	}
	if buf.Storage == native.Weight {
		if s, ok := b.g.consts[buf.Const]; ok {
			return name(s, b.g.idx)
		}
	}
	must.Fail("buffer %s has no place", buf.Name)
	return code{}
}

// call prints the call of a kernel.
func (b *body) call(c *native.Call) {
	info := b.g.kernels[c.Kernel]
	if info == nil || len(c.Args) != len(info.dtypes) || len(c.Ints) != len(c.Kernel.Params) {
		must.Fail("a call of kernel %s does not fit it", c.Kernel.Name)
	}
	var args []string
	for i, buf := range c.Args {
		if info.dropArg[i] {
			continue
		}
		arg := b.pointer(buf)
		if want := storageOf(info.dtypes[i]); storageOf(buf.DType) != want {
			constant := "const "
			if written(c.Kernel, i) {
				constant = ""
			}
			arg.s = fmt.Sprintf("(%s%s *)(%[1]svoid *)%s", constant, want, arg.at(precUnary))
		}
		args = append(args, arg.s)
	}
	if info.params != nil {
		args = append(args, b.params(c, info)...)
	} else {
		for i, e := range c.Ints {
			if !info.dropInt[i] {
				args = append(args, b.index(e).s)
			}
		}
	}
	for i, e := range c.Scalars {
		if i < len(info.dropNum) && !info.dropNum[i] {
			args = append(args, b.assign(e, typeOf(c.Kernel.Loop.Scalars[i].DType)).s)
		}
	}
	call := fmt.Sprintf("%s(%s)", info.name, strings.Join(args, ", "))
	b.event(b.g.events.Begin(c))
	if c.Kernel.Fails() {
		b.guard(code{s: "!" + call, p: precUnary, t: tBool}, b.g.failure(c.Kernel))
	} else {
		b.w.line("%s;", call)
	}
	b.event(b.g.events.End(c))
}

// event prints that an event is told, if there is one.
func (b *body) event(n int, ok bool) {
	if ok {
		b.w.line("%s_profile_event(%d);", b.g.prefix, n)
	}
}

// statement prints s without its remark.
func (b *body) statement(s native.Stmt) {
	switch s := s.(type) {
	case *native.Call:
		b.call(s)
	case *native.Cond:
		b.w.line("if (%s[0] != 0) {", b.pointer(s.Pred).at(precPostfix))
		b.nested(s.Then)
		if len(s.Else) > 0 {
			b.w.line("} else {")
			b.nested(s.Else)
		}
		b.w.line("}")
	case *native.While:
		b.while(s)
	case *native.For:
		b.count(s)
	case *native.Assert:
		b.printer.bufs = b.operands(s.Args)
		b.w.comment(s.Message.Comment())
		status := "ERR_ASSERT"
		switch {
		case s.Given:
			status = "ERR_SHAPE"
		case s.Index:
			status = "ERR_INDEX"
		}
		b.guard(negated(b.expr(s.Cond)), status)
	case *native.Poison:
		b.use(b.base(s.Buf.Bank))
		b.w.line("%s(%s + %d, %du);", b.g.helper("poison"), b.base(s.Buf.Bank), s.Buf.Offset,
			s.Buf.MaxLen*int64(s.Buf.DType.Size()))
	default:
		must.Fail("C output has no statement %T", s)
	}
}
