package sym_test

import (
	"testing"

	"github.com/etgen/etgen/ir/sym"
)

// The range that is left has all values for which a condition holds, and its ends
// are two of them.
func TestRestrict(t *testing.T) {
	holds := map[string]func(n int64) bool{
		"==": func(n int64) bool { return n == 0 }, "!=": func(n int64) bool { return n != 0 },
		"<": func(n int64) bool { return n < 0 }, "<=": func(n int64) bool { return n <= 0 },
		">": func(n int64) bool { return n > 0 }, ">=": func(n int64) bool { return n >= 0 },
	}
	narrowed := 0
	for coef := int64(-3); coef <= 3; coef++ {
		for rest := int64(-9); rest <= 9; rest++ {
			for div := int64(1); div <= 3; div++ {
				for op, is := range holds {
					x := sym.NewSymbol("x", 2, 12)
					e := sym.Add(sym.Mul(sym.Int(coef), sym.FloorDiv(x.Expr(), sym.Int(div))),
						sym.Int(rest))
					s, lo, hi, ok := sym.Restrict(e, op)
					if !ok {
						continue
					}
					narrowed++
					if s != x || lo < 2 || hi > 12 || lo == 2 && hi == 12 {
						t.Errorf("%v %s 0: %v in [%d, %d]", e, op, s.Name, lo, hi)
					}
					for n := int64(2); n <= 12; n++ {
						v, err := e.Eval(func(*sym.Symbol) (int64, bool) { return n, true })
						if err != nil {
							t.Fatal(err)
						}
						if within := lo <= n && n <= hi; is(v) && !within ||
							!is(v) && (n == lo || n == hi) {
							t.Errorf("%v %s 0: x in [%d, %d], though it is %d at %d", e, op,
								lo, hi, v, n)
						}
					}
				}
			}
		}
	}
	if narrowed < 100 {
		t.Errorf("%d conditions say something", narrowed)
	}
}
