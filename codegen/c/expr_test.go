package c_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

var allTypes = []ir.DType{
	ir.Bool, ir.Int8, ir.Uint8, ir.Int16, ir.Uint16, ir.Int32, ir.Uint32, ir.Int64, ir.Uint64,
	ir.Float16, ir.BFloat16, ir.Float32, ir.Float64,
}

// exprGen makes random expressions. Operand 1+k is a buffer of allTypes[k].
type exprGen struct {
	r *rand.Rand
	i *sym.Symbol
}

func (g *exprGen) leaf(d ir.DType) *expr.Expr {
	if g.r.IntN(3) == 0 {
		return g.constant(d)
	}
	if (d == ir.Int32 || d == ir.Int64) && g.r.IntN(4) == 0 {
		e := g.i.Expr()
		switch g.r.IntN(4) {
		case 0:
			e = sym.Sub(sym.Int(5), e)
		case 1:
			e = sym.FloorDiv(sym.Sub(e, sym.Int(7)), sym.Int(3))
		case 2:
			e = sym.Mod(sym.Sub(e, sym.Int(7)), sym.Int(4))
		case 3:
			e = sym.Max(sym.Add(sym.Mul(e, sym.Int(3)), sym.Int(-20)), e)
		}
		return expr.Idx(d, e)
	}
	for k, x := range allTypes {
		if x == d {
			return expr.At(1+k, d, g.i.Expr())
		}
	}
	panic("no such type")
}

func (g *exprGen) constant(d ir.DType) *expr.Expr {
	switch {
	case d == ir.Bool:
		return expr.Bool(g.r.IntN(2) == 0)
	case d.IsInt():
		lo, hi := expr.IntRange(d)
		return expr.Int(d, []int64{0, 1, -1, 2, 3, -7, 100, lo, hi, g.r.Int64()}[g.r.IntN(10)])
	}
	x := []float64{0, 1, -1, 0.5, -2.75, 1e-3, 1e30, math.Inf(1), math.Inf(-1), math.NaN(),
		math.Copysign(0, -1), g.r.NormFloat64()}
	return expr.Float(d, x[g.r.IntN(len(x))])
}

func (g *exprGen) expr(d ir.DType, depth int) *expr.Expr {
	if depth == 0 {
		return g.leaf(d)
	}
	sub := func() *expr.Expr { return g.expr(d, depth-1-g.r.IntN(2)*(depth/2)) }
	pick := func(d ir.DType) *expr.Expr { return g.expr(d, depth-1) }
	other := allTypes[g.r.IntN(len(allTypes))]
	switch g.r.IntN(8) {
	case 0:
		return expr.Select(pick(ir.Bool), sub(), sub())
	case 1:
		if other.IsFloat() && (d.IsInt()) {
			return g.truncated(d, other, pick(other))
		}
		return expr.Cast(d, pick(other))
	}
	switch {
	case d == ir.Bool:
		switch g.r.IntN(5) {
		case 0:
			return expr.And(sub(), sub())
		case 1:
			return expr.Or(sub(), sub())
		case 2:
			return expr.Xor(sub(), sub())
		case 3:
			return expr.Not(sub())
		}
		ops := []func(a, b *expr.Expr) *expr.Expr{
			expr.Eq, expr.Ne, expr.Lt, expr.Le, expr.Gt, expr.Ge}
		return ops[g.r.IntN(len(ops))](pick(other), pick(other))
	case d.IsInt():
		return g.integer(d, sub)
	}
	ops := []func(a, b *expr.Expr) *expr.Expr{
		expr.Add, expr.Sub, expr.Mul, expr.Div, expr.Min, expr.Max, expr.Rem}
	if n := g.r.IntN(16); n < len(ops) {
		return ops[n](sub(), sub())
	}
	unary := []func(a *expr.Expr) *expr.Expr{
		expr.Neg, expr.Abs, expr.Sqrt, expr.Floor, expr.Ceil, expr.Trunc, expr.Round}
	if n := g.r.IntN(9); n < len(unary) {
		return unary[n](sub())
	}
	if expr.IsNarrow(d) {
		return expr.Neg(sub())
	}
	if g.r.IntN(2) == 0 {
		return expr.FMA(sub(), sub(), sub())
	}
	bits := ir.Int32
	if d == ir.Float64 {
		bits = ir.Uint64
	}
	return expr.Bitcast(d, pick(bits))
}

func (g *exprGen) integer(d ir.DType, sub func() *expr.Expr) *expr.Expr {
	ops := []func(a, b *expr.Expr) *expr.Expr{
		expr.Add, expr.Sub, expr.Mul, expr.Min, expr.Max, expr.And, expr.Or, expr.Xor, expr.Add,
		expr.Sub, expr.Mul}
	unary := []func(a *expr.Expr) *expr.Expr{expr.Neg, expr.Abs, expr.Not}
	switch n := g.r.IntN(20); {
	case n < len(ops):
		return ops[n](sub(), sub())
	case n < 14:
		return unary[n-11](sub())
	case n < 16:
		b := sub()
		guard := expr.Eq(b, expr.Int(d, 0))
		op := []func(a, b *expr.Expr) *expr.Expr{expr.Div, expr.Rem}[g.r.IntN(2)]
		return expr.Select(guard, expr.Int(d, 3), op(sub(), b))
	case n < 18:
		shift := expr.And(sub(), expr.Int(d, int64(8*d.Size()-1)))
		op := []func(a, b *expr.Expr) *expr.Expr{expr.Shl, expr.Shr}[g.r.IntN(2)]
		return op(sub(), shift)
	case d == ir.Int32:
		return expr.Bitcast(d, g.leaf(ir.Float32))
	}
	return sub()
}

// truncated converts a float to an integer after bringing it into its range.
func (g *exprGen) truncated(d, from ir.DType, x *expr.Expr) *expr.Expr {
	if expr.IsNarrow(from) {
		x, from = expr.Cast(ir.Float32, x), ir.Float32
	}
	lo, hi := expr.IntRange(d)
	low, high := float64(lo), float64(hi)
	if d == ir.Uint64 {
		high = math.MaxUint64
	}
	if bits := 8 * d.Size(); from == ir.Float32 && bits > 24 || bits > 53 {
		// rounding up would leave the range
		high = math.Ldexp(0.99999, int(math.Round(math.Log2(high))))
	}
	return expr.Cast(d, expr.Max(expr.Min(x, expr.Float(from, high)), expr.Float(from, low)))
}

// TestExpressions compiles random expressions of every dtype and compares every
// result with eval's, bit by bit, under the sanitizers.
func TestExpressions(t *testing.T) {
	const elements = 24
	perType := tier.Of(1, 5, 8)
	r := rand.New(rand.NewPCG(1, 2))
	p := &native.Program{Source: foreign.Of("random")}
	ins := make([]*native.Buffer, len(allTypes))
	data := make([][]byte, len(allTypes))
	for k, d := range allTypes {
		ins[k] = &native.Buffer{Name: "x_" + d.Short(), DType: d, Sizes: sizes(elements),
			Len: sym.Int(elements), MaxLen: elements, Storage: native.Input}
		data[k] = randomElements(r, d, elements)
	}
	var steps []step
	var want [][]byte
	var texts []string
	for _, d := range allTypes {
		for n := range perType {
			i := sym.NewVar("i", sym.Int(elements))
			g := &exprGen{r: r, i: i}
			body := g.expr(d, 1+n%5)
			fn := &loop.Func{Name: "k", Bufs: []loop.Buf{{Name: "out", DType: d, Role: loop.Out,
				Len: sym.Int(elements)}}}
			for k, x := range allTypes {
				fn.Bufs = append(fn.Bufs, loop.Buf{Name: fmt.Sprintf("in%d", k), DType: x,
					Role: loop.In, Len: sym.Int(elements)})
			}
			fn.Body = []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(elements),
				Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: body}}}}
			ref := make([]byte, elements*d.Size())
			if err := eval.Run(fn, append([][]byte{ref}, data...), nil, nil); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			out := &native.Buffer{Name: "out", DType: d, Sizes: sizes(elements),
				Len: sym.Int(elements), MaxLen: elements, Storage: native.Output}
			k := &native.Kernel{Name: fmt.Sprintf("k%d", len(p.Kernels)), Loop: fn}
			p.Kernels = append(p.Kernels, k)
			m := &native.Method{Name: foreign.Of(fmt.Sprintf("m%d", len(p.Methods))),
				Body: []native.Stmt{&native.Call{Kernel: k,
					Args: append([]*native.Buffer{out}, ins...)}}}
			for _, b := range ins {
				m.Inputs = append(m.Inputs, native.Port{Name: foreign.Of(b.Name),
					Type: ir.TensorOf(b.DType, b.Sizes...), Buf: b})
			}
			m.Outputs = []native.Port{{Name: foreign.Of("out0"), Type: ir.TensorOf(d, out.Sizes...),
				Buf: out}}
			p.Methods = append(p.Methods, m)
			s := step{method: "random_" + m.Name.Raw(), out: []int{len(ref)}}
			for k, b := range ins {
				st := cTypes[b.DType]
				s.args = append(s.args, fmt.Sprintf("(const %s *)x[%d]", st, k))
			}
			s.args = append(s.args, "("+cTypes[d]+" *)out[0]")
			steps = append(steps, s)
			want = append(want, ref)
			texts = append(texts, body.String())
		}
	}
	dir, pkg := generate(t, p, "random")
	globals := fmt.Sprintf("static void *x[%d];\n", len(data))
	main, _ := mainText("random", steps, globals)
	var stdin []byte
	load := ""
	for k, b := range data {
		load += fmt.Sprintf("    x[%d] = load(%d);\n", k, len(b))
		stdin = append(stdin, b...)
	}
	main = strings.Replace(main, "    memset(arena", load+"    memset(arena", 1)
	// The compiler sees through random constants: bits that are always 0.
	strict(t, dir, pkg, "-Wno-type-limits")
	for _, target := range []toolchain.Target{sanitized().With("-Wno-type-limits"),
		toolchain.Clang().With("-Wno-type-limits", "-ffp-contract=off", "-fsanitize=undefined",
			"-fsanitize-trap=undefined")} {
		got := run(t, dir, pkg, main, stdin, target)
		for n, ref := range want {
			if got[0] != 0 {
				t.Fatalf("status %d", got[0])
			}
			compare(t, target.Name, texts[n], p.Kernels[n].Loop.Bufs[0].DType,
				got[1:1+len(ref)], ref)
			got = got[1+len(ref):]
		}
	}
}

func compare(t *testing.T, target, text string, d ir.DType, got, want []byte) {
	t.Helper()
	size := d.Size()
	for i := 0; i < len(want)/size; i++ {
		a, b := got[i*size:(i+1)*size], want[i*size:(i+1)*size]
		if string(a) == string(b) || isNaN(d, a) && isNaN(d, b) {
			continue
		}
		t.Errorf("%s: %s: element %d is %x, want %x\n%s", target, d, i, a, b, text)
		return
	}
}

func isNaN(d ir.DType, b []byte) bool {
	if !d.IsFloat() {
		return false
	}
	x := eval.Get(d, b, 0).F
	return x != x
}

var cTypes = map[ir.DType]string{
	ir.Bool: "uint8_t", ir.Int8: "int8_t", ir.Uint8: "uint8_t", ir.Int16: "int16_t",
	ir.Uint16: "uint16_t",
	ir.Int32:  "int32_t", ir.Uint32: "uint32_t", ir.Int64: "int64_t", ir.Uint64: "uint64_t",
	ir.Float16: "uint16_t", ir.BFloat16: "uint16_t", ir.Float8E4M3FN: "uint8_t",
	ir.Float8E5M2: "uint8_t", ir.Float8E4M3FNUZ: "uint8_t",
	ir.Float8E5M2FNUZ: "uint8_t", ir.Float8E8M0FNU: "uint8_t", ir.Float32: "float",
	ir.Float64: "double",
}

func sizes(n ...int64) []sym.Expr { return ir.Ints(n) }

// randomElements returns n elements, corner cases among them.
func randomElements(r *rand.Rand, d ir.DType, n int) []byte {
	out := make([]byte, n*d.Size())
	for i := range n {
		var v eval.Value
		switch {
		case d == ir.Bool:
			v.I = r.Int64N(2)
		case d.IsInt():
			lo, hi := expr.IntRange(d)
			v.I = []int64{0, 1, -1, lo, hi, r.Int64N(20) - 10, r.Int64(),
				r.Int64() >> 33}[r.IntN(8)]
		default:
			v.F = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -0.5, math.Inf(1),
				math.Inf(-1), math.NaN(),
				1e-40, 1e-45, 5e-320, 65504, 1e38, 3e4 * r.NormFloat64(), r.NormFloat64(),
				r.NormFloat64() * 1e10}[r.IntN(19)]
			v.F = expr.RoundTo(d, v.F)
		}
		eval.Put(d, out, int64(i), v)
	}
	return out
}
