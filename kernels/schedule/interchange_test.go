package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// poolLast is max pooling of h × w × channels, and its positions in the image.
func poolLast(h, w int64, c sym.Expr, window, stride, pad int64) []expr.Tensor {
	v := newVars(sym.Int((h+2*pad-window)/stride+1), sym.Int((w+2*pad-window)/stride+1), c)
	k := []*sym.Symbol{sym.NewVar("kh", sym.Int(window)), sym.NewVar("kw", sym.Int(window))}
	at := func(i int, n int64, k sym.Expr) sym.Expr {
		x := sym.Sub(sym.Add(sym.Mul(sym.Int(stride), v[i].Expr()), k), sym.Int(pad))
		return sym.Max(sym.Int(0), sym.Min(x, sym.Int(n-1)))
	}
	x := expr.At(0, ir.Float32, at(0, h, k[0].Expr()), at(1, w, k[1].Expr()), v[2].Expr())
	best := expr.Bind("best", expr.ArgMaxLastNaN(k, x), sym.Int(window*window))
	y, z := sym.FloorDiv(best.Expr(), sym.Int(window)), sym.Mod(best.Expr(), sym.Int(window))
	flat := sym.Add(sym.Mul(at(0, h, y), sym.Int(w)), at(1, w, z))
	return []expr.Tensor{
		{DType: ir.Float32, Vars: v, Body: expr.MaxOf(k, x)},
		{DType: ir.Int64, Vars: v, Body: expr.Idx(ir.Int64, flat)},
	}
}

// averageLast is average pooling with padding that does not count.
func averageLast(h, w int64, c sym.Expr) expr.Tensor {
	v := newVars(sym.Int(h), sym.Int(w), c)
	k := []*sym.Symbol{sym.NewVar("kh", sym.Int(3)), sym.NewVar("kw", sym.Int(3))}
	y, x := sym.Sub(sym.Add(v[0].Expr(), k[0].Expr()), sym.Int(1)),
		sym.Sub(sym.Add(v[1].Expr(), k[1].Expr()), sym.Int(1))
	in := expr.And(expr.InRange(y, sym.Int(0), sym.Int(h)), expr.InRange(x, sym.Int(0), sym.Int(w)))
	body := expr.Select(in, expr.At(0, ir.Float32, y, x, v[2].Expr()), expr.Float(ir.Float32, 0))
	return expr.Tensor{DType: ir.Float32, Vars: v, Body: expr.Div(expr.Sum(k, body),
		expr.Float(ir.Float32, 9))}
}

// product is a matrix product with a bias.
func product(n, k, m sym.Expr) expr.Tensor {
	v := newVars(n, m)
	r := sym.NewVar("r", k)
	sum := expr.Sum([]*sym.Symbol{r}, expr.Mul(expr.At(0, ir.Float32, v[0].Expr(), r.Expr()),
		expr.At(1, ir.Float32, r.Expr(), v[1].Expr())))
	return expr.Tensor{DType: ir.Float32, Vars: v, Body: expr.Add(sum, expr.At(2, ir.Float32,
		v[1].Expr()))}
}

// gathered is the sum of some rows of a table.
func gathered(n, rows, dim int64) expr.Tensor {
	v := newVars(sym.Int(dim))
	r := sym.NewVar("r", sym.Int(n))
	at := expr.Bind("row", expr.At(0, ir.Int64, r.Expr()), sym.Int(rows))
	return expr.Tensor{DType: ir.Float32, Vars: v, Body: expr.Sum([]*sym.Symbol{r},
		expr.At(1, ir.Float32, at.Expr(), v[0].Expr()))}
}

// maskedSoftmax is a softmax over d of scores to which a mask is added, with
// the result in another dtype.
func maskedSoftmax(sizes []sym.Expr, d int, to ir.DType) expr.Tensor {
	t := softmax(sizes, d)
	t.Body = expr.Rewrite(t.Body, func(e *expr.Expr) *expr.Expr {
		if e.Op != expr.OpLoad {
			return e
		}
		return expr.Select(expr.At(1, ir.Bool, e.Coords...), e, expr.Float(ir.Float32, -9))
	})
	return cast(t, to)
}

func cast(t expr.Tensor, to ir.DType) expr.Tensor {
	t.DType, t.Body = to, expr.Cast(to, t.Body)
	return t
}

func filled(r *rand.Rand, info schedule.OperandInfo, syms map[*sym.Symbol]int64) eval.Operand {
	o := eval.Operand{DType: info.DType}
	n := int64(1)
	for _, s := range info.Sizes {
		k, err := s.Eval(func(s *sym.Symbol) (int64, bool) { v, ok := syms[s]; return v, ok })
		if err != nil {
			panic(err)
		}
		o.Sizes, n = append(o.Sizes, k), n*k
	}
	o.Data = make([]byte, n*int64(o.DType.Size()))
	for i := range n {
		v := eval.Value{F: float64(r.IntN(19) - 9), I: int64(r.IntN(2))}
		eval.Put(o.DType, o.Data, i, v)
	}
	return o
}

// Rows of reductions compute what single ones do, and the values reductions
// leave for the results are right.
func TestInterchange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dynamic := sym.NewSymbol("n", 1, 5000)
	f32 := func(sizes ...sym.Expr) schedule.OperandInfo {
		return schedule.OperandInfo{DType: ir.Float32, Sizes: sizes}
	}
	sizes := map[string][]sym.Expr{"few": ints(20), "row": ints(512), "rows": ints(1100),
		"dynamic": {dynamic.Expr()}}
	for _, size := range []string{"few", "row", "rows", "dynamic"} {
		c := sizes[size][0]
		b1 := schedule.OperandInfo{DType: ir.Bool, Sizes: []sym.Expr{sym.Int(2), sym.Int(3), c}}
		for _, test := range []struct {
			name     string
			outs     []expr.Tensor
			operands []schedule.OperandInfo
			stays    bool
		}{
			{"pool", poolLast(5, 4, c, 3, 2, 1)[:1],
				[]schedule.OperandInfo{f32(sym.Int(5), sym.Int(4), c)}, false},
			{"pool and positions", poolLast(4, 4, c, 2, 2, 0),
				[]schedule.OperandInfo{f32(sym.Int(4), sym.Int(4), c)}, false},
			{"average", []expr.Tensor{averageLast(3, 3, c)},
				[]schedule.OperandInfo{f32(sym.Int(3), sym.Int(3), c)}, false},
			{"product", []expr.Tensor{product(sym.Int(2), sym.Int(7), c)},
				[]schedule.OperandInfo{f32(ints(2, 7)...), f32(sym.Int(7), c), f32(c)}, false},
			{"softmax over rows", []expr.Tensor{softmax([]sym.Expr{sym.Int(2), sym.Int(3), c}, 1)},
				[]schedule.OperandInfo{f32(sym.Int(2), sym.Int(3), c)}, false},
			{"softmax across", []expr.Tensor{across(softmax([]sym.Expr{sym.Int(3), c}, 0))},
				[]schedule.OperandInfo{f32(c, sym.Int(3))}, false},
			{"masked softmax over rows",
				[]expr.Tensor{maskedSoftmax([]sym.Expr{sym.Int(2), sym.Int(3), c}, 1, ir.Float32)},
				[]schedule.OperandInfo{f32(sym.Int(2), sym.Int(3), c), b1}, true},
			{"masked softmax", []expr.Tensor{maskedSoftmax([]sym.Expr{sym.Int(2), sym.Int(3), c}, 2,
				ir.Float32)}, []schedule.OperandInfo{f32(sym.Int(2), sym.Int(3), c), b1}, true},
			{"softmax in half over rows",
				[]expr.Tensor{cast(softmax([]sym.Expr{sym.Int(2), sym.Int(3), c}, 1), ir.BFloat16)},
				[]schedule.OperandInfo{f32(sym.Int(2), sym.Int(3), c)}, true},
			{"softmax in half", []expr.Tensor{maskedSoftmax([]sym.Expr{sym.Int(2), sym.Int(3), c},
				2, ir.Float16)}, []schedule.OperandInfo{f32(sym.Int(2), sym.Int(3), c), b1}, true},
			{"layer norm", []expr.Tensor{layerNorm(sym.Int(3), c)},
				[]schedule.OperandInfo{f32(sym.Int(3), c), f32(c), f32(c)}, true},
		} {
			if size != "few" && test.stays {
				continue // the reference evaluates what is nested again and again
			}
			for _, n := range []int64{1, 511, 1025} {
				if size != "dynamic" && n > 1 {
					continue
				}
				syms := map[*sym.Symbol]int64{dynamic: n}
				var data []eval.Operand
				for _, o := range test.operands {
					data = append(data, filled(rng, o, syms))
				}
				name := fmt.Sprintf("%s, %s %d", test.name, size, n)
				f := checkOuts(t, name, test.outs, test.operands, data, syms,
					schedule.Options{Interchange: 8})
				single := checkOuts(t, name, test.outs, test.operands, data, syms,
					schedule.Options{})
				if stays := f.String() == single.String(); stays != test.stays {
					t.Errorf("%s: stays %v, want %v\n%s", name, stays, test.stays, f)
				}
				checkInPlace(t, name, f, data)
			}
		}
	}
	table := []schedule.OperandInfo{{DType: ir.Int64, Sizes: ints(5)}, f32(ints(2, 24)...)}
	checkOuts(t, "gathered", []expr.Tensor{gathered(5, 2, 24)}, table,
		[]eval.Operand{filled(rng, table[0], nil), filled(rng, table[1], nil)}, nil,
		schedule.Options{Interchange: 8})
}

// checkInPlace runs f in place where that is allowed.
func checkInPlace(t *testing.T, name string, f *loop.Func, data []eval.Operand) {
	t.Helper()
	if f.Bufs[1].Role == loop.Out || len(f.Syms) > 0 || !schedule.InPlace(f, 0, 1) {
		return
	}
	n, _ := f.Bufs[0].Len.Const()
	want := make([]byte, n*int64(f.Bufs[0].DType.Size()))
	both := make([]byte, max(len(want), len(data[0].Data)))
	copy(both, data[0].Data)
	for _, place := range [][2][]byte{{want, data[0].Data},
		{both[:len(want)], both[:len(data[0].Data)]}} {
		bufs := [][]byte{place[0], place[1]}
		for _, o := range data[1:] {
			bufs = append(bufs, o.Data)
		}
		if err := eval.Run(f, append(bufs, scratchOf(f)...), nil, []eval.Value{{I: 2}}); err !=
			nil {
			t.Fatal(err)
		}
	}
	if string(both[:len(want)]) != string(want) {
		t.Errorf("%s: in place gives other bytes\n%s", name, f)
	}
}

// What a reduction leaves for the results is computed once.
func TestSaves(t *testing.T) {
	for _, c := range []struct {
		name string
		out  expr.Tensor
		want int
	}{
		{"softmax", softmax(ints(3, 4, 5), 2), 1},
		{"softmax in the middle", softmax(ints(3, 4, 5), 1), 1},
		{"softmax in half", maskedSoftmax(ints(3, 4, 5), 2, ir.Float16), 1},
		{"softmax of more than scratch holds", maskedSoftmax(ints(3, 5000), 1, ir.Float16), 2},
		{"softmax of a size that may be 0",
			softmax([]sym.Expr{sym.Int(3), sym.NewSymbol("n", 0, 9).Expr()}, 1), 2},
	} {
		operands := make([]schedule.OperandInfo, 2)
		for i, d := range []ir.DType{ir.Float32, ir.Bool} {
			operands[i].DType = d
			for _, v := range c.out.Vars {
				operands[i].Sizes = append(operands[i].Sizes, expr.Extent(v))
			}
		}
		f := build(t, c.out, operands...)
		if got := strings.Count(f.String(), "exp_f32("); got != c.want {
			t.Errorf("%s: %d exponentials, want %d\n%s", c.name, got, c.want, f)
		}
	}
}
