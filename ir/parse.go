package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/sym"
)

// maxDepth bounds how deep lists and regions nest, so that no text can
// exhaust the stack.
const maxDepth = 500

// Resolver finds the data of a constant by its digest (see Digest) and size in
// bytes.
type Resolver func(digest string, size int64) (Blob, error)

// Parse reads the text form that Print writes. Data that is given by digest
// becomes Unresolved. name stands in error messages before the line; the
// first fault ends the parse. The result is well formed as text only: Verify
// checks the rest.
func Parse(name, text string) (*Program, error) {
	return ParseWith(name, text, func(digest string, size int64) (Blob, error) {
		return Unresolved{digest, size}, nil
	})
}

// ParseWith is Parse that gets data given by digest from resolve, once for
// each digest.
func ParseWith(name, text string, resolve Resolver) (p *Program, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *textError:
			p, err = nil, e
		default:
			panic(e)
		}
	}()
	ps := &parser{lexer: lexer{file: name, src: text}, resolve: resolve, blobs: map[string]Blob{}}
	return ps.program(), nil
}

type parser struct {
	lexer
	resolve Resolver
	blobs   map[string]Blob
	symbols map[string]*sym.Symbol // of the method
	scopes  []map[string]*Value    // innermost last
	depth   int
}

func (ps *parser) enter() func() {
	if ps.depth++; ps.depth > maxDepth {
		ps.fail(ps.pos, "nested deeper than %d", maxDepth)
	}
	return func() { ps.depth-- }
}

func (ps *parser) keyword(s string) {
	if t := ps.next(); t.kind != nameToken || t.text != s {
		ps.fail(t.pos, "want “%s”, have %v", s, t)
	}
}

func (ps *parser) program() *Program {
	ps.keyword("program")
	p := &Program{Source: ps.want(stringToken, "the quoted file name").text}
	for ps.peek().kind != eofToken {
		p.Methods = append(p.Methods, ps.method())
	}
	return p
}

func (ps *parser) method() *Method {
	ps.keyword("method")
	m := &Method{Name: ps.nameOrString("a method name"), Graph: &Graph{}}
	ps.symbols = map[string]*sym.Symbol{}
	ps.scopes = []map[string]*Value{{}}
	ps.expect("{")
	for ps.header(m) {
	}
	ps.body(m.Graph, &m.Outputs)
	ps.expect("}")
	return m
}

// header parses a line above the nodes, if there is one.
func (ps *parser) header(m *Method) bool {
	t := ps.peek()
	if t.kind != nameToken {
		return false
	}
	switch t.text {
	case "symbol":
		ps.next()
		ps.symbol(m)
	case "takes":
		ps.next()
		m.In = ps.tree()
	case "returns":
		ps.next()
		m.Out = ps.tree()
	case "const":
		ps.next()
		m.Graph.Constants = append(m.Graph.Constants, ps.constant())
	default:
		kind := indexOf(inputWords[:], t.text)
		if kind < 0 {
			return false
		}
		ps.next()
		v, spec := ps.input(InputKind(kind))
		m.Graph.Inputs = append(m.Graph.Inputs, v)
		m.Inputs = append(m.Inputs, spec)
	}
	return true
}

// symbol parses "name in [lo, hi]", where inf and -inf are no bound.
func (ps *parser) symbol(m *Method) {
	t := ps.want(nameToken, "a symbol")
	if ps.symbols[t.text] != nil {
		ps.fail(t.pos, "symbol %s is declared twice", t.text)
	}
	ps.keyword("in")
	bounds := ps.rawList("[", "]")
	if len(bounds) != 2 {
		ps.fail(t.pos, "want symbol %s in [low, high]", t.text)
	}
	s := &sym.Symbol{Name: t.text, Lo: sym.Int(math.MinInt64), Hi: sym.Inf()}
	if bounds[0].text != "-inf" {
		s.Lo = ps.expr(bounds[0])
	}
	if bounds[1].text != "inf" {
		s.Hi = ps.expr(bounds[1])
	}
	ps.symbols[t.text] = s
	m.Symbols = append(m.Symbols, s)
}

// expr parses an expression over the symbols declared above.
func (ps *parser) expr(t token) sym.Expr {
	e, err := sym.Parse(t.text, func(name string) *sym.Symbol { return ps.symbols[name] })
	if err != nil {
		ps.fail(t.pos, "%v", err)
	}
	return e
}

func (ps *parser) tree() *Tree {
	defer ps.enter()()
	if ps.accept("*") {
		return &Tree{}
	}
	t := &Tree{Type: ps.nameOrString("a container type or *")}
	ps.list("(", ")", func() {
		if k := ps.peek(); k.kind == stringToken && ps.scan(skip(ps.src, k.end)).is(":") {
			ps.next()
			ps.expect(":")
			t.Keys = append(t.Keys, k.text)
		}
		t.Children = append(t.Children, ps.tree())
		if len(t.Keys) != 0 && len(t.Keys) != len(t.Children) {
			ps.fail(ps.pos, "either all children of a container have a key or none")
		}
	})
	return t
}

// skip returns the offset of the first non-blank at or behind pos.
func skip(src string, pos int) int {
	for pos < len(src) && strings.IndexByte(" \t\r\n", src[pos]) >= 0 {
		pos++
	}
	return pos
}

func (ps *parser) input(kind InputKind) (*Value, InputSpec) {
	v := ps.def()
	spec := InputSpec{Kind: kind}
	if t := ps.peek(); t.kind == stringToken {
		spec.Target = ps.next().text
	}
	spec.Persistent = ps.acceptName("persistent")
	if ps.accept("=") {
		if kind == ConstantInput {
			spec.Fixed = ps.arg()
		} else {
			ps.data(v, spec.Target)
		}
	}
	return v, spec
}

func (ps *parser) constant() *Value {
	v := ps.def()
	ps.expect("=")
	ps.data(v, "")
	return v
}

// data parses what follows the = of a constant.
func (ps *parser) data(v *Value, name string) {
	c := &Constant{Name: name, Type: v.Type}
	if ps.acceptName("named") {
		c.Name = ps.want(stringToken, "the constant's name").text
	}
	if ps.acceptName("typed") {
		c.Type = ps.typ()
	}
	v.Const = c
	if ps.acceptName("data") {
		c.Data = ps.digest()
		return
	}
	width := c.Type.DType.Size()
	data := Bytes{}
	ps.list("[", "]", func() {
		t := ps.next()
		if t.kind != numberToken && t.kind != nameToken {
			ps.fail(t.pos, "want an element, have %v", t)
		}
		if width == 0 {
			ps.fail(t.pos, "a constant of type %v has no elements", c.Type)
		}
		elem, err := parseElement(c.Type.DType, t.text)
		if err != nil {
			ps.fail(t.pos, "%v", err)
		}
		data = append(data, elem...)
	})
	c.Data = data
}

// digest parses "(digest, size)", nil for "()".
func (ps *parser) digest() Blob {
	ps.expect("(")
	if ps.accept(")") {
		return nil
	}
	d := ps.next()
	if d.kind != nameToken && d.kind != numberToken {
		ps.fail(d.pos, "want the digest of the data, have %v", d)
	}
	ps.expect(",")
	size := ps.integer("the size of the data")
	if size < 0 {
		ps.fail(d.pos, "data has the size %d", size)
	}
	ps.expect(")")
	key := fmt.Sprintf("%s %d", d.text, size)
	b, ok := ps.blobs[key]
	if !ok {
		var err error
		if b, err = ps.resolve(d.text, size); err != nil {
			ps.fail(d.pos, "data %s: %v", d.text, err)
		}
		ps.blobs[key] = b
	}
	return b
}

func (ps *parser) integer(what string) int64 {
	t := ps.want(numberToken, what)
	n, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil {
		ps.fail(t.pos, "%s is no 64-bit integer", t.text)
	}
	return n
}
