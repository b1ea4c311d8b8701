package codegen

import (
	"fmt"
	"math"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/lower/native"
)

func TestSizeWords(t *testing.T) {
	a, b, c, u := sym.NewSymbol("a", 2, 32), sym.NewSymbol("b", 1, 5), sym.NewSymbol("c", 0,
		math.MaxInt64), sym.NewSymbol("u", 0, 12)
	mul := func(n int64, s *sym.Symbol) sym.Expr { return sym.Mul(sym.Int(n), s.Expr()) }
	plus := func(e sym.Expr, n int64) sym.Expr { return sym.Add(e, sym.Int(n)) }
	tensor := func(sizes ...sym.Expr) native.Port {
		return native.Port{Type: ir.TensorOf(ir.Float32, sizes...), Buf: &native.Buffer{}}
	}
	m := &native.Method{
		Inputs: []native.Port{
			tensor(mul(2, a), plus(mul(3, b), 1)),
			tensor(plus(mul(2, a), 1), sym.Add(a.Expr(), b.Expr())),
			tensor(c.Expr(), sym.Int(4)),
			tensor(c.Expr(), sym.Mod(c.Expr(), sym.Int(3))),
			{Type: ir.SymInt(sym.Int(7))},
		},
		Outputs: []native.Port{
			tensor(a.Expr(), mul(4, a), u.Expr()),
			tensor(plus(u.Expr(), 1), plus(c.Expr(), 1), u.Expr()),
		},
	}
	binding, err := native.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	w := NewSizeWords(binding, func(output bool, d native.Dim) string {
		return fmt.Sprintf("%s%d_dim%d", map[bool]string{false: "in", true: "out"}[output],
			d.Port, d.Axis)
	})
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	ins := []string{
		"4 to 64, even", "4 to 16, 1 more than a multiple of 3",
		"equal to in0_dim0 + 1", "equal to in0_dim0//2 + (in0_dim1 + 2)//3 - 1",
		"at least 0", "equal to in2_dim0", "equal to in2_dim0 % 3", "7",
	}
	for i, d := range binding.In {
		check(w.Input(d), ins[i])
	}
	outs := []string{
		"in0_dim0//2, 2 to 32", "2*in0_dim0, 8 to 128", "0 to 12, known after the call",
		"out0_dim2 + 1, 1 to 13, known after the call", "in2_dim0 + 1, at least 1",
		"out0_dim2, 0 to 12, known after the call",
	}
	for i, d := range binding.Out {
		check(w.Output(d), outs[i])
	}
	check(w.Relation(mul(2, a), "≤", c.Expr()), "in0_dim0 ≤ in2_dim0")
}

// What is left over of a dimension may depend on another one.
func TestSizeWordsOfSums(t *testing.T) {
	a, b, c := sym.NewSymbol("a", 2, 8), sym.NewSymbol("b", 1, 5), sym.NewSymbol("c", 0, 4)
	m := &native.Method{Inputs: []native.Port{
		{Type: ir.TensorOf(ir.Float32, a.Expr(), sym.Add(a.Expr(), b.Expr()),
			sym.Add(a.Expr(), sym.Mul(sym.Int(4), c.Expr()))), Buf: &native.Buffer{}},
	}}
	binding, err := native.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	w := NewSizeWords(binding, func(_ bool, d native.Dim) string {
		return fmt.Sprintf("d%d", d.Axis)
	})
	for i, want := range []string{"2 to 8", "3 to 13, at least d0 + 1, at most d0 + 5",
		"2 to 24, d0 plus 4 times 0 to 4"} {
		if got := w.Input(binding.In[i]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRequirements(t *testing.T) {
	a, u := sym.NewSymbol("a", 2, 32), sym.NewSymbol("u", 0, 9)
	even := &expr.Var{Name: "even", DType: ir.Bool}
	f := &expr.Var{Name: "f", DType: ir.Float64}
	given := func(cond *expr.Expr, message string) *native.Assert {
		return &native.Assert{Cond: cond, Message: foreign.Of(message), Given: true}
	}
	index := func(e sym.Expr) *expr.Expr { return expr.Idx(ir.Int64, e) }
	m := &native.Method{
		Inputs: []native.Port{{Name: foreign.Of("x"), Type: ir.TensorOf(ir.Float32, a.Expr()),
			Buf: &native.Buffer{}}},
		Body: []native.Stmt{
			&native.Let{Var: even, Value: expr.Eq(index(sym.Mod(a.Expr(), sym.Int(2))),
				expr.Int(ir.Int64, 0))},
			given(expr.Get(even), "Guard failed: x.size()[0] % 2 == 0"),
			given(expr.Get(even), "again"),
			given(expr.And(expr.Ge(index(a.Expr()), expr.Int(ir.Int64, 5)), expr.Ne(index(a.Expr()),
				expr.Int(ir.Int64, 7))), ""),
			given(expr.Lt(expr.Get(f), expr.Num(ir.Float64, 1)), "Guard failed: f < 1"),
			given(expr.Lt(index(u.Expr()), expr.Int(ir.Int64, 1)), "u is small"),
			&native.Assert{Cond: expr.Get(even), Message: foreign.Of("an assertion of the model")},
		},
	}
	binding, err := native.Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	w := NewSizeWords(binding, func(_ bool, d native.Dim) string {
		return fmt.Sprintf("x_dim%d", d.Axis)
	})
	want := "Requires x_dim0 % 2 == 0; x_dim0 >= 5 and x_dim0 != 7; f < 1; u is small."
	if got := Requirements(m, w); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestOutputName(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string // of the last
	}{
		{[]string{"out0"}, "out"}, {[]string{"scores"}, "scores"},
		{[]string{"out0", "out1"}, "out1"},
	} {
		m := &native.Method{}
		for _, n := range c.names {
			m.Outputs = append(m.Outputs, native.Port{Name: foreign.Of(n)})
		}
		if got := OutputName(m, len(m.Outputs)-1); got != foreign.Of(c.want) {
			t.Errorf("the last of %q is called %q, want %q", c.names, got, c.want)
		}
	}
}
