package sym

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir/must"
)

// ParseSrepr reads sympy's srepr of an integer expression, as exported programs
// hold it: Symbol, Integer, Add, Mul, Pow, Max, Min, and PyTorch's FloorDiv,
// CleanDiv, CeilDiv, Mod, PythonMod, ModularIndexing, PowByNatural, Identity,
// LShift, RShift, and Piecewise of conditions on such expressions. Fractions (Rational,
// IntTrueDiv, FloatTrueDiv, negative powers) may appear below CeilToInt, FloorToInt, TruncToInt,
// ceiling and floor; they are exact.
// symbol gives the symbol of a name, or nil if there is none. Values that are
// not integers are an error.
func ParseSrepr(s string, symbol func(name string) *Symbol) (e Expr, err error) {
	p := &sreprParser{parser{symbol: symbol}}
	if err := must.Try(func() {
		n := parsePython(s)
		e = n.whole(p.value(n))
	}); err != nil {
		return Expr{}, fmt.Errorf("sym: %w in %s", err, quote(s))
	}
	return e, nil
}

// value is what a part of an srepr stands for: the fraction num/den.
type value struct {
	num, den Expr
	float    bool // of Python type float, although the number may be whole
}

func whole(e Expr) value { return value{num: e, den: Int(1)} }

type sreprParser struct{ parser }

// whole returns the value if it is an integer.
func (n *Python) whole(v value) Expr {
	if v.float {
		n.fail("a floating-point value where an integer is needed")
	}
	if !v.den.Is(1) {
		n.fail("a fraction where an integer is needed")
	}
	return n.check(v.num)
}

func (p *sreprParser) value(n *Python) value {
	head := n
	if n.Op == "call" {
		head = n.Args[0]
	}
	if why := unsupported(head.Text); head.Op == "name" && why != "" {
		head.fail("%s is %s where an integer is needed", head.Text, why)
	}
	if n.Op != "call" || head.Op != "name" {
		n.fail("expected an expression")
	}
	args := n.Args[1:]
	switch head.Text {
	case "Symbol", "Dummy":
		return whole(p.symbolOf(n))
	case "Integer":
		n.arity(1)
		return whole(Int(args[0].literal()))
	case "Rational":
		n.arity(2)
		d := args[1].literal()
		if d <= 0 {
			n.fail("denominator %d", d)
		}
		return value{num: Int(args[0].literal()), den: Int(d)}
	case "Float":
		return n.float()
	case "Piecewise":
		return p.piecewise(n, args)
	}
	values := make([]value, len(args))
	for i, a := range args {
		values[i] = p.value(a)
	}
	v := p.apply(n, head.Text, values)
	return value{n.check(v.num), n.check(v.den), v.float}
}

// unsupported says what a name of sympy's stands for that is no integer.
func unsupported(name string) string {
	switch name {
	case "FloatPow", "RoundDecimal":
		return "a floating-point value"
	case "GreaterThan", "LessThan", "StrictGreaterThan", "StrictLessThan", "Equality",
		"Unequality", "Eq", "Ne", "And", "Or", "Not", "true", "false", "BooleanTrue",
		"BooleanFalse":
		return "a boolean"
	case "oo", "int_oo", "Infinity", "NegativeInfinity", "nan":
		return "not finite"
	}
	if strings.HasPrefix(name, "OpaqueUnaryFn_") {
		return "a floating-point value"
	}
	return ""
}

// literal returns an integer in digits.
func (n *Python) literal() int64 {
	if n.Op == "neg" {
		return n.Args[0].integer(true)
	}
	return n.integer(false)
}

// arity refuses a call that has not so many arguments.
func (n *Python) arity(want int) {
	if got := len(n.Args) - 1; got != want {
		n.fail("%s of %d arguments, not %d", n.Args[0].Text, got, want)
	}
}

// text returns the first argument of a call, a text in quotes.
func (n *Python) text() string {
	if len(n.Args) < 2 || n.Args[1].Op != "string" {
		n.fail("expected a quoted name")
	}
	return n.Args[1].Text
}

// symbolOf returns the symbol of Symbol('s0', positive=True, integer=True).
func (p *sreprParser) symbolOf(n *Python) Expr {
	name := n.text()
	integer := false
	for _, a := range n.Args[2:] {
		if a.Op != "key" {
			a.fail("expected an assumption")
		}
		switch v := a.Args[0]; {
		case a.Text == "dummy_index" && v.Op != "name":
			v.literal()
		case v.Op != "name" || v.Text != "True" && v.Text != "False" && v.Text != "None":
			v.fail("expected True or False")
		case a.Text == "integer":
			integer = v.Text == "True"
		}
	}
	if !integer {
		n.fail("symbol %s is a floating-point value where an integer is needed", quote(name))
	}
	return p.named(n.Args[1])
}

// binaryDigits is how many digits a BinaryFraction and its denominator may have.
const binaryDigits = 20

// BinaryFraction returns f as num/den, with den a power of two. It is ok only where
// both are short: then Python's product of f and a size below 2^33 is exact, so
// that a size computed with f is one computed with integers.
func BinaryFraction(f float64) (num, den int64, ok bool) {
	for den = 1; den <= 1<<binaryDigits; den *= 2 {
		if n := f * float64(den); n == math.Trunc(n) && math.Abs(n) < 1<<binaryDigits {
			return int64(n), den, true
		}
	}
	return 0, 0, false
}

// float returns the value of a Float, a decimal number in quotes and its precision. It has
// to be a BinaryFraction, such as 0.5: with any other the size would be what rounding makes
// of it.
func (n *Python) float() value {
	text := n.text()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		n.fail("%s is not a number", quote(text))
	}
	num, den, ok := BinaryFraction(f)
	if !ok {
		n.fail("a size that is computed with %s depends on rounding; "+
			"give the model the size, or a factor such as 0.5", quote(text))
	}
	return value{num: Int(num), den: Int(den), float: true}
}

// integerFuncs are functions of integers, with the number of their arguments.
var integerFuncs = map[string]struct {
	arity int
	f     func(n *Python, x []Expr) Expr
}{
	"FloorDiv":  {2, func(_ *Python, x []Expr) Expr { return FloorDiv(x[0], x[1]) }},
	"CleanDiv":  {2, func(_ *Python, x []Expr) Expr { return FloorDiv(x[0], x[1]) }},
	"CeilDiv":   {2, func(_ *Python, x []Expr) Expr { return CeilDiv(x[0], x[1]) }},
	"Mod":       {2, func(_ *Python, x []Expr) Expr { return Mod(x[0], x[1]) }},
	"PythonMod": {2, func(_ *Python, x []Expr) Expr { return Mod(x[0], x[1]) }},
	"ModularIndexing": {3, func(_ *Python, x []Expr) Expr {
		return Mod(FloorDiv(x[0], x[1]), x[2])
	}},
	"Identity": {1, func(_ *Python, x []Expr) Expr { return x[0] }},
	"LShift":   {2, func(n *Python, x []Expr) Expr { return Mul(x[0], n.powerOfTwo(x[1])) }},
	"RShift":   {2, func(n *Python, x []Expr) Expr { return FloorDiv(x[0], n.powerOfTwo(x[1])) }},
}

func (n *Python) powerOfTwo(e Expr) Expr {
	k, ok := e.Const()
	if !ok || k < 0 || k > 62 {
		n.fail("shift by %s", e)
	}
	return Int(1 << k)
}

// piecewise returns the value of the first pair whose condition holds. The last pair's
// condition is true. All values are computed, so none may divide by zero. The result is an
// integer if all are; of several conditions bounds do not see that they exclude each other, so
// those of the values limit it.
func (p *sreprParser) piecewise(n *Python, pairs []*Python) (v value) {
	holds := Int(0)
	lo, hi, limited := int64(math.MaxInt64), int64(math.MinInt64), len(pairs) > 2
	for _, pair := range slices.Backward(pairs) {
		if pair.Op != "call" || pair.Args[0].Text != "ExprCondPair" {
			pair.fail("expected an ExprCondPair")
		}
		pair.arity(2)
		x := p.value(pair.Args[1])
		if d, found := x.num.divisor(); found {
			pair.fail("a choice of sizes divides by %s, which may be 0 where another is taken", d)
		}
		from, to := x.num.Bounds()
		lo, hi, limited = min(lo, from), max(hi, to), limited && x.den.Is(1) && !x.float
		if v.den.IsZero() { // the last
			v, holds = x, p.condition(pair.Args[2])
			continue
		}
		change := n.times(whole(p.condition(pair.Args[2])), n.sum(x, n.negative(v)))
		v = n.sum(v, change)
	}
	if !holds.Is(1) {
		n.fail("Piecewise without a value where no condition holds")
	}
	if limited && lo > math.MinInt64 && hi < math.MaxInt64 {
		v.num = Max(Int(lo), Min(Int(hi), v.num))
	}
	return v
}

func (n *Python) negative(v value) value { return n.times(whole(Int(-1)), v) }

// condition returns 1 where a condition holds and 0 where it does not.
func (p *sreprParser) condition(n *Python) Expr {
	if n.Op == "name" && (n.Text == "true" || n.Text == "false") {
		return Int(map[string]int64{"true": 1}[n.Text])
	}
	if n.Op != "call" {
		n.fail("expected a condition")
	}
	name, args := n.Args[0].Text, n.Args[1:]
	switch name {
	case "Not":
		n.arity(1)
		return not(p.condition(args[0]))
	case "And":
		all := Int(1)
		for _, a := range args {
			all = n.product(all, p.condition(a))
		}
		return all
	case "Or":
		none := Int(1)
		for _, a := range args {
			none = n.product(none, not(p.condition(a)))
		}
		return not(none)
	}
	holds := map[string]func(d Expr) Expr{
		"GreaterThan":       notNegative,
		"LessThan":          func(d Expr) Expr { return notNegative(Neg(d)) },
		"StrictGreaterThan": func(d Expr) Expr { return not(notNegative(Neg(d))) },
		"StrictLessThan":    func(d Expr) Expr { return not(notNegative(d)) },
		"Equality":          func(d Expr) Expr { return not(notZero(d)) },
		"Unequality":        notZero,
	}[name]
	if holds == nil {
		n.fail("unknown condition %s", quote(name))
	}
	n.arity(2)
	d := n.sum(p.value(args[0]), n.negative(p.value(args[1])))
	if !positive(d.den) {
		n.fail("a comparison of fractions with the denominator %s, whose sign is not known",
			quote(d.den.String()))
	}
	return n.check(holds(d.num))
}

// not returns 1 for 0, and 0 for 1.
func not(x Expr) Expr { return Sub(Int(1), x) }

// notNegative returns 1 where x ≥ 0, else 0.
func notNegative(x Expr) Expr { return Max(Min(Add(x, Int(1)), Int(1)), Int(0)) }

// notZero returns 1 where x ≠ 0, else 0.
func notZero(x Expr) Expr { return Min(Max(x, Neg(x)), Int(1)) }

// apply computes a function of an srepr.
func (p *sreprParser) apply(n *Python, name string, args []value) value {
	switch name {
	case "Add":
		return fold(args, whole(Int(0)), n.sum)
	case "Mul":
		return fold(args, whole(Int(1)), n.times)
	case "IntTrueDiv", "FloatTrueDiv":
		n.arity(2)
		for _, x := range args {
			if den, ok := x.den.Const(); name == "FloatTrueDiv" && (!ok || den&(den-1) != 0) {
				n.fail("a quotient of a number that is rounded; divide by the product")
			}
		}
		return value{n.product(args[0].num, args[1].den), n.product(args[0].den, args[1].num), true}
	case "FloorToInt", "floor", "CeilToInt", "ceiling", "TruncToInt":
		n.arity(1)
		return whole(n.round(name, args[0].num, args[0].den))
	case "Pow", "PowByNatural":
		n.arity(2)
		return n.pow(args[0], n.whole(args[1]))
	case "ToFloat":
		n.arity(1)
		args[0].float = true
		return args[0]
	}
	xs := make([]Expr, len(args))
	for i, a := range args {
		xs[i] = n.whole(a)
	}
	if extremum := map[string]func(...Expr) Expr{"Max": Max, "Min": Min}[name]; extremum != nil {
		if len(xs) == 0 {
			n.fail("%s of nothing", name)
		}
		return whole(extremum(xs...))
	}
	f, ok := integerFuncs[name]
	if !ok {
		n.fail("unknown function %s", quote(name))
	}
	n.arity(f.arity)
	return whole(f.f(n, xs))
}

func fold(args []value, acc value, f func(a, b value) value) value {
	for _, v := range args {
		acc = f(acc, v)
	}
	return acc
}

func (n *Python) times(a, b value) value {
	return value{n.product(a.num, b.num), n.product(a.den, b.den), a.float || b.float}
}

func (n *Python) sum(a, b value) value {
	float := a.float || b.float
	if a.den.Equal(b.den) {
		return value{n.check(Add(a.num, b.num)), a.den, float}
	}
	return value{Add(n.product(a.num, b.den), n.product(b.num, a.den)), n.product(a.den, b.den),
		float}
}

// round turns a fraction into an integer.
func (n *Python) round(name string, num, den Expr) Expr {
	switch {
	case name == "FloorToInt", name == "floor":
		return FloorDiv(num, den)
	case name == "CeilToInt", name == "ceiling":
		return CeilDiv(num, den)
	case !NonNegative(den):
		n.fail("TruncToInt of a division by %s, whose sign is not known", quote(den.String()))
	case NonNegative(num):
		return FloorDiv(num, den)
	}
	up, down := FloorDiv(Max(num, Int(0)), den), FloorDiv(Max(Neg(num), Int(0)), den)
	return Sub(up, down)
}

// maxPower bounds constant exponents.
const maxPower = 64

func (n *Python) pow(base value, exponent Expr) value {
	k, ok := exponent.Const()
	if !ok || k < -maxPower || k > maxPower {
		n.fail("power with exponent %s", quote(exponent.String()))
	}
	if k < 0 {
		base.num, base.den = base.den, base.num
		k = -k
	}
	out := whole(Int(1))
	for range k {
		out = n.times(out, base)
	}
	return out
}
