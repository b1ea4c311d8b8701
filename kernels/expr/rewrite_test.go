package expr_test

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

func vars(n sym.Expr, names ...string) []*sym.Symbol {
	out := make([]*sym.Symbol, len(names))
	for i, name := range names {
		out[i] = sym.NewVar(name, n)
	}
	return out
}

// rowSum is Σⱼ x[i, j].
func rowSum(k int, i sym.Expr, n sym.Expr) *expr.Expr {
	j := sym.NewVar("j", n)
	return expr.Sum([]*sym.Symbol{j}, expr.At(k, f32, i, j.Expr()))
}

func TestFree(t *testing.T) {
	n := sym.NewSymbol("n", 1, 9)
	v := vars(n.Expr(), "i", "k")
	idx := expr.Bind("p", expr.At(1, i64, v[1].Expr()), sym.Int(5))
	e := expr.Add(rowSum(0, v[0].Expr(), n.Expr()), expr.At(2, f32, idx.Expr()))
	var names []string
	for _, s := range new(expr.Free).Of(e) {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "i n k" {
		t.Errorf("free symbols %q", got)
	}
}

func same(e *expr.Expr) *expr.Expr { return e }

// Sharing survives rewriting, below reductions with renamed variables too.
func TestRewriteShares(t *testing.T) {
	i := sym.NewVar("i", sym.Int(4))
	costly := expr.Sqrt(expr.At(1, f32, i.Expr()))
	r := sym.NewVar("r", sym.Int(3))
	e := expr.Add(expr.Sum([]*sym.Symbol{r}, expr.Mul(expr.At(0, f32, r.Expr()), costly)), costly)
	out := expr.RewriteFresh(e, expr.Subst{i: sym.Int(2)}, same)
	inside := out.Args[0].Args[0].Args[1]
	if inside != out.Args[1] || inside == costly {
		t.Errorf("%v lost sharing", out)
	}
	if out.Args[0].Vars[0] == r {
		t.Errorf("the variable was not renamed")
	}
	if expr.Rewrite(e, same) != e {
		t.Errorf("a rewrite without changes copied")
	}
}

// A reduction's extent may depend on what is substituted.
func TestSubstExtent(t *testing.T) {
	i := sym.NewVar("i", sym.Int(4))
	e := rowSum(0, sym.Int(0), sym.Add(i.Expr(), sym.Int(1)))
	out := expr.SubstIndex(e, expr.Subst{i: sym.Int(2)})
	if got := out.String(); got != "sum(j<3: %0[0, j])" {
		t.Errorf("got %s", got)
	}
}

// What is put in place of a load, a reduction here, must not capture a variable
// that the load's coordinates mention.
func TestFreshCapture(t *testing.T) {
	n := sym.Int(4)
	i := sym.NewVar("i", n)
	j := sym.NewVar("j", n)
	body := expr.Sum([]*sym.Symbol{j}, expr.At(1, f32, i.Expr(), j.Expr()))
	inlined := func(consumer, body *expr.Expr) *expr.Expr {
		return expr.Rewrite(consumer, func(e *expr.Expr) *expr.Expr {
			if e.Op != expr.OpLoad || e.Buf != 0 {
				return e
			}
			return expr.RewriteFresh(body, expr.Subst{i: e.Coords[0]}, same)
		})
	}
	outer := inlined(expr.Sum([]*sym.Symbol{j}, expr.At(0, f32, j.Expr())), body)
	inner := outer.Args[0]
	load := inner.Args[0]
	if outer.Vars[0] == inner.Vars[0] || !load.Coords[0].Equal(outer.Vars[0].Expr()) ||
		!load.Coords[1].Equal(inner.Vars[0].Expr()) {
		t.Errorf("captured: %v", outer)
	}
	// In definitions of data-dependent indices too.
	p := expr.Bind("p", expr.At(0, i64, j.Expr()), n)
	out := inlined(expr.At(1, f32, p.Expr()), expr.Idx(i64, sym.Sub(sym.Int(3), i.Expr())))
	if out.String() != "%1[p where p=index(-j + 3)]" {
		t.Errorf("got %v", out)
	}
}

func TestEqual(t *testing.T) {
	n := sym.Int(4)
	i := sym.NewVar("i", n)
	a, b := rowSum(0, i.Expr(), n), rowSum(0, i.Expr(), n)
	if !expr.Equal(a, b) {
		t.Error("sums that differ in the variable are not equal")
	}
	if expr.Equal(a, rowSum(0, sym.Int(1), n)) || expr.Equal(a, rowSum(0, i.Expr(), sym.Int(5))) ||
		expr.Equal(a, rowSum(1, i.Expr(), n)) {
		t.Error("different sums are equal")
	}
	bind := func() *expr.Expr {
		return expr.At(0, f32, expr.Bind("p", expr.At(1, i64, i.Expr()), n).Expr(), i.Expr())
	}
	if !expr.Equal(bind(), bind()) {
		t.Error("equal gathers are not equal")
	}
	sh := expr.NewSharer()
	nested := sh.Share(expr.Add(expr.Mul(a, bind()), expr.Mul(b, bind())))
	if nested.Args[0] != nested.Args[1] {
		t.Errorf("%v has different halves", nested)
	}
}

func TestSimplify(t *testing.T) {
	one, n := sym.NewVar("o", sym.Int(1)), sym.NewVar("n", sym.Int(4))
	x := expr.At(0, f32, one.Expr(), n.Expr())
	c := local(i32)
	cond := expr.Lt(c, expr.Int(i32, 3))
	for _, tt := range []struct {
		e    *expr.Expr
		want string
	}{
		{expr.Sum([]*sym.Symbol{one}, x), "%0[0, n]"},
		{expr.Sum([]*sym.Symbol{one, n}, x), "sum(n<4: %0[0, n])"},
		{expr.ArgMax([]*sym.Symbol{one}, x), "0i64"},
		{expr.Select(cond, expr.Select(cond, expr.Int(i32, 1), expr.Int(i32, 2)), expr.Int(i32, 3)),
			"x < 3 ? 1i32 : 3i32"},
		{expr.SubstIndex(expr.Select(expr.IdxLt(n.Expr(), sym.Int(2)), x, expr.Float(f32, 0)),
			expr.Subst{n: sym.Int(1)}), "%0[o, 1]"},
	} {
		if got := expr.Simplify(tt.e).String(); got != tt.want {
			t.Errorf("%v became %s, want %s", tt.e, got, tt.want)
		}
	}
}

func TestCost(t *testing.T) {
	n := sym.NewSymbol("n", 1, 10)
	i := sym.NewVar("i", n.Expr())
	e := expr.Sum([]*sym.Symbol{i}, expr.Mul(expr.At(0, f32, i.Expr()), expr.At(1, f32, i.Expr())))
	if got := expr.Cost(e); got != 40 { // two loads, product, sum
		t.Errorf("cost %v", got)
	}
}
