package sym

import (
	"math"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	n := testNames()
	for in, want := range map[string]string{
		"":                           "unexpected end",
		"1 +":                        "unexpected end",
		"(1":                         `expected ")"`,
		"1 2":                        `unexpected "2"`,
		"what":                       `unknown symbol "what"`,
		"sin(u)":                     `unknown function "sin"`,
		"max()":                      "max of nothing",
		"u/2":                        `unexpected "/"`,
		"99999999999999999999":       "does not fit 64 bits",
		"9223372036854775808":        "does not fit 64 bits",
		strings.Repeat("(", 1000):    "nested deeper",
		strings.Repeat("1 + ", 1e5):  "longer than",
		strings.Repeat("max(u,", 99): "unexpected end",
		strings.Repeat("(u + v + p + a + b + c + i)*", 30) + "1": "grows too large",
	} {
		if e, err := Parse(in, n.symbol); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v; want %s", in, e, err, want)
		}
	}
}

func TestParseSrepr(t *testing.T) {
	n := testNames()
	s := func(text string) string {
		for _, name := range []string{"s0", "s1"} {
			text = strings.ReplaceAll(text, name, "Symbol('"+name+"', positive=True, integer=True)")
		}
		text = strings.ReplaceAll(text, "BIT", "Symbol('bit', integer=True)")
		return strings.ReplaceAll(text, "u0", "Symbol('u', integer=True)")
	}
	n["bit"] = NewSymbol("bit", 0, 1)
	for in, want := range map[string]string{
		"Integer(-3)":                          "-3",
		"s0":                                   "s0",
		"Mul(Integer(4), Pow(s0, Integer(2)))": "4*s0*s0",
		"Add(Mul(Integer(80), FloorDiv(Add(s0, Integer(-1)), Integer(2))), Integer(80))":        "80*((s0 + 1)//2)",
		"Add(Mod(Mul(Integer(2), s0), Integer(3)), Integer(1))":                                 "(2*s0) % 3 + 1",
		"Mul(Integer(8), Max(Integer(1), Add(FloorDiv(Add(s0, Integer(-1)), Integer(2)), -1)))": "",
		"Max(Integer(1), u0)":                                       "max(u, 1)",
		"Min(Integer(1), s0, s1)":                                   "1",
		"PythonMod(u0, Integer(-3))":                                "u % -3",
		"ModularIndexing(u0, Integer(4), Integer(8))":               "(u//4) % 8",
		"CeilToInt(IntTrueDiv(s0, Integer(4)))":                     "(s0 + 3)//4",
		"FloorToInt(IntTrueDiv(s0, s1))":                            "s0//s1",
		"TruncToInt(Mul(Float('0.5', precision=53), ToFloat(s0)))":  "s0//2",
		"TruncToInt(Mul(Float('1.75', precision=53), ToFloat(s0)))": "(7*s0)//4",
		"FloorToInt(Mul(Rational(1, 2), s0))":                       "s0//2",
		"ceiling(Add(Rational(1, 2), Mul(Rational(1, 3), s0)))":     "(2*s0 + 8)//6",
		"TruncToInt(IntTrueDiv(s0, Integer(2)))":                    "s0//2",
		"CeilToInt(FloatTrueDiv(ToFloat(s0), Float('-1.0')))":       "-s0",
		"CeilToInt(FloatTrueDiv(ToFloat(s0), Float('1.5')))":        "(2*s0 + 2)//3",
		"TruncToInt(IntTrueDiv(u0, Integer(2)))":                    "max(u, 0)//2 - max(-u, 0)//2",
		"floor(Mul(s0, Pow(s1, Integer(-1))))":                      "s0//s1",
		"CleanDiv(Mul(Integer(2), s0), Integer(2))":                 "s0",
		"CeilDiv(u0, s0)":                                           "(u - 1)//s0 + 1",
		"PowByNatural(Integer(2), Integer(10))":                     "1024",
		"LShift(u0, Integer(3))":                                    "8*u",
		"RShift(u0, Integer(3))":                                    "u//8",
		"Identity(u0)":                                              "u",
		"Add()":                                                     "0",
		"Piecewise(ExprCondPair(Integer(1), Equality(BIT, Integer(1))), " +
			"ExprCondPair(Integer(0), true))": "bit",
		"Piecewise(ExprCondPair(s0, Equality(BIT, Integer(0))), " +
			"ExprCondPair(Integer(7), true))": "s0 + bit*(7 - s0)",
		"Piecewise(ExprCondPair(s1, GreaterThan(s0, Integer(1))), ExprCondPair(u0, true))": "s1",
		"Piecewise(ExprCondPair(s1, And(true, Not(StrictLessThan(s0, u0)))), " +
			"ExprCondPair(u0, true))": "u + (s1 - u)*max(min(s0 - u + 1, 1), 0)",
		"Piecewise(ExprCondPair(s1, Or(false, LessThan(s0, u0))), ExprCondPair(u0, true))": "u + (s1 - u)*max(min(u - s0 + 1, 1), 0)",
		"Piecewise(ExprCondPair(s0, Unequality(u0, Integer(3))), ExprCondPair(s1, true))":  "s1 + (s0 - s1)*min(max(u - 3, 3 - u), 1)",
		"Piecewise(ExprCondPair(s0, false), ExprCondPair(s1, " +
			"StrictGreaterThan(Rational(1, 2), u0)), ExprCondPair(Integer(2), true))": "2 + (s1 - 2)*(1 - max(min(2*u, 1), 0))",
	} {
		e, err := ParseSrepr(s(in), n.symbol)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "expected an expression") {
				t.Errorf("%s: %v, %v", in, e, err)
			}
			continue
		}
		if err != nil || !e.Equal(n.parse(t, want)) {
			t.Errorf("%s: %v, %v; want %s", in, e, err, want)
		}
	}
}

func TestParseSreprErrors(t *testing.T) {
	n := testNames()
	for in, want := range map[string]string{
		"": "unexpected end",
		"GreaterThan(Symbol('u', integer=True), Integer(2))": "GreaterThan is a boolean",
		"And(true, false)": "And is a boolean",
		"Piecewise()":      "without a value",
		"Piecewise(ExprCondPair(Integer(1), false))":                "without a value",
		"Piecewise(Integer(1))":                                     "expected an ExprCondPair",
		"Piecewise(ExprCondPair(Integer(1), Xor(true, false)))":     `unknown condition "Xor"`,
		"Piecewise(ExprCondPair(Integer(1)))":                       "ExprCondPair of 1 arguments",
		"Piecewise(ExprCondPair(Integer(1), Symbol('u')))":          `unknown condition "Symbol"`,
		"Piecewise(ExprCondPair(Integer(1), Not))":                  "expected a condition",
		"Piecewise(ExprCondPair(Integer(1), Not()))":                "Not of 0 arguments",
		"Piecewise(ExprCondPair(Integer(1), Equality(Integer(1))))": "Equality of 1 arguments",
		"Piecewise(ExprCondPair(Integer(1), LessThan(IntTrueDiv(Integer(1), " +
			"Symbol('u', integer=True)), Integer(1))))": "sign is not known",
		"Float('2.0', precision=53)": "a floating-point value where an integer",
		"TruncToInt(Mul(Float('0.1', precision=53), ToFloat(Symbol('s0', integer=True))))":          "depends on rounding",
		"CeilToInt(FloatTrueDiv(IntTrueDiv(Symbol('s0', integer=True), Integer(3)), Float('2.0')))": "that is rounded",
		"TruncToInt(Float('nan', precision=53))":                                                    "depends on rounding",
		"TruncToInt(Float('1e400', precision=53))":                                                  "not a number",
		"Symbol('u')":                                 `symbol "u" is a floating-point value`,
		"Symbol('u', integer=False)":                  "floating-point",
		"Symbol('nope', integer=True)":                `unknown symbol "nope"`,
		"Symbol('u, integer=True)":                    "does not end",
		"Symbol(u)":                                   "expected a quoted name",
		"Symbol('u', integer=maybe)":                  "expected True or False",
		"IntTrueDiv(Integer(4), Integer(2))":          "floating-point",
		"Rational(1, 2)":                              "fraction",
		"Rational(1, 0)":                              "denominator 0",
		"Pow(Integer(2), Integer(1000))":              "exponent",
		"Pow(Integer(2), Symbol('s0', integer=True))": "exponent",
		"Mod(Integer(1))":                             "Mod of 1 arguments, not 2",
		"Max()":                                       "Max of nothing",
		"Integer(x)":                                  "expected digits",
		"Integer(99999999999999999999)":               "does not fit",
		"Integer(1) Integer(2)":                       "unexpected",
		"oo":                                          "not finite",
		"exit(Integer(1))":                            `unknown function "exit"`,
		"__import__('os')":                            "expected an expression",
		"LShift(Integer(1), Integer(64))":             "shift by 64",
		"FloorDiv(Integer(1), IntTrueDiv(Integer(1), Integer(2)))":      "floating-point",
		"TruncToInt(IntTrueDiv(Integer(1), Symbol('u', integer=True)))": "sign is not known",
		strings.Repeat("Add(", 1e4):                                     "nested deeper",
		strings.Repeat("A", 1e6):                                        "longer than",
		strings.Repeat("Pow(Add(FloorDiv(", 30) + "Symbol('u', integer=True)" +
			strings.Repeat(", Integer(3)), Symbol('v', integer=True)), Integer(3))",
				30): "grows too large",
	} {
		if e, err := ParseSrepr(in, n.symbol); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, %v; want %s", in, e, err, want)
		}
	}
}

// anyName makes a symbol for every name asked for.
func anyName() func(string) *Symbol {
	n := names{}
	return func(name string) *Symbol {
		if n[name] == nil {
			lo, hi := int64(1), int64(math.MaxInt64)
			if name > "m" {
				lo, hi = -5, 12
			}
			n[name] = NewSymbol(name, lo, hi)
		}
		return n[name]
	}
}

// checkText requires that an accepted expression prints to what reads back equal.
func checkText(t *testing.T, e Expr, symbol func(string) *Symbol) {
	e.Bounds()
	e.Symbols()
	back, err := Parse(e.String(), symbol)
	if err != nil {
		if strings.Contains(err.Error(), "too large") || strings.Contains(err.Error(), "longer") ||
			strings.Contains(err.Error(), "deeper") {
			return
		}
		t.Fatalf("%s: %v", e, err)
	}
	env := func(s *Symbol) (int64, bool) { return min(int64(len(s.Name)), 12), true }
	v, err1 := e.Eval(env)
	w, err2 := back.Eval(env)
	if err1 == nil && err2 == nil && v != w {
		t.Fatalf("%s = %d reads back as %s = %d", e, v, back, w)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"4*s77 + 1", "(i + 3)//2 - i % 4", "max(a, -b)*min(1, c)",
		"-9223372036854775808", "a - b//3*c % 2", "undefined()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		symbol := anyName()
		if e, err := Parse(s, symbol); err == nil {
			checkText(t, e, symbol)
		}
	})
}

// TestPiecewiseBounds holds the bounds of a Piecewise against those of its values.
func TestPiecewiseBounds(t *testing.T) {
	n := names{"s": NewSymbol("s", 2, 16), "u": NewSymbol("u", 0, 9)}
	const s, u = "Symbol('s', integer=True)", "Symbol('u', integer=True)"
	for in, want := range map[string][2]int64{
		"ExprCondPair(" + s + ", LessThan(" + u + ", Integer(3))), ExprCondPair(" + u +
			", true)": {0, 16},
		"ExprCondPair(Mul(Integer(2), " + s + "), Equality(" + u + ", Integer(0))), " +
			"ExprCondPair(Add(" + s + ", " + u + "), true)": {2, 32},
		"ExprCondPair(Integer(5), Equality(" + u + ", Integer(0))), ExprCondPair(Integer(3), true)": {3,
			5},
		"ExprCondPair(Integer(9), Equality(" + u + ", Integer(0))), " +
			"ExprCondPair(Integer(1), Equality(" + u + ", Integer(1))), " +
			"ExprCondPair(" + s + ", Equality(" + u + ", Integer(2))), ExprCondPair(Integer(4), true)": {1,
			16},
	} {
		e, err := ParseSrepr("Piecewise("+in+")", n.symbol)
		if err != nil {
			t.Fatal(err)
		}
		if lo, hi := e.Bounds(); lo != want[0] || hi != want[1] {
			t.Errorf("%s = %s: %d to %d; want %v", in, e, lo, hi, want)
		}
	}
}

// All values of a Piecewise are computed: one may not divide by what is 0 where another holds.
func TestPiecewiseDivides(t *testing.T) {
	n := names{"s": NewSymbol("s", 2, 16), "u": NewSymbol("u", 0, 9)}
	const s, u = "Symbol('s', integer=True)", "Symbol('u', integer=True)"
	_, err := ParseSrepr("Piecewise(ExprCondPair(FloorDiv("+s+", "+u+"), Unequality("+u+
		", Integer(0))), ExprCondPair(Integer(7), true))", n.symbol)
	if err == nil || !strings.Contains(err.Error(), "divides by u, which may be 0") {
		t.Error(err)
	}
}

func FuzzParseSrepr(f *testing.F) {
	for _, s := range []string{
		"Add(Mul(Integer(80), FloorDiv(Add(Symbol('s16', positive=True, integer=True), Integer(-1)), " +
			"Integer(2))), Integer(80))",
		"CeilToInt(IntTrueDiv(Mul(Integer(2), Symbol('s39', integer=True)), Integer(3)))",
		"ModularIndexing(Max(Integer(1), Symbol('u', integer=True)), Integer(4), Pow(Integer(2), " +
			"Integer(5)))",
		"floor(Mul(Rational(1, 2), Symbol('u', integer=True)))",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		symbol := anyName()
		if e, err := ParseSrepr(s, symbol); err == nil {
			for _, u := range e.Symbols() {
				if !isIdentifier(u.Name) {
					return
				}
			}
			checkText(t, e, symbol)
		}
	})
}

func isIdentifier(s string) bool {
	e, err := ParsePython(s)
	return err == nil && e.Op == "name" && e.Text == s
}
