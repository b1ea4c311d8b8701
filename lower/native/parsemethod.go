package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/plan"
)

func (p *parser) method() {
	p.Keyword("method")
	p.m = &Method{Name: foreign.Of(p.NameOrString("a method name"))}
	p.symbols, p.values, p.undo = map[string]*sym.Symbol{}, map[string]*expr.Var{}, nil
	p.buffers, p.declared = map[string]*Buffer{}, nil
	for name, b := range p.state {
		p.buffers[name] = b
	}
	p.Expect("{")
	h := &header{outputs: map[int]text.Token{}}
	for p.headerLine(h) {
	}
	p.m.Body = p.block()
	for i, t := range h.outputs {
		v := p.values[t.Text]
		if v == nil {
			p.Fail(t.Pos, "there is no variable %s", t.Text)
		}
		p.m.Outputs[i].Var = v
	}
	p.listBuffers()
	if h.memories != nil {
		p.plan(h.memories)
	}
	p.prog.Methods = append(p.prog.Methods, p.m)
}

// header is what stands above the statements of a method.
type header struct {
	outputs  map[int]text.Token // variables that outputs read, declared below
	memories []plan.Memory
}

// headerLine parses a line above the statements, if there is another.
func (p *parser) headerLine(h *header) bool {
	t := p.Peek()
	if t.Kind != text.Name || p.After(t).Kind != text.Name && t.Text != "arena" &&
		p.After(t).Kind != text.String {
		return false
	}
	switch t.Text {
	case "symbol":
		p.Next()
		p.m.Symbols = append(p.m.Symbols, p.declareSymbol())
	case "input":
		p.Next()
		port, _ := p.port(Input)
		p.m.Inputs = append(p.m.Inputs, port)
	case "output":
		p.Next()
		port, reads := p.port(Output)
		if reads.Kind == text.Name {
			h.outputs[len(p.m.Outputs)] = reads
		}
		p.m.Outputs = append(p.m.Outputs, port)
	case "clamps":
		p.Next()
		p.m.Clamps = append(p.m.Clamps, p.Want(text.String, "an operator").Text)
	case "arena":
		if p.After(t).Kind != text.Number {
			return false
		}
		p.Next()
		mem := plan.Memory{Size: p.Integer("a size")}
		p.Keyword("align")
		mem.Align = p.Integer("an alignment")
		h.memories = append(h.memories, mem)
	case "buffer", "weight":
		p.Next()
		p.bufferLine(t.Text == "weight")
	case "view":
		p.Next()
		p.view()
	default:
		return false
	}
	return true
}

// port parses an input or output. reads is the variable an output shows.
func (p *parser) port(storage Storage) (port Port, reads text.Token) {
	t := p.Peek()
	name := p.NameOrString("a port")
	port.Name = foreign.Of(name)
	p.Expect(":")
	port.Type = ir.ParseType(p.Lexer, p.symbols)
	if port.Type.Kind == ir.TensorKind {
		port.Buf = &Buffer{Name: name, DType: port.Type.DType, Sizes: port.Type.Sizes,
			Storage: storage}
		setLength(port.Buf)
		declare(p, p.buffers, t, port.Buf)
	}
	if p.Peek().Kind == text.String {
		port.Path = foreign.Of(p.Next().Text)
	}
	port.Mutated = p.AcceptName("mutated")
	if p.AcceptName("packs") {
		port.Packs = &Packing{Of: foreign.Of(p.Want(text.String, "the name of an input").Text)}
		for _, n := range shapeInts(&port.Packs.Panels) {
			*n = p.count()
		}
	}
	if storage == Input && p.AcceptName("binds") {
		name := p.Want(text.Name, "a symbol or variable")
		if p.Accept(":") {
			port.Var = p.variable(name)
		} else if port.Sym = p.symbols[name.Text]; port.Sym == nil {
			p.Fail(name.Pos, "there is no symbol %s", name.Text)
		}
	}
	if storage == Output && p.AcceptName("reads") {
		reads = p.Want(text.Name, "a variable")
	}
	if p.Accept("=") {
		port.Value = ir.ParseArg(p.Lexer)
	}
	return port, reads
}

// variable declares variable t, whose dtype follows.
func (p *parser) variable(t text.Token) *expr.Var {
	v := &expr.Var{Name: t.Text, DType: p.dtype()}
	if p.values[t.Text] != nil {
		p.Fail(t.Pos, "variable %s is declared twice", t.Text)
	}
	p.values[t.Text] = v // seen by outputs, wherever it is declared
	return v
}

// bufferLine parses "name: f32[4] at 0" of the arena and "name: f32[4] = const"
// of a weight, whose constant is called like it if none is named.
func (p *parser) bufferLine(weight bool) {
	t := p.Want(text.Name, "a buffer")
	p.Expect(":")
	b := p.shape(t.Text)
	if !weight {
		p.Keyword("at")
		b.Offset = int64(p.count())
		if b.MaxLen < 0 {
			p.Fail(t.Pos, "the size of %s has no bound", t.Text)
		}
		p.declareBuffer(t, b)
		return
	}
	b.Storage = Weight
	if p.Accept("=") {
		b.Const = p.constNamed()
	} else if b.Const = p.consts[t.Text]; b.Const == nil {
		p.Fail(t.Pos, "there is no constant %s", t.Text)
	}
	b.Name = b.Const.Name
	if n, ok := b.Len.Const(); !ok || b.DType != b.Const.DType ||
		n*int64(b.DType.Size()) != int64(len(b.Const.Data)) {
		p.Fail(t.Pos, "%s and its constant differ in type", t.Text)
	}
	p.declareBuffer(t, b)
}

func (p *parser) declareBuffer(t text.Token, b *Buffer) {
	declare(p, p.buffers, t, b)
	p.declared = append(p.declared, b)
}

// view parses "name: f32[4] = root[at]".
func (p *parser) view() {
	t := p.Want(text.Name, "a buffer")
	p.Expect(":")
	b := p.shape(t.Text)
	p.Expect("=")
	root := p.buffer()
	if root.Root != nil {
		p.Fail(t.Pos, "%s is a view of a view", t.Text)
	}
	b.Root, b.Storage = root, root.Storage
	p.Expect("[")
	b.At = p.Index(p.symbol)
	p.Expect("]")
	p.declareBuffer(t, b)
}

// buffer consumes the name of a buffer.
func (p *parser) buffer() *Buffer {
	t := p.Want(text.Name, "a buffer")
	b := p.buffers[t.Text]
	if b == nil {
		p.Fail(t.Pos, "there is no buffer %s here", t.Text)
	}
	return b
}

// listBuffers lists the buffers of the method in order of first use, then
// those declared that no statement uses.
func (p *parser) listBuffers() {
	seen := map[*Buffer]bool{}
	var add func(*Buffer)
	add = func(b *Buffer) {
		if seen[b] {
			return
		}
		seen[b] = true
		if b.Root != nil {
			add(b.Root)
		}
		p.m.Buffers = append(p.m.Buffers, b)
	}
	for _, ports := range [][]Port{p.m.Inputs, p.m.Outputs} {
		for _, port := range ports {
			if port.Buf != nil {
				add(port.Buf)
			}
		}
	}
	for _, s := range p.m.Body {
		eachAccess(s, func(a access) { add(*a.buf) })
	}
	for _, b := range p.declared {
		add(b)
	}
}

// plan makes the problem of the method and the plan that its offsets are.
func (p *parser) plan(memories []plan.Memory) {
	l := newLayout(p.m)
	if slices.ContainsFunc(memories, func(m plan.Memory) bool { return m.Align >= largeAlign }) {
		l.alignLarge()
	}
	p.m.Problem, p.m.Bank = l.p, l.ids
	p.m.Plan = &plan.Plan{Memories: memories, Offsets: make([]int64, len(l.p.Buffers))}
	for b, id := range l.ids {
		if at, ok := b.At.Const(); ok && b.Root != nil {
			b.Offset = b.Root.Offset + at*int64(b.DType.Size())
		}
		p.m.Plan.Offsets[id] = b.Offset
	}
}
