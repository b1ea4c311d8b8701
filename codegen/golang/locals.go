package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// declaration gives a buffer a local variable; buffers that are nowhere but in
// views have none.
func (p *methodPrinter) declaration(b *native.Buffer) jen.Code {
	if !p.mentions[b] {
		return nil
	}
	if same := p.sameView(b); same != "" {
		p.exprs[b] = same
		return nil
	}
	n, start := p.index(b.Len, precAny), ""
	var value string
	switch root := native.Root(b); {
	case root.Storage != native.Arena:
		start = p.index(b.At, precAny)
		end := p.index(sym.Add(b.At, b.Len), precAny)
		value = fmt.Sprintf("%s[%s:%s]", p.rootExpr(root), start, end)
		if b.DType != root.DType {
			fail("buffer %s of %s is a view of %s", b.Name, b.DType, root.DType)
		}
	case root.MaxLen == 0: // it has no place in the arena
		value = fmt.Sprintf("[]%s(nil)", goType(b.DType))
	case !p.g.views():
		start = ""
		at := sym.Add(sym.Int(root.Offset/int64(b.DType.Size())), b.At)
		if !at.IsZero() {
			start = p.index(at, precAny)
		}
		value = fmt.Sprintf("m.arena[%s:%s]", start, p.index(sym.Add(at, b.Len), precAny))
	default:
		value = fmt.Sprintf("view[%s](m.arena, %s, %s)", goType(b.DType), p.offset(b), n)
	}
	name := camel(b.Name)
	if p.g.unit.scope.Has(name) {
		name += "Out" // beside the function that computes it
	}
	name = p.scope.Take(name)
	p.exprs[b] = name
	p.views = append(p.views, b)
	p.viewsAt[viewKeyOf(b)] = append(p.viewsAt[viewKeyOf(b)], b)
	return jen.Id(name).Op(":=").Op(value).Comment(elements(b.DType) + codegen.ShapeText(
		b.Sizes, nil))
}

// viewKey is the same for buffers that begin at the same element.
type viewKey struct {
	root *native.Buffer
	at   string
}

func viewKeyOf(b *native.Buffer) viewKey { return viewKey{native.Root(b), b.At.Key()} }

// sameView returns what a buffer that is exactly b is called, "" if there is
// none in sight.
func (p *methodPrinter) sameView(b *native.Buffer) string {
	if b.Root == nil {
		return ""
	}
	if r := b.Root; b.At.IsZero() && b.Len.Equal(r.Len) && b.DType == r.DType &&
		r.Storage != native.Arena {
		return p.operand(r)
	}
	for _, v := range p.viewsAt[viewKeyOf(b)] {
		if v.At.Equal(b.At) && v.Len.Equal(b.Len) && v.DType == b.DType {
			return p.exprs[v]
		}
	}
	return ""
}

// rootExpr is a caller's tensor, a state or a weight as something to slice.
func (p *methodPrinter) rootExpr(b *native.Buffer) string {
	switch b.Storage {
	case native.State:
		return "m." + p.g.state[b]
	case native.Weight:
		return "w." + p.g.fields[b.Const]
	}
	s := p.port(b)
	if len(s) > 3 && s[len(s)-3:] == "[:]" {
		return s[:len(s)-3]
	}
	return s
}

// mentioned tells which buffers are operands themselves in a function of stmts.
func mentioned(stmts []native.Stmt) map[*native.Buffer]bool {
	found := map[*native.Buffer]bool{}
	codegen.WalkFunction(stmts, func(s native.Stmt) {
		for _, b := range codegen.Operands(s) {
			found[b] = true
		}
	})
	return found
}

// offset is where b begins in the arena, in bytes.
func (p *methodPrinter) offset(b *native.Buffer) string {
	root := native.Root(b)
	return p.index(sym.Add(sym.Int(root.Offset), sym.Mul(b.At, sym.Int(int64(b.DType.Size())))),
		precAny)
}

// operand is a buffer as an argument.
func (p *methodPrinter) operand(b *native.Buffer) string {
	if s, ok := p.exprs[b]; ok {
		return s
	}
	if _, ok := p.ports[b]; ok {
		s := p.port(b)
		if p.late[b] {
			s += "[:" + p.index(b.Len, precAny) + "]"
		}
		return s
	}
	switch {
	case b.Root != nil || b.Storage == native.Arena:
		fail("buffer %s is used before it is declared", b.Name)
	case b.Storage == native.State:
		return p.rootExpr(b) + "[:]"
	}
	return p.rootExpr(b)
}

// port is a caller's tensor as it is.
func (p *methodPrinter) port(b *native.Buffer) string {
	p.reads[b] = true
	return p.ports[b]
}
