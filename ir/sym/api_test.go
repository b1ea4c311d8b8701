package sym

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestBounds(t *testing.T) {
	const lowest, highest = math.MinInt64, math.MaxInt64
	n := testNames()
	for _, c := range []struct {
		in     string
		lo, hi int64
	}{
		{"7", 7, 7},
		{"9223372036854775807", highest, highest},
		{"i", 0, 3},
		{"3 - i", 0, 3},
		{"4*j + i", 0, 23},
		{"s0", 1, highest},
		{"s0 - 1 - a", 0, highest},
		{"a - s0", lowest, -1},
		{"s0*s1 - 1 - s1*a - b", 0, highest},
		{"s0*s0 - s0", 0, highest},
		{"s0*s1 - s0 - s1 + 1", 0, highest},
		{"u % 8", 0, 7},
		{"u % -8", -7, 0},
		{"u//2", lowest, highest},
		{"k//3", 0, 2},
		{"(-k)//3", -3, 0},
		{"j - 2*(j//2)", 0, 1},
		{"p//2 - p", lowest, 0},
		{"7//s0", 0, 7},
		{"-7//s0", -7, -1},
		{"max(u, 3)", 3, highest},
		{"min(j, u)", lowest, 5},
		{"max(i, j) - i", 0, 5},
		{"min(u, v) - u", lowest, 0},
		{"i*(j - 2)", -6, 9},
		{"1//0", lowest, highest},
		{"s0*9223372036854775807", highest - 1, highest},
	} {
		if lo, hi := n.parse(t, c.in).Bounds(); lo != c.lo || hi != c.hi {
			t.Errorf("%s is in %d..%d, want %d..%d", c.in, lo, hi, c.lo, c.hi)
		}
	}
}

func TestLess(t *testing.T) {
	n := testNames()
	for _, c := range []struct {
		a, b         string
		less, lessEq bool
	}{
		{"i", "4", true, true},
		{"i", "3", false, true},
		{"a", "s0", true, true},
		{"s1*a + b", "s0*s1", true, true},
		{"s2*s1*a + s2*b + c", "s0*s1*s2", true, true},
		{"ab//s1", "s0", true, true},
		{"2*(s0//2)", "s0", false, true},
		{"u % s0", "s0", true, true},
		{"2*o + 2", "s0 + 2", true, true},
		{"2*o + i", "s0 + 2", false, true},
		{"2*o - 1", "s0", true, true},
		{"s1*(2*o) + b", "s0*s1", true, true},
		{"(s0 + 1)//2", "s0", false, true},
		{"s0 - s0//2", "s0", false, true},
		{"s0", "3*((s0 + 2)//3)", false, true},
		{"min(u, v)", "max(u, v) + 1", true, true},
		{"u", "v", false, false},
		{"1//0", "1//0", false, false},
		{"-9223372036854775807 - 1", "1", true, true},
		{"0 - 9223372036854775807", "9223372036854775807", true, true},
		{"s0 + 9223372036854775807 - 1", "-9223372036854775807", false, false},
		{"-9223372036854775807 - 1", "s0", true, true},
	} {
		a, b := n.parse(t, c.a), n.parse(t, c.b)
		if got := Less(a, b); got != c.less {
			t.Errorf("%s < %s: %v", a, b, got)
		}
		if got := LessEq(a, b); got != c.lessEq {
			t.Errorf("%s ≤ %s: %v", a, b, got)
		}
	}
}

func TestCoef(t *testing.T) {
	n := testNames()
	for _, c := range []struct{ in, coef, rest string }{
		{"4*i + j", "4", "j"},
		{"u", "0", "u"},
		{"s0*i + s1*i*u - 2", "s0 + s1*u", "-2"},
		{"i*i", "", ""},
		{"i + u//i", "", ""},
		{"i*(u % 3) + v//5", "u % 3", "v//5"},
	} {
		coef, rest, ok := n.parse(t, c.in).Coef(n["i"])
		if c.coef == "" {
			if ok || !coef.IsZero() || !rest.IsZero() {
				t.Errorf("%s is called linear in i: %s, %s", c.in, coef, rest)
			}
			continue
		}
		if !ok || !coef.Equal(n.parse(t, c.coef)) || !rest.Equal(n.parse(t, c.rest)) {
			t.Errorf("%s = i*(%s) + %s, want %s and %s", c.in, coef, rest, c.coef, c.rest)
		}
	}
}

func TestSymbolsAndTerms(t *testing.T) {
	n := testNames()
	e := n.parse(t, "4*j + 12*i + (u + i)//(2*s0) + v*p*max(k, u) - 3 - b")
	if got, want := e.String(), "p*v*max(k, u) + 12*i + 4*j + (i + u)//(2*s0) - b - 3"; got !=
		want {
		t.Errorf("got %s, want %s", got, want)
	}
	var found []string
	for _, s := range e.Symbols() {
		found = append(found, s.Name)
	}
	if got := strings.Join(found, " "); got != "p v k u i j s0 b" {
		t.Errorf("symbols %s", got)
	}
	for name, s := range n {
		if e.Uses(s) != slices.Contains(found, name) {
			t.Errorf("Uses(%s) is %v", name, e.Uses(s))
		}
	}
	terms := e.Terms()
	if len(terms) != 6 || terms[1].Coef != 12 || terms[1].Atoms[0].Sym != n["i"] ||
		terms[3].Atoms[0].Kind != FloorDivAtom || terms[5].Coef != -3 || terms[5].Atoms != nil {
		t.Errorf("terms %v", terms)
	}
	if len(Expr{}.Terms()) != 0 {
		t.Error("0 has terms")
	}
}

// Symbols of equal name stay different and keep the order of their creation.
func TestEqualNames(t *testing.T) {
	x, y := NewVar("i", Int(4)), NewVar("i", Int(4))
	for _, e := range []Expr{Add(x.Expr(), Mul(Int(2), y.Expr())), Add(Mul(y.Expr(), Int(2)),
		x.Expr())} {
		if s := e.Symbols(); len(s) != 2 || s[0] != y || s[1] != x {
			t.Errorf("symbols %v", s)
		}
	}
	p := Mul(y.Expr(), x.Expr())
	if s := p.Symbols(); len(s) != 2 || s[0] != x || !p.Equal(Mul(x.Expr(), y.Expr())) {
		t.Errorf("symbols of product %v", s)
	}
	if Sub(x.Expr(), y.Expr()).IsZero() {
		t.Error("i - i of different i is 0")
	}
}

func TestNameOrder(t *testing.T) {
	sorted := []string{"a", "a1", "a2", "a10", "a10b", "b", "s", "s0", "s00", "s0_1", "s1",
		"s2x9", "s2x10"}
	for i, a := range sorted {
		for j, b := range sorted {
			if c := compareNames(a, b); (c < 0) != (i < j) || (c > 0) != (i > j) {
				t.Errorf("compareNames(%s, %s) = %d", a, b, c)
			}
		}
	}
}

func TestSubst(t *testing.T) {
	n := testNames()
	e := n.parse(t, "4*(u//4) + v*max(u, 3) + (u*v) % s0 + 7*p")
	got := e.Subst(func(s *Symbol) (Expr, bool) {
		switch s.Name {
		case "u":
			return n.parse(t, "4*p + i"), true
		case "s0":
			return Int(1), true
		}
		return Expr{}, false
	})
	if want := n.parse(t, "11*p + v*max(4*p + i, 3)"); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	same := e.Subst(func(*Symbol) (Expr, bool) { return Expr{}, false })
	if &same.t[0] != &e.t[0] {
		t.Error("nothing to replace, yet a copy")
	}
}

func TestRandomSubst(t *testing.T) {
	for seed := range seeds(t) / 4 {
		w := newWorld(rand.New(rand.NewPCG(uint64(seed), 4)))
		e := w.index(1 + seed%3).build()
		// A substitute must respect the range of what it stands for: u has none.
		by := w.index(1).build()
		var u *Symbol
		for _, s := range w.symbols {
			if s.Name == "u" {
				u = s
			}
		}
		got := e.Subst(func(s *Symbol) (Expr, bool) { return by, s == u })
		for range 10 {
			env := w.values(t)
			look := func(s *Symbol) (int64, bool) { v, ok := env[s]; return v, ok }
			v, err1 := by.Eval(look)
			have, err2 := got.Eval(look)
			env[u] = v
			want, err3 := e.Eval(look)
			if err1 == nil && err2 == nil && err3 == nil && have != want {
				t.Fatalf("seed %d: %s with u = %s is %s: %d, want %d", seed, e, by, got, have, want)
			}
		}
	}
}

func TestEvalErrors(t *testing.T) {
	n := testNames()
	env := map[string]int64{"u": math.MaxInt64, "v": 0}
	for in, want := range map[string]string{
		"u + 1":      "overflow",
		"2*u":        "overflow",
		"1//v":       "division by zero",
		"u % v":      "division by zero",
		"s0 + u":     "no value for s0",
		"1//0":       "undefined",
		"max(s0, u)": "no value for s0",
	} {
		_, err := n.parse(t, in).Eval(func(s *Symbol) (int64, bool) {
			v, ok := env[s.Name]
			return v, ok
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

func TestUndefinedAbsorbs(t *testing.T) {
	n := testNames()
	bad, u := FloorDiv(Int(1), Int(0)), n["u"].Expr()
	for i, e := range []Expr{
		Add(bad, u), Add(u, bad), Sub(bad, bad), Sub(u, bad), Neg(bad), Mul(bad, Int(0)),
		Mul(Int(0), bad), Mul(u, bad),
		FloorDiv(bad, u), FloorDiv(Int(0), bad), Mod(u, bad), Mod(bad, Int(1)), CeilDiv(bad, bad),
		Max(u, bad), Min(bad), Max(),
		Mul(Int(math.MinInt64), Int(-1)), Neg(Int(math.MinInt64)), Mul(u, Int(1<<40), Int(1<<40)),
		Mod(u, Int(0)),
		FloorDiv(Mul(Int(math.MaxInt64), u), Neg(Int(math.MinInt64))),
	} {
		if !e.Undefined() {
			t.Errorf("%d: %s", i, e)
		}
		if _, ok := e.Const(); ok || NonNegative(e) || NonNegative(Neg(e)) || e.Uses(n["u"]) {
			t.Errorf("%d: something is known of %s", i, e)
		}
	}
}

func ExampleExpr_Terms() {
	n := NewSymbol("n", 1, math.MaxInt64)
	i, j := NewVar("i", n.Expr()), NewVar("j", Int(6))
	e := Add(Mul(Int(6), i.Expr()), j.Expr(), Int(-1))
	for _, t := range e.Terms() {
		fmt.Println(t.Coef, len(t.Atoms))
	}
	fmt.Println(e)
	fmt.Println(FloorDiv(Add(e, Int(1)), Int(6)))
	// Output:
	// 6 1
	// 1 1
	// -1 0
	// 6*i + j - 1
	// i
}
