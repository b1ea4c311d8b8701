package sym

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func BenchmarkAffine(b *testing.B) {
	i, j, k := NewVar("i", Int(8)).Expr(), NewVar("j", Int(16)).Expr(), NewVar("k", Int(32)).Expr()
	b.ReportAllocs()
	for b.Loop() {
		_ = Add(Mul(i, Int(512)), Mul(j, Int(32)), k, Int(7))
	}
}

func BenchmarkReshape(b *testing.B) {
	from, to := ints([]int64{2, 12, 5, 4}), ints([]int64{8, 3, 20})
	index := vars(to)
	b.ReportAllocs()
	for b.Loop() {
		_ = offset(unflatten(flatten(index, to), from), ints([]int64{240, 20, 4, 1}))
	}
}

func BenchmarkReshapeSymbolic(b *testing.B) {
	n := NewSymbol("n", 1, math.MaxInt64).Expr()
	m := NewSymbol("m", 1, math.MaxInt64).Expr()
	from, to := []dim{n, m, Int(8)}, []dim{Mul(n, m), Int(2), Int(4)}
	index := vars(to)
	b.ReportAllocs()
	for b.Loop() {
		_ = unflatten(flatten(index, to), from)
	}
}

func BenchmarkSubst(b *testing.B) {
	n := testNames()
	e := n.parse(b, "(s1*a + b)//4*s0 + 8*(u % 16) + i")
	i := n["i"]
	by := n.parse(b, "2*j + 1")
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Subst(func(s *Symbol) (Expr, bool) { return by, s == i })
	}
}

func BenchmarkNonNegative(b *testing.B) {
	n := testNames()
	e := n.parse(b, "s0*s1 - 1 - s1*a - b")
	b.ReportAllocs()
	for b.Loop() {
		NonNegative(e)
	}
}

func BenchmarkString(b *testing.B) {
	e := testNames().parse(b, "(s1*a + b)//4*s0 + 8*(u % 16) + i")
	b.ReportAllocs()
	for b.Loop() {
		_ = e.String()
	}
}

// BenchmarkWorstParse reads a text that makes the simplifier work hard.
func BenchmarkWorstParse(b *testing.B) {
	var s strings.Builder
	for i := range 120 {
		fmt.Fprintf(&s, "%d*((u + %d*v)//%d %% 8) + (u + %d*v) %% %d + ", i%7+2, i, i+2, i, i+2)
	}
	s.WriteString("1")
	n := testNames()
	for b.Loop() {
		if _, err := Parse(s.String(), n.symbol); err != nil {
			b.Fatal(err)
		}
	}
}
