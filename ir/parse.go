package ir

import (
	"fmt"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

// Resolver finds the data of a constant by its digest (see Digest) and size in
// bytes.
type Resolver func(digest string, size int64) (Blob, error)

// Parse reads the text form that Print writes. Data that is given by digest
// becomes Unresolved. name stands in error messages before the line; the
// first fault ends the parse. The result is well formed as text only: Verify
// checks the rest.
func Parse(name, src string) (*Program, error) {
	return ParseWith(name, src, func(digest string, size int64) (Blob, error) {
		return Unresolved{digest, size}, nil
	})
}

// ParseWith is Parse that gets data given by digest from resolve, once for
// each digest.
func ParseWith(name, src string, resolve Resolver) (p *Program, err error) {
	defer text.Recover(&err)
	ps := &parser{Lexer: &text.Lexer{File: name, Src: src}, resolve: resolve,
		blobs: map[string]Blob{}}
	return ps.program(), nil
}

type parser struct {
	*text.Lexer
	resolve Resolver
	blobs   map[string]Blob
	symbols map[string]*sym.Symbol // of the method
	scopes  []map[string]*Value    // innermost last
}

func (ps *parser) program() *Program {
	ps.Keyword("program")
	p := &Program{Source: ps.Want(text.String, "the quoted file name").Text}
	if ps.Peek().Text == "dialect" {
		ps.Next()
		p.Dialect = Dialect(ps.Want(text.Name, "a dialect").Text)
	}
	for ps.Peek().Kind != text.EOF {
		p.Methods = append(p.Methods, ps.method())
	}
	return p
}

func (ps *parser) method() *Method {
	ps.Keyword("method")
	m := &Method{Name: ps.NameOrString("a method name"), Graph: &Graph{}}
	ps.symbols = map[string]*sym.Symbol{}
	ps.scopes = []map[string]*Value{{}}
	ps.Expect("{")
	for ps.header(m) {
	}
	ps.body(m.Graph, &m.Outputs)
	ps.Expect("}")
	return m
}

// header parses a line above the nodes, if there is one.
func (ps *parser) header(m *Method) bool {
	t := ps.Peek()
	if t.Kind != text.Name {
		return false
	}
	switch t.Text {
	case "symbol":
		ps.Next()
		ps.symbol(m)
	case "takes":
		ps.Next()
		m.In = ps.tree()
	case "returns":
		ps.Next()
		m.Out = ps.tree()
	case "const":
		ps.Next()
		m.Graph.Constants = append(m.Graph.Constants, ps.constant())
	default:
		kind := indexOf(inputWords[:], t.Text)
		if kind < 0 {
			return false
		}
		ps.Next()
		v, spec := ps.input(InputKind(kind))
		m.Graph.Inputs = append(m.Graph.Inputs, v)
		m.Inputs = append(m.Inputs, spec)
	}
	return true
}

// symbol parses "name in [lo, hi]", where inf and -inf are no bound.
func (ps *parser) symbol(m *Method) {
	t := ps.Want(text.Name, "a symbol")
	if ps.symbols[t.Text] != nil {
		ps.Fail(t.Pos, "symbol %s is declared twice", t.Text)
	}
	ps.Keyword("in")
	s := ps.Symbol(t.Text, ps.lookup)
	ps.symbols[t.Text] = s
	m.Symbols = append(m.Symbols, s)
}

func (ps *parser) lookup(name string) *sym.Symbol { return ps.symbols[name] }

// expr parses an expression over the symbols declared above.
func (ps *parser) expr(t text.Token) sym.Expr {
	e, err := sym.Parse(t.Text, ps.lookup)
	if err != nil {
		ps.Fail(t.Pos, "%v", err)
	}
	return e
}

func (ps *parser) tree() *Tree {
	defer ps.Enter()()
	if ps.Accept("*") {
		return &Tree{}
	}
	t := &Tree{Type: ps.NameOrString("a container type or *")}
	ps.List("(", ")", func() {
		if k := ps.Peek(); k.Kind == text.String && ps.After(k).Is(":") {
			ps.Next()
			ps.Expect(":")
			t.Keys = append(t.Keys, k.Text)
		}
		t.Children = append(t.Children, ps.tree())
		if len(t.Keys) != 0 && len(t.Keys) != len(t.Children) {
			ps.Fail(ps.Pos, "either all children of a container have a key or none")
		}
	})
	return t
}

func (ps *parser) input(kind InputKind) (*Value, InputSpec) {
	v := ps.def()
	spec := InputSpec{Kind: kind}
	if t := ps.Peek(); t.Kind == text.String {
		spec.Target = ps.Next().Text
	}
	spec.Persistent = ps.AcceptName("persistent")
	if ps.Accept("=") {
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
	ps.Expect("=")
	ps.data(v, "")
	return v
}

// data parses what follows the = of a constant.
func (ps *parser) data(v *Value, name string) {
	c := &Constant{Name: name, Type: v.Type}
	if ps.AcceptName("named") {
		c.Name = ps.Want(text.String, "the constant's name").Text
	}
	typed := ps.AcceptName("typed")
	if typed {
		c.Type = ps.typ()
	}
	v.Const = c
	if ps.AcceptName("data") {
		c.Data = ps.digest()
		return
	}
	if typed {
		ps.Keyword("values")
	}
	width := c.Type.DType.Size()
	data := Bytes{}
	ps.List("[", "]", func() {
		t := ps.Next()
		if t.Kind != text.Number && t.Kind != text.Name {
			ps.Fail(t.Pos, "want an element, have %v", t)
		}
		if width == 0 {
			ps.Fail(t.Pos, "a constant of type %v has no elements", c.Type)
		}
		elem, err := parseElement(c.Type.DType, t.Text)
		if err != nil {
			ps.Fail(t.Pos, "%v", err)
		}
		data = append(data, elem...)
	})
	c.Data = data
}

// digest parses "(digest, size)", nil for "()".
func (ps *parser) digest() Blob {
	ps.Expect("(")
	if ps.Accept(")") {
		return nil
	}
	d := ps.Next()
	if d.Kind != text.Name && d.Kind != text.Number {
		ps.Fail(d.Pos, "want the digest of the data, have %v", d)
	}
	ps.Expect(",")
	size := ps.Integer("the size of the data")
	if size < 0 {
		ps.Fail(d.Pos, "data has the size %d", size)
	}
	ps.Expect(")")
	key := fmt.Sprintf("%s %d", d.Text, size)
	b, ok := ps.blobs[key]
	if !ok {
		var err error
		if b, err = ps.resolve(d.Text, size); err != nil {
			ps.Fail(d.Pos, "data %s: %v", d.Text, err)
		}
		ps.blobs[key] = b
	}
	return b
}
