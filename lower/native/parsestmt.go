package native

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
)

// block parses statements up to and including the closing brace; what they
// declare ends with it.
func (p *parser) block() []Stmt {
	defer p.Enter()()
	open := len(p.undo)
	var list []Stmt
	for !p.Accept("}") {
		if s := p.stmt(); s != nil {
			list = append(list, s)
		}
	}
	p.close(open)
	return list
}

// stmt parses a statement or, returning nil, the declaration of a view.
func (p *parser) stmt() Stmt {
	t := p.Peek()
	next := p.After(t)
	if t.Is("(") || next.Is("=") || next.Is(",") {
		return p.call()
	}
	p.Want(text.Name, "a statement")
	switch t.Text {
	case "view":
		p.view()
		return nil
	case "if":
		s := &Cond{Pred: p.pred()}
		p.Expect("{")
		s.From = p.origins()
		s.Then = p.block()
		p.Keyword("else")
		p.Expect("{")
		s.Else = p.block()
		return s
	case "do":
		s := &While{}
		p.Expect("{")
		s.From = p.origins()
		s.Head = p.block()
		p.Keyword("while")
		s.Pred = p.pred()
		p.Expect("{")
		s.Body = p.block()
		return s
	case "for":
		return p.loop()
	case "let":
		return p.let()
	case "assert", "require", "assert_index":
		s := &Assert{Given: t.Text == "require", Index: t.Text == "assert_index"}
		s.Cond, s.Args = p.value(ir.Bool)
		p.Expect(",")
		s.Message = foreign.Of(p.Want(text.String, "a quoted message").Text)
		p.using(s.Cond, &s.Args)
		s.From = p.origins()
		return s
	case "poison":
		return &Poison{Buf: p.buffer()}
	}
	p.Fail(t.Pos, "want a statement, have %v", t)
	return nil
}

// pred consumes the name of a Bool buffer.
func (p *parser) pred() *Buffer {
	pos := p.Peek().Pos
	b := p.buffer()
	if b.DType != ir.Bool {
		p.Fail(pos, "a condition of type %s", b.DType)
	}
	return b
}

func (p *parser) loop() Stmt {
	open := len(p.undo)
	t := p.Want(text.Name, "a loop variable")
	p.Expect("<")
	s := &For{Extent: p.Index(p.symbol)}
	if p.AcceptName("in") {
		s.Var = p.Symbol(t.Text, p.symbol)
	} else {
		s.Var = sym.NewVar(t.Text, s.Extent)
	}
	s.Reverse = p.AcceptName("reverse")
	declare(p, p.symbols, t, s.Var)
	p.Expect("{")
	s.From = p.origins()
	s.Body = p.block()
	p.close(open)
	return s
}

// let parses "let v: f32 = x", "let u0 = x" of a symbol of the method, and
// "let u0 in [0, 9] = x" of one that is declared here.
func (p *parser) let() Stmt {
	s := &Let{}
	t := p.Want(text.Name, "a variable or symbol")
	d := ir.InvalidDType
	switch next := p.Peek(); {
	case next.Is(":"):
		p.Next()
		s.Var = p.variable(t)
		d = s.Var.DType
	case next.Text == "in":
		p.Next()
		s.Sym = p.Symbol(t.Text, p.symbol)
	default:
		if s.Sym = p.symbols[t.Text]; s.Sym == nil {
			p.Fail(t.Pos, "there is no symbol %s", t.Text)
		}
	}
	p.Expect("=")
	s.Value, s.Args = p.value(d)
	if s.Sym != nil && !s.Value.DType.IsInt() {
		p.Fail(t.Pos, "symbol %s gets a value of type %s", t.Text, s.Value.DType)
	}
	if s.Sym != nil && p.symbols[t.Text] == nil {
		declare(p, p.symbols, t, s.Sym)
	}
	p.using(s.Value, &s.Args)
	s.From = p.origins()
	return s
}

// value parses an expression of dtype d and returns the buffers its loads
// index.
func (p *parser) value(d ir.DType) (*expr.Expr, []*Buffer) {
	var args []*Buffer
	e := expr.Parse(p.Lexer, d, expr.Scope{
		Value: func(name string) *expr.Expr {
			if v := p.values[name]; v != nil {
				return expr.Get(v)
			}
			return nil
		},
		Element: func(name string) *expr.Expr {
			b := p.buffers[name]
			if b == nil {
				return nil
			}
			return expr.At(position(&args, b), b.DType)
		},
		Symbol: p.symbol,
		Func:   scalarFunc,
	})
	return e, args
}

// position returns the index of b in list, which it is appended to if missing.
func position(list *[]*Buffer, b *Buffer) int {
	for i, x := range *list {
		if x == b {
			return i
		}
	}
	*list = append(*list, b)
	return len(*list) - 1
}

// using parses the list of buffers of e, if one follows, and makes it *args.
func (p *parser) using(e *expr.Expr, args *[]*Buffer) {
	if !p.AcceptName("using") {
		return
	}
	pos := p.Pos
	var list []*Buffer
	p.List("(", ")", func() { list = append(list, p.buffer()) })
	n := len(list)
	numbers := make([]int, len(*args))
	for i, b := range *args {
		if numbers[i] = position(&list, b); numbers[i] >= n {
			p.Fail(pos, "%s is missing in the list", b.Name)
		}
	}
	*args = list
	expr.Walk(e, func(e *expr.Expr) {
		if e.Op == expr.OpLoad {
			e.Buf = numbers[e.Buf]
		}
	})
}

// originWord is a word of what originsText writes.
var originWord = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|[^\s"])+`)

// originPair is a node and its operator.
var originPair = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|[\w.]+)=("(?:[^"\\]|\\.)*"|[\w.]+)$`)

// origins consumes the comment behind a statement, if it tells origins.
func (p *parser) origins() []Origin {
	rest := p.Comment()
	var list []Origin
	var loc Location
	var place []string // words of a location
	for rest != "" {
		w := originWord.FindString(rest)
		if w == "" {
			return nil // some other comment
		}
		rest = strings.TrimLeft(rest[len(w):], " ")
		m := originPair.FindStringSubmatch(w)
		if n := len(place); m == nil || n > 0 && place[n-1] == "in" {
			place = append(place, w)
			continue
		}
		if place != nil {
			loc, place = LocationOf(ir.ParseLocation(strings.Join(place, " "))), nil
		}
		list = append(list, Origin{Node: foreign.Of(unquoted(m[1])), Op: foreign.Of(unquoted(m[2])),
			Loc: loc})
	}
	return list
}

func unquoted(s string) string {
	if t, err := strconv.Unquote(s); err == nil {
		return t
	}
	return s
}
