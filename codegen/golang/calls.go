package golang

import (
	"github.com/dave/jennifer/jen"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/must"
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
	return func() {
		p.scope = outer
		for _, v := range p.views[views:] {
			k := viewKeyOf(v)
			p.viewsAt[k] = p.viewsAt[k][:len(p.viewsAt[k])-1]
		}
		p.views = p.views[:views]
	}
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
		from := codegen.OriginText(native.Origins(s))
		if from.IsEmpty() {
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
			code = append(code, jen.Comment("// "+from.Comment()))
			last = from
		}
		code = append(code, step...)
	}
	return code
}

func (p *methodPrinter) stmt(s native.Stmt) []jen.Code {
	switch s := s.(type) {
	case *native.Call:
		code := p.event(p.g.events.Begin(s))
		code = append(code, p.lines(func() jen.Code { return p.call(s) })...)
		return append(code, p.event(p.g.events.End(s))...)
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
	case *native.Section:
		return p.section(s)
	case *native.Let:
		if !p.alive(codegen.NumberOf(s).Key) {
			return nil
		}
		return p.lines(func() jen.Code { return p.let(s) })
	case *native.Assert:
		return p.lines(func() jen.Code {
			p.operands(s.Args)
			return jen.If(jen.Op(p.arg(expr.Not(s.Cond)))).Block(p.assertion(s))
		})
	case *native.Poison:
		b := s.Buf
		return []jen.Code{jen.Id("poison").Call(jen.Id("m").Dot("arena"), jen.Lit(int(b.Offset)),
			jen.Lit(int(b.MaxLen)), jen.Lit(b.DType.Size()))}
	}
	must.Fail("unknown statement %T", s)
	return nil
}

// event prints that an event is told, if there is one.
func (p *methodPrinter) event(n int, ok bool) []jen.Code {
	if !ok {
		return nil
	}
	return []jen.Code{jen.Id("m").Dot("profileEvent").Call(jen.Lit(n))}
}

func (p *methodPrinter) assertion(s *native.Assert) jen.Code {
	kind := "ErrAssert"
	switch {
	case s.Given:
		kind = "ErrShape"
	case s.Index:
		kind = "ErrIndex"
	}
	return p.errorf(kind, "%s", s.Message.GoLiteral())
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
	if d := p.g.delegateOf(s.Kernel.Loop); d >= 0 {
		args = append(args, jen.Id("m").Dot("runners").Index(jen.Lit(d)))
	}
	for _, b := range s.Args {
		args = append(args, jen.Op(p.operand(b)))
	}
	if s.Kernel.Copy {
		return jen.Copy(args[0], args[1])
	}
	ints := s.Ints
	if s.Kernel.Tuned != nil && len(ints) > 0 {
		args, ints = append(args, jen.Op(p.tunedParams(s))), nil
	}
	for _, e := range ints {
		args = append(args, jen.Op(p.index(e, precAny)))
	}
	for _, x := range s.Scalars {
		args = append(args, jen.Op(p.arg(x)))
	}
	call := jen.Id(p.g.names[s.Kernel]).Call(args...)
	if s.Kernel.Fails() {
		return p.failing(call)
	}
	return call
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
	around := p.given
	p.give(s.Var, v, "int")
	body := p.block(s.Body)
	p.given = around
	switch {
	case s.Reverse:
		return jen.For(jen.Id(v).Op(":=").Op(extent).Op("-").Lit(1), jen.Id(v).Op(">=").Lit(0),
			jen.Id(v).Op("--")).Block(body...)
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
	if field := p.numbers[codegen.NumberOf(s).Key]; field != "" {
		p.reads[numbersKey{}] = true
		if s.Sym != nil {
			p.syms[s.Sym] = field
			value = "int(" + value + ")"
		} else {
			p.vars[s.Var] = field
		}
		return jen.Op(field).Op("=").Op(value)
	}
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
