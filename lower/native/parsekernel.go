package native

import (
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/tuned"
)

// kernel parses a kernel, if there is another, with the comment above it.
func (p *parser) kernel() bool {
	k := &Kernel{}
	for p.Pos < len(p.Src) && strings.IndexByte(" \t\r\n#", p.Src[p.Pos]) >= 0 {
		if c := p.Comment(); c != "" {
			k.Doc = foreign.Of(c)
		} else {
			p.Pos++
		}
	}
	if p.Peek().Kind == text.EOF {
		return false
	}
	k.Copy = p.AcceptName("copy")
	p.Keyword("kernel")
	t := p.Peek()
	if strings.HasPrefix(p.afterParens(), "=") {
		p.tunedKernel(k)
	} else {
		k.Loop = loop.ParseFunc(p.Lexer, scalarFunc)
		k.Name, k.Params = k.Loop.Name, k.Loop.Syms
	}
	if k.Copy && !isCopyForm(k.Loop) {
		p.Fail(t.Pos, "%s is no copy", k.Name)
	}
	if p.kernels[k.Name] != nil {
		p.Fail(t.Pos, "kernel %s is declared twice", k.Name)
	}
	p.kernels[k.Name] = k
	p.prog.Kernels = append(p.prog.Kernels, k)
	return true
}

// isCopyForm reports whether f has the operands of a copy.
func isCopyForm(f *loop.Func) bool {
	return f != nil && len(f.Bufs) == 2 && f.Bufs[0].Role == loop.Out &&
		f.Bufs[1].Role == loop.In &&
		f.Bufs[0].DType == f.Bufs[1].DType && len(f.Scalars) == 0
}

// afterParens returns what follows the parameters in their line.
func (p *parser) afterParens() string {
	line, _, _ := strings.Cut(p.Src[p.Pos:], "\n")
	_, rest, _ := strings.Cut(line, ")")
	return strings.TrimSpace(rest)
}

func (p *parser) tunedKernel(k *Kernel) {
	p.symbols = map[string]*sym.Symbol{}
	k.Name = p.NameOrString("the name of the kernel")
	p.List("(", ")", func() { k.Params = append(k.Params, p.declareSymbol()) })
	p.Expect("=")
	in := &tuned.Instance{}
	t := p.Want(text.Name, "a tuned kernel")
	for _, x := range p.from.Tuned {
		if x.Name == t.Text {
			in.Kernel = x
		}
	}
	if in.Kernel == nil {
		p.Fail(t.Pos, "there is no tuned kernel %s", t.Text)
	}
	k.Tuned = in
	p.Expect("{")
	for !p.Accept("}") {
		p.tunedLine(in)
	}
	if len(in.Operands) != len(in.Kernel.Operands) {
		p.Fail(t.Pos, "%s reads %d operands, not %d", t.Text, len(in.Kernel.Operands),
			len(in.Operands))
	}
}

// declareSymbol parses "name in [lo, hi]".
func (p *parser) declareSymbol() *sym.Symbol {
	t := p.Want(text.Name, "a symbol")
	p.Keyword("in")
	s := p.Symbol(t.Text, p.symbol)
	declare(p, p.symbols, t, s)
	return s
}

func (p *parser) tunedLine(in *tuned.Instance) {
	t := p.Want(text.Name, "a property of a tuned kernel")
	pair := func() (a, b sym.Expr) {
		a = p.Index(p.symbol)
		p.Expect(",")
		return a, p.Index(p.symbol)
	}
	switch t.Text {
	case "symbol":
		p.declareSymbol()
	case "params":
		p.commas(func() {
			name := p.Want(text.Name, "a parameter").Text
			p.Expect("=")
			in.Params = append(in.Params, tuned.Param{Name: name, Value: p.Index(p.symbol)})
		})
	case "operands":
		in.Operands = p.ints()
	case "packed":
		in.Packed = append(in.Packed, p.packed())
	case "channels":
		in.Channels.Inner, in.Channels.Count = pair()
	case "scratch":
		in.Scratch = p.Index(p.symbol)
	case "tile":
		in.Tile.Rows = p.count()
		p.Expect(",")
		in.Tile.Cols = p.count()
		in.Tile.Vector = p.AcceptName("vector")
	case "macs":
		in.MACs = p.Index(p.symbol)
	case "cost":
		n := p.Next()
		cost, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			p.Fail(n.Pos, "want a number, have %v", n)
		}
		in.Cost = cost
	case "epilogue":
		in.Epilogue = p.epilogue()
	default:
		p.Fail(t.Pos, "want a property of a tuned kernel, have %v", t)
	}
}

// commas calls item for the items of a list of one or more.
func (p *parser) commas(item func()) {
	for item(); p.Accept(","); {
		item()
	}
}

// count consumes a number that is not negative.
func (p *parser) count() int {
	pos := p.Peek().Pos
	n := p.Integer("a number")
	if n < 0 || n > 1<<30 {
		p.Fail(pos, "%d is too much or too little", n)
	}
	return int(n)
}

func (p *parser) ints() (out []int) {
	p.commas(func() { out = append(out, p.count()) })
	return out
}

func (p *parser) packed() tuned.Packed {
	x := tuned.Packed{Name: p.Want(text.Name, "the name of a packed operand").Text}
	p.Expect("=")
	t := p.Peek()
	if p.consts["later"] == nil && p.AcceptName("later") {
		x.DType = p.dtype()
	} else if d, ok := ir.ParseDType(t.Text); ok && p.consts[t.Text] == nil {
		p.Next()
		x.DType, x.Data = d, p.data(d)
	} else {
		c := p.constNamed()
		x.DType, x.Data = c.DType, c.Data
	}
	if p.AcceptName("from") {
		x.From = p.ints()
	}
	return x
}

func (p *parser) epilogue() *tuned.Epilogue {
	open := len(p.undo)
	defer func() { p.close(open) }()
	ep := &tuned.Epilogue{DType: p.dtype()}
	extra := map[string]int{}
	var symbols []*sym.Symbol
	p.List("(", ")", func() {
		t := p.Want(text.Name, "a parameter")
		if p.Peek().Text == "in" {
			p.Next()
			symbols = append(symbols, p.Symbol(t.Text, p.symbol))
			return
		}
		p.Expect(":")
		d := p.dtype()
		if ep.Acc == nil {
			ep.Acc = &expr.Var{Name: t.Text, DType: d}
			return
		}
		extra[t.Text] = len(ep.Extra)
		ep.Extra = append(ep.Extra, d)
	})
	pos := p.Pos
	if ep.Acc == nil || len(symbols) != 2 || symbols[0].Name == symbols[1].Name {
		p.Fail(pos, "want an epilogue of the result, its position and its channel")
	}
	ep.O, ep.C = symbols[0], symbols[1]
	p.Expect("=")
	ep.Body = expr.Parse(p.Lexer, ep.DType, expr.Scope{
		Value: func(name string) *expr.Expr {
			if name != ep.Acc.Name {
				return nil
			}
			return expr.Get(ep.Acc)
		},
		Element: func(name string) *expr.Expr {
			k, ok := extra[name]
			if !ok {
				return nil
			}
			return expr.At(k, ep.Extra[k])
		},
		Symbol: func(name string) *sym.Symbol {
			for _, s := range symbols {
				if s.Name == name {
					return s
				}
			}
			return p.symbols[name]
		},
		Func: scalarFunc,
	})
	return ep
}
