package pt2

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// number is a number in a guard: an integer that follows from sizes (known), a
// float that is such an integer divided by a power of two (den over 0), a
// literal, or the result of a node.
type number struct {
	kind    ir.Kind // IntKind, FloatKind or BoolKind
	expr    sym.Expr
	known   bool
	den     int64
	literal ir.Arg
	value   *ir.Value
}

// maxFraction bounds both parts of a literal that counts as a fraction, so that
// its products with sizes are exact as doubles too.
const maxFraction = 1 << 20

// maxTerms bounds the summands of a number.
const maxTerms = 64

func integerOf(n int64) number      { return knownInt(sym.Int(n)) }
func knownInt(e sym.Expr) number    { return number{kind: ir.IntKind, expr: e, known: true} }
func truth(b bool) number           { return number{kind: ir.BoolKind, literal: ir.BoolArg(b)} }
func (x number) fraction() bool     { return x.kind == ir.FloatKind && x.den > 0 }
func (x number) exact() bool        { return x.known || x.fraction() }
func (x number) isInt() bool        { return x.kind == ir.IntKind }
func (x number) divisor() (n int64) { return max(x.den, 1) }
func (x number) always() (yes, ok bool) {
	b, ok := x.literal.(ir.BoolArg)
	return bool(b), ok && x.kind == ir.BoolKind
}

// eval computes an expression that is a number or a condition.
func (g *guard) eval(e *sym.Python) number {
	switch e.Op {
	case "number":
		return literal(e.Text)
	case "name":
		switch e.Text {
		case "True", "False":
			return truth(e.Text == "True")
		}
	case "index", "attribute":
		return g.input(e)
	case "call":
		return g.call(e)
	case "and", "or":
		return g.junction(e)
	case "not":
		x := g.condition(e.Args[0])
		if yes, ok := x.always(); ok {
			return truth(!yes)
		}
		return g.node("torch.sym_not", ir.BoolKind, x)
	case "neg":
		return g.arithmetic("-", &sym.Python{Op: "number", Text: "0"}, e.Args[0])
	case "+", "-", "*", "//", "/", "%", "**":
		return g.arithmetic(e.Op, e.Args[0], e.Args[1])
	case "==", "!=", "<", "<=", ">", ">=":
		return g.compare(e)
	}
	panic(fmt.Errorf("%s is not understood", quoted(e.Text)))
}

func literal(text string) number {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return integerOf(n)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".e") {
		panic(fmt.Errorf("the number %s is too large", quoted(text)))
	}
	for den := int64(1); den <= maxFraction; den *= 2 {
		if n := x * float64(den); n == math.Trunc(n) && math.Abs(n) <= maxFraction {
			return number{kind: ir.FloatKind, expr: sym.Int(int64(n)), den: den}
		}
	}
	return number{kind: ir.FloatKind, literal: ir.Float(x)}
}

// condition is eval of what must be a bool.
func (g *guard) condition(e *sym.Python) number {
	outer := g.choice
	g.choice = true
	defer func() { g.choice = outer }()
	x := g.eval(e)
	if x.kind != ir.BoolKind {
		panic(fmt.Errorf("a number stands for a condition"))
	}
	return x
}

// junction is and, or.
func (g *guard) junction(e *sym.Python) number {
	op, name := ir.BoolArg(e.Op == "or"), map[string]string{"and": "_operator.and_",
		"or": "_operator.or_"}[e.Op]
	var all *number
	start := len(g.nodes)
	for _, a := range e.Args {
		x := g.condition(a)
		if yes, ok := x.always(); ok {
			if ir.BoolArg(yes) == op {
				g.nodes = g.nodes[:start]
				return x // decides
			}
			continue
		}
		if all != nil {
			x = g.node(name, ir.BoolKind, *all, x)
		}
		all = &x
	}
	if all == nil {
		return truth(!bool(op))
	}
	return *all
}

var pythonOps = map[string]string{
	"+": "_operator.add", "-": "_operator.sub", "*": "_operator.mul", "//": "_operator.floordiv",
	"/": "_operator.truediv",
	"%": "_operator.mod", "**": "_operator.pow",
	"==": "_operator.eq", "!=": "_operator.ne", "<": "_operator.lt", "<=": "_operator.le",
	">": "_operator.gt", ">=": "_operator.ge",
}

func (g *guard) operands(a, b *sym.Python) (x, y number) {
	x = g.eval(a)
	y = g.eval(b)
	if x.kind == ir.BoolKind || y.kind == ir.BoolKind {
		panic(fmt.Errorf("a condition stands for a number"))
	}
	return x, y
}

func (g *guard) arithmetic(op string, a, b *sym.Python) number {
	x, y := g.operands(a, b)
	if op == "//" || op == "%" || op == "/" {
		g.notZero(y)
	}
	if x.exact() && y.exact() {
		if out, ok := exact(op, x, y); ok {
			if out.expr.Undefined() || len(out.expr.Terms()) > maxTerms {
				panic(fmt.Errorf("its numbers are too large"))
			}
			return out
		}
	}
	kind := ir.FloatKind
	if x.isInt() && y.isInt() && op != "/" {
		kind = ir.IntKind
	}
	if n, ok := y.expr.Const(); op == "**" && kind == ir.IntKind && !(y.known && ok && n >= 0) {
		panic(fmt.Errorf("a power with an exponent that is no number of at least 0"))
	}
	if kind == ir.FloatKind && (op == "//" || op == "%") {
		panic(fmt.Errorf("%s of floats is not understood", op))
	}
	return g.node(pythonOps[op], kind, x, y)
}

// exact computes with sizes. ok is false for what the algebra of sizes does not
// have.
func exact(op string, x, y number) (out number, ok bool) {
	dx, dy := x.divisor(), y.divisor()
	float := x.kind == ir.FloatKind || y.kind == ir.FloatKind
	result := func(e sym.Expr, den int64) (number, bool) {
		if !float {
			return knownInt(e), true
		}
		return number{kind: ir.FloatKind, expr: e, den: den}, den <= maxFraction
	}
	switch op {
	case "+", "-":
		den := max(dx, dy) // both are powers of two
		a, b := sym.Mul(x.expr, sym.Int(den/dx)), sym.Mul(y.expr, sym.Int(den/dy))
		if op == "-" {
			return result(sym.Sub(a, b), den)
		}
		return result(sym.Add(a, b), den)
	case "*":
		return result(sym.Mul(x.expr, y.expr), dx*dy)
	case "/":
		n, isConst := y.expr.Const()
		if isConst && y.known && n > 0 && n&(n-1) == 0 && n <= maxFraction {
			float = true
			return result(x.expr, dx*n)
		}
	case "//":
		if !float {
			return knownInt(sym.FloorDiv(x.expr, y.expr)), true
		}
	case "%":
		if !float {
			return knownInt(sym.Mod(x.expr, y.expr)), true
		}
	case "**":
		n, isConst := y.expr.Const()
		if isConst && !float && n >= 0 && n <= 8 {
			e := sym.Int(1)
			for range n {
				if e = sym.Mul(e, x.expr); len(e.Terms()) > maxTerms {
					break // refused by the caller
				}
			}
			return knownInt(e), true
		}
	}
	return number{}, false
}

// notZero sees to it that a divisor is not zero: where Python raises an error,
// the guard does not hold.
func (g *guard) notZero(y number) {
	if y.exact() {
		if n, ok := y.expr.Const(); ok && n != 0 {
			return
		}
		if sym.Less(sym.Int(0), y.expr) || sym.Less(y.expr, sym.Int(0)) {
			return
		}
	}
	if n, ok := y.expr.Const(); y.exact() && ok && n == 0 || g.choice {
		panic(fmt.Errorf("it divides by what may be 0"))
	}
	g.assert(g.arg(g.node("_operator.ne", ir.BoolKind, y, integerOf(0))))
}

func (g *guard) compare(e *sym.Python) number {
	x, y := g.operands(e.Args[0], e.Args[1])
	if x.exact() && y.exact() {
		den := max(x.divisor(), y.divisor())
		a, b := sym.Mul(x.expr, sym.Int(den/x.divisor())), sym.Mul(y.expr, sym.Int(den/y.divisor()))
		if a.Undefined() || b.Undefined() {
			panic(fmt.Errorf("its numbers are too large"))
		}
		if yes, ok := decided(e.Op, a, b); ok {
			return truth(yes)
		}
		x, y = knownInt(a), knownInt(b)
	}
	return g.node(pythonOps[e.Op], ir.BoolKind, x, y)
}

// decided compares two integers if their ranges tell how.
func decided(op string, a, b sym.Expr) (yes, ok bool) {
	less, more := sym.Less(a, b), sym.Less(b, a)
	switch op {
	case "==":
		return a.Equal(b), a.Equal(b) || less || more
	case "!=":
		return !a.Equal(b), a.Equal(b) || less || more
	case "<":
		return less, less || sym.LessEq(b, a)
	case "<=":
		return !more, more || sym.LessEq(a, b)
	case ">":
		return more, more || sym.LessEq(a, b)
	}
	return !less, less || sym.LessEq(b, a) // >=
}

// call computes a function, or a method of an input.
func (g *guard) call(e *sym.Python) number {
	name := dotted(e.Args[0])
	if name == "" {
		return g.input(e)
	}
	var xs []number
	for _, a := range e.Args[1:] {
		x := g.eval(a)
		if x.kind == ir.BoolKind {
			panic(fmt.Errorf("a condition stands for a number"))
		}
		xs = append(xs, x)
	}
	switch name {
	case "torch.sym_max", "torch.sym_min", "max", "min":
		if len(xs) >= 2 {
			return g.extremum(strings.HasSuffix(name, "max"), xs)
		}
	}
	if len(xs) != 1 {
		panic(fmt.Errorf("%s of %d numbers is not understood", quoted(name), len(xs)))
	}
	x := xs[0]
	switch name {
	case "torch.sym_float", "float":
		switch {
		case x.kind == ir.FloatKind:
			return x
		case x.known:
			return number{kind: ir.FloatKind, expr: x.expr, den: 1}
		}
		return g.node("torch.sym_float", ir.FloatKind, x)
	case "math.trunc", "math.floor", "math.ceil", "torch.sym_int", "int":
		return g.round(name, x)
	case "torch._sym_sqrt", "torch.sym_sqrt", "math.sqrt":
		return g.node("torch.sym_sqrt", ir.FloatKind, x)
	case "abs":
		if x.known {
			return knownInt(sym.Max(x.expr, sym.Neg(x.expr)))
		}
	}
	panic(fmt.Errorf("the function %s is not understood", quoted(name)))
}

// dotted returns the name of a function, "" if e is no name.
func dotted(e *sym.Python) string {
	switch e.Op {
	case "name":
		return e.Text
	case "attribute":
		if e.Args[0].Op == "name" && (e.Args[0].Text == "torch" || e.Args[0].Text == "math") {
			return e.Args[0].Text + "." + e.Text
		}
	}
	return ""
}

func (g *guard) extremum(greatest bool, xs []number) number {
	op, known := "torch.sym_min", sym.Min
	if greatest {
		op, known = "torch.sym_max", sym.Max
	}
	all := xs[0]
	for _, x := range xs[1:] {
		switch {
		case all.known && x.known:
			all = knownInt(known(all.expr, x.expr))
		case all.isInt() && x.isInt():
			all = g.node(op, ir.IntKind, all, x)
		default:
			all = g.node(op, ir.FloatKind, all, x)
		}
	}
	return all
}

func (g *guard) round(name string, x number) number {
	switch {
	case x.isInt():
		return x
	case x.fraction() && name == "math.ceil":
		return knownInt(sym.CeilDiv(x.expr, sym.Int(x.den)))
	case x.fraction() && (name == "math.floor" || sym.NonNegative(x.expr)):
		return knownInt(sym.FloorDiv(x.expr, sym.Int(x.den)))
	}
	if name == "int" || name == "torch.sym_int" {
		name = "math.trunc"
	}
	return g.node(name, ir.IntKind, x)
}

// input finds what an expression says of an input of the program: a number that
// is one, or a size, stride or offset of a tensor.
func (g *guard) input(e *sym.Python) number {
	var steps []*sym.Python // from the root on
	root := e
	for root.Op == "index" || root.Op == "attribute" || root.Op == "call" {
		steps = append(steps, root)
		root = root.Args[0]
	}
	slices.Reverse(steps)
	if root.Op != "name" || root.Text != "L" || len(steps) == 0 || steps[0].Op != "index" {
		panic(fmt.Errorf("it speaks of something that is no input"))
	}
	v, fixed, steps := g.leaf(steps)
	if len(steps) == 0 {
		return g.scalar(v, fixed)
	}
	if v.Type.Kind != ir.TensorKind {
		panic(fmt.Errorf("an input that it takes for a tensor is none"))
	}
	// x.size()[i], x.size(i), x.shape[i], x.stride()[i], x.storage_offset(), x.dim()
	name := steps[0].Text
	if steps[0].Op != "attribute" {
		panic(fmt.Errorf("it looks into a tensor"))
	}
	steps = steps[1:]
	var index []*sym.Python
	called := false
	for _, s := range steps {
		if s.Op == "call" && !called && len(index) == 0 && name != "shape" {
			called = true
			index = append(index, s.Args[1:]...)
			continue
		}
		if s.Op != "index" {
			panic(fmt.Errorf("%s is not understood", quoted(name)))
		}
		index = append(index, s.Args[1])
	}
	if !called && name != "shape" {
		panic(fmt.Errorf("%s is not understood", quoted(name)))
	}
	t := v.Type
	if len(index) == 0 {
		switch name {
		case "dim":
			return integerOf(int64(t.Rank()))
		case "numel":
			return knownInt(t.Numel())
		case "storage_offset":
			return g.determined(t.Offset)
		}
	}
	var list []sym.Expr
	switch name {
	case "size", "shape":
		list = t.Sizes
	case "stride":
		list = t.Strides
	}
	if list == nil || len(index) != 1 {
		panic(fmt.Errorf("%s is not understood", quoted(name)))
	}
	i := g.eval(index[0])
	n, ok := i.expr.Const()
	if n < 0 {
		n += int64(len(list))
	}
	if !ok || !i.known || n < 0 || n >= int64(len(list)) {
		panic(fmt.Errorf("it speaks of a dimension that the input does not have"))
	}
	return g.determined(list[n])
}

// determined returns a size or stride, all of whose symbols follow from the sizes
// and numbers that the caller gives.
func (g *guard) determined(e sym.Expr) number {
	for _, s := range e.Symbols() {
		found := slices.ContainsFunc(g.m.Graph.Inputs, func(v *ir.Value) bool {
			return slices.ContainsFunc(v.Type.Sizes, func(size sym.Expr) bool {
				return size.Uses(s)
			}) || v.Type.HasExpr && v.Type.Expr.Uses(s)
		})
		if !found {
			panic(fmt.Errorf("it speaks of strides that a caller cannot choose"))
		}
	}
	return knownInt(e)
}

// scalar returns an input that is a number.
func (g *guard) scalar(v *ir.Value, fixed ir.Arg) number {
	switch a := fixed.(type) {
	case ir.Int:
		return integerOf(int64(a))
	case ir.Float:
		return number{kind: ir.FloatKind, literal: a}
	case ir.BoolArg:
		return truth(bool(a))
	case nil:
		switch v.Type.Kind {
		case ir.IntKind:
			if v.Type.HasExpr {
				return knownInt(v.Type.Expr)
			}
			return number{kind: ir.IntKind, value: v}
		case ir.FloatKind, ir.BoolKind:
			return number{kind: v.Type.Kind, value: v}
		}
	}
	panic(fmt.Errorf("an input that it takes for a number is none"))
}

// leaf finds the input that the first steps name, and returns the remaining steps.
// fixed is the value of an input that is a constant.
func (g *guard) leaf(steps []*sym.Python) (v *ir.Value, fixed ir.Arg, rest []*sym.Python) {
	var leaves []int // positions in the graph's inputs of what the caller passes
	for i, spec := range g.m.Inputs {
		if spec.Kind == ir.UserInput || spec.Kind == ir.ConstantInput {
			leaves = append(leaves, i)
		}
	}
	at, rest := -1, steps[1:]
	if name := steps[0].Args[1].Text; name == "flat_args" {
		if len(rest) > 0 && rest[0].Op == "index" {
			if n, err := strconv.Atoi(rest[0].Args[1].Text); err == nil {
				at, rest = n, rest[1:]
			}
		}
	} else {
		at, rest = g.named(name, rest)
	}
	if at < 0 || at >= len(leaves) {
		panic(fmt.Errorf("it speaks of an input that the program does not have"))
	}
	i := leaves[at]
	return g.m.Graph.Inputs[i], g.m.Inputs[i].Fixed, rest
}

// named finds the leaf that a parameter of forward and the steps from it name, or returns
// -1. The parameters of *xs are called xs_0, xs_1, …; those of **kw are its keys.
func (g *guard) named(name string, steps []*sym.Python) (int, []*sym.Python) {
	in := g.m.In
	if in == nil || len(in.Children) != 2 {
		return -1, steps
	}
	params := slices.Concat(in.Children[0].Children, in.Children[1].Children)
	names := g.c.wire.argNames
	if len(names) != len(params) {
		return -1, steps
	}
	k := slices.Index(names, name)
	if k < 0 && len(steps) > 0 && steps[0].Op == "index" {
		key := steps[0].Args[1]
		if key.Op == "number" {
			k = slices.Index(names, name+"_"+key.Text)
		} else if i := slices.Index(in.Children[1].Keys, key.Text); i >= 0 {
			k = len(in.Children[0].Children) + i
		}
		steps = steps[1:]
	}
	if k < 0 {
		return -1, steps
	}
	leaf := 0
	for _, p := range params[:k] {
		leaf += len(p.Leaves())
	}
	t := params[k]
	for t.Type != "" {
		if len(steps) == 0 {
			return -1, steps
		}
		i := -1
		switch s := steps[0]; {
		case s.Op == "attribute":
			i = slices.Index(t.Keys, s.Text)
		case s.Op == "index" && s.Args[1].Op == "string":
			i = slices.Index(t.Keys, s.Args[1].Text)
		case s.Op == "index" && s.Args[1].Op == "number" && t.Keys != nil &&
			t.Type != "collections.namedtuple":
			i = slices.Index(t.Keys, s.Args[1].Text) // of a dict
		case s.Op == "index" && s.Args[1].Op == "number":
			i, _ = strconv.Atoi(s.Args[1].Text)
		}
		if i < 0 || i >= len(t.Children) {
			return -1, steps
		}
		for _, c := range t.Children[:i] {
			leaf += len(c.Leaves())
		}
		t, steps = t.Children[i], steps[1:]
	}
	return leaf, steps
}
