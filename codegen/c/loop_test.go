package c_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// loopGen makes random loop functions over buffer 0 (out, int64, inOut), 1 (in,
// int64) and 2 (scratch), each of loopLen elements, with a size parameter and a
// scalar. All locals are int64.
type loopGen struct {
	r    *rand.Rand
	size *sym.Symbol
	vars []*expr.Var
	arr  *expr.Var
	syms []*sym.Symbol // indices in 0..loopLen-1
}

const loopLen = 12

var i64 = ir.Int64

func (g *loopGen) index() sym.Expr {
	e := sym.Int(g.r.Int64N(loopLen))
	for range g.r.IntN(3) {
		if len(g.syms) > 0 {
			s := g.syms[g.r.IntN(len(g.syms))].Expr()
			switch g.r.IntN(5) {
			case 0:
				e = sym.Add(e, sym.Mul(s, sym.Int(g.r.Int64N(7)-3)))
			case 1:
				e = sym.Add(s, sym.FloorDiv(sym.Sub(e, sym.Int(5)), sym.Int(3)))
			case 2:
				e = sym.Add(sym.Mul(s, g.size.Expr()), e)
			case 3:
				e = sym.Min(e, sym.Sub(s, sym.Int(2)))
			case 4:
				e = sym.FloorDiv(e, sym.Add(s, sym.Int(1)))
			}
		}
	}
	if sym.NonNegative(e) && sym.Less(e, sym.Int(loopLen)) {
		return e
	}
	return sym.Mod(e, sym.Int(loopLen))
}

func (g *loopGen) value(depth int) *expr.Expr {
	if depth > 0 {
		ops := []func(a, b *expr.Expr) *expr.Expr{
			expr.Add, expr.Sub, expr.Mul, expr.Min, expr.Max, expr.Xor}
		if n := g.r.IntN(9); n < len(ops) {
			return ops[n](g.value(depth-1), g.value(depth-1))
		}
		return expr.Select(g.cond(), g.value(depth-1), g.value(depth-1))
	}
	switch n := g.r.IntN(7); {
	case n == 0:
		return expr.Idx(i64, g.index())
	case n == 1:
		return expr.At(0, i64, g.index())
	case n == 2:
		return expr.At(2, i64, g.index())
	case n == 3 && g.arr != nil:
		return expr.GetAt(g.arr, sym.Mod(g.index(), sym.Int(4)))
	case n == 4:
		return expr.ScalarRef(0, i64)
	case len(g.vars) > 0:
		return expr.Get(g.vars[g.r.IntN(len(g.vars))])
	}
	return expr.At(1, i64, g.index())
}

func (g *loopGen) cond() *expr.Expr { return expr.Lt(g.value(0), g.value(0)) }

// block makes statements; inside a While or For whose body may Break.
func (g *loopGen) block(depth int, breakable bool) []loop.Stmt {
	vars, syms, arr := len(g.vars), len(g.syms), g.arr
	var out []loop.Stmt
	for range 1 + g.r.IntN(3) {
		out = append(out, g.stmt(depth, breakable)...)
	}
	g.vars, g.syms, g.arr = g.vars[:vars], g.syms[:syms], arr
	return out
}

func (g *loopGen) stmt(depth int, breakable bool) []loop.Stmt {
	store := &loop.Store{Buf: g.r.IntN(2) * 2, At: g.index(), Value: g.value(2)}
	if depth == 0 {
		return []loop.Stmt{store}
	}
	switch g.r.IntN(9) {
	case 0:
		v := &expr.Var{Name: "t", DType: i64}
		let := &loop.Let{Var: v, Value: g.value(1), Mutable: true}
		g.vars = append(g.vars, v)
		return []loop.Stmt{let}
	case 1:
		if len(g.vars) > 0 {
			v := g.vars[g.r.IntN(len(g.vars))]
			return []loop.Stmt{&loop.Assign{Var: v, Value: expr.Add(expr.Get(v), g.value(1))}}
		}
	case 2:
		s := sym.NewVar("at", sym.Int(loopLen))
		in := expr.And(g.value(1), expr.Int(i64, 7))
		g.syms = append(g.syms, s)
		return []loop.Stmt{&loop.LetIndex{Sym: s, Value: in}}
	case 3:
		a := &expr.Var{Name: "acc", DType: i64, Len: 4}
		k := sym.NewVar("k", sym.Int(4))
		out := []loop.Stmt{&loop.Let{Var: a}, &loop.For{Var: k, Extent: sym.Int(4),
			Body: []loop.Stmt{&loop.Assign{Var: a, At: k.Expr(), Value: expr.Add(g.value(1),
				expr.Idx(i64, k.Expr()))}}}}
		g.arr = a
		return out
	case 4:
		v := &expr.Var{Name: "n", DType: i64}
		count := expr.Get(v)
		body := append(g.block(depth-1, true), &loop.Assign{Var: v, Value: expr.Add(count,
			expr.Int(i64, 1))})
		return []loop.Stmt{&loop.Let{Var: v, Value: expr.Int(i64, 0), Mutable: true},
			&loop.While{Cond: expr.And(expr.Lt(count, expr.Int(i64, 3)), g.cond()), Body: body}}
	case 5, 6:
		extent := []sym.Expr{sym.Int(1), sym.Int(3), g.size.Expr(), sym.Sub(g.size.Expr(),
			sym.Int(1))}[g.r.IntN(4)]
		v := sym.NewVar("i", extent)
		g.syms = append(g.syms, v)
		f := &loop.For{Var: v, Extent: extent,
			Body: g.block(depth-1, true)}
		g.syms = g.syms[:len(g.syms)-1]
		return []loop.Stmt{f}
	case 7:
		s := &loop.If{Cond: g.cond(), Then: g.block(depth-1, breakable)}
		if g.r.IntN(2) == 0 {
			s.Else = g.block(depth-1, breakable)
		}
		return []loop.Stmt{s}
	case 8:
		if breakable {
			return []loop.Stmt{&loop.If{Cond: g.cond(), Then: []loop.Stmt{&loop.Break{}}}}
		}
	}
	return []loop.Stmt{store}
}

// TestLoops compiles random loops, with every statement and locals of the same
// names side by side and nested, and compares them with eval.
func TestLoops(t *testing.T) {
	kernels := tier.Of(6, 16, 24)
	r := rand.New(rand.NewPCG(5, 6))
	p := &native.Program{Source: foreign.Of("loops")}
	var steps []step
	var want [][]byte
	for n := range kernels {
		size := sym.NewSymbol("n", 0, 4)
		g := &loopGen{r: r, size: size}
		buf := func(name string, role loop.Role) loop.Buf {
			return loop.Buf{Name: name, DType: i64, Role: role, Len: sym.Int(loopLen)}
		}
		fn := &loop.Func{Name: "k", Syms: []*sym.Symbol{size},
			Scalars: []*expr.Var{{Name: "c", DType: i64}},
			Bufs:    []loop.Buf{buf("out", loop.Out), buf("in", loop.In), buf("tmp", loop.Scratch)}}
		// Nothing is read before it is written.
		i := sym.NewVar("i", sym.Int(loopLen))
		fn.Body = []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(loopLen), Body: []loop.Stmt{
			&loop.Store{Buf: 0, At: i.Expr(), Value: expr.Int(i64, 0)},
			&loop.Store{Buf: 2, At: i.Expr(), Value: expr.Idx(i64, i.Expr())}}}}
		for range 3 {
			fn.Body = append(fn.Body, g.block(3, false)...)
		}
		k := &native.Kernel{Name: fmt.Sprintf("k%d", n), Params: fn.Syms, Loop: fn}
		p.Kernels = append(p.Kernels, k)
		out := &native.Buffer{Name: "out", DType: i64, Sizes: sizes(loopLen), Len: sym.Int(loopLen),
			MaxLen: loopLen, Storage: native.Output}
		in := &native.Buffer{Name: "x", DType: i64, Sizes: sizes(loopLen), Len: sym.Int(loopLen),
			MaxLen: loopLen, Storage: native.Input}
		tmp := &native.Buffer{Name: "tmp", DType: i64, Sizes: sizes(loopLen), Len: sym.Int(loopLen),
			MaxLen: loopLen, Storage: native.Output}
		value := r.Int64N(5)
		c := expr.Int(i64, r.Int64())
		m := &native.Method{Name: foreign.Of(fmt.Sprintf("m%d", n)),
			Body: []native.Stmt{&native.Call{Kernel: k, Args: []*native.Buffer{out, in, tmp},
				Ints: []sym.Expr{sym.Int(value)}, Scalars: []*expr.Expr{c}}},
			Inputs: []native.Port{{Name: foreign.Of("x"), Type: ir.TensorOf(i64, in.Sizes...),
				Buf: in}},
			Outputs: []native.Port{{Name: foreign.Of("out0"), Type: ir.TensorOf(i64, out.Sizes...),
				Buf: out}, {Name: foreign.Of("out1"), Type: ir.TensorOf(i64, out.Sizes...),
				Buf: tmp}}}
		p.Methods = append(p.Methods, m)
		data := randomElements(r, i64, loopLen)
		ref, scratch := make([]byte, loopLen*8), make([]byte, loopLen*8)
		if err := eval.Run(fn, [][]byte{ref, data, scratch}, []int64{value},
			[]eval.Value{{I: c.Int}}); err != nil {
			t.Fatalf("%v\n%s", err, fn)
		}
		steps = append(steps, step{method: "loops_" + m.Name.Raw(), in: [][]byte{data},
			out:  []int{len(ref), len(ref)},
			args: []string{"(const int64_t *)in[0]", "(int64_t *)out[0]", "(int64_t *)out[1]"}})
		want = append(want, append(ref, scratch...))
	}
	dir, pkg := generate(t, p, "loops")
	strict(t, dir, pkg)
	main, stdin := mainText("loops", steps, "")
	got := run(t, dir, pkg, main, stdin, sanitized())
	for n, ref := range want {
		if got[0] != 0 {
			t.Fatalf("status %d", got[0])
		}
		compare(t, "gcc", p.Kernels[n].Loop.String(), i64, got[1:1+len(ref)], ref)
		got = got[1+len(ref):]
	}
}

// TestSharedNodes: an expression whose parts are used many times stays small,
// and choices in it are still made.
func TestSharedNodes(t *testing.T) {
	p := &native.Program{Source: foreign.Of("shared")}
	chain := func(x []*expr.Expr) *expr.Expr {
		e := x[0]
		for i := range 60 {
			mixed := expr.Xor(e, expr.Shr(e, expr.Int(i64, int64(7+i%20))))
			e = expr.Add(expr.Mul(mixed, mixed), expr.Select(expr.Lt(mixed, x[1]),
				expr.Sub(mixed, e), e))
		}
		return e
	}
	k, m := pointwise(0, i64, i64, 2, loopLen, chain)
	p.Kernels, p.Methods = []*native.Kernel{k}, []*native.Method{m}
	r := rand.New(rand.NewPCG(9, 9))
	data := [][]byte{make([]byte, 8*loopLen), randomElements(r, i64, loopLen),
		randomElements(r, i64, loopLen)}
	for n := range int64(loopLen) {
		e, x := eval.Get(i64, data[1], n).I, eval.Get(i64, data[2], n).I
		for i := range 60 {
			mixed, old := e^e>>(7+i%20), e
			if e = mixed*mixed + old; mixed < x {
				e = mixed*mixed + mixed - old
			}
		}
		eval.Put(i64, data[0], n, eval.Value{I: e})
	}
	dir, pkg := generate(t, p, "shared")
	if n := len(pkg.File("shared.c")); n > 20000 {
		t.Fatalf("60 steps are %d bytes of C", n)
	}
	strict(t, dir, pkg)
	s := step{method: "shared_m0", in: data[1:], out: []int{8 * loopLen},
		args: []string{"(const int64_t *)in[0]", "(const int64_t *)in[1]", "(int64_t *)out[0]"}}
	main, stdin := mainText("shared", []step{s}, "")
	got := run(t, dir, pkg, main, stdin, sanitized())
	compare(t, "gcc", "chain", i64, got[1:], data[0])
}
