package golang

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

var allTypes = []ir.DType{
	ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint16, ir.Uint32, ir.Uint64,
	ir.Float16, ir.BFloat16, ir.Float32, ir.Float64,
}

// maker makes random expressions that load from its operands, one of each type.
type maker struct {
	r    *rand.Rand
	i    *sym.Symbol
	size int64 // of the operands
	fn   *expr.Func
}

// operand is the number of the operand of type d; 0 is the result.
func operand(d ir.DType) int {
	for i, t := range allTypes {
		if t == d {
			return i + 1
		}
	}
	panic("no operand of dtype " + d.String())
}

func (m *maker) pick(list ...ir.DType) ir.DType { return list[m.r.IntN(len(list))] }

func (m *maker) leaf(d ir.DType) *expr.Expr {
	switch m.r.IntN(8) {
	case 0, 1:
		switch {
		case d.IsFloat():
			special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Inf(1), math.Inf(-1),
				math.NaN(), 1e10, 1e-3}
			return expr.Float(d, special[m.r.IntN(len(special))])
		case d == ir.Bool:
			return expr.Bool(m.r.IntN(2) == 0)
		}
		return expr.Int(d, m.r.Int64()>>m.r.IntN(64))
	case 2:
		return expr.Cast(d, expr.Idx(ir.Int64, m.i.Expr()))
	case 3:
		return expr.At(operand(d), d, sym.Add(sym.Mul(sym.Int(int64(m.r.IntN(2))), m.i.Expr()),
			sym.Int(int64(m.r.IntN(9)))))
	}
	return expr.At(operand(d), d, m.i.Expr())
}

func (m *maker) expr(d ir.DType, depth int) *expr.Expr {
	if depth == 0 {
		return m.leaf(d)
	}
	sub := func(d ir.DType) *expr.Expr { return m.expr(d, depth-1) }
	switch m.r.IntN(10) {
	case 0:
		return expr.Select(sub(ir.Bool), sub(d), sub(d))
	case 1:
		return expr.Cast(d, sub(m.pick(allTypes...)))
	}
	switch {
	case d == ir.Bool:
		switch m.r.IntN(7) {
		case 0:
			return expr.Not(sub(d))
		case 1:
			return expr.And(sub(d), sub(d))
		case 2:
			return expr.Or(sub(d), sub(d))
		case 3:
			return expr.Xor(sub(d), sub(d))
		}
		t := m.pick(allTypes...)
		compare := []func(a, b *expr.Expr) *expr.Expr{
			expr.Eq, expr.Ne, expr.Lt, expr.Le, expr.Gt, expr.Ge}
		return compare[m.r.IntN(len(compare))](sub(t), sub(t))
	case d.IsInt():
		return m.integer(d, sub)
	}
	return m.float(d, sub)
}

func (m *maker) integer(d ir.DType, sub func(ir.DType) *expr.Expr) *expr.Expr {
	binary := []func(a, b *expr.Expr) *expr.Expr{
		expr.Add, expr.Sub, expr.Mul, expr.Min, expr.Max, expr.And, expr.Or, expr.Xor}
	switch k := m.r.IntN(len(binary) + 6); {
	case k < len(binary):
		return binary[k](sub(d), sub(d))
	case k == len(binary):
		return expr.Neg(sub(d))
	case k == len(binary)+1:
		return expr.Abs(sub(d))
	case k == len(binary)+2:
		return expr.Not(sub(d))
	case k == len(binary)+3:
		n := expr.And(sub(d), expr.Int(d, int64(8*d.Size()-1)))
		if m.r.IntN(2) == 0 {
			return expr.Shl(sub(d), n)
		}
		return expr.Shr(sub(d), n)
	case k == len(binary)+4 && (d == ir.Int32 || d == ir.Uint32):
		return expr.Bitcast(d, sub(ir.Float32))
	case k == len(binary)+4 && (d == ir.Int64 || d == ir.Uint64):
		return expr.Bitcast(d, sub(ir.Float64))
	}
	divisor := expr.Or(sub(d), expr.Int(d, 1))
	if m.r.IntN(2) == 0 {
		return expr.Div(sub(d), divisor)
	}
	return expr.Rem(sub(d), divisor)
}

func (m *maker) float(d ir.DType, sub func(ir.DType) *expr.Expr) *expr.Expr {
	binary := []func(a, b *expr.Expr) *expr.Expr{
		expr.Add, expr.Add, expr.Sub, expr.Mul, expr.Mul, expr.Div, expr.Rem, expr.Min, expr.Max}
	unary := []func(a *expr.Expr) *expr.Expr{
		expr.Neg, expr.Abs, expr.Sqrt, expr.Floor, expr.Ceil, expr.Trunc, expr.Round}
	k := m.r.IntN(len(binary) + len(unary) + 3)
	switch {
	case k < len(binary):
		return binary[k](sub(d), sub(d))
	case k < len(binary)+len(unary):
		return unary[k-len(binary)](sub(d))
	case k == len(binary)+len(unary) && !expr.IsNarrow(d):
		return expr.FMA(sub(d), sub(d), sub(d))
	case d == ir.Float32 && m.r.IntN(2) == 0:
		return expr.Bitcast(d, sub(m.pick(ir.Int32, ir.Uint32)))
	case d == ir.Float64:
		return expr.Bitcast(d, sub(m.pick(ir.Int64, ir.Uint64)))
	case d == ir.Float32:
		return &expr.Expr{Op: expr.OpCall, DType: d, Fn: m.fn, Args: []*expr.Expr{sub(d)}}
	}
	return m.leaf(d)
}

// data returns n random elements: small numbers, any bits, and special values.
func data(r *rand.Rand, d ir.DType, n int64) []byte {
	b := make([]byte, n*int64(d.Size()))
	for i := range n {
		v := expr.Value{I: r.Int64() >> r.IntN(64), F: r.NormFloat64() * math.Ldexp(1,
			r.IntN(40)-20)}
		if r.IntN(8) == 0 {
			v.F = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1,
				2.5, 3.5}[r.IntN(9)]
		}
		v.I = expr.Wrap(d, v.I)
		v.F = expr.RoundTo(d, v.F)
		eval.Put(d, b, i, v)
	}
	return b
}

// TestExpressions compares random expressions, element by element and in
// chunks, with what eval computes.
func TestExpressions(t *testing.T) {
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewPCG(1, 1))
	x := &expr.Var{Name: "x", DType: ir.Float32}
	fn := &expr.Func{Name: "scaled_f32", Params: []*expr.Var{x}, Doc: "x/3 + x*x",
		Body: expr.Add(expr.Div(expr.Get(x), expr.Float(ir.Float32, 3)), expr.Mul(expr.Get(x),
			expr.Get(x)))}
	const n = 600
	var cases []*kernelCase
	for k := range 130 {
		d := allTypes[k%len(allTypes)]
		i := sym.NewVar("i", sym.Int(n))
		m := &maker{r: r, i: i, size: n + 9, fn: fn}
		f := &loop.Func{Name: fmt.Sprintf("case%d", k)}
		f.Bufs = append(f.Bufs, loop.Buf{Name: "out", DType: d, Role: loop.Out, Len: sym.Int(n)})
		c := &kernelCase{name: f.Name, fn: f}
		c.bufs = append(c.bufs, make([]byte, n*d.Size()))
		for _, t := range allTypes {
			f.Bufs = append(f.Bufs, loop.Buf{Name: "in_" + t.Short(), DType: t, Role: loop.In,
				Len: sym.Int(n + 9)})
			c.bufs = append(c.bufs, data(r, t, n+9))
		}
		e := m.expr(d, 1+k%4)
		f.Body = []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(n), Vectorizable: k%2 == 0,
			Body: []loop.Stmt{
				&loop.Store{Buf: 0, At: i.Expr(), Value: e}}}}
		cases = append(cases, c)
	}
	check(t, cases)
}

// unstripped returns f with loops that run element by element.
func unstripped(f *loop.Func) *loop.Func {
	c := *f
	same := func(e *expr.Expr) *expr.Expr { return e }
	c.Body = loop.MapAll(f.Body, same, func(e sym.Expr) sym.Expr { return e })
	loop.Walk(c.Body, func(s loop.Stmt) {
		if l, ok := s.(*loop.For); ok {
			l.Vectorizable = false
		}
	})
	return &c
}

// check runs cases through eval, element by element, and as Go, and compares all buffers.
func check(t *testing.T, cases []*kernelCase) {
	t.Helper()
	got := runKernels(t, cases)
	for k, c := range cases {
		want := c.clone()
		if err := eval.Run(unstripped(c.fn), want, c.syms, c.scalars); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, c.fn)
		}
		chunks := c.clone()
		if err := eval.Run(c.fn, chunks, c.syms, c.scalars); err != nil {
			t.Fatalf("%s in chunks: %v\n%s", c.name, err, c.fn)
		}
		for b := range want {
			if i := firstDifference(c.fn.Bufs[b].DType, chunks[b], want[b]); i >= 0 {
				t.Errorf("%s: eval gives another element %d of %s in chunks\n%s", c.name, i,
					c.fn.Bufs[b].Name, c.fn)
				break
			}
			d := c.fn.Bufs[b].DType
			if i := firstDifference(d, got[k][b], want[b]); i >= 0 {
				t.Errorf("%s: element %d of %s is %v, want %v\n%s", c.name, i, c.fn.Bufs[b].Name,
					eval.Get(d, got[k][b], int64(i)), eval.Get(d, want[b], int64(i)), c.fn)
				break
			}
		}
	}
}
