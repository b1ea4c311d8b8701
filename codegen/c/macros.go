package c

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// macros are preprocessor macros that are known to be defined or not, by name.
type macros map[string]macro

type macro struct {
	defined bool
	value   constant.Value // nil: not known, or not defined
}

// specialised returns C text as the preprocessor leaves it where conditions are
// decided by known macros and by those that the text itself defines as integers.
// Other directives stay.
func specialised(text string, known macros) string {
	p := &preprocessor{known: known}
	for line := range strings.Lines(text) {
		p.line(line)
	}
	return p.out.String()
}

// preprocessor decides conditions, line by line.
type preprocessor struct {
	known  macros
	out    strings.Builder
	chains []chain // those that are open, from outside
}

// chain is an #if with its #elif and #else.
type chain struct {
	skip  bool // the lines of the branch it is at are left out
	taken bool // a branch was taken: the others are left out
	kept  bool // some of its directives are in the output
}

var directive = regexp.MustCompile(
	`^#(if|ifdef|ifndef|elif|else|endif|define|undef)\b[ \t]*([^/\n]*)`)

func (p *preprocessor) line(line string) {
	m := directive.FindStringSubmatch(line)
	if m == nil {
		p.put(line)
		return
	}
	rest := strings.TrimSpace(m[2])
	switch m[1] {
	case "if", "ifdef", "ifndef":
		p.open(line, condition(m[1], rest))
	case "elif", "else":
		p.next(line, m[1], rest)
	case "endif":
		c := p.chains[len(p.chains)-1]
		p.chains = p.chains[:len(p.chains)-1]
		if c.kept {
			p.put(line)
		}
	default:
		p.define(m[1], rest)
		p.put(line)
	}
}

// skipping reports whether lines are left out.
func (p *preprocessor) skipping() bool {
	for _, c := range p.chains {
		if c.skip {
			return true
		}
	}
	return false
}

func (p *preprocessor) put(line string) {
	if !p.skipping() {
		p.out.WriteString(line)
	}
}

func (p *preprocessor) open(line, cond string) {
	if p.skipping() {
		p.chains = append(p.chains, chain{skip: true, taken: true})
		return
	}
	c := chain{}
	e, err := parser.ParseExpr(cond)
	switch value, ok := p.decide(e, err); {
	case !ok:
		c.kept = true
		p.put(p.shorter("if", line, e))
	default:
		c.skip, c.taken = !value, value
	}
	p.chains = append(p.chains, c)
}

// next goes to the next branch of the innermost chain.
func (p *preprocessor) next(line, word, rest string) {
	c := &p.chains[len(p.chains)-1]
	c.skip = false
	if c.taken {
		c.skip = true
		return
	}
	value, ok := true, true
	var e ast.Expr
	if word == "elif" {
		var err error
		e, err = parser.ParseExpr(rest)
		value, ok = p.decide(e, err)
	}
	switch {
	case ok && !value:
		c.skip = true
	case ok:
		c.taken = true
		if c.kept {
			p.put("#else\n")
		}
	case c.kept:
		p.put(p.shorter("elif", line, e))
	default:
		c.kept = true
		p.put(p.shorter("if", "#if "+rest+"\n", e))
	}
}

// define notes what the text defines. What it only may define, in a branch that
// is not decided, is not known.
func (p *preprocessor) define(word, rest string) {
	if p.skipping() {
		return
	}
	name, value, _ := strings.Cut(rest, " ")
	for _, c := range p.chains {
		if c.kept {
			delete(p.known, name)
			return
		}
	}
	m := macro{defined: word == "define"}
	if value = strings.TrimSpace(value); value != "" {
		if x := constant.MakeFromLiteral(value, token.INT, 0); x.Kind() == constant.Int {
			m.value = x
		}
	}
	p.known[name] = m
}

// condition words what #ifdef asks as #if does.
func condition(word, rest string) string {
	switch word {
	case "ifdef":
		return "defined(" + rest + ")"
	case "ifndef":
		return "!defined(" + rest + ")"
	}
	return rest
}

// decide returns whether a condition holds; ok is false if known macros do not
// tell. Operators of conditions are Go's too.
func (p *preprocessor) decide(cond ast.Expr, err error) (holds, ok bool) {
	if err != nil {
		return false, false
	}
	v := p.value(cond)
	return v != nil && constant.Sign(v) != 0, v != nil
}

// shorter returns the line of a condition that is not decided without the sides of && and
// || that are, and the line itself if there are none.
func (p *preprocessor) shorter(word, line string, cond ast.Expr) string {
	if cond == nil {
		return line
	}
	short := p.undecided(cond)
	if short == cond {
		return line
	}
	if all, ok := short.(*ast.ParenExpr); ok {
		short = all.X
	}
	return "#" + word + " " + types.ExprString(short) + "\n"
}

// undecided returns what is not decided of a condition that is not: e itself if that is
// all of it.
func (p *preprocessor) undecided(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		x := p.undecided(e.X)
		if x == e.X {
			return e
		}
		if _, ok := x.(*ast.BinaryExpr); ok {
			return &ast.ParenExpr{X: x}
		}
		return x
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return e
		}
		switch {
		case p.value(e.X) != nil:
			return p.undecided(e.Y)
		case p.value(e.Y) != nil:
			return p.undecided(e.X)
		}
		x, y := p.undecided(e.X), p.undecided(e.Y)
		if x != e.X || y != e.Y {
			return &ast.BinaryExpr{X: x, Op: e.Op, Y: y}
		}
	}
	return e
}

// value is the value of an expression of integers, in which truth is 1; nil if
// it is not known.
func (p *preprocessor) value(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.value(e.X)
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return constant.MakeFromLiteral(e.Value, token.INT, 0)
		}
	case *ast.Ident:
		m, ok := p.known[e.Name]
		if ok && !m.defined {
			return constant.MakeInt64(0)
		}
		return m.value
	case *ast.CallExpr:
		f, isName := e.Fun.(*ast.Ident)
		if !isName || f.Name != "defined" || len(e.Args) != 1 {
			return nil
		}
		if name, ok := e.Args[0].(*ast.Ident); ok {
			if m, ok := p.known[name.Name]; ok {
				return truth(m.defined)
			}
		}
	case *ast.UnaryExpr:
		if x := p.value(e.X); x != nil && e.Op == token.NOT {
			return truth(constant.Sign(x) == 0)
		}
	case *ast.BinaryExpr:
		return p.binary(e)
	}
	return nil
}

func (p *preprocessor) binary(e *ast.BinaryExpr) constant.Value {
	x, y := p.value(e.X), p.value(e.Y)
	switch e.Op {
	case token.LAND, token.LOR:
		decisive := e.Op == token.LOR // the value of a side that decides alone
		for _, side := range []constant.Value{x, y} {
			if side != nil && (constant.Sign(side) != 0) == decisive {
				return truth(decisive)
			}
		}
		if x != nil && y != nil {
			return truth(!decisive)
		}
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if x != nil && y != nil {
			return truth(constant.Compare(x, e.Op, y))
		}
	}
	return nil
}

func truth(b bool) constant.Value {
	if b {
		return constant.MakeInt64(1)
	}
	return constant.MakeInt64(0)
}
