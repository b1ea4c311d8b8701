package ir

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

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
	for ps.Peek().Text == "custom" {
		ps.Next()
		p.Custom = append(p.Custom, ps.Want(text.String, "a quoted schema").Text)
	}
	for ps.AcceptName("delegate") {
		p.Delegates = append(p.Delegates, ps.delegate())
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
	spec.Quantized = ps.quantized()
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

// def parses "%name: type" and brings the value into scope.
func (ps *parser) def() *Value {
	t := ps.Want(text.Value, "a value to define")
	ps.Expect(":")
	v := &Value{Name: t.Text, Type: ps.typ()}
	for _, s := range ps.scopes {
		if s[t.Text] != nil {
			ps.Fail(t.Pos, "%v is defined twice", t)
		}
	}
	ps.scopes[len(ps.scopes)-1][t.Text] = v
	return v
}

func (ps *parser) use(t text.Token) *Value {
	for i := len(ps.scopes) - 1; i >= 0; i-- {
		if v := ps.scopes[i][t.Text]; v != nil {
			return v
		}
	}
	ps.Fail(t.Pos, "%v is used but not defined above", t)
	return nil
}

// body parses nodes and the return line. With specs it is that of a method.
func (ps *parser) body(g *Graph, specs *[]OutputSpec) {
	for !ps.AcceptName("return") {
		g.Nodes = append(g.Nodes, ps.node())
	}
	ps.List("(", ")", func() {
		if specs != nil {
			*specs = append(*specs, ps.outputSpec())
		}
		g.Outputs = append(g.Outputs, ps.arg())
	})
}

func (ps *parser) outputSpec() OutputSpec {
	t := ps.Peek()
	kind := indexOf(outputWords[:], t.Text)
	switch {
	case t.Kind == text.Name && t.Text == "user":
		kind = int(UserOutput)
	case t.Kind != text.Name || kind < 0:
		return OutputSpec{}
	}
	ps.Next()
	spec := OutputSpec{Kind: OutputKind(kind)}
	if ps.Peek().Kind == text.String {
		spec.Target = ps.Next().Text
	}
	spec.Quantized = ps.quantized()
	ps.Expect("=")
	return spec
}

// quantized parses what the integers of an input or output stand for; nil if nothing is said.
func (ps *parser) quantized() *QParams {
	if !ps.AcceptName("quantized") {
		return nil
	}
	at := ps.Pos
	if list, ok := ps.arg().(List); ok && len(list) == 2 {
		scale, ok1 := list[0].(Float)
		zero, ok2 := list[1].(Int)
		if ok1 && ok2 {
			return &QParams{float64(scale), int64(zero)}
		}
	}
	ps.Fail(at, "quantized takes a scale and a zero point")
	return nil
}

func (ps *parser) node() *Node {
	defer ps.Enter()()
	n := &Node{}
	// The outputs come into scope behind the regions.
	ps.scopes = append(ps.scopes, map[string]*Value{})
	if ps.Accept("(") {
		ps.Expect(")")
	} else {
		for {
			n.Outputs = append(n.Outputs, ps.output(n))
			if !ps.Accept(",") {
				break
			}
		}
	}
	outputs := ps.scopes[len(ps.scopes)-1]
	ps.scopes = ps.scopes[:len(ps.scopes)-1]
	ps.Expect("=")
	n.Op = ps.NameOrString("an operator")
	if ps.Accept(":") {
		n.Name, n.Op = n.Op, ps.NameOrString("an operator")
	} else if v := firstOutput(n); v != nil {
		n.Name = v.Name
	}
	ps.List("(", ")", func() { n.Args = append(n.Args, ps.namedArg()) })
	n.Loc = parseLocation(ps.Comment())
	for ps.AcceptName("region") {
		n.Regions = append(n.Regions, ps.region())
	}
	scope := ps.scopes[len(ps.scopes)-1]
	maps.Copy(scope, outputs)
	return n
}

func firstOutput(n *Node) *Value {
	for _, v := range n.Outputs {
		if v != nil {
			return v
		}
	}
	return nil
}

func (ps *parser) output(n *Node) *Value {
	if t := ps.Peek(); t.Kind != text.Value && ps.AcceptName("none") {
		return nil
	}
	v := ps.def()
	v.Def, v.Index = n, len(n.Outputs)
	return v
}

func (ps *parser) namedArg() NamedArg {
	t := ps.Peek()
	if t.Kind == text.Name || t.Kind == text.String {
		if ps.After(t).Is("=") {
			ps.Next()
			ps.Expect("=")
			return NamedArg{t.Text, ps.arg()}
		}
	}
	return NamedArg{"", ps.arg()}
}

func (ps *parser) region() *Graph {
	g := &Graph{}
	ps.scopes = append(ps.scopes, map[string]*Value{})
	ps.List("(", ")", func() { g.Inputs = append(g.Inputs, ps.def()) })
	ps.Expect("{")
	for ps.AcceptName("const") {
		g.Constants = append(g.Constants, ps.constant())
	}
	ps.body(g, nil)
	ps.Expect("}")
	ps.scopes = ps.scopes[:len(ps.scopes)-1]
	return g
}

var locationForm = regexp.MustCompile(`^(?:("(?:[^"\\]|\\.)*"|\S*):(\d+))?(?:(?:^| )in (\S.*))?$`)

// parseLocation reads what Location.String writes. Any other comment is no
// location.
func parseLocation(s string) Location {
	m := locationForm.FindStringSubmatch(s)
	if m == nil {
		return Location{}
	}
	line, err := strconv.Atoi("0" + m[2])
	if err != nil {
		return Location{}
	}
	return Location{File: unquoteWord(m[1]), Line: line, Module: unquoteWord(m[3])}
}

func unquoteWord(s string) string {
	if t, err := strconv.Unquote(s); err == nil {
		return t
	}
	return s
}

func (ps *parser) typ() Type {
	t := ps.Want(text.Name, "a type")
	if d, ok := ParseDType(t.Text); ok && d.Short() == t.Text {
		return ps.tensorType(d)
	}
	kind := Kind(max(0, indexOf(kindWords[:], t.Text)))
	typ := Type{Kind: kind}
	switch {
	case kind == TensorKind, kind == NoneKind && t.Text != kindWords[NoneKind]:
		ps.Fail(t.Pos, "%s is no type", t.Text)
	case kind == CustomKind && ps.Accept("("):
		typ.Class = ps.Want(text.String, "the quoted class").Text
		ps.Expect(")")
	case kind == IntKind && ps.Peek().Is("("):
		es := ps.exprs("(", ")")
		if len(es) != 1 {
			ps.Fail(t.Pos, "an int has one value")
		}
		typ.Expr, typ.HasExpr = es[0], true
	}
	return typ
}

func (ps *parser) tensorType(d DType) Type {
	t := Type{Kind: TensorKind, DType: d, Sizes: ps.exprs("[", "]")}
	if pos := ps.Pos; ps.Peek().Is("[") {
		if t.Strides = ps.exprs("[", "]"); len(t.Strides) != len(t.Sizes) {
			ps.Fail(pos, "%d strides for %d sizes", len(t.Strides), len(t.Sizes))
		}
	} else {
		t.Strides = Contiguous(t.Sizes)
	}
	if pos := ps.Pos; ps.AcceptName("offset") {
		es := ps.exprs("(", ")")
		if len(es) != 1 {
			ps.Fail(pos, "a tensor has one offset")
		}
		t.Offset = es[0]
	}
	return t
}

// exprs parses a list of expressions over the symbols of the method.
func (ps *parser) exprs(open, shut string) []sym.Expr {
	es := []sym.Expr{}
	for _, item := range ps.RawList(open, shut) {
		es = append(es, ps.expr(item))
	}
	return es
}

// arg parses an argument.
func (ps *parser) arg() Arg {
	defer ps.Enter()()
	t := ps.Peek()
	switch {
	case t.Is("["):
		out := List{}
		ps.List("[", "]", func() { out = append(out, ps.arg()) })
		return out
	case t.Kind == text.Value:
		return Ref{ps.use(ps.Next())}
	case t.Kind == text.String:
		return Str(ps.Next().Text)
	case t.Kind == text.Number && !isFloatText(t.Text):
		return Int(ps.Integer("an integer"))
	case t.Kind == text.Number:
		return Float(ps.float())
	case t.Kind != text.Name:
		ps.Fail(t.Pos, "want an argument, have %v", t)
	}
	if isFloatText(t.Text) {
		return Float(ps.float())
	}
	ps.Next()
	return ps.wordArg(t)
}

// wordArg parses the argument that begins with the word t.
func (ps *parser) wordArg(t text.Token) Arg {
	if d, ok := ParseDType(t.Text); ok && d.Short() == t.Text {
		return DTypeArg(d)
	}
	if i := indexOf(formatWords[:], t.Text); i > 0 {
		return MemoryFormat(i)
	}
	switch t.Text {
	case "none":
		return None{}
	case "true", "false":
		return BoolArg(t.Text == "true")
	}
	ps.Expect("(")
	var a Arg
	switch t.Text {
	case "complex":
		re := ps.float()
		ps.Expect(",")
		a = Complex(complex(re, ps.float()))
	case "layout":
		a = LayoutArg(ps.Integer("a layout"))
	case "device":
		a = Device(ps.Want(text.String, "a quoted device").Text)
	case "memory_format":
		a = MemoryFormat(ps.byte("a memory format"))
	case "dtype":
		a = DTypeArg(ps.byte("a dtype"))
	case "op":
		a = OpArg(ps.NameOrString("an operator"))
	default:
		ps.Fail(t.Pos, "want an argument, have %v", t)
	}
	ps.Expect(")")
	return a
}

func (ps *parser) byte(what string) uint8 {
	pos := ps.Pos
	n := ps.Integer(what)
	if n < 0 || n > 255 {
		ps.Fail(pos, "%d is not %s", n, what)
	}
	return uint8(n)
}

// isFloatText reports whether a number or word is a float.
func isFloatText(s string) bool {
	switch s {
	case "inf", "-inf", "nan":
		return true
	}
	return strings.IndexByte("+-0123456789", s[0]) >= 0 && strings.ContainsAny(s, ".e")
}

func (ps *parser) float() float64 {
	t := ps.Next()
	x, err := strconv.ParseFloat(t.Text, 64)
	if err != nil || t.Kind != text.Number && t.Kind != text.Name {
		ps.Fail(t.Pos, "want a float, have %v", t)
	}
	return x
}
