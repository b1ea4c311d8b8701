package expr

import (
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
)

// Scope says what names in the text of an expression mean. Each function
// returns nil for a name it does not know.
type Scope struct {
	// Value returns the node of a name that stands alone: a Local or Scalar.
	Value func(name string) *Expr
	// Element returns the node of a name with an index, which Parse sets: a
	// Load, or a Local that is an array.
	Element func(name string) *Expr
	Symbol  func(name string) *sym.Symbol
	Func    func(name string) *Func
}

// Parse consumes an expression from l as Format writes it. d is the dtype of
// what the expression is put into, InvalidDType if that is not known; operands
// and d must fit or the parse fails. The nodes are those of the text: nothing
// is folded.
func Parse(l *text.Lexer, d ir.DType, s Scope) *Expr {
	defer func(infix bool) { l.Infix = infix }(l.Infix)
	l.Infix = true
	p := &parser{Lexer: l, scope: s, texts: map[*Expr]token{}}
	pos := l.Peek().Pos
	e := p.expr(precLowest)
	switch {
	case d != ir.InvalidDType:
		p.settle(e, d, pos)
	case e.DType == ir.InvalidDType:
		l.Fail(pos, "the type of the constants is not known: write 1f32")
	}
	return e
}

type token = text.Token

// parser builds nodes bottom-up. One whose text does not tell its dtype (see
// untyped) has InvalidDType until something beside or around it does.
type parser struct {
	*text.Lexer
	scope Scope
	texts map[*Expr]token // of constants without dtype
}

// settle gives e the dtype d, or fails if it has another.
func (p *parser) settle(e *Expr, d ir.DType, pos int) {
	switch {
	case e.DType == d:
		return
	case e.DType != ir.InvalidDType:
		p.Fail(pos, "%s where %s is wanted", e.DType, d)
	}
	e.DType = d
	args := e.Args
	switch e.Op {
	case OpConst:
		p.constant(e)
	case OpSelect:
		args = args[1:]
	default:
		p.allow(e.Op, d, pos)
	}
	for _, a := range args {
		p.settle(a, d, pos)
	}
}

// allow fails unless op works on d.
func (p *parser) allow(op Op, d ir.DType, pos int) {
	ok := d.IsInt() || d.IsFloat() && !IsNarrow(d)
	switch op {
	case OpAnd, OpOr, OpXor, OpNot:
		ok = d.IsInt() || d == ir.Bool
	case OpShl, OpShr:
		ok = d.IsInt()
	case OpSqrt, OpFloor, OpCeil, OpTrunc, OpRound:
		ok = d.IsFloat() && !IsNarrow(d)
	case OpFMA:
		ok = d == ir.Float32 || d == ir.Float64
	}
	if !ok {
		p.Fail(pos, "no operation %s on %s", op, d)
	}
}

// constant reads the value of a constant whose dtype is known by now.
func (p *parser) constant(e *Expr) {
	t := p.texts[e]
	bad := func(err error) {
		if err != nil {
			p.Fail(t.Pos, "%s is no constant of type %s", t.Text, e.DType)
		}
	}
	var err error
	switch d := e.DType; {
	case d.IsFloat() && castable(d):
		e.Float, err = strconv.ParseFloat(t.Text, floatBits(d))
		bad(err)
		if r := RoundTo(d, e.Float); r != e.Float && e.Float == e.Float {
			bad(strconv.ErrRange)
		}
	case d == ir.Uint64:
		var u uint64
		u, err = strconv.ParseUint(t.Text, 10, 64)
		bad(err)
		e.Int = int64(u)
	case d.IsInt():
		e.Int, err = strconv.ParseInt(t.Text, 10, 64)
		bad(err)
		if Wrap(d, e.Int) != e.Int {
			bad(strconv.ErrRange)
		}
	default:
		bad(strconv.ErrSyntax)
	}
}

// match gives the operands of one operation the same dtype, if one has any.
func (p *parser) match(pos int, args ...*Expr) {
	for _, a := range args {
		if a.DType != ir.InvalidDType {
			for _, b := range args {
				p.settle(b, a.DType, pos)
			}
			return
		}
	}
}

func (p *parser) expr(prec int) *Expr {
	defer p.Enter()()
	e := p.unary()
	for {
		t := p.Peek()
		if t.Is("?") && prec == precLowest {
			e = p.choice(e, t)
			continue
		}
		op := infixNamed(t)
		in, ok := infixOf(op)
		if !ok || in.prec < prec {
			return e
		}
		p.Next()
		e = p.node(op, t.Pos, e, p.expr(in.prec+1))
	}
}

func infixNamed(t token) Op {
	if t.Kind == text.Punct {
		for op, in := range infixes {
			if in.text == t.Text {
				return Op(op)
			}
		}
	}
	return OpInvalid
}

// choice parses what follows the condition of a Select.
func (p *parser) choice(cond *Expr, t token) *Expr {
	p.Expect("?")
	if cond.DType != ir.Bool {
		p.Fail(t.Pos, "the condition is no bool")
	}
	a := p.expr(precLowest)
	p.Expect(":")
	b := p.expr(precLowest)
	p.match(t.Pos, a, b)
	return &Expr{Op: OpSelect, DType: a.DType, Args: []*Expr{cond, a, b}}
}

// node returns op of args.
func (p *parser) node(op Op, pos int, args ...*Expr) *Expr {
	p.match(pos, args...)
	d := args[0].DType
	if isComparison(op) {
		if d == ir.InvalidDType {
			p.Fail(pos, "the type of the constants is not known: write 1f32")
		}
		if !(d.IsInt() || d.IsFloat() && !IsNarrow(d)) {
			p.Fail(pos, "no operation %s on %s", op, d)
		}
		return &Expr{Op: op, DType: ir.Bool, Args: args}
	}
	if d != ir.InvalidDType {
		p.allow(op, d, pos)
	}
	return &Expr{Op: op, DType: d, Args: args}
}

func (p *parser) unary() *Expr {
	t := p.Next()
	switch {
	case t.Is("-"):
		if n := p.Peek(); n.Kind == text.Number || n.Kind == text.Name &&
			isNonFinite(n, p.After(n)) {
			p.Next()
			return p.literal(token{Kind: text.Number, Text: "-" + n.Text, Pos: t.Pos, End: n.End})
		}
		defer p.Enter()()
		return p.node(OpNeg, t.Pos, p.unary())
	case t.Is("!"), t.Is("~"):
		defer p.Enter()()
		e := p.node(OpNot, t.Pos, p.unary())
		if (e.DType == ir.Bool) != t.Is("!") {
			p.Fail(t.Pos, "“%s” of %s", t.Text, e.DType)
		}
		return e
	case t.Is("("):
		e := p.expr(precLowest)
		p.Expect(")")
		return e
	case t.Kind == text.Number:
		return p.literal(t)
	case t.Kind == text.Name:
		return p.name(t)
	}
	p.Fail(t.Pos, "want an expression, have %v", t)
	return nil
}

// isNonFinite reports whether t, followed by next, is an infinity or NaN.
func isNonFinite(t, next token) bool {
	s := t.Text
	if rest, ok := strings.CutPrefix(s, "inf"); ok {
		s = rest
	} else if s, ok = strings.CutPrefix(s, "nan"); !ok {
		return false
	}
	d, ok := ir.ParseDType(s)
	return !next.Is("(") && !next.Is("[") && (s == "" || ok && d.IsFloat())
}

// literal returns the constant t, whose text may end in its dtype.
func (p *parser) literal(t token) *Expr {
	e := &Expr{Op: OpConst}
	d := ir.InvalidDType
	for i := range len(t.Text) {
		if x, ok := ir.ParseDType(t.Text[i:]); ok && x.Short() == t.Text[i:] {
			t.Text, d = t.Text[:i], x
			break
		}
	}
	p.texts[e] = t
	if d != ir.InvalidDType {
		p.settle(e, d, t.Pos)
	}
	return e
}

func (p *parser) name(t token) *Expr {
	next := p.Peek()
	if next.Pos > t.End { // that of something else
		next = token{}
	}
	switch {
	case t.Text == "true" || t.Text == "false":
		return Bool(t.Text == "true")
	case isNonFinite(t, next):
		return p.literal(t)
	case next.Is("("):
		return p.call(t)
	case next.Is("["):
		return p.element(t)
	}
	e := p.scope.Value(t.Text)
	if e == nil {
		p.Fail(t.Pos, "%s is not known here", t.Text)
	}
	return e
}

func (p *parser) element(t token) *Expr {
	known := p.scope.Element(t.Text)
	if known == nil {
		p.Fail(t.Pos, "%s is no buffer or array", t.Text)
	}
	e := *known
	e.Coords = nil
	p.List("[", "]", func() { e.Coords = append(e.Coords, p.Index(p.scope.Symbol)) })
	if len(e.Coords) != 1 {
		p.Fail(t.Pos, "%s has one index", t.Text)
	}
	return &e
}

// arities are the operations that are written as calls.
var arities = [...]struct {
	op   Op
	args int
}{{OpAbs, 1}, {OpMin, 2}, {OpMax, 2}, {OpFMA, 3}, {OpSqrt, 1}, {OpFloor, 1}, {OpCeil, 1},
	{OpTrunc, 1}, {OpRound, 1}}

func (p *parser) call(t token) *Expr {
	if t.Text == "index" || t.Text == "index32" {
		return p.index(t)
	}
	var args []*Expr
	p.List("(", ")", func() { args = append(args, p.expr(precLowest)) })
	count := func(n int) {
		if len(args) != n {
			p.Fail(t.Pos, "%s takes %d arguments, not %d", t.Text, n, len(args))
		}
	}
	for _, a := range arities {
		if a.op.String() == t.Text {
			count(a.args)
			return p.node(a.op, t.Pos, args...)
		}
	}
	name, isBits := strings.CutPrefix(t.Text, "bits.")
	if d, ok := ir.ParseDType(name); ok && d.Short() == name {
		count(1)
		return p.cast(t, d, isBits, args[0])
	}
	fn := p.scope.Func(t.Text)
	if fn == nil {
		p.Fail(t.Pos, "there is no function %s", t.Text)
	}
	count(len(fn.Params))
	for i, a := range args {
		p.settle(a, fn.Params[i].DType, t.Pos)
	}
	return &Expr{Op: OpCall, DType: fn.Body.DType, Fn: fn, Args: args}
}

func (p *parser) cast(t token, d ir.DType, isBits bool, a *Expr) *Expr {
	op := OpCast
	switch {
	case a.DType == ir.InvalidDType:
		p.Fail(t.Pos, "the type of the constants is not known: write 1f32")
	case !castable(d) || !castable(a.DType):
		p.Fail(t.Pos, "no conversion from %s to %s", a.DType, d)
	case isBits && d.Size() != a.DType.Size():
		p.Fail(t.Pos, "%s and %s differ in size", a.DType, d)
	case isBits:
		op = OpBitcast
	}
	return &Expr{Op: op, DType: d, Args: []*Expr{a}}
}

func (p *parser) index(t token) *Expr {
	e := &Expr{Op: OpIndex, DType: ir.Int64}
	if t.Text == "index32" {
		e.DType = ir.Int32
	}
	p.Expect("(")
	e.Idx = p.Index(p.scope.Symbol)
	p.Expect(")")
	return e
}
