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
func (g *guard) eval(e *python) (number, error) {
	switch e.op {
	case "number":
		return literal(e.text)
	case "name":
		switch e.text {
		case "True", "False":
			return truth(e.text == "True"), nil
		}
	case "index", "attribute":
		return g.input(e)
	case "call":
		return g.call(e)
	case "and", "or":
		return g.junction(e)
	case "not":
		x, err := g.condition(e.args[0])
		if err != nil {
			return number{}, err
		}
		if yes, ok := x.always(); ok {
			return truth(!yes), nil
		}
		return g.node("torch.sym_not", ir.BoolKind, x), nil
	case "neg":
		return g.arithmetic("-", &python{op: "number", text: "0"}, e.args[0])
	case "+", "-", "*", "//", "/", "%", "**":
		return g.arithmetic(e.op, e.args[0], e.args[1])
	case "==", "!=", "<", "<=", ">", ">=":
		return g.compare(e)
	}
	return number{}, fmt.Errorf("%s is not understood", quoted(e.text))
}

func literal(text string) (number, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return integerOf(n), nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".e") {
		return number{}, fmt.Errorf("the number %s is too large", quoted(text))
	}
	for den := int64(1); den <= maxFraction; den *= 2 {
		if n := x * float64(den); n == math.Trunc(n) && math.Abs(n) <= maxFraction {
			return number{kind: ir.FloatKind, expr: sym.Int(int64(n)), den: den}, nil
		}
	}
	return number{kind: ir.FloatKind, literal: ir.Float(x)}, nil
}

// condition is eval of what must be a bool.
func (g *guard) condition(e *python) (number, error) {
	outer := g.choice
	g.choice = true
	x, err := g.eval(e)
	g.choice = outer
	if err == nil && x.kind != ir.BoolKind {
		err = fmt.Errorf("a number stands for a condition")
	}
	return x, err
}

// junction is and, or.
func (g *guard) junction(e *python) (number, error) {
	op, name := ir.BoolArg(e.op == "or"), map[string]string{"and": "_operator.and_",
		"or": "_operator.or_"}[e.op]
	var all *number
	start := len(g.nodes)
	for _, a := range e.args {
		x, err := g.condition(a)
		if err != nil {
			return number{}, err
		}
		if yes, ok := x.always(); ok {
			if ir.BoolArg(yes) == op {
				g.nodes = g.nodes[:start]
				return x, nil // decides
			}
			continue
		}
		if all != nil {
			x = g.node(name, ir.BoolKind, *all, x)
		}
		all = &x
	}
	if all == nil {
		return truth(!bool(op)), nil
	}
	return *all, nil
}

var pythonOps = map[string]string{
	"+": "_operator.add", "-": "_operator.sub", "*": "_operator.mul", "//": "_operator.floordiv",
	"/": "_operator.truediv",
	"%": "_operator.mod", "**": "_operator.pow",
	"==": "_operator.eq", "!=": "_operator.ne", "<": "_operator.lt", "<=": "_operator.le",
	">": "_operator.gt", ">=": "_operator.ge",
}

func (g *guard) operands(a, b *python) (x, y number, err error) {
	if x, err = g.eval(a); err != nil {
		return x, y, err
	}
	if y, err = g.eval(b); err != nil {
		return x, y, err
	}
	if x.kind == ir.BoolKind || y.kind == ir.BoolKind {
		return x, y, fmt.Errorf("a condition stands for a number")
	}
	return x, y, nil
}

func (g *guard) arithmetic(op string, a, b *python) (number, error) {
	x, y, err := g.operands(a, b)
	if err != nil {
		return number{}, err
	}
	if op == "//" || op == "%" || op == "/" {
		if err := g.notZero(y); err != nil {
			return number{}, err
		}
	}
	if x.exact() && y.exact() {
		if out, ok := exact(op, x, y); ok {
			if out.expr.Undefined() || len(out.expr.Terms()) > maxTerms {
				return number{}, fmt.Errorf("its numbers are too large")
			}
			return out, nil
		}
	}
	kind := ir.FloatKind
	if x.isInt() && y.isInt() && op != "/" {
		kind = ir.IntKind
	}
	if n, ok := y.expr.Const(); op == "**" && kind == ir.IntKind && !(y.known && ok && n >= 0) {
		return number{}, fmt.Errorf("a power with an exponent that is no number of at least 0")
	}
	if kind == ir.FloatKind && (op == "//" || op == "%") {
		return number{}, fmt.Errorf("%s of floats is not understood", op)
	}
	return g.node(pythonOps[op], kind, x, y), nil
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
func (g *guard) notZero(y number) error {
	if y.exact() {
		if n, ok := y.expr.Const(); ok && n != 0 {
			return nil
		}
		if sym.Less(sym.Int(0), y.expr) || sym.Less(y.expr, sym.Int(0)) {
			return nil
		}
	}
	if n, ok := y.expr.Const(); y.exact() && ok && n == 0 || g.choice {
		return fmt.Errorf("it divides by what may be 0")
	}
	g.assert(g.arg(g.node("_operator.ne", ir.BoolKind, y, integerOf(0))))
	return nil
}

func (g *guard) compare(e *python) (number, error) {
	x, y, err := g.operands(e.args[0], e.args[1])
	if err != nil {
		return number{}, err
	}
	if x.exact() && y.exact() {
		den := max(x.divisor(), y.divisor())
		a, b := sym.Mul(x.expr, sym.Int(den/x.divisor())), sym.Mul(y.expr, sym.Int(den/y.divisor()))
		if a.Undefined() || b.Undefined() {
			return number{}, fmt.Errorf("its numbers are too large")
		}
		if yes, ok := decided(e.op, a, b); ok {
			return truth(yes), nil
		}
		x, y = knownInt(a), knownInt(b)
	}
	return g.node(pythonOps[e.op], ir.BoolKind, x, y), nil
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
func (g *guard) call(e *python) (number, error) {
	name := dotted(e.args[0])
	if name == "" {
		return g.input(e)
	}
	var xs []number
	for _, a := range e.args[1:] {
		x, err := g.eval(a)
		if err != nil {
			return number{}, err
		}
		if x.kind == ir.BoolKind {
			return number{}, fmt.Errorf("a condition stands for a number")
		}
		xs = append(xs, x)
	}
	switch name {
	case "torch.sym_max", "torch.sym_min", "max", "min":
		if len(xs) >= 2 {
			return g.extremum(strings.HasSuffix(name, "max"), xs), nil
		}
	}
	if len(xs) != 1 {
		return number{}, fmt.Errorf("%s of %d numbers is not understood", quoted(name), len(xs))
	}
	x := xs[0]
	switch name {
	case "torch.sym_float", "float":
		switch {
		case x.kind == ir.FloatKind:
			return x, nil
		case x.known:
			return number{kind: ir.FloatKind, expr: x.expr, den: 1}, nil
		}
		return g.node("torch.sym_float", ir.FloatKind, x), nil
	case "math.trunc", "math.floor", "math.ceil", "torch.sym_int", "int":
		return g.round(name, x), nil
	case "torch._sym_sqrt", "torch.sym_sqrt", "math.sqrt":
		return g.node("torch.sym_sqrt", ir.FloatKind, x), nil
	case "abs":
		if x.known {
			return knownInt(sym.Max(x.expr, sym.Neg(x.expr))), nil
		}
	}
	return number{}, fmt.Errorf("the function %s is not understood", quoted(name))
}

// dotted returns the name of a function, "" if e is no name.
func dotted(e *python) string {
	switch e.op {
	case "name":
		return e.text
	case "attribute":
		if e.args[0].op == "name" && (e.args[0].text == "torch" || e.args[0].text == "math") {
			return e.args[0].text + "." + e.text
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
func (g *guard) input(e *python) (number, error) {
	var steps []*python // from the root on
	root := e
	for root.op == "index" || root.op == "attribute" || root.op == "call" {
		steps = append(steps, root)
		root = root.args[0]
	}
	slices.Reverse(steps)
	if root.op != "name" || root.text != "L" || len(steps) == 0 || steps[0].op != "index" {
		return number{}, fmt.Errorf("it speaks of something that is no input")
	}
	v, fixed, steps, err := g.leaf(steps)
	if err != nil {
		return number{}, err
	}
	if len(steps) == 0 {
		return g.scalar(v, fixed)
	}
	if v.Type.Kind != ir.TensorKind {
		return number{}, fmt.Errorf("an input that it takes for a tensor is none")
	}
	// x.size()[i], x.size(i), x.shape[i], x.stride()[i], x.storage_offset(), x.dim()
	name := steps[0].text
	if steps[0].op != "attribute" {
		return number{}, fmt.Errorf("it looks into a tensor")
	}
	steps = steps[1:]
	var index []*python
	called := false
	for _, s := range steps {
		if s.op == "call" && !called && len(index) == 0 && name != "shape" {
			called = true
			index = append(index, s.args[1:]...)
			continue
		}
		if s.op != "index" {
			return number{}, fmt.Errorf("%s is not understood", quoted(name))
		}
		index = append(index, s.args[1])
	}
	if !called && name != "shape" {
		return number{}, fmt.Errorf("%s is not understood", quoted(name))
	}
	t := v.Type
	if len(index) == 0 {
		switch name {
		case "dim":
			return integerOf(int64(t.Rank())), nil
		case "numel":
			return knownInt(t.Numel()), nil
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
		return number{}, fmt.Errorf("%s is not understood", quoted(name))
	}
	i, err := g.eval(index[0])
	if err != nil {
		return number{}, err
	}
	n, ok := i.expr.Const()
	if n < 0 {
		n += int64(len(list))
	}
	if !ok || !i.known || n < 0 || n >= int64(len(list)) {
		return number{}, fmt.Errorf("it speaks of a dimension that the input does not have")
	}
	return g.determined(list[n])
}

// determined returns a size or stride, all of whose symbols follow from the sizes
// and numbers that the caller gives.
func (g *guard) determined(e sym.Expr) (number, error) {
	for _, s := range e.Symbols() {
		found := slices.ContainsFunc(g.m.Graph.Inputs, func(v *ir.Value) bool {
			return slices.ContainsFunc(v.Type.Sizes, func(size sym.Expr) bool {
				return size.Uses(s)
			}) || v.Type.HasExpr && v.Type.Expr.Uses(s)
		})
		if !found {
			return number{}, fmt.Errorf("it speaks of strides that a caller cannot choose")
		}
	}
	return knownInt(e), nil
}

// scalar returns an input that is a number.
func (g *guard) scalar(v *ir.Value, fixed ir.Arg) (number, error) {
	switch a := fixed.(type) {
	case ir.Int:
		return integerOf(int64(a)), nil
	case ir.Float:
		return number{kind: ir.FloatKind, literal: a}, nil
	case ir.BoolArg:
		return truth(bool(a)), nil
	case nil:
		switch v.Type.Kind {
		case ir.IntKind:
			if v.Type.HasExpr {
				return knownInt(v.Type.Expr), nil
			}
			return number{kind: ir.IntKind, value: v}, nil
		case ir.FloatKind, ir.BoolKind:
			return number{kind: v.Type.Kind, value: v}, nil
		}
	}
	return number{}, fmt.Errorf("an input that it takes for a number is none")
}

// leaf finds the input that the first steps lead to, and what steps are left.
// fixed is the value of an input that is a constant.
func (g *guard) leaf(steps []*python) (v *ir.Value, fixed ir.Arg, rest []*python, err error) {
	var leaves []int // positions in the graph's inputs of what the caller passes
	for i, spec := range g.m.Inputs {
		if spec.Kind == ir.UserInput || spec.Kind == ir.ConstantInput {
			leaves = append(leaves, i)
		}
	}
	at, rest := -1, steps[1:]
	if name := steps[0].args[1].text; name == "flat_args" {
		if len(rest) > 0 && rest[0].op == "index" {
			if n, err := strconv.Atoi(rest[0].args[1].text); err == nil {
				at, rest = n, rest[1:]
			}
		}
	} else {
		at, rest = g.named(name, rest)
	}
	if at < 0 || at >= len(leaves) {
		return nil, nil, nil, fmt.Errorf("it speaks of an input that the program does not have")
	}
	i := leaves[at]
	return g.m.Graph.Inputs[i], g.m.Inputs[i].Fixed, rest, nil
}

// named finds the leaf that a parameter of forward and steps from it lead to, -1
// if there is none. Of *xs the parameters are xs_0, xs_1, …; of **kw the keys.
func (g *guard) named(name string, steps []*python) (int, []*python) {
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
	if k < 0 && len(steps) > 0 && steps[0].op == "index" {
		key := steps[0].args[1]
		if key.op == "number" {
			k = slices.Index(names, name+"_"+key.text)
		} else if i := slices.Index(in.Children[1].Keys, key.text); i >= 0 {
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
		case s.op == "attribute":
			i = slices.Index(t.Keys, s.text)
		case s.op == "index" && s.args[1].op == "string":
			i = slices.Index(t.Keys, s.args[1].text)
		case s.op == "index" && s.args[1].op == "number" && t.Keys != nil &&
			t.Type != "collections.namedtuple":
			i = slices.Index(t.Keys, s.args[1].text) // of a dict
		case s.op == "index" && s.args[1].op == "number":
			i, _ = strconv.Atoi(s.args[1].text)
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
