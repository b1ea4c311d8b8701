package sym

import (
	"math"
	"testing"
)

// names is a set of symbols found by name.
type names map[string]*Symbol

func (n names) symbol(name string) *Symbol { return n[name] }

// testNames holds sizes s0, s1, s2 ≥ 1, u of any value, i < 4, j < 6, k < 8,
// and loop variables a < s0, b < s1, c < s2, ab < s0*s1.
func testNames() names {
	n := names{}
	add := func(s *Symbol) { n[s.Name] = s }
	for _, name := range []string{"s0", "s1", "s2"} {
		add(NewSymbol(name, 1, math.MaxInt64))
	}
	add(NewSymbol("u", math.MinInt64, math.MaxInt64))
	add(NewSymbol("v", math.MinInt64, math.MaxInt64))
	add(NewSymbol("p", 0, math.MaxInt64))
	add(NewVar("i", Int(4)))
	add(NewVar("j", Int(6)))
	add(NewVar("k", Int(8)))
	add(NewVar("a", n["s0"].Expr()))
	add(NewVar("b", n["s1"].Expr()))
	add(NewVar("c", n["s2"].Expr()))
	// the rows of a convolution: kernel 3, stride 2, padding 1 over s0 rows
	add(NewVar("o", Add(FloorDiv(Add(n["s0"].Expr(), Int(-1)), Int(2)), Int(1))))
	add(NewVar("ab", Mul(n["s0"].Expr(), n["s1"].Expr())))
	return n
}

func (n names) parse(t testing.TB, s string) Expr {
	t.Helper()
	e, err := Parse(s, n.symbol)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSimplify(t *testing.T) {
	n := testNames()
	for _, c := range []struct{ in, want string }{
		{"1 + 2*3", "7"},
		{"u + v - u", "v"},
		{"u*(v + 1) - u", "u*v"},
		{"v - 1 + 4*u", "4*u + v - 1"},
		{"2*u//1", "2*u"},
		{"u % 1", "0"},
		{"u//-1", "-u"},
		{"u % -1", "0"},
		{"(8*u)//4", "2*u"},
		{"(4*u + 8*v)//4", "2*v + u"},
		{"(6*u)//4", "u + u//2"},
		{"(6*u + 2*v)//4", "u + (u + v)//2"},
		{"(5 - u)//-3", "(u + 1)//3 - 2"},
		{"(4*u + i)//4", "u"},
		{"(4*u + i) % 4", "i"},
		{"(4*u + j) % 4", "j % 4"},
		{"(4*u + j)//4", "u + j//4"},
		{"(4*u + 3 - i)//4", "u"},
		{"(8*u + i)//16", "u//2"},
		{"(8*u + i) % 16", "8*(u % 2) + i"},
		{"(8*u + i + 12)//16", "(u + 1)//2"},
		{"(u//3)//5", "u//15"},
		{"((u - 1)//2 + 1 - 1)//2", "(u + 3)//4 - 1"},
		{"(u % 12)//4", "(u//4) % 3"},
		{"(u % 12) % 4", "u % 4"},
		{"4*(u//4) + u % 4", "u"},
		{"12*(u//4) + 3*(u % 4)", "3*u"},
		{"12*(u//12) + 4*((u//4) % 3) + u % 4", "u"},
		{"4*((u//4) % 3) + u % 4", "u % 12"},
		{"s1*4*(u//4) + s1*(u % 4)", "s1*u"},
		{"(s0*u + a)//s0", "u"},
		{"(s0*u + a) % s0", "a"},
		{"(s0*u)//s0", "u"},
		{"(s0*u)//(s0*s1)", "u//s1"},
		{"(s0*u) % (s0*s1)", "s0*(u % s1)"},
		{"(s0*s1*u + s1*a + b)//(s0*s1)", "u"},
		{"(s0*s1*u + s1*a + b)//s1 % s0", "a"},
		{"(s0*s1*u + s1*a + b) % s1", "b"},
		{"s0*(u//s0) + u % s0", "u"},
		{"ab//s1 % s0", "ab//s1"},
		{"s1*(ab//s1 % s0) + ab % s1", "ab"},
		{"(u*(s0 + 1) + a)//(s0 + 1)", "u"},
		{"(u*(s0 + 1) + a) % (s0 + 1)", "a"},
		{"(u*u - v*v)//(u + v)", "u - v"},
		{"s0//s0", "1"},
		{"(2*s0)//2", "s0"},
		{"i//4", "0"},
		{"(i - 4)//4", "-1"},
		{"(i + 8) % 4", "i"},
		{"(u - 1) % 4", "(u + 3) % 4"},
		{"(5*u) % 4", "u % 4"},
		{"(u % 3) % -2", "-((-(u % 3)) % 2)"},
		{"max(s0, 1)", "s0"},
		{"max(1, s0 - 1)", "max(s0 - 1, 1)"},
		{"max(u, u + 1, u)", "u + 1"},
		{"max(u, max(v, 3))", "max(u, v, 3)"},
		{"min(a, s0)", "a"},
		{"min(u, v, u - 2)", "min(u - 2, v)"},
		{"max(2, 3) - min(2, 3)", "1"},
		{"9223372036854775807 + 1", "undefined()"},
		{"0*(1//0)", "undefined()"},
		{"u - 9223372036854775808", "u - 9223372036854775808"},
		{"-9223372036854775808 // -1", "undefined()"},
		{"-u//2", "(-u)//2"},
		{"v - u//2", "v - (u//2)"},
		{"-(u//2)*3", "-3*(u//2)"},
	} {
		e := n.parse(t, c.in)
		if got := e.String(); got != c.want {
			t.Errorf("%s = %s, want %s", c.in, got, c.want)
		}
		if back := n.parse(t, e.String()); !back.Equal(e) {
			t.Errorf("%s: %s reads back as %s", c.in, e, back)
		}
	}
}
