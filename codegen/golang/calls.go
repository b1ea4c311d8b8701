package golang

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

// block prints the statements of a block in a scope of its own.
func (p *methodPrinter) block(stmts []native.Stmt) []jen.Code {
	defer p.enter()()
	return p.steps(stmts)
}

// enter begins a block of Go; what it returns ends it.
func (p *methodPrinter) enter() (leave func()) {
	outer, views := p.scope, len(p.views)
	p.scope = codegen.NewScope(outer)
	return func() { p.scope, p.views = outer, p.views[:views] }
}

// steps prints statements: of each the Python line it comes from, unless that
// is the one before's or the surrounding statement's, the declarations of the
// buffers that are first used there, and the statement itself.
func (p *methodPrinter) steps(stmts []native.Stmt) []jen.Code {
	var code []jen.Code
	around := p.from
	defer func() { p.from = around }()
	last := around
	for _, s := range stmts {
		from := originText(s)
		if from == "" {
			from = last
		}
		var step []jen.Code
		for _, b := range p.declare[s] {
			if d := p.declaration(b); d != nil {
				step = append(step, d)
			}
		}
		p.from = from
		step = append(step, p.stmt(s)...)
		if len(step) == 0 {
			continue
		}
		if from != last {
			if len(code) > 0 {
				code = append(code, jen.Line())
			}
			code = append(code, jen.Comment(from))
			last = from
		}
		code = append(code, step...)
	}
	return code
}

func originText(s native.Stmt) string {
	switch s := s.(type) {
	case *native.Call:
		return codegen.OriginText(s.From)
	case *native.Cond:
		return codegen.OriginText(s.From)
	case *native.While:
		return codegen.OriginText(s.From)
	case *native.For:
		return codegen.OriginText(s.From)
	case *native.Let:
		return codegen.OriginText(s.From)
	case *native.Assert:
		return codegen.OriginText(s.From)
	}
	return ""
}

// declaration gives a buffer a local variable; buffers that are nowhere but in
// views have none.
func (p *methodPrinter) declaration(b *native.Buffer) jen.Code {
	if !p.mentioned(b) {
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
	return jen.Id(name).Op(":=").Op(value).Comment(elements(b.DType) + codegen.ShapeText(b.Sizes, nil))
}

// sameView returns what a buffer that is exactly b is called, "" if there is
// none in sight.
func (p *methodPrinter) sameView(b *native.Buffer) string {
	if b.Root == nil {
		return ""
	}
	if r := b.Root; b.At.IsZero() && b.Len.Equal(r.Len) && b.DType == r.DType && r.Storage != native.Arena {
		return p.operand(r)
	}
	for _, v := range p.views {
		if native.Root(v) == b.Root && v.At.Equal(b.At) && v.Len.Equal(b.Len) && v.DType == b.DType {
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
	s := p.exprs[b]
	if len(s) > 3 && s[len(s)-3:] == "[:]" {
		return s[:len(s)-3]
	}
	return s
}

// mentioned reports whether a statement has b itself as operand.
func (p *methodPrinter) mentioned(b *native.Buffer) bool {
	found := false
	codegen.Walk(p.m.Body, func(s native.Stmt) {
		for _, o := range codegen.Operands(s) {
			found = found || o == b && !isPoison(s)
		}
	})
	return found
}

func isPoison(s native.Stmt) bool { _, ok := s.(*native.Poison); return ok }

// offset is where b begins in the arena, in bytes.
func (p *methodPrinter) offset(b *native.Buffer) string {
	root := native.Root(b)
	return p.index(sym.Add(sym.Int(root.Offset), sym.Mul(b.At, sym.Int(int64(b.DType.Size())))), precAny)
}

// operand is a buffer as an argument.
func (p *methodPrinter) operand(b *native.Buffer) string {
	if s, ok := p.exprs[b]; ok {
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

func (p *methodPrinter) stmt(s native.Stmt) []jen.Code {
	switch s := s.(type) {
	case *native.Call:
		code := p.lines(func() jen.Code { return p.call(s) })
		if n, ok := p.g.probes[s]; ok {
			code = append(code, jen.Id("m").Dot("Probe").Call(jen.Lit(n)))
		}
		return code
	case *native.Cond:
		code := jen.If(jen.Op(p.operand(s.Pred)).Index(jen.Lit(0))).Block(p.block(s.Then)...)
		if len(s.Else) > 0 {
			code.Else().Block(p.block(s.Else)...)
		}
		return []jen.Code{code}
	case *native.While:
		return []jen.Code{p.while(s)}
	case *native.For:
		return []jen.Code{p.loop(s)}
	case *native.Let:
		if s.Sym != nil && !p.alive(s.Sym) || s.Sym == nil && !p.alive(s.Var) {
			return nil
		}
		return p.lines(func() jen.Code { return p.let(s) })
	case *native.Assert:
		return p.lines(func() jen.Code {
			p.operands(s.Args)
			return jen.If(jen.Op(p.arg(expr.Not(s.Cond)))).Block(p.assertion(s.Message))
		})
	case *native.Poison:
		b := s.Buf
		return []jen.Code{jen.Id("poison").Call(jen.Id("m").Dot("arena"), jen.Op(p.offset(b)), jen.Op(p.index(b.Len, precAny)), jen.Lit(b.DType.Size()))}
	}
	fail("unknown statement %T", s)
	return nil
}

func (p *methodPrinter) assertion(message string) jen.Code {
	return p.errorf("ErrAssert", "%s", fmt.Sprintf("%q", message))
}

// operands makes Loads of the next expression index args.
func (p *methodPrinter) operands(args []*native.Buffer) {
	p.bufs = nil
	for _, b := range args {
		p.bufs = append(p.bufs, p.operand(b))
	}
}

func (p *methodPrinter) call(s *native.Call) jen.Code {
	var args []jen.Code
	if p.g.divides(s.Kernel) {
		args = append(args, jen.Op("&").Id("m").Dot("shared"))
	}
	for _, b := range s.Args {
		args = append(args, jen.Op(p.operand(b)))
	}
	if s.Kernel.Copy {
		return jen.Copy(args[0], args[1])
	}
	for _, e := range s.Ints {
		args = append(args, jen.Op(p.index(e, precAny)))
	}
	for _, x := range s.Scalars {
		args = append(args, jen.Op(p.arg(x)))
	}
	return jen.Id(p.g.names[s.Kernel]).Call(args...)
}

func (p *methodPrinter) while(s *native.While) jen.Code {
	if len(s.Head) == 0 {
		return jen.For(jen.Op(p.operand(s.Pred)).Index(jen.Lit(0))).Block(p.block(s.Body)...)
	}
	defer p.enter()()
	body := p.steps(s.Head)
	body = append(body, jen.If(jen.Op("!"+p.operand(s.Pred)).Index(jen.Lit(0))).Block(jen.Break()))
	if len(s.Body) > 0 {
		body = append(body, jen.Line())
	}
	return jen.For().Block(append(body, p.block(s.Body)...)...)
}

func (p *methodPrinter) loop(s *native.For) jen.Code {
	defer p.enter()()
	extent := p.index(s.Extent, precAdd)
	v := p.scope.Take(camel(s.Var.Name))
	p.syms[s.Var] = v
	body := p.block(s.Body)
	switch {
	case s.Reverse:
		return jen.For(jen.Id(v).Op(":=").Op(extent).Op("-").Lit(1), jen.Id(v).Op(">=").Lit(0), jen.Id(v).Op("--")).Block(body...)
	case !p.alive(s.Var):
		return jen.For(jen.Range().Op(extent)).Block(body...)
	}
	return jen.For(jen.Id(v).Op(":=").Range().Op(extent)).Block(body...)
}

// let reads a run-time scalar.
func (p *methodPrinter) let(s *native.Let) jen.Code {
	p.operands(s.Args)
	value := p.arg(s.Value)
	if s.Value.Op == expr.OpConst {
		value = typedLiteral(s.Value)
	}
	var name string
	if s.Sym != nil {
		name = p.scope.Take(camel(s.Sym.Name))
		p.syms[s.Sym] = name
		value = "int(" + value + ")"
	} else {
		name = p.scope.Take(camel(s.Var.Name))
		p.vars[s.Var] = name
	}
	return jen.Id(name).Op(":=").Op(value)
}
