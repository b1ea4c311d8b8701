package native

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
)

func tensorPort(name string, sizes ...sym.Expr) Port {
	return Port{Name: foreign.Of(name), Type: ir.TensorOf(ir.Float32, sizes...),
		Buf: &Buffer{Name: name}}
}

func TestBind(t *testing.T) {
	a, b := sym.NewSymbol("a", 1, 10), sym.NewSymbol("b", 0, 20)
	two := sym.Int(2)
	m := &Method{Name: foreign.Of("forward"),
		Inputs: []Port{
			tensorPort("x", sym.Add(sym.Mul(two, a.Expr()), b.Expr()), sym.Int(3)), // needs a and b
			tensorPort("y", sym.Add(sym.Mul(sym.Int(3), b.Expr()), a.Expr())),      // needs a
			// a, by division
			tensorPort("z", sym.Mul(two, a.Expr())),
			tensorPort("w", a.Expr()),                                  // a, bare
			{Name: foreign.Of("n"), Type: ir.SymInt(b.Expr()), Sym: b}, // b, bare
			{Name: foreign.Of("fixed"), Value: ir.None{}},
		},
		Outputs: []Port{tensorPort("out", sym.Int(4), sym.Mul(a.Expr(), b.Expr()))},
	}
	got, err := Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.In) != 5 || len(got.Out) != 1 || got.Out[0].Axis != 1 {
		t.Errorf("dimensions %+v, %+v", got.In, got.Out)
	}
	if len(got.Solved) != 2 || got.Solved[0].Sym != a || got.Solved[0].Dim.Port != 3 ||
		got.Solved[1].Sym != b || got.Solved[1].Dim.Axis != -1 {
		t.Errorf("solved %+v", got.Solved)
	}
	if len(got.Checks) != 3 || got.Checks[0].Port != 0 || got.Checks[2].Port != 2 {
		t.Errorf("checks %+v", got.Checks)
	}
}

func TestBindByDivision(t *testing.T) {
	a, b := sym.NewSymbol("a", 1, 10), sym.NewSymbol("b", 0, 20)
	m := &Method{Name: foreign.Of("forward"), Inputs: []Port{
		tensorPort("x", sym.Add(sym.Mul(sym.Int(2), a.Expr()), sym.Int(1)),
			sym.Add(a.Expr(), sym.Mul(sym.Int(3), b.Expr()))),
	}}
	got, err := Bind(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Solved) != 2 || got.Solved[0].Coef != 2 || !got.Solved[0].Rest.Is(1) ||
		got.Solved[1].Coef != 3 || !got.Solved[1].Rest.Equal(a.Expr()) {
		t.Errorf("solved %+v", got.Solved)
	}
	if len(got.Checks) != 2 {
		t.Errorf("checks %+v", got.Checks)
	}
}

func TestBindUnknown(t *testing.T) {
	a := sym.NewSymbol("a", 1, 10)
	m := &Method{Name: foreign.Of("forward"),
		Inputs: []Port{tensorPort("x", sym.FloorDiv(a.Expr(), sym.Int(2)))}}
	if _, err := Bind(m); err == nil || !strings.Contains(err.Error(), "size a does not follow") {
		t.Errorf("got %v", err)
	}
}
