package tuned_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// operand is a float32 operand of a trial.
func operand(sizes ...sym.Expr) ops.Input {
	return ops.Input{Value: &ir.Value{Type: ir.TensorOf(ir.Float32, sizes...)}}
}

func static(sizes ...int64) ops.Input { return operand(ir.Ints(sizes)...) }

// pick returns one of xs.
func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

// size returns a size that is often 1 and around the bounds of tiles.
func size(r *rand.Rand) int64 {
	return pick[int64](r, 1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 15, 16, 17, 20, 33)
}

// linearTrials are calls with a constant matrix.
func linearTrials(r *rand.Rand, count int) []*trial {
	var out []*trial
	for i := range count {
		m, n, k := size(r), size(r), size(r)
		tr := &trial{syms: map[*sym.Symbol]int64{}}
		rows := sym.Int(m)
		if i%4 == 3 { // a dynamic batch
			s := sym.NewSymbol("s", 1, 64)
			tr.syms[s] = m
			rows = s.Expr()
		}
		x := operand(rows, sym.Int(k))
		switch i % 5 {
		case 0:
			tr.op, tr.sample = "aten.linear.default", ops.NewSample("input", x, "weight", static(n, k), "bias", static(n))
			tr.constant = []bool{false, true, true}
		case 1:
			x := operand(sym.Int(2), rows, sym.Int(k))
			tr.op, tr.sample = "aten.linear.default", ops.NewSample("input", x, "weight", static(n, k))
			tr.constant = []bool{false, true}
		case 2:
			tr.op, tr.sample = "aten.mm.default", ops.NewSample("self", x, "mat2", static(k, n))
			tr.constant = []bool{false, true}
		case 3:
			bias := pick(r, static(n), static(1, n), static(1))
			tr.op, tr.sample = "aten.addmm.default", ops.NewSample("self", bias, "mat1", x, "mat2", static(k, n))
			tr.constant = []bool{true, false, true}
		case 4:
			tr.op, tr.sample = "aten.mv.default", ops.NewSample("self", static(n, k), "vec", static(k))
			tr.constant = []bool{true, false}
		}
		tr.name = fmt.Sprintf("%s %d: m %d, n %d, k %d", tr.op, i, m, n, k)
		out = append(out, tr)
	}
	return out
}
