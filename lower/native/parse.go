package native

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/tuned"
)

// Sources are what the text form names and does not spell out.
type Sources struct {
	// Tuned are the hand-made kernels that may be named.
	Tuned []*tuned.Kernel
	// Data returns constant data by its digest (see ir.Digest) and size in
	// bytes. nil: there is none.
	Data func(digest string, size int64) ([]byte, error)
}

// Parse reads the text form that String returns. name stands in messages before
// the line; the first fault ends the parse. Plan and Problem are made from the
// buffers' offsets and are not checked.
func Parse(name, src string, from Sources) (_ *Program, err error) {
	defer text.Recover(&err)
	p := &parser{Lexer: &text.Lexer{File: name, Src: src}, from: from, consts: map[string]*Const{},
		state: map[string]*Buffer{}, kernels: map[string]*Kernel{}}
	return p.program(), nil
}

type parser struct {
	*text.Lexer
	from    Sources
	prog    *Program
	consts  map[string]*Const
	state   map[string]*Buffer
	kernels map[string]*Kernel

	// of the method
	m        *Method
	symbols  map[string]*sym.Symbol
	buffers  map[string]*Buffer
	values   map[string]*expr.Var
	declared []*Buffer // in the order of the text, used or not
	undo     []func()  // takes back the declarations of open blocks, in order
}

// declare adds a name until its block ends.
func declare[T any](p *parser, names map[string]T, t text.Token, x T) {
	if _, ok := names[t.Text]; ok {
		p.Fail(t.Pos, "%s is declared twice", t.Text)
	}
	names[t.Text] = x
	p.undo = append(p.undo, func() { delete(names, t.Text) })
}

// close takes back what was declared since there were open declarations.
func (p *parser) close(open int) {
	for len(p.undo) > open {
		p.undo[len(p.undo)-1]()
		p.undo = p.undo[:len(p.undo)-1]
	}
}

func (p *parser) symbol(name string) *sym.Symbol { return p.symbols[name] }

// firstKernel finds where the kernels begin, the comment of the first included.
var firstKernel = regexp.MustCompile(`(?m)^(?:#.*\n)*(?:copy )?kernel `)

// program parses kernels before the methods that call them.
func (p *parser) program() *Program {
	p.Keyword("program")
	p.prog = &Program{Source: foreign.Of(p.Want(text.String, "the quoted file name").Text)}
	for p.AcceptName("const") {
		p.constant()
	}
	for p.AcceptName("state") {
		p.stateBuffer()
	}
	methods := p.Pos
	all := p.Src
	end := len(all)
	if at := firstKernel.FindStringIndex(all[methods:]); at != nil {
		end = methods + at[0]
		p.Pos = end
		for p.kernel() {
		}
	}
	p.Pos, p.Src = methods, all[:end]
	for p.Peek().Kind != text.EOF {
		p.method()
	}
	return p.prog
}

func (p *parser) constant() {
	t := p.Want(text.Name, "a constant")
	c := &Const{Name: t.Text, From: foreign.Of(t.Text)}
	if p.Peek().Kind == text.String {
		c.From = foreign.Of(p.Next().Text)
	}
	p.Expect(":")
	c.DType = p.dtype()
	p.Expect("[")
	n := p.Integer("the number of elements")
	p.Expect("]")
	p.Expect("=")
	c.Data = p.data(c.DType)
	if int64(len(c.Data)) != n*int64(c.DType.Size()) {
		p.Fail(t.Pos, "%s has %d bytes, not %d elements", t.Text, len(c.Data), n)
	}
	if p.consts[t.Text] != nil {
		p.Fail(t.Pos, "constant %s is declared twice", t.Text)
	}
	p.consts[t.Text] = c
	p.prog.Consts = append(p.prog.Consts, c)
}

func (p *parser) data(d ir.DType) []byte {
	return ir.ParseData(p.Lexer, d, func(digest string, size int64) (ir.Blob, error) {
		if p.from.Data == nil {
			return nil, fmt.Errorf("it is not at hand")
		}
		data, err := p.from.Data(digest, size)
		return ir.Bytes(data), err
	})
}

func (p *parser) dtype() ir.DType {
	t := p.Want(text.Name, "a type")
	d, ok := ir.ParseDType(t.Text)
	if !ok || d.Short() != t.Text {
		p.Fail(t.Pos, "%s is no type", t.Text)
	}
	return d
}

// constNamed consumes the name of a constant.
func (p *parser) constNamed() *Const {
	t := p.Want(text.Name, "a constant")
	c := p.consts[t.Text]
	if c == nil {
		p.Fail(t.Pos, "there is no constant %s", t.Text)
	}
	return c
}

// shape consumes "f32[4, s0]" and returns a buffer of it.
func (p *parser) shape(name string) *Buffer {
	b := &Buffer{Name: name, DType: p.dtype()}
	p.List("[", "]", func() { b.Sizes = append(b.Sizes, p.Index(p.symbol)) })
	setLength(b)
	return b
}

func setLength(b *Buffer) {
	b.Len = sym.Mul(b.Sizes...)
	b.MaxLen = bound(b.Len)
}

func (p *parser) stateBuffer() {
	t := p.Want(text.Name, "the name of state")
	p.Expect(":")
	b := p.shape(t.Text)
	b.Storage = State
	p.Expect("=")
	b.Const = p.constNamed()
	if n, ok := b.Len.Const(); !ok || b.DType != b.Const.DType ||
		n*int64(b.DType.Size()) != int64(len(b.Const.Data)) {
		p.Fail(t.Pos, "%s and its initial value differ in type", t.Text)
	}
	if p.state[statePrefix+t.Text] != nil {
		p.Fail(t.Pos, "state %s is declared twice", t.Text)
	}
	p.state[statePrefix+t.Text] = b
	p.prog.State = append(p.prog.State, b)
}

// scalarFunc returns the scalar function of a name such as exp_f32.
func scalarFunc(name string) *expr.Func {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return nil
	}
	d, ok := ir.ParseDType(name[i+1:])
	if !ok {
		return nil
	}
	return math.Func(name[:i], d)
}
