package ir

import (
	"regexp"
	"strconv"

	"github.com/etgen/etgen/ir/text"
)

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
	ps.Expect("=")
	return spec
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
	for name, v := range outputs {
		scope[name] = v
	}
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
