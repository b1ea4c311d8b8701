package schedule_test

import (
	"math"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

// Sums of many terms are as exact as sums of some thousand, in one loop and in nested
// ones, of constant and of dynamic length.
func TestLongSums(t *testing.T) {
	dynamic := sym.NewSymbol("n", 0, 1<<20)
	for _, c := range []struct {
		name          string
		rows, columns sym.Expr
		pitch         int64 // elements from row to row of the operand
		n             int64 // the dynamic size
		lanes         int
	}{
		{"blocks", sym.Int(1), sym.Int(1 << 20), 1 << 20, 0, 1},
		{"a prime", sym.Int(1), sym.Int(1000003), 1000003, 0, 1},
		{"lanes", sym.Int(1), sym.Int(1000003), 1000003, 0, 16},
		{"nested", sym.Int(1024), sym.Int(1000), 1001, 0, 1},
		{"nested blocks", sym.Int(3), sym.Int(300001), 300002, 0, 1},
		{"dynamic", sym.Int(1), dynamic.Expr(), 0, 999999, 1},
		{"dynamic and short", sym.Int(1), dynamic.Expr(), 0, 3, 1},
		{"dynamic and empty", sym.Int(1), dynamic.Expr(), 0, 0, 1},
	} {
		syms := map[*sym.Symbol]int64{dynamic: c.n}
		pitch := sym.Int(c.pitch)
		if c.pitch == 0 {
			pitch = dynamic.Expr()
		}
		i, j := sym.NewVar("i", c.rows), sym.NewVar("j", c.columns)
		sum := expr.Sum([]*sym.Symbol{i, j}, expr.At(0, ir.Float32, i.Expr(), j.Expr()))
		f, err := schedule.Build("sum", []expr.Tensor{{DType: ir.Float32, Body: sum}},
			[]schedule.OperandInfo{{DType: ir.Float32, Sizes: []sym.Expr{c.rows, pitch}}},
			schedule.Options{Lanes: c.lanes})
		if err != nil {
			t.Fatal(err)
		}
		if r := reference.Verify(f); len(r.Errors) > 0 {
			t.Fatalf("%s: %v\n%s", c.name, r.Errors, f)
		}
		value := func(x sym.Expr) int64 {
			n, err := x.Eval(func(s *sym.Symbol) (int64, bool) { n, ok := syms[s]; return n, ok })
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		in := make([]byte, 4*value(c.rows)*value(pitch))
		for k := range int64(len(in) / 4) {
			eval.Put(ir.Float32, in, k, eval.Value{F: 0.1})
		}
		out := make([]byte, 4)
		var values []int64
		for _, s := range f.Syms {
			values = append(values, syms[s])
		}
		if err := eval.Run(f, [][]byte{out, in}, values, nil); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, f)
		}
		want := float64(float32(0.1)) * float64(value(c.rows)*value(c.columns))
		got := eval.Get(ir.Float32, out, 0).F
		if math.Abs(got-want) > 1e-4*want { // a single accumulator is off by 1e-3 and more
			t.Errorf("%s: the sum is %v, want %v\n%s", c.name, got, want, f)
		}
	}
}
