package golang

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// builder of hand-made functions: operands are made as they are named.
type funcMaker struct {
	*kernelCase
	r *rand.Rand
}

func newFunc(name string, r *rand.Rand) *funcMaker {
	return &funcMaker{kernelCase: &kernelCase{name: name, fn: &loop.Func{Name: name}}, r: r}
}

// buf adds a buffer of n elements with random contents; length is what the
// function declares.
func (m *funcMaker) buf(name string, d ir.DType, role loop.Role, length sym.Expr, n int64) int {
	m.fn.Bufs = append(m.fn.Bufs, loop.Buf{Name: name, DType: d, Role: role, Len: length})
	m.bufs = append(m.bufs, data(m.r, d, n))
	return len(m.fn.Bufs) - 1
}

func (m *funcMaker) sym(name string, lo, hi, value int64) *sym.Symbol {
	s := sym.NewSymbol(name, lo, hi)
	m.fn.Syms, m.syms = append(m.fn.Syms, s), append(m.syms, value)
	return s
}

func forLoop(v *sym.Symbol, vectorizable bool, body ...loop.Stmt) *loop.For {
	return &loop.For{Var: v, Extent: expr.Extent(v), Vectorizable: vectorizable, Body: body}
}

func local(name string, d ir.DType) *expr.Var { return &expr.Var{Name: name, DType: d} }

// loopCases are functions with every kind of statement.
func loopCases(r *rand.Rand) []*kernelCase {
	var cases []*kernelCase
	add := func(m *funcMaker, body ...loop.Stmt) {
		m.fn.Body = body
		cases = append(cases, m.kernelCase)
	}
	f32, i64 := ir.Float32, ir.Int64

	// Dynamic sizes, several chunks, a value used twice, names that are Go's.
	for _, n := range []int64{1, 511, 513, 1500} {
		m := newFunc("range", r)
		s := m.sym("len", 0, 2000, n)
		out := m.buf("func", f32, loop.Out, s.Expr(), n)
		in := m.buf("var", f32, loop.In, s.Expr(), n)
		i, x := sym.NewVar("type", s.Expr()), local("float32", f32)
		add(m, forLoop(i, true,
			&loop.Let{Var: x, Value: expr.Add(expr.At(in, f32, i.Expr()), expr.Float(f32, 1))},
			&loop.Store{Buf: out, At: i.Expr(), Value: expr.Mul(expr.Get(x), expr.Sub(expr.Get(x),
				expr.At(in, f32, i.Expr())))}))
	}

	// Two results; strided and reversed loads; scalars; a gather; a strided store.
	for _, vectorizable := range []bool{false, true} {
		m := newFunc("access", r)
		const n = 40
		o1 := m.buf("out", f32, loop.Out, sym.Int(n), n)
		o2 := m.buf("out", f32, loop.Out, sym.Int(3*n), 3*n)
		in := m.buf("in", f32, loop.In, sym.Int(3*n), 3*n)
		at := m.buf("at", ir.Int32, loop.In, sym.Int(n), n)
		for k := range int64(n) {
			eval.Put(ir.Int32, m.bufs[at], k, expr.Value{I: r.Int64N(n)})
		}
		m.fn.Scalars = []*expr.Var{local("scale", f32)}
		m.scalars = []expr.Value{{F: 1.5}}
		i := sym.NewVar("i", sym.Int(n))
		x := expr.Mul(expr.At(in, f32, sym.Sub(sym.Int(n-1), i.Expr())), expr.ScalarRef(0, f32))
		g := sym.NewSymbol("g", 0, n-1)
		v := local("v", f32)
		add(m, forLoop(i, vectorizable,
			&loop.LetIndex{Sym: g, Value: expr.At(at, ir.Int32, i.Expr())},
			&loop.Let{Var: v, Value: expr.At(in, f32, sym.Add(sym.Mul(sym.Int(2), g.Expr()),
				sym.Int(1)))},
			&loop.Store{Buf: o1, At: i.Expr(), Value: expr.Sub(x, expr.Get(v))},
			&loop.Store{Buf: o2, At: sym.Add(sym.Mul(sym.Int(3), i.Expr()), sym.Int(2)),
				Value: expr.Get(v)}))
	}

	// Guarded loads at a border: not in range without the condition.
	for _, vectorizable := range []bool{false, true} {
		m := newFunc("border", r)
		const n = 50
		out := m.buf("out", f32, loop.Out, sym.Int(n), n)
		in := m.buf("in", f32, loop.In, sym.Int(n), n)
		i := sym.NewVar("i", sym.Int(n))
		left := sym.Sub(i.Expr(), sym.Int(2))
		add(m, forLoop(i, vectorizable, &loop.Store{Buf: out, At: i.Expr(),
			Value: expr.Select(expr.IdxLe(sym.Int(0), left), expr.At(in, f32, left),
				expr.Float(f32, -1))}))
	}

	// Reductions of every kind whose order does not matter.
	for _, vectorizable := range []bool{false, true} {
		for _, n := range []int64{33, 1300} {
			cases = append(cases, reductions(r, vectorizable, n))
		}
	}

	// while, break, if, arrays, division of negative indices, an unused local.
	m := newFunc("control", r)
	out := m.buf("out", i64, loop.Out, sym.Int(20), 20)
	in := m.buf("in", i64, loop.In, sym.Int(20), 20)
	i, j := sym.NewVar("i", sym.Int(20)), sym.NewVar("j", sym.Int(4))
	count, unused := local("count", i64), local("unused", f32)
	hist := &expr.Var{Name: "hist", DType: i64, Len: 4}
	add(m,
		&loop.Let{Var: hist}, forLoop(j, false, &loop.Assign{Var: hist, At: j.Expr(),
			Value: expr.Int(i64, 7)}),
		&loop.Let{Var: unused, Value: expr.Float(f32, 1), Mutable: true},
		forLoop(i, false,
			&loop.Let{Var: count, Value: expr.Int(i64, 0), Mutable: true},
			&loop.While{Cond: expr.Lt(expr.Select(expr.Gt(expr.Get(count), expr.Int(i64, 3)),
				expr.Get(count), expr.Int(i64, 0)), expr.Int(i64, 9)),
				Body: []loop.Stmt{
					&loop.Assign{Var: count, Value: expr.Add(expr.Get(count), expr.Int(i64, 1))},
					&loop.If{Cond: expr.Eq(expr.Get(count),
						expr.Cast(i64, expr.Idx(i64, i.Expr()))), Then: []loop.Stmt{&loop.Break{}}},
				}},
			&loop.Assign{Var: unused, Value: expr.Float(f32, 2)},
			&loop.If{Cond: expr.Lt(expr.At(in, i64, i.Expr()), expr.Int(i64, 0)),
				Then: []loop.Stmt{&loop.Assign{Var: count, Value: expr.Mul(expr.Get(count),
					expr.Int(i64, -1))}},
				Else: []loop.Stmt{&loop.If{Cond: expr.Gt(expr.Get(count), expr.Int(i64, 5)),
					Then: []loop.Stmt{&loop.Assign{Var: hist, At: sym.Mod(i.Expr(), sym.Int(4)),
						Value: expr.Get(count)}}}}},
			&loop.Store{Buf: out, At: i.Expr(), Value: expr.Add(expr.Get(count), expr.Add(
				expr.GetAt(hist, sym.Mod(sym.Sub(i.Expr(), sym.Int(9)), sym.Int(4))),
				expr.Idx(i64, sym.FloorDiv(sym.Sub(i.Expr(), sym.Int(9)), sym.Int(4)))))}))
	return cases
}

func reductions(r *rand.Rand, vectorizable bool, n int64) *kernelCase {
	m := newFunc("reductions", r)
	i := sym.NewVar("i", sym.Int(n))
	var before, inside, after []loop.Stmt
	add := func(d ir.DType, init *expr.Expr, next func(acc, x *expr.Expr) *expr.Expr) {
		out := m.buf("out_"+d.Short(), d, loop.Out, sym.Int(1), 1)
		in := m.buf("in_"+d.Short(), d, loop.In, sym.Int(n), n)
		acc, x := local("acc", d), local("x", d)
		before = append(before, &loop.Let{Var: acc, Value: init, Mutable: true})
		inside = append(inside, &loop.Let{Var: x, Value: expr.At(in, d, i.Expr())},
			&loop.Assign{Var: acc, Value: next(expr.Get(acc), expr.Get(x))})
		after = append(after, &loop.Store{Buf: out, At: sym.Int(0), Value: expr.Get(acc)})
	}
	largest := func(acc, x *expr.Expr) *expr.Expr {
		return expr.Select(expr.Or(expr.Gt(x, acc), expr.IsNaN(x)), x, acc)
	}
	smallest := func(acc, x *expr.Expr) *expr.Expr {
		return expr.Select(expr.Or(expr.Lt(x, acc), expr.IsNaN(x)), x, acc)
	}
	add(ir.Float32, expr.Float(ir.Float32, -1e30), largest)
	add(ir.Float64, expr.Float(ir.Float64, 1e30), smallest)
	add(ir.Int64, expr.Int(ir.Int64, 0), largest)
	add(ir.Uint8, expr.Int(ir.Uint8, 255), smallest)
	add(ir.Int32, expr.Int(ir.Int32, 0), expr.Add)
	add(ir.Bool, expr.Bool(false), expr.Or)
	add(ir.Bool, expr.Bool(true), expr.And)
	m.fn.Body = append(append(before, forLoop(i, vectorizable, inside...)), after...)
	return m.kernelCase
}

func TestLoops(t *testing.T) { check(t, loopCases(rand.New(rand.NewPCG(2, 2)))) }

// TestStripSums holds sums in chunks against exact ones, for they add in
// another order than eval does element by element, and then any sums against
// those of eval in chunks, which adds in the same order.
func TestStripSums(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var exact, rounded []*kernelCase
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, n := range []int64{32, 100, 512, 1111} {
			exact = append(exact, sums(r, d, n, func() float64 { return float64(r.IntN(1 << 4)) }))
			rounded = append(rounded, sums(r, d, n, func() float64 {
				return expr.RoundTo(d, r.NormFloat64())
			}))
		}
	}
	check(t, exact)
	for k, got := range runKernels(t, rounded) {
		c := rounded[k]
		want := c.clone()
		if err := eval.Run(c.fn, want, nil, nil); err != nil {
			t.Fatal(err)
		}
		if i := firstDifference(c.fn.Bufs[0].DType, got[0], want[0]); i >= 0 {
			t.Errorf("sum %d of %d elements differs", i, len(c.bufs[1])/c.fn.Bufs[1].DType.Size())
		}
	}
}

func sums(r *rand.Rand, d ir.DType, n int64, random func() float64) *kernelCase {
	m := newFunc("sums", r)
	out := m.buf("out", d, loop.Out, sym.Int(2), 2)
	a := m.buf("a", d, loop.In, sym.Int(n), n)
	b := m.buf("b", d, loop.In, sym.Int(n), n)
	for k := range n {
		eval.Put(d, m.bufs[a], k, expr.Value{F: random()})
		eval.Put(d, m.bufs[b], k, expr.Value{F: random()})
	}
	i, sum, dot := sym.NewVar("i", sym.Int(n)), local("sum", d), local("dot", d)
	x, y := expr.At(a, d, i.Expr()), expr.At(b, d, i.Expr())
	zero := expr.Float(d, 0)
	m.fn.Body = []loop.Stmt{
		&loop.Let{Var: sum, Value: zero, Mutable: true}, &loop.Let{Var: dot, Value: zero,
			Mutable: true},
		forLoop(i, true,
			&loop.Assign{Var: sum, Value: expr.Add(expr.Get(sum), x)},
			&loop.Assign{Var: dot, Value: expr.Add(expr.Get(dot), expr.Mul(x, y))}),
		&loop.Store{Buf: out, At: sym.Int(0), Value: expr.Get(sum)},
		&loop.Store{Buf: out, At: sym.Int(1), Value: expr.Get(dot)},
	}
	return m.kernelCase
}

// TestNoFusedProducts cross-compiles for a machine on which Go fuses products
// and sums, and looks for such instructions.
func TestNoFusedProducts(t *testing.T) {
	tier.Needs(t, tier.Normal)
	u := newUnit("kernels")
	f32 := ir.Float32
	m := newFunc("fma", rand.New(rand.NewPCG(4, 4)))
	n := sym.Int(100)
	out := m.buf("out", f32, loop.Out, n, 100)
	a, b := m.buf("a", f32, loop.In, n, 100), m.buf("b", f32, loop.In, n, 100)
	var stmts []loop.Stmt
	for _, vectorizable := range []bool{false, true} {
		i, sum := sym.NewVar("i", n), local("sum", f32)
		x, y := expr.At(a, f32, i.Expr()), expr.At(b, f32, i.Expr())
		stmts = append(stmts, &loop.Let{Var: sum, Value: expr.Float(f32, 0), Mutable: true},
			forLoop(i, vectorizable, &loop.Assign{Var: sum, Value: expr.Add(expr.Get(sum),
				expr.Mul(x, y))}),
			forLoop(i, vectorizable, &loop.Store{Buf: out, At: i.Expr(),
				Value: expr.Sub(expr.Mul(expr.Mul(x, y), expr.Get(sum)),
					expr.Neg(expr.Mul(x, x)))}))
	}
	m.fn.Body = stmts
	text := u.loopKernel("kernel", foreign.Text{}, m.fn)
	support := u.support("")
	src := u.file("", strings.Replace(text, "func kernel", "func Kernel", 1))
	dir := t.TempDir()
	for _, f := range support {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	write(t, filepath.Join(dir, "kernels.go"), src)
	write(t, filepath.Join(dir, "go.mod"), []byte("module test\n\ngo 1.26\n"))
	cmd := exec.Command("go", "build", "-gcflags=-S", ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "GOOS=linux", "GOFLAGS=", "CGO_ENABLED=0")
	asm, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, tail(string(asm)))
	}
	if !strings.Contains(string(asm), "FMULS") {
		t.Fatal("the listing has no products at all")
	}
	for line := range strings.Lines(string(asm)) {
		for _, op := range []string{"FMADD", "FMSUB", "FNMADD", "FNMSUB"} {
			if strings.Contains(line, op) {
				t.Errorf("fused: %s", line)
			}
		}
	}
}
