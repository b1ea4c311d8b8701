package sym

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseSrepr reads sympy's srepr of an integer expression, as exported programs
// hold it: Symbol, Integer, Add, Mul, Pow, Max, Min, and PyTorch's FloorDiv,
// CleanDiv, CeilDiv, Mod, PythonMod, ModularIndexing, PowByNatural, Identity,
// LShift, RShift. Fractions (Rational, IntTrueDiv, negative powers) may appear
// below CeilToInt, FloorToInt, TruncToInt, ceiling and floor; they are exact.
// symbol gives the symbol of a name, or nil if there is none. Values that are
// not integers are an error.
func ParseSrepr(s string, symbol func(name string) *Symbol) (Expr, error) {
	p := sreprParser{scanner: scanner{s: s}, symbol: symbol}
	e, err := p.all()
	if err != nil {
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

type sreprParser struct {
	scanner
	symbol func(name string) *Symbol
}

func (p *sreprParser) all() (Expr, error) {
	if len(p.s) > maxParseBytes {
		return Expr{}, p.errorf("expression longer than %d bytes", maxParseBytes)
	}
	v, err := p.value()
	if err != nil {
		return Expr{}, err
	}
	if p.peek() != 0 {
		return Expr{}, p.errorf("unexpected %q", p.peek())
	}
	return p.integer(v)
}

// integer returns the value if it is one.
func (p *sreprParser) integer(v value) (Expr, error) {
	if v.float {
		return Expr{}, p.errorf("a floating-point value where an integer is needed")
	}
	if !v.den.Is(1) {
		return Expr{}, p.errorf("a fraction where an integer is needed")
	}
	return v.num, p.check(v.num)
}

func (p *sreprParser) value() (value, error) {
	if err := p.enter(); err != nil {
		return value{}, err
	}
	defer func() { p.depth-- }()
	p.peek()
	start := p.pos
	name := p.word()
	if name == "" {
		return value{}, p.errorf("expected an expression")
	}
	if why := unsupported(name); why != "" {
		p.pos = start
		return value{}, p.errorf("%s is %s where an integer is needed", name, why)
	}
	if err := p.expect("("); err != nil {
		return value{}, err
	}
	switch name {
	case "Symbol", "Dummy":
		return p.symbolArgs()
	case "Integer":
		n, err := p.literal()
		if err != nil {
			return value{}, err
		}
		return whole(Int(n)), p.expect(")")
	case "Rational":
		return p.rational()
	case "Float":
		return p.float()
	}
	var args []value
	for !p.accept(")") {
		if len(args) > 0 {
			if err := p.expect(","); err != nil {
				return value{}, err
			}
		}
		v, err := p.value()
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
	}
	v, err := p.apply(name, args)
	if err != nil {
		return value{}, err
	}
	if err := p.check(v.num); err != nil {
		return value{}, err
	}
	return v, p.check(v.den)
}

// unsupported says what a name of sympy's stands for that is no integer.
func unsupported(name string) string {
	switch name {
	case "FloatTrueDiv", "FloatPow", "RoundDecimal":
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

// literal consumes an integer in digits.
func (p *sreprParser) literal() (int64, error) {
	negate := p.accept("-")
	if !isDigit(p.peek()) {
		return 0, p.errorf("expected digits")
	}
	return p.number(negate)
}

// symbolArgs reads 's0', positive=True, integer=True).
func (p *sreprParser) symbolArgs() (value, error) {
	name, err := p.quoted()
	if err != nil {
		return value{}, err
	}
	integer := false
	for !p.accept(")") {
		if err := p.expect(","); err != nil {
			return value{}, err
		}
		key := p.word()
		if key == "" {
			return value{}, p.errorf("expected an assumption")
		}
		if err := p.expect("="); err != nil {
			return value{}, err
		}
		switch assumed := p.word(); {
		case assumed != "True" && assumed != "False" && assumed != "None":
			if assumed != "" || key != "dummy_index" {
				return value{}, p.errorf("expected True or False")
			}
			if _, err := p.literal(); err != nil {
				return value{}, err
			}
		case key == "integer":
			integer = assumed == "True"
		}
	}
	if !integer {
		return value{}, p.errorf("symbol %s is a floating-point value where an integer is needed",
			quote(name))
	}
	s := p.symbol(name)
	if s == nil {
		return value{}, p.errorf("unknown symbol %s", quote(name))
	}
	return whole(s.Expr()), nil
}

// quoted consumes a name in quotes.
func (p *sreprParser) quoted() (string, error) {
	q := p.peek()
	if q != '\'' && q != '"' {
		return "", p.errorf("expected a quoted name")
	}
	end := strings.IndexByte(p.s[p.pos+1:], q)
	if end < 0 {
		return "", p.errorf("quoted name does not end")
	}
	name := p.s[p.pos+1 : p.pos+1+end]
	p.pos += end + 2
	return name, nil
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

// float consumes the arguments of a Float, a decimal number in quotes and its
// precision. It has to be a BinaryFraction, such as 0.5: with any other the size
// would be what rounding makes of it.
func (p *sreprParser) float() (value, error) {
	text, err := p.quoted()
	if err != nil {
		return value{}, err
	}
	if p.accept(",") {
		if p.word() != "precision" {
			return value{}, p.errorf("expected the precision")
		}
		if err := p.expect("="); err != nil {
			return value{}, err
		}
		if _, err := p.literal(); err != nil {
			return value{}, err
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return value{}, p.errorf("%s is not a number", quote(text))
	}
	if num, den, ok := BinaryFraction(f); ok {
		return value{num: Int(num), den: Int(den), float: true}, p.expect(")")
	}
	return value{}, p.errorf(
		"a size that is computed with %s depends on rounding; give the model the size, or a factor such as 0.5", quote(text))
}

func (p *sreprParser) rational() (value, error) {
	n, err := p.literal()
	if err != nil {
		return value{}, err
	}
	if err := p.expect(","); err != nil {
		return value{}, err
	}
	d, err := p.literal()
	if err != nil {
		return value{}, err
	}
	if d <= 0 {
		return value{}, p.errorf("denominator %d", d)
	}
	return value{num: Int(n), den: Int(d)}, p.expect(")")
}
