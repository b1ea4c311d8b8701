package aten

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// Parse parses a line such as
//
//	aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
func Parse(line string) (s *Schema, err error) {
	p := &schemaParser{text: line}
	defer func() {
		if p.err != nil {
			s, err = nil, fmt.Errorf("schema %q: %w", line, p.err)
		}
	}()
	return p.schema(), nil
}

// schemaParser is a recursive-descent parser that keeps its first error and
// then sees the end of the text.
type schemaParser struct {
	text string
	pos  int
	err  error
}

func (p *schemaParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("column %d: %s", p.pos+1, fmt.Sprintf(format, args...))
	}
	p.pos = len(p.text)
}

func (p *schemaParser) space() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

// accept skips tok if it comes next.
func (p *schemaParser) accept(tok string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.pos:], tok) {
		return false
	}
	p.pos += len(tok)
	return true
}

func (p *schemaParser) expect(tok string) {
	if !p.accept(tok) {
		p.fail("want %q", tok)
	}
}

// word reads letters, digits, underscores and the characters in extra.
func (p *schemaParser) word(extra string) string {
	p.space()
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			strings.IndexByte(extra, c) >= 0 {
			p.pos++
			continue
		}
		break
	}
	if p.pos == start {
		p.fail("want a name")
	}
	return p.text[start:min(p.pos, len(p.text))]
}

// python are the namespaces of Python functions, which have no overloads.
var python = map[string]bool{"_operator": true, "math": true, "torch": true}

func (p *schemaParser) schema() *Schema {
	s := &Schema{}
	ns := p.word(".")
	p.expect("::")
	name := p.word(".")
	if !strings.Contains(name, ".") && !python[ns] {
		name += ".default"
	}
	s.Name = ns + "." + name
	p.expect("(")
	kw := false
	for p.err == nil && !p.accept(")") {
		switch {
		case p.accept("..."):
			s.VarArgs = true
		case p.accept("*,"):
			kw = true
			continue
		default:
			a := Param{Type: p.typ(), Name: p.word(""), KwOnly: kw}
			if p.accept("=") {
				a.HasDefault, a.Default = true, p.value(a.Type)
			}
			s.Args = append(s.Args, a)
		}
		if !p.accept(",") && !strings.HasPrefix(p.text[p.pos:], ")") {
			p.fail("want , or )")
		}
	}
	p.expect("->")
	if p.accept("(") {
		for p.err == nil && !p.accept(")") {
			r := Param{Type: p.typ()}
			p.space()
			if p.pos < len(p.text) && p.text[p.pos] != ',' && p.text[p.pos] != ')' {
				r.Name = p.word("")
			}
			s.Returns = append(s.Returns, r)
			p.accept(",")
		}
	} else {
		r := Param{Type: p.typ()}
		if p.space(); p.pos < len(p.text) {
			r.Name = p.word("")
		}
		s.Returns = []Param{r}
	}
	p.space()
	if p.err == nil && p.pos != len(p.text) {
		p.fail("unexpected %q", p.text[p.pos:])
	}
	return s
}

// generic types are written NAME(TYPE, …); after any other name a parenthesis
// opens an alias annotation.
var generic = map[string]bool{"Dict": true, "Future": true, "RRef": true, "Await": true,
	"Optional": true, "Union": true}

func (p *schemaParser) typ() *Type {
	t := &Type{}
	if p.accept("(") {
		t.Name, t.Elems = "()", p.types()
	} else {
		t.Name = p.word(".")
		if generic[t.Name] {
			p.expect("(")
			t.Elems = p.types()
		}
	}
	for p.err == nil {
		switch {
		case p.accept("("):
			t.Alias = p.alias()
		case p.accept("?"):
			t.Optional = true
		case p.accept("["):
			t = &Type{Name: "[]", Elems: []*Type{t}}
			if !p.accept("]") {
				n, err := strconv.Atoi(p.word(""))
				if err != nil {
					p.fail("want a list size")
				}
				t.Size = n
				p.expect("]")
			}
		default:
			return t
		}
	}
	return t
}

// types reads TYPE, …) with the opening parenthesis gone.
func (p *schemaParser) types() []*Type {
	var ts []*Type
	for p.err == nil && !p.accept(")") {
		ts = append(ts, p.typ())
		p.accept(",")
	}
	return ts
}

// alias reads SET!? (-> SET)?) with the opening parenthesis gone.
func (p *schemaParser) alias() Alias {
	a := Alias{Set: p.word("|*")}
	a.Write = p.accept("!")
	if p.accept("->") {
		a.After = p.word("|*")
	}
	p.expect(")")
	return a
}

// value reads a default of an argument of type t.
func (p *schemaParser) value(t *Type) ir.Arg {
	switch {
	case p.accept("["):
		list := ir.List{}
		for p.err == nil && !p.accept("]") {
			list = append(list, p.value(t.Base()))
			p.accept(",")
		}
		return list
	case p.accept(`"`):
		start := p.pos
		for p.pos < len(p.text) && p.text[p.pos] != '"' {
			if p.text[p.pos] == '\\' {
				p.pos++
			}
			p.pos++
		}
		if p.pos >= len(p.text) {
			p.fail("string without end")
			return ir.Str("")
		}
		p.pos++
		s, err := strconv.Unquote(strings.ReplaceAll(p.text[start-1:p.pos], `\'`, `'`))
		if err != nil {
			p.fail("bad string: %v", err)
		}
		return ir.Str(s)
	}
	switch w := p.word("-+."); w {
	case "None":
		return ir.None{}
	case "True", "False":
		return ir.BoolArg(w == "True")
	default:
		return p.number(t.Base(), w)
	}
}

func (p *schemaParser) number(t *Type, w string) ir.Arg {
	if n, err := strconv.ParseInt(w, 10, 64); err == nil {
		var a ir.Arg = ir.Int(n)
		if t.Name == "float" {
			return ir.Float(n)
		}
		if err := must.Try(func() { a = cmp.Or(Member(t, n), a) }); err != nil {
			p.fail("%v", err)
		}
		return a
	}
	f, err := strconv.ParseFloat(w, 64)
	if err != nil {
		p.fail("bad default %q", w)
	}
	return ir.Float(f)
}

func formatDefault(t *Type, a ir.Arg) string {
	switch a := a.(type) {
	case ir.None:
		return "None"
	case ir.BoolArg:
		if a {
			return "True"
		}
		return "False"
	case ir.Int:
		return strconv.FormatInt(int64(a), 10)
	case ir.Float:
		s := strconv.FormatFloat(float64(a), 'g', -1, 64)
		if !strings.ContainsAny(s, ".ein") {
			s += "."
		}
		return s
	case ir.Str:
		return strconv.Quote(string(a))
	case ir.MemoryFormat:
		if n := slices.Index(MemoryFormats, a); n >= 0 {
			return strconv.Itoa(n)
		}
	case ir.DTypeArg:
		if n := slices.Index(ScalarTypes, ir.DType(a)); n >= 0 {
			return strconv.Itoa(n)
		}
	case ir.List:
		parts := seq.Map(a, func(x ir.Arg) string { return formatDefault(t.Base(), x) })
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "?"
}
