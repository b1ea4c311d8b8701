package reference_test

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

func TestVerify(t *testing.T) {
	f32 := ir.Float32
	n := sym.NewSymbol("n", 1, 9)
	i := sym.NewVar("i", n.Expr())
	x, arr := &expr.Var{Name: "x", DType: f32}, &expr.Var{Name: "arr", DType: f32, Len: 4}
	one := expr.Float(f32, 1)
	over := func(body ...loop.Stmt) []loop.Stmt {
		return []loop.Stmt{&loop.For{Var: i, Extent: n.Expr(), Body: body}}
	}
	store := func(v *expr.Expr) loop.Stmt { return &loop.Store{Buf: 0, At: i.Expr(), Value: v} }
	let := &loop.Let{Var: x, Value: one}
	for _, c := range []struct {
		name string
		body []loop.Stmt
		want string
	}{
		{"fine", over(let, store(expr.Add(expr.Get(x), expr.At(1, f32, i.Expr())))), ""},
		{"use before declaration", over(store(expr.Get(x)), let), "not declared"},
		{"use after the block", append(over(let), &loop.Store{Buf: 0, At: sym.Int(0),
			Value: expr.Get(x)}), "not declared"},
		{"assignment of a constant", over(let, &loop.Assign{Var: x, Value: one}), "not mutable"},
		{"double declaration", over(let, &loop.Let{Var: x, Value: one}), "twice"},
		{"store to input", over(&loop.Store{Buf: 1, At: i.Expr(), Value: one}), "input"},
		{"wrong dtype stored", over(store(expr.Int(ir.Int32, 1))), "int32"},
		{"wrong dtype loaded", over(store(expr.Cast(f32, expr.At(1, ir.Int8, i.Expr())))),
			"as int8"},
		{"free loop variable", []loop.Stmt{store(one)}, "not bound"},
		{"nested loops over one variable", over(over(store(one))...), "bound twice"},
		{"array without index", over(&loop.Let{Var: arr}, store(expr.Get(arr))),
			"not used as it is declared"},
		{"break outside", []loop.Stmt{&loop.Break{}}, "outside of a loop"},
		{"condition of float", over(&loop.If{Cond: one}), "condition"},
		{"no such scalar", over(store(expr.ScalarRef(0, f32))), "scalar 0"},
		{"reduction",
			over(store(&expr.Expr{Op: expr.OpReduce, DType: f32,
				Vars: []*sym.Symbol{sym.NewVar("r", sym.Int(2))}, Args: []*expr.Expr{one}})),
			"reduce"},
		{"coordinates", over(store(expr.At(1, f32, i.Expr(), i.Expr()))), "2 coordinates"},
	} {
		f := &loop.Func{Name: "f", Syms: []*sym.Symbol{n}, Body: c.body, Bufs: []loop.Buf{
			{Name: "out", DType: f32, Role: loop.Out, Len: n.Expr()}, {Name: "in", DType: f32,
				Len: n.Expr()},
		}}
		r := reference.Verify(f)
		var got []string
		for _, e := range r.Errors {
			got = append(got, e.Error())
		}
		all := strings.Join(got, "; ")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, all, c.want)
		}
	}
}

func TestUnproven(t *testing.T) {
	f32 := ir.Float32
	n := sym.NewSymbol("n", 1, 9)
	i := sym.NewVar("i", n.Expr())
	at := &sym.Symbol{Name: "at", Lo: sym.Int(0), Hi: sym.Int(20)}
	load := func(x sym.Expr) loop.Stmt {
		return &loop.Store{Buf: 0, At: i.Expr(), Value: expr.At(1, f32, x)}
	}
	f := &loop.Func{Name: "f", Syms: []*sym.Symbol{n}, Bufs: []loop.Buf{
		{Name: "out", DType: f32, Role: loop.Out, Len: n.Expr()}, {Name: "in", DType: f32,
			Len: n.Expr()},
	}, Body: []loop.Stmt{&loop.For{Var: i, Extent: n.Expr(), Body: []loop.Stmt{
		load(i.Expr()), load(sym.Sub(sym.Sub(n.Expr(), sym.Int(1)), i.Expr())),
		load(sym.Add(i.Expr(), sym.Int(1))),
		&loop.LetIndex{Sym: at, Value: expr.Int(ir.Int64, 3)}, load(at.Expr()),
	}}}}
	r := reference.Verify(f)
	if len(r.Errors) > 0 || len(r.Unproven) != 2 || r.Unproven[0].Store || r.Unproven[0].Buf != 1 {
		t.Errorf("got %+v", r)
	}
}
