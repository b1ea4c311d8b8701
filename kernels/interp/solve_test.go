package interp

import (
	"errors"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// A size that the inputs have in halves alone is known where it makes no difference which of two
// it is.
func TestSolve(t *testing.T) {
	for _, c := range []struct {
		body string
		want error
	}{
		{"%y: f32[(s0 + 1)//2] = aten.neg.default(self=%x)", nil},
		{"%n: int(s0) = etgen.sym_int.default()\n  " +
			"%y: f32[s0] = aten.full.default(size=[%n], fill_value=1, dtype=f32)", ErrUnknownSize},
	} {
		p, err := ir.Parse("m.txt", "program \"m\"\n\nmethod forward {\n  symbol s0 in [1, 9]\n"+
			"  input %x: f32[(s0 + 1)//2]\n  "+c.body+"\n  return (%y)\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		m, g := New(ops.Standard()), p.Methods[0].Graph
		err = m.Enter(g, []Value{Tensor(ir.Float32, []int64{2}, make([]byte, 8))})
		for _, n := range g.Nodes {
			if err == nil {
				err = m.Node(n)
			}
		}
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

// What mentions a symbol in its strides or its offset alone uses it.
func TestUses(t *testing.T) {
	s := sym.NewSymbol("s", 1, 9)
	two, own := []sym.Expr{sym.Int(2)}, []sym.Expr{s.Expr()}
	for name, typ := range map[string]ir.Type{
		"size":   {Kind: ir.TensorKind, Sizes: own, Strides: two},
		"stride": {Kind: ir.TensorKind, Sizes: two, Strides: own},
		"offset": {Kind: ir.TensorKind, Sizes: two, Strides: two, Offset: s.Expr()},
		"number": {Kind: ir.IntKind, Expr: s.Expr(), HasExpr: true},
	} {
		n := &ir.Node{Outputs: []*ir.Value{{Type: typ}}}
		if got := usesOf(&ir.Graph{Nodes: []*ir.Node{n}}, s); len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
