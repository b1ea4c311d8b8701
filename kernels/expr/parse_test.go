package expr_test

import (
	"math"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/text"
	"github.com/etgen/etgen/kernels/expr"
	kmath "github.com/etgen/etgen/kernels/math"
)

// names has the locals x (f32), n (i32), u (u64), h (f16) and p (bool), the
// buffer b (f32), the array a (f32), the index i and the functions of one
// argument.
func names() (map[string]*expr.Expr, expr.Scope) {
	values := map[string]*expr.Expr{}
	for name, d := range map[string]ir.DType{"x": f32, "n": i32, "u": u64, "h": f16, "p": ir.Bool} {
		values[name] = expr.Get(&expr.Var{Name: name, DType: d})
	}
	i := sym.NewVar("i", sym.Int(8))
	array := expr.Get(&expr.Var{Name: "a", DType: f32, Len: 4})
	return values, expr.Scope{
		Value: func(name string) *expr.Expr { return values[name] },
		Element: func(name string) *expr.Expr {
			switch name {
			case "a":
				return array
			case "b":
				return expr.At(0, f32)
			}
			return nil
		},
		Symbol: func(name string) *sym.Symbol {
			if name == "i" {
				return i
			}
			return nil
		},
		Func: func(name string) *expr.Func {
			return kmath.Func(strings.TrimSuffix(name, "_f32"), f32)
		},
	}
}

func parse(src string, d ir.DType, s expr.Scope) (e *expr.Expr, rest string, err error) {
	defer text.Recover(&err)
	l := &text.Lexer{File: "test", Src: src}
	e = expr.Parse(l, d, s)
	return e, strings.TrimSpace(src[l.Pos:]), nil
}

func format(e *expr.Expr, typed bool) string {
	return e.Format(expr.Names{
		Operand: func(int) string { return "b" },
		Scalar:  func(int) string { return "s" },
		Local:   func(v *expr.Var) string { return v.Name },
		Index:   sym.Expr.String,
	}, typed)
}

// Each text parses to what prints to it again, so precedence, associativity
// and the dtypes of constants are the same for both.
func TestText(t *testing.T) {
	_, scope := names()
	for _, c := range []struct {
		src string
		d   ir.DType
	}{
		{"x + x - x", f32}, {"x - (x - x)", f32}, {"x*x/x*x", f32}, {"x/(x*x)", f32},
		{"(x + x)*x", f32}, {"x % x", f32},
		{"-x*-x", f32}, {"-(x*x)", f32}, {"-(-1.0)", f32}, {"-1.0", f32}, {"-(1.0)", f32},
		{"~n & 3 | n ^ n << 2", i32}, {"!p", ir.Bool},
		{"x + 0.5 < 2.5", ir.Bool}, {"1f32 < 2f32", ir.Bool}, {"(x < 1.0) & (n < 2 | p)", ir.Bool},
		{"(n << 2) + 1 >= n", ir.Bool}, {"n == 3 & n != 4", ir.Bool},
		{"p ? x : 0.0", f32}, {"p ? 1.0 : x < 0.0 ? x : 2.0", f32},
		{"(p ? x : 1.0)*(p ? 2.0 : 3.0)", f32}, {"p ? (p ? 1 : 2) : 3", i32},
		{"(p ? 1i32 : 2i32) == 2i32", ir.Bool},
		{"fma(x, 2.0, b[8*i + 1])", f32}, {"min(x, max(0.0, a[2]))", f32},
		{"sqrt(floor(ceil(trunc(round(abs(x))))))", f32},
		{"f32(n) + f32(2i64)", f32}, {"bits.f32(bits.i32(x) & 255)", f32}, {"f16(x)", f16},
		{"h", f16}, {"exp_f32(x + 1.0)", f32},
		{"index(2*i + 1) - 1", ir.Int64}, {"i32(index(i))", i32}, {"index32(i)", i32},
		{"inf", f32}, {"-inf", f32}, {"x == inf", ir.Bool}, {"nan", f32},
		{"-inff32 < 0f32", ir.Bool}, {"-0.0", f32}, {"true", ir.Bool}, {"p & false", ir.Bool},
		{"18446744073709551615", u64}, {"u - 1", u64}, {"1e-05", f32}, {"1.5e+20", f32},
		{"0.1", f64}, {"-9223372036854775808", ir.Int64}, {"65504.0", f16},
	} {
		src := strings.NewReplacer("1f32", "1.0f32", "2f32", "2.0f32", "0f32",
			"0.0f32").Replace(c.src)
		e, rest, err := parse(c.src, c.d, scope)
		if err != nil || rest != "" || e.DType != c.d {
			t.Errorf("%s: %v, rest %q", c.src, err, rest)
			continue
		}
		// Redundant parentheses may go.
		once := format(e, true)
		again, _, err := parse(once, c.d, scope)
		if err != nil || !expr.Equal(e, again) {
			t.Errorf("%s: %s is something else, %v", c.src, once, err)
		}
		if strings.ReplaceAll(strings.ReplaceAll(once, "(", ""), ")", "") != strings.ReplaceAll(
			strings.ReplaceAll(src, "(", ""), ")", "") || len(once) > len(src) {
			t.Errorf("%s became %s", src, once)
		}
		alone := format(e, false)
		if again, _, err = parse(alone, ir.InvalidDType, scope); err != nil ||
			!expr.Equal(e, again) {
			t.Errorf("%s alone: %s: %v", c.src, alone, err)
		}
	}
}

// What follows an expression is left to others.
func TestTextEnds(t *testing.T) {
	_, scope := names()
	for src, want := range map[string]string{"x + b[i] {": "{", "p ? x : 1.0, 2": ", 2",
		"x\nx = 2": "x = 2", "index32(i)) + 1": ") + 1"} {
		if _, rest, err := parse(src, ir.InvalidDType, scope); err != nil || rest != want {
			t.Errorf("%q: rest %q, %v", src, rest, err)
		}
	}
}

func TestTextErrors(t *testing.T) {
	_, scope := names()
	for src, want := range map[string]string{
		"":                          "want an expression, have end of text",
		"\n\n)":                     "test:3: want an expression",
		"y":                         "y is not known here",
		"y[0]":                      "y is no buffer or array",
		"b[j]":                      "unknown symbol",
		"b[]":                       "b has one index",
		"b[0, 1]":                   "b has one index",
		"b[0":                       "want “,”, have end of text",
		"x + n":                     "int32 where float32 is wanted",
		"x + 2i32":                  "int32 where float32 is wanted",
		"n + 0.5":                   "0.5 is no constant of type int32",
		"i8(n) + 128":               "128 is no constant of type int8",
		"u + -1":                    "-1 is no constant of type uint64",
		"1 + 2":                     "the type of the constants is not known",
		"1 < 2":                     "the type of the constants is not known",
		"f32(1)":                    "the type of the constants is not known",
		"p + p":                     "no operation add on bool",
		"h + h":                     "no operation add on float16",
		"x & x":                     "no operation and on float32",
		"n ? x : x":                 "the condition is no bool",
		"p ? x : n":                 "int32 where float32 is wanted",
		"!n":                        "“!” of int32",
		"~p":                        "“~” of bool",
		"fma(x, x)":                 "fma takes 3 arguments, not 2",
		"frob(x)":                   "there is no function frob",
		"exp_f32(n)":                "int32 where float32 is wanted",
		"bits.i64(x)":               "differ in size",
		"c64(x)":                    "no conversion",
		"index(x)":                  "unknown symbol",
		"index()":                   "want an index expression",
		"(x":                        "want “)”, have end of text",
		"p ? x":                     "want “:”",
		"1.5.2 + x":                 "1.5.2 is no constant of type float32",
		"h == h":                    "no operation eq on float16",
		strings.Repeat("(", 10000):  "nested deeper than 500",
		strings.Repeat("-", 10000):  "nested deeper than 500",
		strings.Repeat("p?", 10000): "nested deeper than 500",
	} {
		if _, _, err := parse(src, ir.InvalidDType, scope); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", src, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"x + fma(x, 2.0, b[8*i + 1])/-inf",
		"p ? f32(n << 2) : bits.f32(~3i32)", "min(1i64, index(i)) % -3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, scope := names()
		e, _, err := parse(src, ir.InvalidDType, scope)
		if err != nil {
			return
		}
		once := format(e, false)
		again, rest, err := parse(once, ir.InvalidDType, scope)
		if err != nil && strings.Contains(err.Error(), "nested deeper") {
			return
		}
		if err != nil || rest != "" || format(again, false) != once {
			t.Fatalf("%q is %s: %v, rest %q", src, once, err, rest)
		}
	})
}

// Every float comes back with its bits.
func TestTextFloats(t *testing.T) {
	_, scope := names()
	for k := range 20000 {
		bits := uint64(k) * 0x9e3779b97f4a7c15
		for d, v := range map[ir.DType]float64{f64: math.Float64frombits(bits),
			f32: float64(math.Float32frombits(uint32(bits >> 32)))} {
			e := expr.Float(d, v)
			got, _, err := parse(format(e, true), d, scope)
			if err != nil || math.Float64bits(got.Float) != math.Float64bits(v) && v == v {
				t.Fatalf("%x of %s: %v", bits, d, err)
			}
		}
	}
}
