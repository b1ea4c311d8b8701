package loop

import (
	"math"
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
)

// Parse reads what Func.String writes. name stands in messages before the
// line; funcs returns the scalar function of a name, or nil.
func Parse(name, src string, funcs func(string) *expr.Func) (f *Func, err error) {
	defer text.Recover(&err)
	l := &text.Lexer{File: name, Src: src}
	l.Keyword("func")
	f = ParseFunc(l, funcs)
	if t := l.Peek(); t.Kind != text.EOF {
		l.Fail(t.Pos, "want nothing more, have %v", t)
	}
	return f, nil
}

// ParseFunc consumes what Func.Format writes. What it returns has every name
// declared before use, dtypes that agree and stores to no In buffer; whether
// accesses are inside of buffers is for Verify to say.
func ParseFunc(l *text.Lexer, funcs func(string) *expr.Func) *Func {
	defer func(infix bool) { l.Infix = infix }(l.Infix)
	l.Infix = true
	p := &parser{Lexer: l, f: &Func{}, syms: map[string]*sym.Symbol{},
		elements: map[string]*element{}, values: map[string]*value{}}
	p.scope = expr.Scope{
		Symbol:  func(name string) *sym.Symbol { return p.syms[name] },
		Func:    funcs,
		Value:   p.valueNode,
		Element: p.elementNode,
	}
	p.head()
	p.f.Body = p.block(false)
	return p.f
}

// element is what a name before an index means: an array local, or buffer Buf.
type element struct {
	local *expr.Var
	buf   int
}

// value is what a name alone means: a local, or scalar parameter Scalar.
type value struct {
	local   *expr.Var
	mutable bool
	scalar  int
}

type parser struct {
	*text.Lexer
	f        *Func
	scope    expr.Scope
	syms     map[string]*sym.Symbol
	elements map[string]*element
	values   map[string]*value
	undo     []func() // takes back the declarations of open blocks, in order
}

func (p *parser) valueNode(name string) *expr.Expr {
	switch v := p.values[name]; {
	case v == nil:
		return nil
	case v.local != nil:
		return expr.Get(v.local)
	default:
		return expr.ScalarRef(v.scalar, p.f.Scalars[v.scalar].DType)
	}
}

func (p *parser) elementNode(name string) *expr.Expr {
	switch e := p.elements[name]; {
	case e == nil:
		return nil
	case e.local != nil:
		return expr.Get(e.local)
	default:
		return expr.At(e.buf, p.f.Bufs[e.buf].DType)
	}
}

// declare adds a name until its block ends.
func declare[T any](p *parser, names map[string]T, t text.Token, x T) {
	if _, ok := names[t.Text]; ok {
		p.Fail(t.Pos, "%s is declared twice", t.Text)
	}
	names[t.Text] = x
	p.undo = append(p.undo, func() { delete(names, t.Text) })
}

func (p *parser) head() {
	p.f.Name = p.NameOrString("the name of the function")
	inits := map[int]text.Token{}
	p.List("(", ")", func() { p.param(inits) })
	for i := range p.f.Bufs {
		t, ok := inits[i]
		if !ok {
			continue
		}
		e := p.elements[t.Text]
		if e == nil {
			p.Fail(t.Pos, "there is no buffer %s", t.Text)
		}
		p.f.Bufs[i].Init = e.buf
	}
}

// param parses "n in [1, 8]", "role x: f32[n]" or "c: f32". Of InOut buffers it
// notes the name of the buffer whose contents they hold, if one is said.
func (p *parser) param(inits map[int]text.Token) {
	t := p.Want(text.Name, "a parameter")
	next := p.Peek()
	if next.Kind == text.Name && next.Text == "in" && !p.After(next).Is(":") {
		p.Next()
		s := p.Symbol(t.Text, p.scope.Symbol)
		declare(p, p.syms, t, s)
		p.f.Syms = append(p.f.Syms, s)
		return
	}
	role, pos := In, t.Pos
	if next.Kind == text.Name {
		for int(role) < len(roleNames) && roleNames[role] != t.Text {
			role++
		}
		if int(role) == len(roleNames) {
			p.Fail(pos, "want in, out, inout or scratch, have %v", t)
		}
		t = p.Next()
	}
	p.Expect(":")
	d := p.dtype()
	if role == In && !p.Peek().Is("[") {
		declare(p, p.values, t, &value{scalar: len(p.f.Scalars)})
		p.f.Scalars = append(p.f.Scalars, &expr.Var{Name: t.Text, DType: d})
		return
	}
	p.Expect("[")
	b := Buf{Name: t.Text, DType: d, Role: role, Len: sym.Inf()}
	if !p.Accept("?") {
		b.Len = p.Index(p.scope.Symbol)
	}
	p.Expect("]")
	declare(p, p.elements, t, &element{buf: len(p.f.Bufs)})
	if role == InOut {
		b.Init = Filled
		if next := p.Peek(); next.Kind == text.Name && next.Text == "from" {
			p.Next()
			inits[len(p.f.Bufs)] = p.Want(text.Name, "the buffer it holds at entry")
		}
	}
	p.f.Bufs = append(p.f.Bufs, b)
}

func (p *parser) dtype() ir.DType {
	t := p.Want(text.Name, "a type")
	d, ok := ir.ParseDType(t.Text)
	if !ok || d.Short() != t.Text {
		p.Fail(t.Pos, "%s is no type", t.Text)
	}
	return d
}

func (p *parser) block(inLoop bool) []Stmt {
	defer p.Enter()()
	open := len(p.undo)
	p.Expect("{")
	var body []Stmt
	for !p.Accept("}") {
		body = append(body, p.stmt(inLoop))
	}
	p.close(open)
	return body
}

// close takes back what was declared since there were open declarations.
func (p *parser) close(open int) {
	for len(p.undo) > open {
		p.undo[len(p.undo)-1]()
		p.undo = p.undo[:len(p.undo)-1]
	}
}

func (p *parser) stmt(inLoop bool) Stmt {
	t := p.Want(text.Name, "a statement")
	if next := p.Peek(); next.Is("[") || next.Is("=") {
		return p.assign(t)
	}
	switch t.Text {
	case "for":
		return p.loop()
	case "while":
		return &While{Cond: p.value(ir.Bool), Body: p.block(true)}
	case "if":
		s := &If{Cond: p.value(ir.Bool), Then: p.block(inLoop)}
		if p.AcceptName("else") {
			s.Else = p.block(inLoop)
		}
		return s
	case "let", "var":
		return p.let(t.Text == "var")
	case "index":
		return p.letIndex()
	case "break":
		if !inLoop {
			p.Fail(t.Pos, "break outside of a loop")
		}
		return &Break{}
	}
	p.Fail(t.Pos, "want a statement, have %v", t)
	return nil
}

func (p *parser) value(d ir.DType) *expr.Expr { return expr.Parse(p.Lexer, d, p.scope) }

func (p *parser) loop() Stmt {
	open := len(p.undo)
	t := p.Want(text.Name, "a loop variable")
	p.Expect("<")
	s := &For{Extent: p.Index(p.scope.Symbol)}
	if p.AcceptName("in") {
		s.Var = p.Symbol(t.Text, p.scope.Symbol)
	} else {
		s.Var = sym.NewVar(t.Text, s.Extent)
	}
	s.Strip, s.Unroll, s.Rolled, s.Divided = p.AcceptName("strip"), p.AcceptName("unroll"),
		p.AcceptName("rolled"), p.AcceptName("divided")
	declare(p, p.syms, t, s.Var)
	s.Body = p.block(true)
	p.close(open)
	return s
}

func (p *parser) let(mutable bool) Stmt {
	t := p.Want(text.Name, "a local variable")
	p.Expect(":")
	s := &Let{Var: &expr.Var{Name: t.Text, DType: p.dtype()}, Mutable: mutable}
	if p.Accept("[") {
		n := p.Want(text.Number, "a length")
		length, err := strconv.ParseInt(n.Text, 10, 32)
		if err != nil || length < 1 || length > math.MaxInt32 {
			p.Fail(n.Pos, "%s is no length of an array", n.Text)
		}
		p.Expect("]")
		s.Var.Len = int(length)
		declare(p, p.elements, t, &element{local: s.Var})
		return s
	}
	if p.Accept("=") {
		s.Value = p.value(s.Var.DType)
	}
	declare(p, p.values, t, &value{local: s.Var, mutable: mutable})
	return s
}

func (p *parser) letIndex() Stmt {
	t := p.Want(text.Name, "an index")
	p.Keyword("in")
	s := &LetIndex{Sym: p.Symbol(t.Text, p.scope.Symbol)}
	p.Expect("=")
	pos := p.Peek().Pos
	s.Value = p.value(ir.InvalidDType)
	if !s.Value.DType.IsInt() {
		p.Fail(pos, "an index cannot be %s", s.Value.DType)
	}
	declare(p, p.syms, t, s.Sym)
	return s
}

// assign parses a Store or Assign to t.
func (p *parser) assign(t text.Token) Stmt {
	if !p.Accept("[") {
		v := p.values[t.Text]
		switch {
		case v == nil || v.local == nil:
			p.Fail(t.Pos, "%s is no local variable", t.Text)
		case !v.mutable:
			p.Fail(t.Pos, "%s is assigned but declared by let", t.Text)
		}
		p.Expect("=")
		return &Assign{Var: v.local, Value: p.value(v.local.DType)}
	}
	e := p.elements[t.Text]
	if e == nil {
		p.Fail(t.Pos, "%s is no buffer or array", t.Text)
	}
	at := p.Index(p.scope.Symbol)
	p.Expect("]")
	p.Expect("=")
	if e.local != nil {
		return &Assign{Var: e.local, At: at, Value: p.value(e.local.DType)}
	}
	b := p.f.Bufs[e.buf]
	if b.Role == In {
		p.Fail(t.Pos, "store to input %s", b.Name)
	}
	return &Store{Buf: e.buf, At: at, Value: p.value(b.DType)}
}
