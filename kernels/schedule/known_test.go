package schedule_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

var update = flag.Bool("update", false, "rewrite testdata")

func newVars(sizes ...sym.Expr) []*sym.Symbol {
	names := "abcdefgh"
	out := make([]*sym.Symbol, len(sizes))
	for i, s := range sizes {
		out[i] = sym.NewVar(names[i:i+1], s)
	}
	return out
}

func ints(ns ...int64) []sym.Expr { return ir.Ints(ns) }

func exprs(vs []*sym.Symbol) []sym.Expr {
	out := make([]sym.Expr, len(vs))
	for i, v := range vs {
		out[i] = v.Expr()
	}
	return out
}

// testExp stands for an expensive function.
func testExp() *expr.Func {
	x := &expr.Var{Name: "x", DType: ir.Float32}
	v := expr.Get(x)
	return &expr.Func{Name: "exp_f32", Params: []*expr.Var{x},
		Body: expr.Add(expr.Float(ir.Float32, 1), expr.Mul(v, v))}
}

// softmax over dimension d.
func softmax(sizes []sym.Expr, d int) expr.Tensor {
	vars := newVars(sizes...)
	exp := testExp()
	at := func() (*sym.Symbol, *expr.Expr) {
		r := sym.NewVar("r", sizes[d])
		c := exprs(vars)
		c[d] = r.Expr()
		return r, expr.At(0, ir.Float32, c...)
	}
	top := func() *expr.Expr {
		r, x := at()
		return expr.MaxOf([]*sym.Symbol{r}, x)
	}
	r, x := at()
	sum := expr.Sum([]*sym.Symbol{r}, expr.CallFn(exp, expr.Sub(x, top())))
	num := expr.CallFn(exp, expr.Sub(expr.At(0, ir.Float32, exprs(vars)...), top()))
	return expr.Tensor{DType: ir.Float32, Vars: vars, Body: expr.Div(num, sum)}
}

// across is t of the transpose of its one operand.
func across(t expr.Tensor) expr.Tensor {
	t.Body = expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLoad {
			return e
		}
		c := *e
		c.Coords = []sym.Expr{e.Coords[1], e.Coords[0]}
		return &c
	})
	return t
}

// layerNorm over the last of two dimensions with affine parameters.
func layerNorm(n, c sym.Expr) expr.Tensor {
	v := newVars(n, c)
	f32 := ir.Float32
	x := func(j sym.Expr) *expr.Expr { return expr.At(0, f32, v[0].Expr(), j) }
	count := expr.Cast(f32, expr.Idx(ir.Int64, c))
	over := func(f func(x *expr.Expr) *expr.Expr) *expr.Expr {
		r := sym.NewVar("r", c)
		return expr.Div(expr.Sum([]*sym.Symbol{r}, f(x(r.Expr()))), count)
	}
	mean := func() *expr.Expr { return over(func(x *expr.Expr) *expr.Expr { return x }) }
	variance := over(func(x *expr.Expr) *expr.Expr {
		d := expr.Sub(x, mean())
		return expr.Mul(d, d)
	})
	scale := expr.Div(expr.At(1, f32, v[1].Expr()),
		expr.Sqrt(expr.Add(variance, expr.Float(f32, 1e-5))))
	return expr.Tensor{DType: f32, Vars: v,
		Body: expr.Add(expr.Mul(expr.Sub(x(v[1].Expr()), mean()), scale),
			expr.At(2, f32, v[1].Expr()))}
}

// poolIndices is the position of the maximum pool takes.
func poolIndices(c, h, w, window, stride, pad int64) expr.Tensor {
	p := pool(c, h, w, window, stride, pad)
	body := expr.ArgMax(p.Body.Vars, p.Body.Args[0])
	return expr.Tensor{DType: ir.Int64, Vars: p.Vars, Body: body}
}

// conv is a 3×3 convolution with padding, bias and ReLU.
func conv(n sym.Expr, ci, co, h, w int64) expr.Tensor {
	f32 := ir.Float32
	v := newVars(n, sym.Int(co), sym.Int(h), sym.Int(w))
	c, kh, kw := sym.NewVar("c", sym.Int(ci)), sym.NewVar("kh", sym.Int(3)),
		sym.NewVar("kw", sym.Int(3))
	y := sym.Sub(sym.Add(v[2].Expr(), kh.Expr()), sym.Int(1))
	x := sym.Sub(sym.Add(v[3].Expr(), kw.Expr()), sym.Int(1))
	in := expr.And(expr.InRange(y, sym.Int(0), sym.Int(h)), expr.InRange(x, sym.Int(0), sym.Int(w)))
	px := expr.Select(in, expr.At(0, f32, v[0].Expr(), c.Expr(), y, x), expr.Float(f32, 0))
	weight := expr.At(1, f32, v[1].Expr(), c.Expr(), kh.Expr(), kw.Expr())
	sum := expr.Sum([]*sym.Symbol{c, kh, kw}, expr.Mul(px, weight))
	return expr.Tensor{DType: f32, Vars: v,
		Body: expr.Max(expr.Add(sum, expr.At(2, f32, v[1].Expr())), expr.Float(f32, 0))}
}

// embedding gathers rows and adds positions.
func embedding(rows, dim int64, n sym.Expr) expr.Tensor {
	v := newVars(n, sym.Int(dim))
	row := expr.Bind("row", expr.At(0, ir.Int64, v[0].Expr()), sym.Int(rows))
	return expr.Tensor{DType: ir.Float32, Vars: v, Body: expr.Add(expr.At(1, ir.Float32, row.Expr(),
		v[1].Expr()), expr.At(2, ir.Float32, v[0].Expr(), v[1].Expr()))}
}

// rowTotal is the sum of row i of a matrix.
func rowTotal(i, columns sym.Expr) *expr.Expr {
	r := sym.NewVar("r", columns)
	return expr.Sum([]*sym.Symbol{r}, expr.At(0, ir.Float32, i, r.Expr()))
}

// inOrder is the sum, in the order of the rows, of a matrix whose columns have factors: the largest
// numbers of the rows of another one.
func inOrder() expr.Tensor {
	v := newVars(sym.Int(3), sym.Int(18), sym.Int(5))
	most := expr.MaxOf(v[2:], expr.At(1, ir.Float32, v[1].Expr(), v[2].Expr()))
	return expr.Tensor{DType: ir.Float32, Body: expr.SumInOrder(v[:2], expr.Mul(
		expr.At(0, ir.Float32, v[0].Expr(), v[1].Expr()), most))}
}

// TestShapes compares the loops of known operators with testdata/NAME.txt.
func TestShapes(t *testing.T) {
	n := sym.NewSymbol("s0", 1, 100).Expr()
	m := sym.NewSymbol("s1", 1, 900).Expr()
	f32 := func(sizes ...sym.Expr) schedule.OperandInfo {
		return schedule.OperandInfo{DType: ir.Float32, Sizes: sizes}
	}
	i64 := func(sizes ...sym.Expr) schedule.OperandInfo {
		return schedule.OperandInfo{DType: ir.Int64, Sizes: sizes}
	}
	eight, rows := sym.Int(8), schedule.Options{Interchange: 17}
	same, eighteen := newVars(n, sym.Int(3), sym.Int(4)), sym.NewVar("r", sym.Int(18))
	for _, c := range []struct {
		name     string
		outs     []expr.Tensor
		operands []schedule.OperandInfo
		opts     schedule.Options
	}{
		{"softmax_last", []expr.Tensor{softmax([]sym.Expr{n, sym.Int(4), sym.Int(5)}, 2)},
			[]schedule.OperandInfo{f32(n, sym.Int(4), sym.Int(5))}, schedule.Options{}},
		{"softmax_middle", []expr.Tensor{softmax(ints(3, 4, 5), 1)},
			[]schedule.OperandInfo{f32(ints(3, 4, 5)...)}, schedule.Options{}},
		{"layer_norm", []expr.Tensor{layerNorm(n, eight)}, []schedule.OperandInfo{f32(n, eight),
			f32(eight), f32(eight)}, schedule.Options{}},
		{"max_pool_indices", []expr.Tensor{pool(3, 8, 8, 3, 2, 1), poolIndices(3, 8, 8, 3, 2, 1)},
			[]schedule.OperandInfo{f32(ints(3, 8, 8)...)}, schedule.Options{}},
		{"conv", []expr.Tensor{conv(n, 3, 4, 8, 8)}, []schedule.OperandInfo{f32(n, sym.Int(3),
			eight, eight), f32(ints(4, 3, 3, 3)...), f32(ints(4)...)}, schedule.Options{}},
		{"embedding", []expr.Tensor{embedding(10, 8, n)}, []schedule.OperandInfo{i64(n),
			f32(sym.Int(10), eight), f32(n, eight)}, schedule.Options{}},
		{"add", []expr.Tensor{{DType: ir.Float32, Vars: same,
			Body: expr.Add(expr.At(0, ir.Float32, exprs(same)...), expr.At(1, ir.Float32,
				exprs(same)...))}},
			[]schedule.OperandInfo{f32(n, sym.Int(3), sym.Int(4)), f32(n, sym.Int(3), sym.Int(4))},
			schedule.Options{}},
		{"add_bias", []expr.Tensor{{DType: ir.Float32, Vars: same,
			Body: expr.Add(expr.At(0, ir.Float32, exprs(same)...), expr.At(1, ir.Float32,
				same[1].Expr()))}},
			[]schedule.OperandInfo{f32(n, sym.Int(3), sym.Int(4)), f32(sym.Int(3))},
			schedule.Options{}},
		{"row_sum_lanes", []expr.Tensor{{DType: ir.Float32, Vars: same[:1],
			Body: rowTotal(same[0].Expr(), sym.Int(18))}},
			[]schedule.OperandInfo{f32(n, sym.Int(18))}, schedule.Options{Lanes: 4}},
		{"row_sum_in_order", []expr.Tensor{{DType: ir.Float32, Vars: same[:1],
			Body: expr.SumInOrder([]*sym.Symbol{eighteen}, expr.At(0, ir.Float32, same[0].Expr(),
				eighteen.Expr()))}},
			[]schedule.OperandInfo{f32(n, sym.Int(18))}, schedule.Options{Lanes: 4}},
		{"sum_in_order", []expr.Tensor{inOrder()}, []schedule.OperandInfo{f32(ints(3, 18)...),
			f32(ints(18, 5)...)}, schedule.Options{}},
		{"max_pool_rows", poolLast(4, 4, sym.Int(64), 2, 2, 0),
			[]schedule.OperandInfo{f32(ints(4, 4, 64)...)}, rows},
		{"average_rows", []expr.Tensor{averageLast(8, 8, sym.Int(600))},
			[]schedule.OperandInfo{f32(ints(8, 8, 600)...)}, rows},
		{"softmax_rows", []expr.Tensor{softmax(ints(3, 4, 32), 1)},
			[]schedule.OperandInfo{f32(ints(3, 4, 32)...)}, rows},
		{"resampled", []expr.Tensor{resampled(6, 5, 12)},
			[]schedule.OperandInfo{f32(ints(6, 5)...)}, rows},
		{"softmax_across", []expr.Tensor{across(softmax(ints(8, 32), 0))},
			[]schedule.OperandInfo{f32(ints(32, 8)...)}, rows},
		{"product_rows", []expr.Tensor{product(n, eight, m)}, []schedule.OperandInfo{f32(n, eight),
			f32(eight, m), f32(m)}, rows},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := schedule.Build(c.name, c.outs, c.operands, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", c.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(f.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.String(); got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if r := reference.Verify(f); len(r.Errors) > 0 {
				t.Errorf("%v", r.Errors)
			}
		})
	}
}

// Sums in lanes cover every element, whatever the length.
func TestLanes(t *testing.T) {
	columns := sym.NewSymbol("n", 0, 100)
	row := sym.NewVar("i", sym.Int(3))
	out := expr.Tensor{DType: ir.Float32, Vars: []*sym.Symbol{row}, Body: rowTotal(row.Expr(),
		columns.Expr())}
	operands := []schedule.OperandInfo{{DType: ir.Float32, Sizes: []sym.Expr{sym.Int(3),
		columns.Expr()}}}
	for n := range int64(20) {
		x := eval.Operand{DType: ir.Float32, Sizes: []int64{3, n}, Data: make([]byte, 12*n)}
		for i := range 3 * n {
			eval.Put(ir.Float32, x.Data, i, eval.Value{F: float64(i*i%17 + 1)})
		}
		f := checkOuts(t, "lanes", []expr.Tensor{out}, operands, []eval.Operand{x},
			map[*sym.Symbol]int64{columns: n}, schedule.Options{Lanes: 4})
		if !strings.Contains(f.String(), "part: f32[4]") {
			t.Fatalf("no lanes:\n%s", f)
		}
	}
}

// Extrema in lanes are those of all elements, and no number if one of these is
// none. Exponentials are kept.
func TestLanesSoftmax(t *testing.T) {
	for _, n := range []int64{4, 5, 8, 19} {
		rows := ints(6, n)
		operands := []schedule.OperandInfo{{DType: ir.Float32, Sizes: rows}}
		x := eval.Operand{DType: ir.Float32, Sizes: []int64{6, n}, Data: make([]byte, 24*n)}
		for i := range 6 * n {
			v := float64(i*i%13) - 6
			switch at := i % n; {
			case i/n == 1 && at == n-1, i/n == 2 && at == 0, i/n == 3 && at == n/2:
				v = math.NaN()
			case i/n == 4 && at > 0, i/n == 3:
				v = math.Inf(-1)
			}
			eval.Put(ir.Float32, x.Data, i, eval.Value{F: v})
		}
		f := checkOuts(t, "softmax", []expr.Tensor{softmax(rows, 1)}, operands, []eval.Operand{x},
			nil, schedule.Options{Lanes: 4})
		if s := f.String(); !strings.Contains(s, "bits: i32[4]") || strings.Count(s, "exp") > 2 {
			t.Fatalf("no lanes, or exponentials are not kept:\n%s", f)
		}
	}
}

// What a loop that may not run would load must not be loaded before it, even if
// it does not change in the loop; nor what only a guard allows.
func TestHoisting(t *testing.T) {
	n := sym.NewSymbol("n", 0, 9)
	i := sym.NewVar("i", n.Expr())
	first := expr.At(0, ir.Float32, sym.Int(0))
	last := expr.Tensor{DType: ir.Float32, Vars: []*sym.Symbol{i}, Body: expr.Sqrt(first)}
	operands := []schedule.OperandInfo{{DType: ir.Float32, Sizes: []sym.Expr{n.Expr()}}}
	for size := range int64(3) {
		x := eval.Operand{DType: ir.Float32, Sizes: []int64{size}, Data: make([]byte, 4*size)}
		checkOuts(t, "empty", []expr.Tensor{last}, operands, []eval.Operand{x},
			map[*sym.Symbol]int64{n: size}, schedule.Options{})
	}
	j := sym.NewVar("j", sym.Int(4))
	some := expr.Gt(expr.Idx(ir.Int64, n.Expr()), expr.Int(ir.Int64, 0))
	guarded := expr.Tensor{DType: ir.Float32, Vars: []*sym.Symbol{j}, Body: expr.Select(some,
		expr.Add(first, expr.Sqrt(first)), expr.Float(ir.Float32, 1))}
	for size := range int64(3) {
		x := eval.Operand{DType: ir.Float32, Sizes: []int64{size}, Data: make([]byte, 4*size)}
		checkOuts(t, "guarded", []expr.Tensor{guarded}, operands, []eval.Operand{x},
			map[*sym.Symbol]int64{n: size}, schedule.Options{})
	}
}
