package schedule_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

func build(t *testing.T, out expr.Tensor, operands ...schedule.OperandInfo) *loop.Func {
	t.Helper()
	f, err := schedule.Build("f", []expr.Tensor{out}, operands, schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pool is max pooling of channels × h × w with a square window.
func pool(c, h, w, window, stride, pad int64) expr.Tensor {
	oh, ow := (h+2*pad-window)/stride+1, (w+2*pad-window)/stride+1
	v := newVars(ints(c, oh, ow)...)
	k := []*sym.Symbol{sym.NewVar("kh", sym.Int(window)), sym.NewVar("kw", sym.Int(window))}
	at := func(i int) sym.Expr {
		return sym.Sub(sym.Add(sym.Mul(sym.Int(stride), v[i+1].Expr()), k[i].Expr()), sym.Int(pad))
	}
	y, x := at(0), at(1)
	in := expr.And(expr.InRange(y, sym.Int(0), sym.Int(h)), expr.InRange(x, sym.Int(0), sym.Int(w)))
	body := expr.Select(in, expr.At(0, ir.Float32, v[0].Expr(), y, x), expr.Neutral(expr.ReduceMax,
		ir.Float32))
	return expr.Tensor{DType: ir.Float32, Vars: v, Body: expr.MaxOf(k, body)}
}

func TestInPlace(t *testing.T) {
	n := sym.NewSymbol("n", 1, 1000).Expr()
	f32 := ir.Float32
	unary := func(from, to ir.DType, sizes ...sym.Expr) (expr.Tensor, schedule.OperandInfo) {
		v := newVars(sizes...)
		return expr.Tensor{DType: to, Vars: v, Body: expr.Cast(to, expr.At(0, from, exprs(v)...))},
			schedule.OperandInfo{DType: from, Sizes: sizes}
	}
	type test struct {
		name string
		out  expr.Tensor
		in   schedule.OperandInfo
		want bool
	}
	var tests []test
	add := func(name string, want bool, out expr.Tensor, in schedule.OperandInfo) {
		tests = append(tests, test{name, out, in, want})
	}
	pointwise := func(name string, want bool, from, to ir.DType, sizes ...sym.Expr) {
		out, in := unary(from, to, sizes...)
		add(name, want, out, in)
	}
	pointwise("same", true, f32, f32, n, sym.Int(3))
	pointwise("narrower", true, f32, ir.Int8, n)
	pointwise("wider", false, ir.Int8, f32, n)
	info := func(sizes ...int64) schedule.OperandInfo {
		return schedule.OperandInfo{DType: f32, Sizes: ints(sizes...)}
	}
	add("pool 2/2", true, pool(3, 8, 8, 2, 2, 0), info(3, 8, 8))
	add("pool 3/2", true, pool(2, 9, 9, 3, 2, 0), info(2, 9, 9))
	add("pool 3/1", true, pool(2, 9, 9, 3, 1, 0), info(2, 9, 9))
	add("pool 3/1 padded", false, pool(2, 9, 9, 3, 1, 1), info(2, 9, 9))
	add("softmax", true, softmax([]sym.Expr{n, sym.Int(5)}, 1), schedule.OperandInfo{DType: f32,
		Sizes: []sym.Expr{n, sym.Int(5)}})
	add("softmax of dynamic rows", true, softmax([]sym.Expr{sym.Int(4), n}, 1),
		schedule.OperandInfo{DType: f32, Sizes: []sym.Expr{sym.Int(4), n}})
	add("softmax in the middle", false, softmax(ints(3, 4, 5), 1), info(3, 4, 5))
	v := newVars(ints(4, 6)...)
	add("transpose", false, expr.Tensor{DType: f32, Vars: v, Body: expr.At(0, f32, v[1].Expr(),
		v[0].Expr())}, info(6, 4))
	w := newVars(sym.Int(9))
	add("reverse", false, expr.Tensor{DType: f32, Vars: w, Body: expr.At(0, f32,
		sym.Sub(sym.Int(8), w[0].Expr()))}, info(9))
	add("slice", true, expr.Tensor{DType: f32, Vars: w, Body: expr.At(0, f32,
		sym.Add(sym.Int(3), w[0].Expr()))}, info(12))
	add("shift", false, expr.Tensor{DType: f32, Vars: w, Body: expr.Select(expr.IdxLe(sym.Int(1),
		w[0].Expr()), expr.At(0, f32, sym.Sub(w[0].Expr(), sym.Int(1))), expr.Float(f32, 0))},
		info(9))
	for _, c := range tests {
		f := build(t, c.out, c.in)
		if got := schedule.InPlace(f, 0, 1); got != c.want {
			t.Errorf("%s: in place %v, want %v\n%s", c.name, got, c.want, f)
		}
	}
}

// What InPlace allows gives the same bytes when run in place, on random
// expressions.
func TestInPlaceRandom(t *testing.T) {
	allowed := 0
	for seed := range tier.Of[uint64](200, 3000, 10_000) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 9)), syms: map[*sym.Symbol]int64{}}
		g.sizes = ints(1, 2, 3, 4)
		o := schedule.OperandInfo{DType: genTypes[g.IntN(len(genTypes))]}
		for range 1 + g.IntN(3) {
			o.Sizes = append(o.Sizes, g.size())
		}
		g.operands = append(g.operands, o)
		in := g.operand()
		var vars []*sym.Symbol
		for d := range 1 + g.IntN(3) {
			s := g.size()
			if d < len(o.Sizes) && g.IntN(3) > 0 {
				s = o.Sizes[d]
			}
			vars = append(vars, g.newVar(s))
		}
		g.scope = vars
		d := genTypes[g.IntN(len(genTypes))]
		out := expr.Tensor{DType: d, Vars: vars, Body: g.expr(d, 1+g.IntN(2))}
		f, err := schedule.Build(fmt.Sprint("seed", seed), []expr.Tensor{out}, g.operands,
			schedule.Options{Scalars: []ir.DType{ir.Int32}, Interchange: int(seed % 2)})
		if err != nil {
			t.Fatal(err)
		}
		if !schedule.InPlace(f, 0, 1) || len(expr.Loads(out.Body)) == 0 {
			continue
		}
		allowed++
		n := int64(d.Size())
		for _, v := range vars {
			n *= g.value(expr.Extent(v))
		}
		want := make([]byte, n)
		scalars := []eval.Value{{I: 2}}
		if err := eval.Run(f, append([][]byte{want, in.Data}, scratchOf(f)...), nil,
			scalars); err != nil {
			t.Fatal(err)
		}
		both := make([]byte, max(n, int64(len(in.Data))))
		copy(both, in.Data)
		if err := eval.Run(f, append([][]byte{both[:n], both[:len(in.Data)]}, scratchOf(f)...), nil,
			scalars); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(both[:n], want) {
			t.Fatalf("in place gives other bytes\n%s", f)
		}
	}
	if allowed < tier.Of(15, 300, 1000) {
		t.Errorf("only %d cases were allowed", allowed)
	}
}

// What the kernel of a custom operator does is not known: its results lie apart from what it reads.
func TestInvokeIsNotInPlace(t *testing.T) {
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{
		{Name: "out", DType: ir.Float32, Role: loop.Out, Len: sym.Int(4)},
		{Name: "x", DType: ir.Float32, Role: loop.In, Len: sym.Int(4)},
	}}
	args := []loop.Actual{
		{Kind: loop.ReadTensor, Value: expr.At(1, ir.Float32, sym.Int(0)), Sizes: ints(4)},
		{Kind: loop.WrittenTensor, Buf: 0, Sizes: ints(4)},
	}
	f.Body = []loop.Stmt{&loop.Invoke{Op: &aten.Schema{Name: "my.f.default"}, Args: args}}
	if schedule.InPlace(f, 0, 1) {
		t.Error("a custom operator's kernel works in place")
	}
}

// A store before a While whose body loads is not told apart from the iterations of it.
func TestInPlaceBeforeWhile(t *testing.T) {
	i, k := sym.NewVar("i", sym.Int(4)), sym.NewVar("k", sym.Int(4))
	left := &expr.Var{Name: "left", DType: ir.Int32}
	zero := expr.Int(ir.Int32, 0)
	store := func(v *sym.Symbol, x *expr.Expr) loop.Stmt {
		return &loop.For{Var: v, Extent: sym.Int(4), Body: []loop.Stmt{
			&loop.Store{Buf: 0, At: v.Expr(), Value: x}}}
	}
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{
		{Name: "out", DType: ir.Float32, Role: loop.Out, Len: sym.Int(4)},
		{Name: "x", DType: ir.Float32, Role: loop.In, Len: sym.Int(4)},
	}, Body: []loop.Stmt{
		store(i, expr.Num(ir.Float32, 0)),
		&loop.Let{Var: left, Value: expr.Int(ir.Int32, 1), Mutable: true},
		&loop.While{Cond: expr.Gt(expr.Get(left), zero), Body: []loop.Stmt{
			store(k, expr.At(1, ir.Float32, k.Expr())), &loop.Assign{Var: left, Value: zero}}},
	}}
	if schedule.InPlace(f, 0, 1) {
		t.Error("what the loop reads is overwritten before it")
	}
}
