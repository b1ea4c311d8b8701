package ir

import (
	"regexp"
	"strconv"
)

// def parses "%name: type" and brings the value into scope.
func (ps *parser) def() *Value {
	t := ps.want(valueToken, "a value to define")
	ps.expect(":")
	v := &Value{Name: t.text, Type: ps.typ()}
	for _, s := range ps.scopes {
		if s[t.text] != nil {
			ps.fail(t.pos, "%v is defined twice", t)
		}
	}
	ps.scopes[len(ps.scopes)-1][t.text] = v
	return v
}

func (ps *parser) use(t token) *Value {
	for i := len(ps.scopes) - 1; i >= 0; i-- {
		if v := ps.scopes[i][t.text]; v != nil {
			return v
		}
	}
	ps.fail(t.pos, "%v is used but not defined above", t)
	return nil
}

// body parses nodes and the return line. With specs it is that of a method.
func (ps *parser) body(g *Graph, specs *[]OutputSpec) {
	for !ps.acceptName("return") {
		g.Nodes = append(g.Nodes, ps.node())
	}
	ps.list("(", ")", func() {
		if specs != nil {
			*specs = append(*specs, ps.outputSpec())
		}
		g.Outputs = append(g.Outputs, ps.arg())
	})
}

func (ps *parser) outputSpec() OutputSpec {
	t := ps.peek()
	kind := indexOf(outputWords[:], t.text)
	switch {
	case t.kind == nameToken && t.text == "user":
		kind = int(UserOutput)
	case t.kind != nameToken || kind < 0:
		return OutputSpec{}
	}
	ps.next()
	spec := OutputSpec{Kind: OutputKind(kind)}
	if ps.peek().kind == stringToken {
		spec.Target = ps.next().text
	}
	ps.expect("=")
	return spec
}

func (ps *parser) node() *Node {
	defer ps.enter()()
	n := &Node{}
	// The outputs come into scope behind the regions.
	ps.scopes = append(ps.scopes, map[string]*Value{})
	if ps.accept("(") {
		ps.expect(")")
	} else {
		for {
			n.Outputs = append(n.Outputs, ps.output(n))
			if !ps.accept(",") {
				break
			}
		}
	}
	outputs := ps.scopes[len(ps.scopes)-1]
	ps.scopes = ps.scopes[:len(ps.scopes)-1]
	ps.expect("=")
	n.Op = ps.nameOrString("an operator")
	if ps.accept(":") {
		n.Name, n.Op = n.Op, ps.nameOrString("an operator")
	} else if v := firstOutput(n); v != nil {
		n.Name = v.Name
	}
	ps.list("(", ")", func() { n.Args = append(n.Args, ps.namedArg()) })
	n.Loc = parseLocation(ps.comment())
	for ps.acceptName("region") {
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
	if t := ps.peek(); t.kind != valueToken && ps.acceptName("none") {
		return nil
	}
	v := ps.def()
	v.Def, v.Index = n, len(n.Outputs)
	return v
}

func (ps *parser) namedArg() NamedArg {
	t := ps.peek()
	if t.kind == nameToken || t.kind == stringToken {
		if ps.scan(skip(ps.src, t.end)).is("=") {
			ps.next()
			ps.expect("=")
			return NamedArg{t.text, ps.arg()}
		}
	}
	return NamedArg{"", ps.arg()}
}

func (ps *parser) region() *Graph {
	g := &Graph{}
	ps.scopes = append(ps.scopes, map[string]*Value{})
	ps.list("(", ")", func() { g.Inputs = append(g.Inputs, ps.def()) })
	ps.expect("{")
	for ps.acceptName("const") {
		g.Constants = append(g.Constants, ps.constant())
	}
	ps.body(g, nil)
	ps.expect("}")
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
